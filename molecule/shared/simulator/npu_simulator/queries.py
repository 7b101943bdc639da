# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The answers of ``npu-smi info -t TYPE -i N`` about state and load. Generations differ in the keys."""

from __future__ import annotations

import typing as t

from npu_simulator.answers import OPENING_GENERATIONS, Lines, Pair, card_answer, number, pair
from npu_simulator.identity import board
from npu_simulator.state import Chip, State, chips_of

HBM_GENERATIONS = ("910", "A2", "A3", "A5")
VECTOR_GENERATIONS = ("A2", "A3", "A5")


def health(state: State, npu: int, chip: t.Optional[Chip]) -> Lines:
    """``info -t health``: one word for each chip, or word, codes and texts of one chip."""
    if state["generation"] == "A5":
        first = chips_of(state, npu)[0]
        return [pair("NPU ID", npu), pair("Health", _health(first)), *_error_lines(first)]
    if chip is not None:
        return [pair("Health Status", _health(chip)), *_error_lines(chip)]
    return card_answer(state, npu, lambda each: [("Health", _health(each))], mcu=[("Health", "OK")])


def usages(state: State, npu: int, chip: t.Optional[Chip]) -> Lines:
    """``info -t usages``: capacities in MB and rates in per cent."""
    return card_answer(state, npu, lambda each: _usages(state, each))


def common(state: State, npu: int, chip: t.Optional[Chip]) -> Lines:
    """``info -t common``: the short set. The Chip ID line opens each block in every generation."""
    generation = state["generation"]

    def keys(each: Chip) -> t.List[Pair]:
        pairs: t.List[Pair] = [("Memory Usage Rate(%)", _rate(each["memory"]))]
        if generation in HBM_GENERATIONS:
            pairs.append(("HBM Usage Rate(%)", _rate(each["hbm"])))
        pairs += [("Aicore Usage Rate(%)", each["util"]), ("Aicore Freq(MHZ)", 1650), ("Aicore curFreq(MHZ)", 800)]
        if generation in VECTOR_GENERATIONS:
            pairs.append(("Aicore Count", state["board"]["aicores"]))
        pairs.append(("Temperature(C)", each["temp"]))
        return pairs + ([("NPU Real-time Power(W)", number(each["power"]))] if each["power"] != "NA" else [])

    mcu: t.List[Pair] = [("Temperature(C)", 38)] + ([("NPU Real-time Power(W)", 45.2)] if generation == "310P" else [])
    return card_answer(state, npu, keys, mcu, chip_id_first=True)


def power(state: State, npu: int, chip: t.Optional[Chip]) -> Lines:
    """``info -t power``: chips of 310P have no value, only the card has."""
    if state["generation"] == "310P":
        return card_answer(state, npu, None, mcu=[("Power Dissipation(W)", 45.2)])
    key = "Rated Power Dissipation(W)" if state["generation"] == "310" else "NPU Real-time Power(W)"
    return card_answer(state, npu, lambda each: [(key, number(each["power"]))])


def temp(state: State, npu: int, chip: t.Optional[Chip]) -> Lines:
    """``info -t temp``: chips, then the sensors of the board."""
    key = "Temperature (C)" if state["form"] == "card" else "NPU Temperature (C)"
    mcu: t.Optional[t.List[Pair]] = [("LM75A_TE (C)", 38), ("LM75B_TE (C)", 39)] if state["form"] == "server" else None
    return card_answer(state, npu, lambda each: [(key, each["temp"])], mcu)


def memory(state: State, npu: int, chip: t.Optional[Chip]) -> Lines:
    """``info -t memory``: capacities in MB."""

    def keys(each: Chip) -> t.List[Pair]:
        pairs: t.List[Pair] = [("DDR Capacity(MB)", each["memory"][1]), ("DDR Clock Speed(MHz)", 451 if each["memory"][1] else 0)]
        if each["hbm"][1]:
            pairs += [("HBM Capacity(MB)", each["hbm"][1]), ("HBM Clock Speed(MHz)", 1600), ("HBM Temperature(C)", each["temp"])]
            pairs.append(("HBM Manufacturer ID", "0x57"))
        return pairs

    return card_answer(state, npu, keys)


