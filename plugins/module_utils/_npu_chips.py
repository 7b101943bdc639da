# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Merge what the device table, the mapping, sysfs and the device nodes say about each chip into one structure. Pure."""

from __future__ import annotations

import os
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._npu_smi_matrix import is_chip
from ansible_collections.npufleet.ascend.plugins.module_utils._npu_smi_table import Info
from ansible_collections.npufleet.ascend.plugins.module_utils._npu_table import Chip, chip_of_name

Row = t.Dict[str, t.Any]

NO_BUS = "0000:00:00.0"


def merge_chips(info: Info, mapping: t.Sequence[Row], pci: t.Sequence[Row], nodes: t.Sequence[int], dev_root: str = "/dev") -> t.List[Row]:
    """Return one dict a chip, in the order of the device table; docs/npu-facts.md describes the fields.

    :param mapping: rows of ``info -m``, empty when that call failed
    :param pci: functions of ``scan_pci``
    :param nodes: numbers of /dev/davinciN
    """
    functions = {function["bus_id"]: function for function in pci}
    alone = _shared(pci)
    chips = []
    for row, mapped in zip(info.chips, match_rows(info.chips, mapping)):
        function = functions.get((row["bus_id"] or "").lower(), {})
        chip = _identity(row, mapped or {}, Chip(function.get("generation") or alone["generation"], None))
        chip["product"] = function.get("product") or alone["product"]
        chip.update(_load(row))
        chip.update(bus_id=row["bus_id"], numa_node=function.get("numa_node"), cpu_affinity=function.get("cpu_affinity"))
        chip["processes"] = _processes(row["chip_id"], chip["npu_id"], info)
        chip.update(board=None, errors=None)
        chips.append(chip)
    _number_nodes(chips, nodes, dev_root)
    return chips


def match_rows(chips: t.Sequence[Row], mapping: t.Sequence[Row]) -> t.List[t.Optional[Row]]:
    """Return the mapping row of each chip, or None.

    The key is (NPU id, chip id). A5 prints no chip id, and a chip with invalid health has no NPU id in the table: then the physical or
    logic id decides, and at last the order, when as many rows as chips are left.
    """
    rows = [row for row in mapping if is_chip(row)]
    matched: t.List[t.Optional[Row]] = []
    for chip in chips:
        found = next((row for row in rows if _same(chip, row)), None)
        if found is not None:
            rows.remove(found)
        matched.append(found)
    if len(rows) == matched.count(None):
        matched = [row if row is not None else rows.pop(0) for row in matched]
    return matched


def _same(chip: Row, row: Row) -> bool:
    if chip["npu_id"] is not None:
        return bool(chip["npu_id"] == row["npu_id"] and chip["chip_id"] in (None, row["chip_id"]))
    for own, other in (("phy_id", "phy_id"), ("device_id", "logic_id")):
        if chip[own] is not None and row.get(other) is not None:
            return bool(chip[own] == row[other])
    return False


def _identity(row: Row, mapped: Row, fallback: Chip) -> Row:
    named = chip_of_name(row["name"])
    if named.generation is None:
        named = chip_of_name(mapped.get("chip_name"))
    logic_id = row["device_id"] if row["device_id"] is not None else mapped.get("logic_id")
    phy_id = row["phy_id"] if row["phy_id"] is not None else mapped.get("phy_id")
    return {
        "npu_id": row["npu_id"] if row["npu_id"] is not None else mapped.get("npu_id"),
        "chip_id": row["chip_id"] if row["chip_id"] is not None else mapped.get("chip_id"),
        "logic_id": logic_id,
        "phy_id": phy_id,
        "phy_id_source": None if phy_id is None else "npu_smi",
        "device_node": None,
        "slot_id": mapped.get("slot_id"),
        "name": row["name"] or mapped.get("chip_name"),
        "soc": named.soc,
        "generation": named.generation or fallback.generation,
    }


def _load(row: Row) -> Row:
    kind = "hbm" if row["hbm_total_mb"] is not None else "memory"
    return {
        "health": row["health"],
        "responding": responding(row),
        "power_w": row["power_w"],
        "temp_c": row["temp_c"],
        "util_pct": row["util_pct"],
        "memory_type": "HBM" if kind == "hbm" else "DDR",
        "memory_used_mb": row[kind + "_used_mb"],
        "memory_total_mb": row[kind + "_total_mb"],
        "hbm_used_mb": row["hbm_used_mb"],
        "hbm_total_mb": row["hbm_total_mb"],
        "ddr_used_mb": row["memory_used_mb"],
        "ddr_total_mb": row["memory_total_mb"],
        "hugepages_used": row["hugepages_used"],
        "hugepages_total": row["hugepages_total"],
    }


def responding(row: Row) -> bool:
    """Tell a dead chip from a cool one: npu-smi leaves zeros where it cannot read (0.0 W, 0 C, 0/0 MB, bus 0000:00:00.0)."""
    values = (row["power_w"], row["temp_c"], row["memory_total_mb"], row["hbm_total_mb"])
    return row["bus_id"] != NO_BUS and any(values)


def _processes(chip_id: t.Optional[int], npu_id: t.Optional[int], info: Info) -> t.Optional[t.List[Row]]:
    """Return the processes of a chip: [] only when the table says so, None when it says nothing about this NPU."""
    if info.processes is None or npu_id is None:
        return None
    of_npu = [row for row in info.processes if row["npu_id"] == npu_id]
    if not of_npu and npu_id not in info.idle_npus:
        return None
    keys = ("pid", "name", "memory_mb", "container_pid")
    of_chip = [row for row in of_npu if row["chip_id"] == chip_id or None in (row["chip_id"], chip_id)]
    return [{key: row[key] if row[key] != "" else None for key in keys} for row in of_chip]


def _shared(pci: t.Sequence[Row]) -> Row:
    """Return the product and generation that all functions share; None where they differ or are unknown."""
    result = {}
    for key in ("product", "generation"):
        values = {function[key] for function in pci}
        result[key] = values.pop() if len(values) == 1 else None
    return result


def _number_nodes(chips: t.List[Row], nodes: t.Sequence[int], dev_root: str) -> None:
    """Give each chip its /dev/davinciN. Where npu-smi prints no physical id (310, 310P, 310B, A1, A2) the number is an assumption.

    As many nodes as chips: both in ascending order. Else, on A1 and A2 with one chip an NPU, the NPU id, if a node of that number exists.
    """
    if all(chip["phy_id"] is None for chip in chips):
        if len(nodes) == len(chips):
            ordered = sorted(chips, key=lambda chip: chip["logic_id"] if chip["logic_id"] is not None else len(chips))
            for chip, number in zip(ordered, sorted(nodes)):
                chip.update(phy_id=number, phy_id_source="device_order")
        elif all(chip["generation"] in ("A1", "A2") and chip["npu_id"] in nodes for chip in chips):
            for chip in chips:
                chip.update(phy_id=chip["npu_id"], phy_id_source="npu_id")
    for chip in chips:
        if chip["phy_id"] in nodes:
            chip["device_node"] = os.path.join(dev_root, "davinci{0}".format(chip["phy_id"]))
