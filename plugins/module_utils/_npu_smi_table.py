# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Read the device table and the process table of ``npu-smi info``.

The layout is chosen by the words of the header, never by chip name or version: one version prints different tables for different chips.
Cells are split at ``|``, not at columns, since long process names push a row out of its frame. docs/npu-facts.md lists the layouts.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._npu_smi_errors import NpuSmiFormatError

HEALTH_STATES = ("OK", "Warning", "Alarm", "Critical", "UNKNOWN")

Row = t.Dict[str, t.Any]

_VERSIONS = re.compile(r"npu-smi\s+(\S+)\s+Version:\s*(\S+)")
_IDLE = re.compile(r"No running processes found in NPU\s+([0-9]{1,9})\b")
# Numbers are bounded, since int() of thousands of digits is an error of its own since Python 3.11.
_NUMBER = r"(NA|-|-?[0-9]{1,12}(?:\.[0-9]{1,6})?)"
_PAIR = r"(NA|[0-9]{1,12})\s*/\s*(NA|[0-9]{1,12})"
_ID = re.compile(r"[0-9]{1,12}")


class Info(t.NamedTuple):
    """What ``npu-smi info`` printed.

    chips: one dict a chip, in the order of the table, with npu_id, chip_id, device_id (the Device column, a logic id), phy_id, name,
    health, power_w, temp_c, hugepages_used, hugepages_total (2 MB pages), bus_id, util_pct, memory_used_mb, memory_total_mb (DDR),
    hbm_used_mb, hbm_total_mb. A value that is absent, ``NA`` or ``-`` is None.
    processes: None when the tool printed no process table; else npu_id, chip_id, pid (of the host), name, memory_mb, container_pid.
    idle_npus: NPU ids for which the tool says that no process runs.
    warnings: lines outside of the tables.
    """

    tool_version: str
    driver_version: str
    chips: t.List[Row]
    processes: t.Optional[t.List[Row]]
    idle_npus: t.List[int]
    warnings: t.List[str]


class _Layout(t.NamedTuple):
    """What the two header rows say about the rows below."""

    id_cells: int  # 1 when NPU and Name share a cell, 2 when each has its own (A5)
    second_id: t.Optional[str]  # what the number after the chip id is: device_id, phy_id, or nothing
    row1: t.Pattern[str]
    row2: t.Pattern[str]
    pairs: t.Tuple[str, ...]  # prefixes of the used/total pairs of row 2, in order
    hugepages: bool


def parse_info(text: str) -> Info:
    """Parse the whole output of ``npu-smi info``, with any log lines before and after it.

    :raises NpuSmiFormatError: no device table, an unknown header, a row that does not fit its header, or a table that breaks off
    """
    reader = _Reader()
    for line in text.splitlines():
        reader.feed(line)
    return reader.result()


