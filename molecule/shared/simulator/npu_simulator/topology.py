# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""``npu-smi info -t topo`` and the endless rows of ``npu-smi info watch``."""

from __future__ import annotations

import typing as t

from npu_simulator.answers import number
from npu_simulator.state import Chip, State

LABEL_WIDTH = 11
LEGEND = (
    ("X", "the device itself"),
    ("SYS", "over PCIe and between NUMA nodes"),
    ("PHB", "over PCIe and the host bridge of one CPU"),
    ("PIX", "over one PCIe switch"),
    ("PXB", "over several PCIe switches"),
    ("HCCS", "over HCCS"),
)
A3_LEGEND = (("SIO", "over the SIO bus"), ("HCCS_SW", "over HCCS and a switch"), ("NA", "unknown"))


def topology(state: State) -> t.List[str]:
    """The link matrix, the CPU affinity (missing on A3 and on UB servers) and the legend."""
    is_a3 = state["generation"] == "A3"
    has_affinity = not is_a3 and state["board"]["pci_device"] != "NA"
    labels = [_label(is_a3, index, chip) for index, chip in enumerate(state["chips"])]
    lines = ["\t   " + "".join(label.ljust(LABEL_WIDTH) for label in labels) + ("CPU Affinity" if has_affinity else "")]
    for label, chip in zip(labels, state["chips"]):
        links = "".join(_link(state, chip, other).ljust(LABEL_WIDTH) for other in state["chips"])
        lines.append(label.ljust(LABEL_WIDTH) + links + (chip["cpus"] if has_affinity else ""))
    lines += ["", "Legend:", ""]
    lines += ["  {0:<4} = {1}".format(sign, meaning) for sign, meaning in LEGEND + (A3_LEGEND if is_a3 else ())]
    return lines


def _label(is_a3: bool, index: int, chip: Chip) -> str:
    return "Phy-ID{0}".format(chip["phy"]) if is_a3 else "NPU{0}".format(index)


def _link(state: State, chip: Chip, other: Chip) -> str:
    if chip is other:
        return "X"
    same_card = chip["npu"] == other["npu"]
    generation = state["generation"]
    if generation == "A3":
        return "SIO" if same_card else "HCCS_SW"
    if generation in ("910", "A2"):
        return "HCCS"
    if same_card:
        return "PIX"
    return "PHB" if chip["numa_node"] == other["numa_node"] else "SYS"


def watch_header(state: State) -> str:
    """The header of ``info watch``, printed once."""
    titles = ["NpuID(Idx)", "ChipId(Idx)", "Pwr(W)", "Temp(C)", "AI Core(%)", "AI Cpu(%)", "Ctrl Cpu(%)", "Memory(%)", "Memory BW(%)"]
    return _watch_row(state, titles, ["NPU Util(%)", "AI Cube(%)"])


def watch_rows(state: State) -> t.List[str]:
    """One row for each chip."""
    rows = []
    for chip in state["chips"]:
        used, total = chip["hbm"] if chip["hbm"][1] else chip["memory"]
        share = int(100 * (used or 0) / total) if total else 0
        values = [chip["npu"], chip["chip"], number(chip["power"]), chip["temp"], chip["util"], 0, 1, share, 0]
        rows.append(_watch_row(state, values, [chip["util"], chip["util"] // 2]))
    return rows


def _watch_row(state: State, values: t.Sequence[t.Any], newer: t.Sequence[t.Any]) -> str:
    cells = list(values)
    if state["generation"] == "A5":
        del cells[1]
    line = "".join(str(cell).ljust(12) for cell in cells)
    if int(state["driver_version"].split(".")[0]) >= 25:
        line += "".join(" " + str(cell).ljust(12) for cell in newer)
    return line
