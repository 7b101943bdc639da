# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Read the npu-smi answers that have columns: mapping (-m), topology, virtual NPU templates and instances, watch.

Columns are found by the words of the header: their number and order differ by generation.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._npu_smi_errors import unexpected

Row = t.Dict[str, t.Any]

_MAP_COLUMNS = {
    "NPU ID": "npu_id",
    "Slot ID": "slot_id",
    "Chip ID": "chip_id",
    "Chip Logic ID": "logic_id",
    "Chip Phy-ID": "phy_id",
    "Chip Name": "chip_name",
}
# An MCU has a row of its own, and so has the CPU of some edge boxes.
_NOT_A_CHIP = ("mcu", "3559")
_LABEL = re.compile(r"[A-Za-z][A-Za-z_-]*[0-9]{1,6}")
_WATCH_TITLE = re.compile(r"[A-Za-z][A-Za-z ]*\([A-Za-z%]+\)")
_PAIR = re.compile(r"([0-9]{1,12}|NA)/([0-9]{1,12}|NA)")
_VNPU_COUNT = re.compile(r"Total number of vnpu:\s*([0-9]{1,6})\b")


class Topology(t.NamedTuple):
    """``-t topo``: ``label`` says what ``devices`` count (NPU or Phy-ID); ``links`` maps "a-b" (a < b) to the way the two are connected.

    ``cpu_affinity`` has one CPU list a device, or is None: the column is missing on A3 and UB servers with Arm CPUs.
    """

    label: str
    devices: t.List[int]
    links: t.Dict[str, str]
    cpu_affinity: t.Optional[t.List[str]]


def parse_mapping(text: str) -> t.List[Row]:
    """Read ``info -m``: one row a chip or MCU with npu_id, chip_id, chip_name and, where the header has them, logic_id, phy_id, slot_id.

    :raises NpuSmiFormatError: no header, an unknown column, or a row that does not fit the header
    """
    columns: t.List[str] = []
    rows: t.List[Row] = []
    for line in text.splitlines():
        if "NPU ID" in line and "Chip Name" in line:
            titles = re.split(r"\s{2,}", line.strip())
            if any(title not in _MAP_COLUMNS for title in titles) or titles[-1] != "Chip Name":
                raise unexpected("info -m", line)
            columns = [_MAP_COLUMNS[title] for title in titles]
        elif columns and line[:1].isspace() and line.strip():
            rows.append(_mapping_row(columns, line))
    if not columns:
        raise unexpected("info -m", text)
    return rows


def _mapping_row(columns: t.List[str], line: str) -> Row:
    cells = line.strip().split(None, len(columns) - 1)  # the name comes last and may hold a blank
    if len(cells) != len(columns) or not all(re.fullmatch(r"[0-9]{1,12}|-|NA", cell) for cell in cells[:-1]) or not cells[0].isdigit():
        raise unexpected("info -m", line)
    row: Row = {key: None if cell in ("-", "NA") else int(cell) for key, cell in zip(columns, cells[:-1])}
    row["chip_name"] = cells[-1]
    return row


def is_chip(row: Row) -> bool:
    """Tell a row of an NPU chip from one of an MCU or another processor."""
    return str(row["chip_name"]).lower() not in _NOT_A_CHIP


def parse_topology(text: str) -> Topology:
    """Read the matrix of ``-t topo``; network cards, which newer versions add, are left out, and so is the legend.

    :raises NpuSmiFormatError: no matrix, or a row that does not fit it
    """
    header: t.List[str] = []
    affinity = False
    rows: t.Dict[str, t.List[str]] = {}
    for line in text.splitlines():
        words = line.split()
        labels = words[:-2] if words[-2:] == ["CPU", "Affinity"] else words
        if not header:
            if labels and all(_LABEL.fullmatch(word) for word in labels):
                header, affinity = labels, len(labels) < len(words)
        elif words and words[0] in header:
            rows[words[0]] = words[1:]
    devices = [name for name in header if re.match(r"NPU[0-9]|Phy-ID[0-9]", name)]
    if not devices or any(len(rows.get(name, [])) < len(header) + affinity for name in devices):
        raise unexpected("info -t topo", text)
    return _topology(header, devices, rows, affinity)


