# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""What a bundle holds, or would hold, as lines for a person. Pure."""

from __future__ import annotations

import typing as t

UNITS = ("B", "KiB", "MiB", "GiB", "TiB")

Mapping = t.Mapping[str, t.Any]
Row = t.Tuple[str, t.Optional[int]]


def human(size: t.Optional[int]) -> str:
    """Return a size in bytes for people; '?' where it is not known."""
    if size is None:
        return "?"
    number, unit = float(size), 0
    while number >= 1024 and unit < len(UNITS) - 1:
        number, unit = number / 1024, unit + 1
    return "{0:.0f} {1}".format(number, UNITS[unit]) if unit == 0 else "{0:.1f} {1}".format(number, UNITS[unit])


def summary(content: Mapping, packages: t.Iterable[Mapping], answers: t.Iterable[Mapping], names: bool) -> t.List[str]:
    """Return a line for each part, for each file when ``names`` is set, and the total.

    :param content: result of bundle_content
    :param packages: Huawei packages of the plan
    :param answers: what servers said about their files: results of ansible.builtin.uri with ``item`` of ascend_artifacts
    """
    sizes = {answer["item"]["file"]: _length(answer) for answer in answers if answer.get("item")}
    parts: t.Dict[str, t.List[Row]] = {}
    for name in sorted({package["file"] for package in packages}):
        parts.setdefault("packages", []).append((name, sizes.get(name)))
    for part in content["parts"]:
        parts.setdefault(part["name"], [])
    for row in content["files"]:
        folder = max((name for name in parts if row["path"] == name or row["path"].startswith(name + "/")), key=len)
        parts[folder].append((row["file"], row["size"]))
    lines = []
    for name, rows in parts.items():
        lines.append("{0}: {1}".format(name, _amount(rows)))
        if names:
            lines += ["  {0} {1}".format(file, human(size)) for file, size in rows]
    return [*lines, "total: {0}".format(_amount([row for rows in parts.values() for row in rows]))]


def _length(answer: Mapping) -> t.Optional[int]:
    value = str(answer.get("content_length", ""))
    return int(value) if answer.get("status") == 200 and value.isdigit() else None


def _amount(rows: t.Sequence[Row]) -> str:
    unknown = sum(1 for _file, size in rows if size is None)
    text = "{0} file{1}, {2}".format(len(rows), "" if len(rows) == 1 else "s", human(sum(size or 0 for _file, size in rows)))
    return text + (", the size of {0} is not known".format(unknown) if unknown else "")