class _Reader:
    """Goes through the lines once: version line, two header rows, device rows, then maybe the process table."""

    def __init__(self) -> None:
        self.versions: t.Optional[t.Tuple[str, str]] = None
        self.header: t.List[str] = []
        self.layout: t.Optional[_Layout] = None
        self.half: t.Optional[Row] = None
        self.chips: t.List[Row] = []
        self.processes: t.Optional[t.List[Row]] = None
        self.process_columns: t.Tuple[str, ...] = ()
        self.idle: t.List[int] = []
        self.warnings: t.List[str] = []
        self.framed = False

    def feed(self, line: str) -> None:
        text = line.strip()
        if not text:
            return
        if text[0] == "+" and not text.strip("+-= "):
            self.framed = True
        elif text[0] == "|":
            self.framed = False
            self._frame_row(text)
        else:
            self.warnings.append(text[len("[WARNING]") :].strip() if text.startswith("[WARNING]") else text)

    def _frame_row(self, text: str) -> None:
        if self.versions is None:
            found = _VERSIONS.search(text)
            if not found:
                self._fail("an unknown table", text)
            else:
                self.versions = (found.group(1), found.group(2))
        elif self.layout is None:
            self.header.append(text)
            if len(self.header) == 2:
                self.layout = self._read_header()
        elif "Process id" in text and "Process name" in text:
            self._start_processes(text)
        elif self.processes is None:
            self._device_row(self.layout, text)
        else:
            self._process_row(text)

    def _read_header(self) -> _Layout:
        first, second = self.header
        id_words = _cells(second)[0].split()
        expected = all(word in first for word in ("NPU", "Name", "Health", "Power(W)", "Temp(C)"))
        known: t.Dict[str, t.Optional[str]] = {"Chip Device": "device_id", "Chip Phy-ID": "phy_id", "Chip": None, "": None}
        pairs = re.findall(r"(Memory|HBM)-Usage\(MB\)", second)
        if not expected or " ".join(id_words) not in known or "Bus-Id" not in second or not pairs:
            self._fail("an unknown table header", first + " / " + second)
        hugepages = "Hugepages-Usage" in first
        return _Layout(
            id_cells=2 if "NPU ID" in first else 1,
            second_id=known[" ".join(id_words)],
            row1=re.compile(r"\s+".join([_NUMBER, _NUMBER] + [_PAIR] * hugepages)),
            row2=re.compile(r"\s+".join([_NUMBER] + [_PAIR] * len(pairs))),
            pairs=tuple("hbm" if word == "HBM" else "memory" for word in pairs),
            hugepages=hugepages,
        )

    def _device_row(self, layout: _Layout, text: str) -> None:
        cells = _cells(text)
        if len(cells) != layout.id_cells + 2:
            self._fail("a device row with {0} cells".format(len(cells)), text)
        row2 = layout.row2.fullmatch(cells[-1])
        row1 = layout.row1.fullmatch(cells[-1])
        if row2:
            self._second_row(layout, cells, row2, text)
        elif row1 and self.half is None:
            self.half = self._first_row(layout, cells, row1, text)
        else:
            self._fail("a device row that does not fit its header", text)

    def _first_row(self, layout: _Layout, cells: t.List[str], values: t.Match[str], text: str) -> Row:
        words = " ".join(cells[: layout.id_cells]).split(None, 1)
        if not words or not _ID.fullmatch(words[0]):
            self._fail("a device row without an NPU id", text)
        chip = _empty_chip()
        chip["npu_id"] = int(words[0])
        chip["name"] = words[1].strip() if len(words) > 1 else None
        # Anything but the documented states is unknown, never healthy.
        chip["health"] = cells[-2] if cells[-2] in HEALTH_STATES else "UNKNOWN"
        chip["power_w"] = _number(values.group(1))
        temp = _number(values.group(2))
        chip["temp_c"] = None if temp is None else int(temp)
        if layout.hugepages:
            chip["hugepages_used"], chip["hugepages_total"] = _integer(values.group(3)), _integer(values.group(4))
        return chip

    def _second_row(self, layout: _Layout, cells: t.List[str], values: t.Match[str], text: str) -> None:
        # npu-smi leaves row 1 out when the health value is invalid: the chip stays, its NPU id is not known here.
        chip = self.half or _empty_chip()
        self.half = None
        ids = [word for cell in cells[: layout.id_cells] for word in cell.split()]
        wanted = [] if layout.id_cells == 2 else ["chip_id"] + ([layout.second_id] if layout.second_id else [])
        if len(ids) != len(wanted) or not all(_ID.fullmatch(word) for word in ids):
            self._fail("a device row with unexpected ids", text)
        for key, word in zip(wanted, ids):
            chip[key] = int(word)
        chip["bus_id"] = None if cells[-2] in ("NA", "-", "") else cells[-2]
        util = _number(values.group(1))
        chip["util_pct"] = None if util is None else int(util)
        for index, prefix in enumerate(layout.pairs):
            chip[prefix + "_used_mb"] = _integer(values.group(2 * index + 2))
            chip[prefix + "_total_mb"] = _integer(values.group(2 * index + 3))
        self.chips.append(chip)

    def _start_processes(self, text: str) -> None:
        if self.half is not None:
            self._fail("a chip whose second row is missing", text)
        self.processes = []
        first = _cells(text)[0].split()
        ids = {"NPU Chip": ("npu_id", "chip_id"), "NPU ID": ("npu_id",)}.get(" ".join(first))
        if ids is None:
            self._fail("an unknown process table header", text)
        else:
            self.process_columns = ids + (("container_pid",) if "Process id in container" in text else ())

    def _process_row(self, text: str) -> None:
        idle = _IDLE.search(text)
        if idle:
            self.idle.append(int(idle.group(1)))
            return
        cells = _cells(text)
        with_container = self.process_columns[-1] == "container_pid"
        tail = 2 if with_container else 1
        # A name that holds a bar itself gives more cells than the header.
        name = "|".join(cells[2 : len(cells) - tail])
        ids = cells[0].split()
        columns = [column for column in self.process_columns if column != "container_pid"]
        fits = len(cells) >= 3 + tail and len(ids) == len(columns) and all(_ID.fullmatch(word) for word in ids + cells[1:2])
        if not fits or self.processes is None:
            self._fail("a process row that does not fit its header", text)
        else:
            row: Row = {"npu_id": int(ids[0]), "chip_id": int(ids[1]) if len(ids) > 1 else None, "pid": int(cells[1]), "name": name}
            row["memory_mb"] = self._process_number(cells[-tail], text)
            row["container_pid"] = self._process_number(cells[-1], text) if with_container else None
            self.processes.append(row)

    def _process_number(self, cell: str, text: str) -> t.Optional[int]:
        if cell not in ("NA", "-") and not _ID.fullmatch(cell):
            self._fail("a process row that does not fit its header", text)
        return _integer(cell)

    def _fail(self, what: str, line: str) -> t.NoReturn:
        tool = "npu-smi " + self.versions[0] if self.versions else "npu-smi"
        raise NpuSmiFormatError("{0} info printed {1}: {2!r}".format(tool, what, line[:160]), "npu-smi info", "Report the whole output")

    def result(self) -> Info:
        if self.versions is None or self.layout is None:
            self._fail("no device table", "; ".join(self.warnings))
        if self.half is not None or not self.framed:
            self._fail("a table that breaks off", "end of output")
        return Info(self.versions[0], self.versions[1], self.chips, self.processes, self.idle, self.warnings)


def _empty_chip() -> Row:
    keys = (
        "npu_id chip_id device_id phy_id name health power_w temp_c hugepages_used hugepages_total bus_id util_pct "
        "memory_used_mb memory_total_mb hbm_used_mb hbm_total_mb"
    )
    chip: Row = dict.fromkeys(keys.split())
    chip["health"] = "UNKNOWN"
    return chip


def _cells(text: str) -> t.List[str]:
    inner = text[1:-1] if text.endswith("|") and len(text) > 1 else text[1:]
    return [cell.strip() for cell in inner.split("|")]


def _number(word: str) -> t.Optional[float]:
    return None if word in ("NA", "-") else float(word)


def _integer(word: str) -> t.Optional[int]:
    return None if word in ("NA", "-") else int(word)
