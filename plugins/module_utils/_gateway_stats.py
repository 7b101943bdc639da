# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""What HAProxy tells over its socket: its processes, the servers of a backend, and their states. Parsers only (HAProxy 2.4 to 3.0)."""

from __future__ import annotations

import csv
import re
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError

# Bits of srv_admin_state: maintenance (forced, inherited, by configuration, by DNS, by host name), and drain (forced, inherited).
MAINTENANCE_BITS = 0x01 | 0x02 | 0x04 | 0x20 | 0x40
DRAIN_BITS = 0x08 | 0x10
UPTIME = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?\Z")
STATS_COLUMNS = ("pxname", "svname", "qcur", "scur", "status", "check_status", "last_chk", "addr")
STATE_COLUMNS = ("be_name", "srv_name", "srv_admin_state")
BAD_NAMES = ("No such backend.", "Can't find backend.", "No such server.", "No such proxy.")


class Worker(t.NamedTuple):
    """One process that handles connections; ``prefix`` sends a command to it, ``uptime`` is in seconds."""

    prefix: str
    pid: int
    uptime: int
    old: bool


class Server(t.NamedTuple):
    """One server in one process. ``sessions`` are requests in work or in its queue."""

    name: str
    sessions: int
    status: str
    check: str
    reason: str
    address: str

    @property
    def operational(self) -> str:
        """up, down, or unknown in maintenance, where nobody checks."""
        if self.status.startswith("MAINT"):
            return "unknown"
        # HAProxy says DRAIN only of a server that passes its checks.
        if self.status.startswith(("UP", "no check", "DRAIN")):
            return "up"
        return "down"


def unreadable(command: str, text: str) -> NpufleetError:
    line = next((line.strip() for line in text.splitlines() if line.strip()), "nothing")
    return NpufleetError(
        "HAProxy answered {0!r} with something else than expected: {1}".format(command, line[:200]),
        where="runtime socket of the gateway",
        remedy="Use HAProxy 2.4 or newer, and a socket of level admin",
    )


def seconds_of(uptime: str) -> t.Optional[int]:
    """``0d00h01m26s`` -> 86; None for other words."""
    found = UPTIME.match(uptime)
    if not uptime or not found:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def parse_processes(text: str) -> t.List[Worker]:
    """Workers in an answer to ``show proc`` of the master process: those that take connections, then those that finish theirs.

    :raises NpufleetError: for an answer without a worker, or with a row that is none
    """
    workers, section = [], ""
    for line in text.splitlines():
        if line.startswith("#"):
            section = line.strip("# ").lower()
        elif line.strip() and section in ("workers", "old workers"):
            words = line.split()
            # 2.6 puts the number of failed reloads between the columns of the master, so the uptime is known by its form.
            uptime = next((value for value in map(seconds_of, words[2:]) if value is not None), None)
            if len(words) < 4 or not words[0].isdigit() or uptime is None:
                raise unreadable("show proc", line)
            workers.append(Worker("@!{0} ".format(words[0]), int(words[0]), uptime, section == "old workers"))
    if not any(not worker.old for worker in workers):
        raise unreadable("show proc", text)
    return workers


def parse_servers(text: str, backend: str) -> t.Dict[str, Server]:
    """Servers of a backend in an answer to ``show stat``, by their names.

    :raises NpufleetError: for another layout, or a backend that is not there
    """
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines or not lines[0].startswith("# "):
        raise unknown_backend(backend) if text.strip() in BAD_NAMES else unreadable("show stat", text)
    header = lines[0][2:].split(",")
    if any(name not in header for name in STATS_COLUMNS):
        raise unreadable("show stat", lines[0])
    servers = {}
    for row in csv.DictReader(lines[1:], fieldnames=header):
        if row["pxname"] != backend:
            continue
        check = (row["check_status"] or "").lstrip("* ")
        try:
            sessions = int(row["scur"]) + int(row["qcur"] or 0)
        except (TypeError, ValueError):
            raise unreadable("show stat", str(row)) from None
        reason = " ".join(word for word in (row["status"], check, row["last_chk"]) if word)
        servers[row["svname"]] = Server(row["svname"], sessions, row["status"], check, reason, row["addr"] or "")
    if not servers:
        raise unknown_backend(backend)
    return servers


def parse_states(text: str, backend: str) -> t.Dict[str, str]:
    """Wanted states of the servers of a backend in an answer to ``show servers state``: ready, drain or maintenance.

    :raises NpufleetError: for another layout
    """
    lines = [line for line in text.splitlines() if line.strip()]
    header = lines[1].lstrip("# ").split() if len(lines) > 1 else []
    if lines[:1] != ["1"] or any(name not in header for name in STATE_COLUMNS):
        raise unknown_backend(backend) if text.strip() in BAD_NAMES else unreadable("show servers state", text)
    states = {}
    for line in lines[2:]:
        row = dict(zip(header, line.split()))
        if row.get("be_name") != backend:
            continue
        try:
            bits = int(row["srv_admin_state"])
        except (KeyError, ValueError):
            raise unreadable("show servers state", line) from None
        states[row["srv_name"]] = "maintenance" if bits & MAINTENANCE_BITS else "drain" if bits & DRAIN_BITS else "ready"
    return states


def unknown_backend(backend: str) -> NpufleetError:
    return NpufleetError("the gateway has no backend {0!r} with servers".format(backend), where="backend", remedy="Name another one")
