# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The device and process tables of ``npu-smi info``, one description per layout that has been seen.

A layout is data: inner widths of the cells and the offsets at which the columns of a cell begin. The widths are those of public captures,
except L6b (published source only) and L10 (header and rules captured, columns of the last cell assumed to be those of L8).
"""

from __future__ import annotations

import typing as t

from npu_simulator.state import Chip, State, chips_of, npu_ids


class Layout(t.NamedTuple):
    """Geometry of one table. Cells are inner widths; offsets count from the left edge of the last cell."""

    cells: t.Tuple[int, ...]
    npu_width: int
    second_column: str
    version_offset: int
    top_offsets: t.Tuple[int, ...]
    bottom_offsets: t.Tuple[int, ...]
    memory_columns: t.Tuple[str, ...]
    has_hugepages: bool = True
    used_widths: t.Tuple[int, ...] = (5, 5, 5)
    process_cells: t.Tuple[int, ...] = ()
    # The cell of the identity holds NPU and name up to A3; from A5 on they have cells of their own.
    split_identity: bool = False
    full_width_divider: bool = False
    process_row_shortage: int = 0

    @property
    def width(self) -> int:
        """Columns of a whole line."""
        return sum(self.cells) + len(self.cells) + 1


_DDR = ("Memory-Usage(MB)",)
_HBM = ("Memory-Usage(MB)", "HBM-Usage(MB)")
_L6 = Layout((27, 15, 52), 5, "", 35, (1, 13, 31), (1, 13, 31), _HBM, process_cells=(27, 15, 26, 25))
_L8 = Layout((27, 15, 70), 5, "", 46, (1, 22, 46), (1, 22, 46), _HBM, process_cells=(27, 15, 20, 23, 25))
_L5 = Layout((31, 17, 54), 7, "Device", 51, (1, 14, 32), (1, 14), _DDR, process_cells=(31, 17, 26, 27))

LAYOUTS = {
    "L1": Layout((19, 17, 40), 7, "Device", 39, (1, 19), (1, 19), _DDR, has_hugepages=False),
    "L2": Layout((22, 15, 45), 5, "", 35, (1, 12), (1, 12, 30), _HBM, has_hugepages=False),
    "L3": _L6._replace(cells=(22, 15, 52), process_cells=()),
    "L4": _L5._replace(cells=(19, 17, 54), version_offset=39, process_cells=()),
    "L4b": _L5._replace(cells=(23, 17, 54), version_offset=43, process_cells=()),
    "L5": _L5,
    "L5b": _L5._replace(used_widths=(6, 5, 5)),
    "L6": _L6,
    "L6b": _L6._replace(cells=(27, 15, 53), used_widths=(6, 5, 6), process_cells=(27, 15, 26, 26)),
    "L7": _L6._replace(second_column="Phy-ID", full_width_divider=True),
    "L8": _L8,
    "L8-phy": _L8._replace(second_column="Phy-ID", full_width_divider=True),
    "L9": Layout(
        (8, 18, 15, 53), 0, "", 51, (1, 13, 31), (1, 13, 31), _HBM,
        used_widths=(6, 5, 6), process_cells=(27, 15, 26, 26), split_identity=True, process_row_shortage=1,
    ),
    "L10": Layout(
        (8, 18, 15, 70), 0, "", 51, (1, 22, 46), (1, 22, 46), _HBM,
        used_widths=(6, 5, 6), process_cells=(27, 15, 20, 23, 25), split_identity=True, process_row_shortage=1,
    ),
}  # fmt: skip


def render(state: State) -> t.List[str]:
    """Return the lines of ``npu-smi info``: device table and, unless ``processes`` is null, process table."""
    layout = LAYOUTS[state["layout"]]
    lines = _head(layout, state)
    for npu in npu_ids(state):
        chips = chips_of(state, npu)
        for position, chip in enumerate(chips):
            lines += _chip_rows(layout, chip)
            if position + 1 < len(chips):
                lines.append(_divider(layout))
        lines.append(_card_rule(layout, state))
    if state["processes"] is None or not layout.process_cells:
        return _close(layout, state, lines)
    return _close(layout, state, lines + _process_table(layout, state))


def _head(layout: Layout, state: State) -> t.List[str]:
    inner = layout.width - 2
    version = " npu-smi {0}".format(state["tool_version"]).ljust(layout.version_offset - 1) + "Version: {0}".format(state["driver_version"])
    top = ["Power(W)", "Temp(C)"] + (["Hugepages-Usage(page)"] if layout.has_hugepages else [])
    bottom = ["NPU Util(%)" if layout.split_identity else "AICore(%)", *list(layout.memory_columns)]
    if layout.split_identity:
        left, below = [" NPU ID", " Name"], ["", ""]
    else:
        left, below = [_identity(layout, "NPU", "Name")], [_identity(layout, "Chip", layout.second_column)]
    return [
        "+" + "-" * inner + "+",
        "|" + version.ljust(inner) + "|",
        rule(layout.cells, "-"),
        _line(layout.cells, [*left, " Health", _columns(layout.top_offsets, top)]),
        _line(layout.cells, [*below, " Bus-Id", _columns(layout.bottom_offsets, bottom)]),
        rule(layout.cells, "="),
    ]


def _chip_rows(layout: Layout, chip: Chip) -> t.List[str]:
    hugepages_width, memory_width, hbm_width = layout.used_widths
    top = [_number(chip["power"]), _number(chip["temp"])] + ([_pair(chip["hugepages"], hugepages_width)] if layout.has_hugepages else [])
    bottom = [_number(chip["util"]), _pair(chip["memory"], memory_width)]
    if len(layout.memory_columns) > 1:
        bottom.append(_pair(chip["hbm"], hbm_width))
    if layout.split_identity:
        left, below = [" {0}".format(chip["npu"]), " {0}".format(chip["name"])], ["", ""]
    else:
        left = [_identity(layout, chip["npu"], chip["name"])]
        second = {"Device": chip["device"], "Phy-ID": chip["phy"]}.get(layout.second_column, "")
        below = [_identity(layout, chip["chip"], second)]
    rows = [_line(layout.cells, [*below, " {0}".format(chip["bus"] or "NA"), _columns(layout.bottom_offsets, bottom)])]
    # An invalid health value makes npu-smi leave out the first row of a chip, not the second (published source).
    if chip["health"] is not None:
        rows.insert(0, _line(layout.cells, [*left, " {0}".format(chip["health"]), _columns(layout.top_offsets, top)]))
    return rows


def _process_table(layout: Layout, state: State) -> t.List[str]:
    cells = layout.process_cells
    outer = (*tuple(cells[:2]), sum(cells[2:]) + len(cells) - 3)
    first = " NPU ID" if layout.split_identity else " {0:<7} {1}".format("NPU", "Chip")
    titles = [first, " Process id", " Process name", " Process memory(MB)", " Process id in container"]
    lines = [rule(outer, "-"), _line(cells, titles[: len(cells)]), rule(outer, "=")]
    for npu in npu_ids(state):
        rows = [process for process in state["processes"] if process["npu"] == npu]
        lines += [_process_row(layout, process) for process in rows]
        if not rows:
            text = " No running processes found in NPU {0}".format(npu)
            lines.append("|" + text.ljust(layout.width - 2) + "|")
        lines.append(rule(outer, "="))
    return lines


def _process_row(layout: Layout, process: t.Dict[str, t.Any]) -> str:
    cells = list(layout.process_cells)
    cells[-1] -= layout.process_row_shortage
    first = " {0}".format(process["npu"]) if layout.split_identity else " {0:<7} {1}".format(process["npu"], process["chip"])
    container = process.get("container_pid")
    values = [first, " {0}".format(process["pid"]), " {0}".format(process["name"]), " {0}".format(process["memory"])]
    values.append(" {0}".format("NA" if container is None else container))
    return _line(cells, values[: len(cells)])


def _card_rule(layout: Layout, state: State) -> str:
    # On UB servers the rule after a card does not fit the cells above it (captured).
    if state["layout"] == "L10":
        return rule((27, 15, 70), "=")
    return rule(layout.cells, "=")


def _close(layout: Layout, state: State, lines: t.List[str]) -> t.List[str]:
    """Some old versions end the last table with a dashed rule (310Pvir 22.0.4, 910B2C 23.0.2.1)."""
    if state.get("closing_rule") == "-":
        return [*lines[:-1], lines[-1].replace("=", "-")]
    return lines


def _divider(layout: Layout) -> str:
    if layout.full_width_divider:
        return "+" + "-" * (layout.width - 2) + "+"
    return rule(layout.cells, "-")


def rule(cells: t.Sequence[int], sign: str) -> str:
    """Return a rule with a plus at every cell border."""
    return "+" + "+".join(sign * cell for cell in cells) + "+"


def _line(cells: t.Sequence[int], texts: t.Sequence[str]) -> str:
    """Join cells; a text longer than its cell pushes the rest to the right, as npu-smi's own padding does."""
    return "|" + "|".join(text.ljust(cell) for cell, text in zip(cells, texts)) + "|"


def _identity(layout: Layout, first: t.Any, second: t.Any) -> str:
    return " {0:<{1}} {2}".format(first, layout.npu_width, second)


def _columns(offsets: t.Sequence[int], texts: t.Sequence[str]) -> str:
    line = ""
    for offset, text in zip(offsets, texts):
        line = line.ljust(offset) + text
    return line


def _pair(pair: t.Sequence[t.Optional[int]], used_width: int) -> str:
    used, total = pair
    return "NA / {0}".format(total) if used is None else "{0:<{1}}/ {2}".format(used, used_width, total)


def _number(value: t.Any) -> str:
    """Text markers such as NA and - are kept; power has one decimal."""
    return "{0:.1f}".format(value) if isinstance(value, float) else str(value)