def proc_mem(state: State, npu: int, chip: t.Optional[Chip]) -> Lines:
    """``info -t proc-mem``: one line for each process, without blanks around the colon."""
    lines = [pair("NPU ID", npu), pair("Chip Count", len(chips_of(state, npu))), ""]
    for each in chips_of(state, npu):
        rows = [row for row in state["processes"] or [] if (row["npu"], row["chip"]) == (npu, each["chip"])]
        lines += ["\tProcess id:{pid:<8}Process name:{name:<18}Process memory(MB):{memory}".format(**row) for row in rows]
        if not rows:
            lines.append("\tNo process in device.")
        lines += [pair("Chip ID", each["chip"]), ""]
    return lines


def product(state: State, npu: int, chip: t.Optional[Chip]) -> Lines:
    """``info -t product``: the marketing name; cards only."""
    if state["form"] != "card":
        return ["This device does not support querying product."]
    return card_answer(state, npu, lambda each: [("Product Type", state["board"]["title"])])


def device_share(state: State, npu: int, chip: t.Optional[Chip]) -> Lines:
    """``info -t device-share``: may several containers use one chip."""
    return card_answer(state, npu, lambda each: [("Device-share Status", bool(each.get("device_share")))])


QUERIES: t.Dict[str, t.Callable[[State, int, t.Optional[Chip]], Lines]] = {
    "board": board,
    "health": health,
    "usages": usages,
    "common": common,
    "power": power,
    "temp": temp,
    "memory": memory,
    "proc-mem": proc_mem,
    "product": product,
    "device-share": device_share,
}


def _usages(state: State, chip: Chip) -> t.List[Pair]:
    generation, util = state["generation"], chip["util"]
    ddr = "Memory" if generation in OPENING_GENERATIONS else "DDR"
    huge = "" if generation in OPENING_GENERATIONS else "DDR "
    pairs: t.List[Pair] = [
        (ddr + " Capacity(MB)", chip["memory"][1]),
        (ddr + " Usage Rate(%)", _rate(chip["memory"])),
        (huge + "Hugepages Total(page)", chip["hugepages"][1]),
        (huge + "Hugepages Usage Rate(%)", _rate(chip["hugepages"])),
    ]
    has_hbm = generation in HBM_GENERATIONS
    if has_hbm:
        pairs += [("HBM Capacity(MB)", chip["hbm"][1]), ("HBM Usage Rate(%)", _rate(chip["hbm"]))]
    pairs.append(("Aicore Usage Rate(%)", util))
    if generation in VECTOR_GENERATIONS:
        pairs.append(("Aivector Usage Rate(%)", util // 2))
    pairs += [("Aicpu Usage Rate(%)", 0), ("Ctrlcpu Usage Rate(%)", 1)]
    if generation == "310P":
        pairs.append(("Vectorcore Usage Rate(%)", util))
    pairs.append((ddr + " Bandwidth Usage Rate(%)", 0))
    if has_hbm:
        pairs.append(("HBM Bandwidth Usage Rate(%)", util // 3))
    if generation == "310P":
        pairs += [("DVPP {0} Usage Rate(%)".format(unit), 0) for unit in ("VDEC", "VPC", "VENC", "JPEGE", "JPEGD")]
    if generation in VECTOR_GENERATIONS and _major(state["driver_version"]) >= 25:
        pairs += [("NPU Utilization(%)", util), ("Aicube Usage Rate(%)", util // 2)]
    return pairs


def _error_lines(chip: Chip) -> Lines:
    errors = chip.get("errors") or []
    if not errors:
        return [pair("Error Code", "NA"), pair("Error Information", "NA")]
    lines = [pair("Error Code", " ".join(error["code"] for error in errors))]
    key = "Error Information"
    for error in errors:
        if error.get("text"):
            # Further texts follow an empty line under an empty key.
            lines += ([""] if not key else []) + [pair(key, error["text"])]
            key = ""
        else:
            lines.append("Failed to get error information for error code : 0x{0}".format(error["code"]))
    return lines


def _health(chip: Chip) -> str:
    return "UNKNOWN" if chip["health"] is None else str(chip["health"])


def _rate(used_total: t.Sequence[t.Optional[int]]) -> int:
    used, total = used_total
    return int(100 * (used or 0) / total) if total else 0


def _major(version: str) -> int:
    return int(version.split(".")[0])
