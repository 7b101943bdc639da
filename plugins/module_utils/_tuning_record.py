# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""The record of host_tuning: what each value was before the first change. It is written before a change, so an interrupted run can be undone."""

from __future__ import annotations

import json
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError

FORMAT = 1


class Entry(t.NamedTuple):
    """One kernel file: ``before`` is the value found before the first change, ``set`` the last one that was written."""

    knob: str
    path: str
    form: str
    before: str
    set: str


class Record(t.NamedTuple):
    """All of it.

    ``arguments`` are words of the kernel command line that we added, ``services`` what irqbalance was, ``tuned`` the profile before ours
    (None: untouched) and ``tuned_auto`` whether TuneD had chosen it itself, ``pending`` commands that have to follow a change of files and
    have not been confirmed.
    """

    values: t.Dict[str, Entry] = {}
    arguments: t.Tuple[str, ...] = ()
    services: t.Dict[str, t.Dict[str, bool]] = {}
    tuned: t.Optional[str] = None
    tuned_auto: bool = False
    pending: t.Tuple[str, ...] = ()


def read_record(text: t.Optional[str], path: str) -> Record:
    """Parse the file.

    :raises NpufleetError: it holds something else; without it nothing could be put back
    """
    if text is None:
        return Record()
    try:
        data = json.loads(text)
        if data["format"] != FORMAT:
            raise ValueError("format {0}".format(data["format"]))
        return Record(
            {key: Entry(*(str(item[field]) for field in Entry._fields)) for key, item in data["values"].items()},
            tuple(data["arguments"]),
            {name: {key: bool(value) for key, value in item.items()} for name, item in data["services"].items()},
            data["tuned"],
            bool(data["tuned_auto"]),
            tuple(data["pending"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as exc:
        raise NpufleetError(
            "the record of the values before the tuning cannot be read ({0})".format(exc),
            where=path,
            remedy="Repair it, or delete it: then the values of now count as those found first",
        ) from exc


def record_text(record: Record) -> str:
    """The file, for people to read as well."""
    data = {
        "format": FORMAT,
        "values": {key: entry._asdict() for key, entry in sorted(record.values.items())},
        "arguments": list(record.arguments),
        "services": record.services,
        "tuned": record.tuned,
        "tuned_auto": record.tuned_auto,
        "pending": list(record.pending),
    }
    return json.dumps(data, indent=2, sort_keys=True) + "\n"


def is_empty(record: Record) -> bool:
    """Whether nothing is left to be put back."""
    return record == Record()
