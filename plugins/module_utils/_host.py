# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Facts of this host that a launch depends on: memory, disk, who holds a port, which OS. Reads /proc; roots are parameters for tests."""

from __future__ import annotations

import glob
import os
import pwd
import re
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._files import read_text

GIB = 1024**3
LISTEN = "0A"  # state of a socket in /proc/net/tcp (proc(5))


class HostError(NpufleetError):
    """The host does not have what is needed."""


def memory_available(proc: str = "/proc") -> int:
    """MemAvailable in bytes; 0 when unknown."""
    match = re.search(r"^MemAvailable:\s+(\d+) kB", read_text(proc + "/meminfo") or "", re.MULTILINE)
    return int(match.group(1)) * 1024 if match else 0


def disk_free(path: str) -> int:
    """Bytes a user may still write where ``path`` is, or will be."""
    path = os.path.abspath(path)
    while not os.path.exists(path):
        path = os.path.dirname(path)
    stat = os.statvfs(path)
    return stat.f_bavail * stat.f_frsize


def check_disk(path: str, needed: int, what: str) -> None:
    """:raises HostError: when fewer than ``needed`` bytes are free where ``path`` is"""
    free = disk_free(path)
    if free < needed:
        raise HostError(
            "{0} needs {1:.1f} GiB and {2:.1f} GiB are free".format(what, needed / GIB, free / GIB),
            where=path,
            remedy="Free space, or choose another folder",
        )


def check_enough_memory(needed: int, what: str, proc: str = "/proc") -> None:
    """:raises HostError: when fewer than ``needed`` bytes of memory are available"""
    available = memory_available(proc)
    if available < needed:
        raise HostError(
            "{0} needs {1:.1f} GiB of memory and {2:.1f} GiB are available".format(what, needed / GIB, available / GIB),
            where="host memory (MemAvailable)",
            remedy="Stop something, or take a larger host",
        )


class PortOwner(t.NamedTuple):
    """Who listens: ``pid`` is 0 and ``command`` empty where the kernel does not tell this user."""

    pid: int
    command: str

    def __str__(self) -> str:
        return "process {0} ({1})".format(self.pid, self.command) if self.pid else "a process of another user"


def port_owner(port: int, proc: str = "/proc") -> t.Optional[PortOwner]:
    """Return who listens on a TCP port of this host, or None."""
    inodes = _listening_inodes(port, proc)
    if not inodes:
        return None
    links = {"socket:[{0}]".format(inode) for inode in inodes}
    for folder in glob.glob(proc + "/[0-9]*/fd"):
        if _holds(folder, links):
            pid = int(folder.split("/")[-2])
            return PortOwner(pid, (read_text("{0}/{1}/comm".format(proc, pid)) or "?").strip())
    return PortOwner(0, "")


def _listening_inodes(port: int, proc: str) -> t.Set[str]:
    inodes = set()
    for name in ("tcp", "tcp6"):
        for line in (read_text("{0}/net/{1}".format(proc, name)) or "").splitlines()[1:]:
            fields = line.split()
            if len(fields) > 9 and fields[3] == LISTEN and int(fields[1].rpartition(":")[2], 16) == port:
                inodes.add(fields[9])
    return inodes


def _holds(folder: str, links: t.Set[str]) -> bool:
    try:
        return any(os.readlink(os.path.join(folder, name)) in links for name in os.listdir(folder))
    except OSError:
        return False  # another user's process, or one that just ended


def parent_pids(pid: int, proc: str = "/proc") -> t.List[int]:
    """``pid`` and its ancestors, nearest first."""
    chain: t.List[int] = []
    while pid > 0 and pid not in chain:
        chain.append(pid)
        match = re.match(r"\d+ \(.*\) \S (\d+)", read_text("{0}/{1}/stat".format(proc, pid)) or "", re.DOTALL)
        pid = int(match.group(1)) if match else 0
    return chain


def resident_bytes(pid: int, proc: str = "/proc") -> int:
    """Resident memory of a process and all its descendants, in bytes."""
    total = 0
    for folder in glob.glob(proc + "/[0-9]*"):
        other = int(folder.rpartition("/")[2])
        if pid in parent_pids(other, proc):
            match = re.search(r"^VmRSS:\s+(\d+) kB", read_text(folder + "/status") or "", re.MULTILINE)
            total += int(match.group(1)) * 1024 if match else 0
    return total


def check_port(port: int, own_pid: int, proc: str = "/proc") -> None:
    """:raises HostError: when somebody else than the process tree of ``own_pid`` listens on the port; says who"""
    owner = port_owner(port, proc)
    if owner is None or (own_pid and own_pid in parent_pids(owner.pid, proc)):
        return
    raise HostError(
        "the port {0} is in use by {1}".format(port, owner),
        where="port",
        remedy="Stop it, or give this engine another port (vllm_engine_port)",
    )


def check_user(name: str) -> None:
    """:raises HostError: when this host has no user of that name"""
    try:
        pwd.getpwnam(name)
    except KeyError:
        raise HostError(
            "the host has no user {0}".format(name), where="user", remedy="Make it first, or leave vllm_engine_user out"
        ) from None


def systemd_is_init(root: str = "") -> bool:
    """True where systemd is PID 1 (sd_booted(3))."""
    return os.path.isdir(root + "/run/systemd/system")


class OsRelease(t.NamedTuple):
    """Identity from os-release(5): ``id`` and ``like`` in lower case."""

    id: str
    like: t.Tuple[str, ...]
    version: str
    pretty: str


def os_release(root: str = "") -> OsRelease:
    """Read /etc/os-release, or /usr/lib/os-release; empty fields where there is none."""
    text = read_text(root + "/etc/os-release") or read_text(root + "/usr/lib/os-release") or ""
    values = {}
    for line in text.splitlines():
        key, sign, value = line.partition("=")
        if sign:
            values[key.strip()] = value.strip().strip("\"'")
    return OsRelease(
        id=values.get("ID", "").lower(),
        like=tuple(values.get("ID_LIKE", "").lower().split()),
        version=values.get("VERSION_ID", ""),
        pretty=values.get("PRETTY_NAME") or values.get("NAME", "") or "an unknown system",
    )
