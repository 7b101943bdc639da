# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""File systems of a host, wanted against found. Pure. Nothing here ever formats a device that holds anything, or unmounts one of others."""

from __future__ import annotations

import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._storage_state import OURS, Device, FstabLine, Mount, parse_fstab

GB = 10**9


class Wanted(t.NamedTuple):
    """One file system. ``device`` None only checks what is there; ``fstype`` None takes what is on the device."""

    path: str
    device: t.Optional[str]
    fstype: t.Optional[str]
    options: str
    format: bool
    min_bytes: int
    separate: bool


class Steps(t.NamedTuple):
    """What to do for one file system: type to format with ('' not at all), whether to write fstab and to mount."""

    format: str
    fstab: bool
    mount: bool

    @property
    def any(self) -> bool:
        return bool(self.format) or self.fstab or self.mount


def check_wanted(wanted: t.Sequence[Wanted]) -> None:
    """:raises NpufleetError: paths that cannot be meant"""
    paths = [item.path for item in wanted]
    for item in wanted:
        if not item.path.startswith("/") or item.path.rstrip("/") in ("", "/boot", "/etc", "/usr", "/var", "/proc", "/sys", "/dev"):
            raise _error("{0!r} is no folder for a file system of data".format(item.path), item.path, "Use a path such as /data/models")
        if paths.count(item.path) > 1:
            raise _error("the path is given twice", item.path, "Give each path once")
        if item.format and (item.device is None or item.fstype not in ("xfs", "ext4")):
            raise _error("formatting needs a device, and xfs or ext4", item.path, "Give device and fstype, or leave format out")


def steps_for(
    wanted: Wanted, device: Device, mounts: t.Sequence[Mount], fstab: t.Sequence[FstabLine], empty: bool, same_spec: t.Callable[[str], bool]
) -> Steps:
    """Compare one file system that has a device.

    :param empty: whether nothing lies in the folder
    :param same_spec: whether the first field of a line of fstab names this device
    :raises NpufleetError: something else is there
    """
    there = [mount for mount in mounts if mount.path == wanted.path]
    mounted = bool(there) and there[-1].source == device.path
    if there and not mounted:
        raise _error(
            "{0} is mounted there, and not {1}".format(there[-1].source, device.path), wanted.path, "Unmount it, or name it as device"
        )
    lines = [line for line in fstab if line.path == wanted.path]
    if any(not line.ours and not same_spec(line.spec) for line in lines):
        raise _error(
            "fstab has another device for this path: {0}".format(lines[0].spec), "/etc/fstab", "Remove that line, or name its device"
        )
    if not mounted:
        if device.use:
            raise _error("{0} is in use: {1}".format(device.path, device.use), wanted.path, "Free it, or name another device")
        if not empty:
            raise _error("the folder is not empty, and a mount would hide what is in it", wanted.path, "Move that away first")
    _check_content(wanted, device)
    foreign = any(not line.ours for line in lines)
    current = any(line.ours and same_spec(line.spec) and line.options == options_of(wanted) for line in lines)
    return Steps(str(wanted.fstype) if not device.fstype else "", not foreign and (not current or not device.fstype), not mounted)


def _check_content(wanted: Wanted, device: Device) -> None:
    if device.size_bytes and device.size_bytes < wanted.min_bytes:
        raise too_small(wanted, device.size_bytes)
    if device.fstype:
        if wanted.fstype and wanted.fstype != device.fstype:
            raise _error(
                "{0} holds {1} and not {2}".format(device.path, device.fstype, wanted.fstype), wanted.path, "Name the type that is there"
            )
        if not device.uuid:
            raise _error(
                "{0} holds {1} without a UUID".format(device.path, device.fstype), wanted.path, "Give it one, or name another device"
            )
        return
    if device.signature:
        raise _error("{0} holds {1}".format(device.path, device.signature), wanted.path, "Name a blank device, or the partition in it")
    if not wanted.format:
        raise _error("{0} is blank".format(device.path), wanted.path, "Set format: true and fstype to make a file system on it")


def too_small(wanted: Wanted, size: int) -> NpufleetError:
    """The message for a device below ``min_bytes``. What a file system keeps for itself is not counted: a disk of 1 TB is one."""
    return _error(
        "{0:.1f} GB are wanted and there are {1:.1f} GB".format(wanted.min_bytes / GB, size / GB),
        wanted.path,
        "Use a larger disk, or lower min_bytes",
    )


def not_separate(wanted: Wanted) -> NpufleetError:
    """The message for a path on the file system of the root, where another was asked for."""
    return _error("the path lies on the file system of /", wanted.path, "Give it a device of its own, or leave separate out")


def options_of(wanted: Wanted) -> str:
    """Options of our line: ours is marked, so that it can be told from others."""
    return ",".join(filter(None, (wanted.options, OURS)))


def with_line(text: str, line: FstabLine) -> str:
    """fstab with our line for this path, in the place of an older one of ours."""
    kept = without_line(text, line.path)
    passes = "2" if line.fstype.startswith("ext") else "0"
    escaped = line.path.replace("\\", "\\134").replace(" ", "\\040")
    added = "{0} {1} {2} {3} 0 {4}\n".format(line.spec, escaped, line.fstype, line.options, passes)
    return kept + ("" if not kept or kept.endswith("\n") else "\n") + added


def without_line(text: str, path: str) -> str:
    """fstab without our line for this path."""
    kept = (line for line in text.splitlines(True) if not any(entry.ours and entry.path == path for entry in parse_fstab(line)))
    return "".join(kept)


def _error(what: str, where: str, remedy: str) -> NpufleetError:
    return NpufleetError(what, where=where, remedy=remedy)
