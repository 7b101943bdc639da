# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who is who: ``npu-smi info -l``, ``-m``, ``-t board`` and ``-t phyid-remap``."""

from __future__ import annotations

import os
import typing as t

from npu_simulator.answers import OPENING_GENERATIONS, Lines, Pair, pair
from npu_simulator.state import Chip, State, chips_of, npu_ids

HIDDEN = "NA"


def list_cards(state: State) -> Lines:
    """``info -l``: the cards, not the chips."""
    ids = npu_ids(state)
    if not ids:
        return ["There is no NPU card on this server."]
    lines = [pair("Card Count" if state["generation"] in OPENING_GENERATIONS else "Total Count", len(ids)), ""]
    for npu in ids:
        lines.append(pair("NPU ID", npu))
        if state["form"] == "card" and state["generation"] != "A5":
            lines += [pair("Product Name", _product_name(state)), pair("Serial Number", _serial(npu))]
        if state["generation"] != "A5":
            lines.append(pair("Chip Count", len(chips_of(state, npu))))
        lines.append("")
    return lines


def map_chips(state: State) -> Lines:
    """``info -m``: NPU, chip, logic and physical ids. The MCU of a card has a row of its own in most generations."""
    if not state["chips"]:
        return ["There is no NPU card on this server."]
    generation = state["generation"]
    columns = {
        "A3": ("NPU ID", "Chip ID", "Chip Logic ID", "Chip Phy-ID", "Chip Name"),
        "A5": ("NPU ID", "Slot ID", "Chip ID", "Chip Phy-ID", "Chip Name"),
    }.get(generation, ("NPU ID", "Chip ID", "Chip Logic ID", "Chip Name"))
    lines = ["\t" + " ".join(column.ljust(30) for column in columns)]
    for npu in npu_ids(state):
        chips = chips_of(state, npu)
        for chip in chips:
            values = {
                "NPU ID": npu,
                "Slot ID": npu + 1,
                "Chip ID": chip["chip"],
                "Chip Logic ID": chip["device"],
                "Chip Phy-ID": chip["phy"],
                "Chip Name": _mapped_name(generation, chip["name"]),
            }
            lines.append(_row([values[column] for column in columns]))
        if generation not in ("910", "A5"):
            lines.append(_row([npu, len(chips)] + ["-"] * (len(columns) - 3) + ["Mcu"]))
    return lines


def board(state: State, npu: int, chip: t.Optional[Chip]) -> Lines:
    """``info -t board``: the card, or one chip with ``-c``."""
    pairs = _chip_board(state, npu, chip) if chip is not None and state["generation"] != "A5" else _card_board(state, npu)
    return [pair(key, value) for key, value in pairs]


def phyid_remap(state: State, physical: int) -> Lines:
    """``info -t phyid-remap -p P``: which chip is /dev/davinciP; no blank before the value."""
    for chip in state["chips"]:
        if chip["phy"] == physical:
            keys = (("Chip Physical ID", "phy"), ("Chip Logic ID", "device"), ("NPU ID", "npu"), ("Chip ID", "chip"))
            return ["\t{0:<30} :{1}".format(key, chip[field]) for key, field in keys]
    return ["Invalid chip id."]


