# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""What this collection did to a container engine, remembered on the host so that it can be undone.

The record also holds the default runtime that the site had: the installer of the Ascend Docker Runtime overwrites it, and its uninstaller
removes the key (tried with 26.0.0), so the file alone does not tell.
"""

from __future__ import annotations

import copy
import json
import os
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._container_json import Change, Config
from ansible_collections.npufleet.ascend.plugins.module_utils._files import make_folders, read_text, write_text

MANAGER = "npufleet.ascend"


class Record(t.NamedTuple):
    """
    :param known: is the default runtime of the site known?
    :param site_default: that default; None where the file named none
    :param managed: names of the runtimes that this collection, or an installer it ran, put there
    :param default_set: the default runtime that this collection wrote last, None where it never did
    :param seen: names of all runtimes that the file had after the last call; None where it had no such key
    :param changes: what to undo, see _container_json
    :param created: did the file not exist before?
    :param daemon: which start of the daemon is known to have read ``values``
    :param values: what it read of the keys that are ours
    """

    known: bool = False
    site_default: t.Optional[str] = None
    managed: t.Tuple[str, ...] = ()
    default_set: t.Optional[str] = None
    seen: t.Optional[t.Tuple[str, ...]] = None
    changes: t.Tuple[Change, ...] = ()
    created: bool = False
    daemon: str = ""
    values: t.Optional[Config] = None


def record_path(folder: str, engine: str) -> str:
    """Where the record of an engine lies."""
    return os.path.join(folder, engine + ".json")


def load_record(path: str) -> t.Optional[Record]:
    """Return the record, or None where there is none or it is damaged."""
    try:
        value = json.loads(read_text(path) or "")
        if value.pop("managed_by") != MANAGER:
            return None
        seen = value["seen"]
        lists = {"managed": tuple(value["managed"]), "changes": tuple(value["changes"]), "seen": None if seen is None else tuple(seen)}
        return Record(**dict(value, **lists))
    except (ValueError, TypeError, AttributeError, KeyError):
        return None


def save_record(path: str, record: Record) -> None:
    """Write the record where it differs from the one that is there."""
    text = json.dumps(dict(record._asdict(), managed_by=MANAGER), sort_keys=True, indent=1) + "\n"
    if read_text(path) != text:
        make_folders(os.path.dirname(path))
        write_text(path, text, 0o600)


def site_default(current: t.Optional[str], names: t.Collection[str], record: Record) -> t.Optional[str]:
    """Return the default runtime of the site: that of the file, unless this collection or an installer wrote it.

    :param current: what the file names now
    :param names: runtimes that are ours; a default that is one of them may be the work of an installer
    """
    if record.known and current is not None and (current in names or current == record.default_set):
        return record.site_default
    return current


def restored_default(current: t.Optional[str], record: Record) -> t.Optional[str]:
    """Return the default runtime as the site had it, with all of this removed. The uninstaller leaves no key behind."""
    if record.known and current is None:
        return record.site_default
    return site_default(current, record.managed, record)


def baseline(config: Config, names: t.Collection[str], record: Record) -> Config:
    """Return ``config`` without the runtimes that an installer added since the last call: they are undone like our own."""
    result = copy.deepcopy(config)
    runtimes = result.get("runtimes")
    if not record.known or runtimes is None:
        return result
    for name in names:
        if name not in (record.seen or ()):
            runtimes.pop(name, None)
    if not runtimes and record.seen is None:
        result.pop("runtimes")
    return result


def remembered(config: Config, wanted_default: t.Optional[str], names: t.Collection[str], record: Record) -> Record:
    """Return the record with what the file, as it is before this call, says of the site."""
    current = config.get("default-runtime")
    return record._replace(
        known=True,
        site_default=site_default(current, names, record),
        managed=tuple(sorted({*record.managed, *names})),
        default_set=wanted_default or record.default_set,
    )


def combine_changes(recorded: t.Sequence[Change], fresh: t.Sequence[Change]) -> t.Tuple[Change, ...]:
    """Add fresh changes to those recorded. Of a value that was changed before, the first ``before`` counts, unless somebody else set it since."""
    result = {tuple(change["path"]): change for change in recorded}
    for change in fresh:
        path = tuple(change["path"])
        earlier = result.get(path)
        if earlier is not None and earlier["set"] == change["before"]:
            change = dict(change, had=earlier["had"], before=earlier["before"])
        result[path] = change
    return tuple(result.values())