def _topology(header: t.List[str], devices: t.List[str], rows: t.Dict[str, t.List[str]], affinity: bool) -> Topology:
    numbers = {name: int(re.sub("[^0-9]", "", name)) for name in devices}
    links = {}
    for first in devices:
        for second in devices:
            if numbers[first] < numbers[second]:
                links["{0}-{1}".format(numbers[first], numbers[second])] = rows[first][header.index(second)]
    lists = ["".join(rows[name][len(header) :]) for name in devices] if affinity else None
    return Topology(re.sub("[0-9]", "", devices[0]), [numbers[name] for name in devices], links, lists)


def parse_templates(text: str) -> t.List[Row]:
    """Read ``-t template-info``: name, aicore, memory_gb, aicpu of each template of virtual NPUs.

    :raises NpuSmiFormatError: no table, or a row that does not fit it
    """
    templates: t.List[Row] = []
    body = False
    for cells in _frames(text):
        words = cells[0].split()
        if words and words[0] == "Name" and "AICORE" in words:
            body = True
        elif body and words and not re.fullmatch(r"[0-9.]+|GB|NA", words[0]):
            numbers = [_optional(word, "info -t template-info", cells[0]) for word in words[1:4]]
            if len(numbers) != 3:
                raise unexpected("info -t template-info", cells[0])
            templates.append({"name": words[0], "aicore": numbers[0], "memory_gb": numbers[1], "aicpu": numbers[2]})
    if not body:
        raise unexpected("info -t template-info", text)
    return templates


def parse_vnpus(text: str) -> Row:
    """Read ``-t info-vnpu -i N -c C``: free and total AI cores and memory of the chip, and its virtual NPUs.

    :raises NpuSmiFormatError: no resource row, no count, or a row that does not fit the table
    """
    result: Row = {"vnpu_count": None, "vnpus": []}
    body = False
    for cells in _frames(text):
        pairs = _PAIR.findall(cells[0])
        count = _VNPU_COUNT.search(cells[0])
        if count:
            result["vnpu_count"] = int(count.group(1))
        elif body:
            result["vnpus"].append(_vnpu(cells))
        elif cells[0] == "Vnpu ID":
            body = True
        elif len(pairs) >= 2:
            for key, pair in zip(("aicore", "memory_gb"), pairs):
                result[key + "_free"], result[key + "_total"] = (None if word == "NA" else int(word) for word in pair)
    if result["vnpu_count"] is None or "aicore_free" not in result:
        raise unexpected("info -t info-vnpu", text)
    return result


def _vnpu(cells: t.List[str]) -> Row:
    if len(cells) != 5:
        raise unexpected("info -t info-vnpu", " | ".join(cells))
    return {
        "vnpu_id": _optional(cells[0], "info -t info-vnpu", cells[0]),
        "vgroup_id": _optional(cells[1], "info -t info-vnpu", cells[1]),
        "container_id": cells[2],
        "in_use": cells[3] == "1",
        "template": cells[4],
    }


def parse_watch(text: str) -> t.Dict[str, t.Any]:
    """Read rows of ``info watch``: ``columns`` (titles as printed) and ``rows`` (words as printed, ``-`` and ``NA`` kept).

    :raises NpuSmiFormatError: no header, or a row with another number of words
    """
    columns: t.List[str] = []
    rows: t.List[t.List[str]] = []
    for line in text.splitlines():
        if line.lstrip().startswith("NpuID(Idx)"):
            columns = _WATCH_TITLE.findall(line)
        elif columns and line.strip():
            if len(line.split()) != len(columns):
                raise unexpected("info watch", line)
            rows.append(line.split())
    if not columns:
        raise unexpected("info watch", text)
    return {"columns": columns, "rows": rows}


def _frames(text: str) -> t.List[t.List[str]]:
    """Return the cells of the rows that start with a bar; a rule may be drawn between bars, too."""
    lines = [line.strip() for line in text.splitlines()]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|") and line.strip("|=-+")]


def _optional(word: str, command: str, line: str) -> t.Optional[int]:
    if word in ("NA", "-"):
        return None
    if not re.fullmatch(r"[0-9]{1,12}", word):
        raise unexpected(command, line)
    return int(word)