def _card_board(state: State, npu: int) -> t.List[Pair]:
    generation, facts, first = state["generation"], state["board"], chips_of(state, npu)[0]
    hidden = _identity_is_hidden(state)
    pairs: t.List[Pair] = [("NPU ID", npu)]
    if generation != "910":
        identity: t.List[Pair] = [("Product Name", HIDDEN if hidden else _product_name(state))]
        if generation == "A5":
            identity += [("NPU Name", facts["soc"].partition("_")[2]), ("Chip Name", first["name"]), ("Chip Version", "V100")]
        identity += [("Model", "NA"), ("Manufacturer", "Huawei"), ("Serial Number", HIDDEN if hidden else _serial(npu))]
        pairs += identity
    pairs += [
        ("Software Version", state["driver_version"]),
        ("Firmware Version", state["firmware_version"]),
        ("Compatibility", "NOT SUPPORT" if hidden else "OK"),
        ("Board ID", HIDDEN if hidden else facts["board_id"]),
    ]
    if generation in ("A3", "A5"):
        pairs.append(("Main Board ID", HIDDEN if hidden else {"A3": "0x1c", "A5": "0x68(1P)"}[generation]))
    pairs += [
        ("PCB ID", HIDDEN if hidden else "A"),
        ("BOM ID", HIDDEN if hidden else 1),
        ("PCIe Bus Info", first["bus"] or "NA"),
        ("Slot ID", npu + 1 if generation == "A5" else 0),
        ("Class ID", "NA"),
    ]
    pairs += _pci_pairs(facts)
    pairs.append(("Chip Count", len(chips_of(state, npu))))
    if generation == "A5":
        pairs += [("DDie ID", _die(npu, 1)), ("Chip Position ID", 0)]
    if generation == "310P":
        pairs.append(("Chip Fault", HIDDEN if hidden else 0))
    if generation in OPENING_GENERATIONS:
        pairs.append(("Faulty Chip Count", HIDDEN if hidden else 0))
    return pairs


def _pci_pairs(facts: t.Dict[str, t.Any]) -> t.List[Pair]:
    if facts["pci_device"] == "NA":  # UB servers name other ids; the values are assumed
        return [("Vendor ID", "0xCC08"), ("Device ID", "0xD806"), ("Module Vendor ID", "0xCC08"), ("Module ID", "0x1000")]
    return [
        ("PCI Vendor ID", "0x19E5"),
        ("PCI Device ID", facts["pci_device"]),
        ("Subsystem Vendor ID", facts["subsystem_vendor"]),
        ("Subsystem Device ID", facts["subsystem_device"]),
    ]


def _chip_board(state: State, npu: int, chip: Chip) -> t.List[Pair]:
    generation, facts = state["generation"], state["board"]
    hidden = _identity_is_hidden(state)
    pairs: t.List[Pair] = [("NPU ID", npu)]
    if generation == "A3":
        pairs.append(("NPU Name", facts["soc"].partition("_")[2]))
    pairs.append(("Chip ID", chip["chip"]))
    if generation != "A3":
        pairs.append(("Chip Type", "Ascend"))
    pairs += [
        ("Chip Name", chip["name"]),
        ("Chip Version", "V1"),
        ("Board ID", HIDDEN if hidden else facts["board_id"]),
        ("PCB ID", "NA"),
        ("BOM ID", HIDDEN if hidden else 1),
    ]
    if generation.startswith("310"):
        pairs.append(("Die ID", _die(npu, chip["chip"])))
    else:
        pairs += [("VDie ID", _die(npu, chip["chip"])), ("NDie ID", _die(npu, chip["chip"] + 16))]
    pairs += [("Chip Position ID", chip["chip"]), ("PCIe Bus Info", chip["bus"] or "NA"), ("Firmware Version", state["firmware_version"])]
    return pairs


def _identity_is_hidden(state: State) -> bool:
    """Identity is for root on the host only; ``identity`` in the state (shown, hidden) overrides the caller's user id."""
    return {"shown": False, "hidden": True}.get(state.get("identity", ""), os.geteuid() != 0)


def _row(values: t.Sequence[t.Any]) -> str:
    return "\t" + " ".join(str(value).ljust(30) for value in values).rstrip()


def _mapped_name(generation: str, name: str) -> str:
    if generation == "310":
        return "MiniD"
    return name if name.startswith("Ascend") else "Ascend " + name


def _product_name(state: State) -> str:
    return "SIM-" + str(state["board"]["title"]).upper().replace(" ", "-")


def _serial(npu: int) -> str:
    return "SIM{0:010d}".format(npu)


def _die(npu: int, number: int) -> str:
    return " ".join("{0:08X}".format(npu * 256 + number + part) for part in range(5))
