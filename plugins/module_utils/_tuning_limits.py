# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Limits of sessions, nofile and memlock: what limits.conf(5) gives now, and the lines that raise it. Nothing is ever lowered.

Services are not concerned: systemd gives them the limits of their unit.
"""

from __future__ import annotations

import glob
import math
import os
import re
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._files import read_text
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_spec import Knobs
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_values import UNLIMITED

FOLDER = "/etc/security/limits.d"
OWN_FILE = FOLDER + "/90-npufleet.conf"
# Names in /proc/PID/limits, and how many of its units make one of limits.conf (memlock is in KiB there).
ITEMS = {"nofile": ("Max open files", 1), "memlock": ("Max locked memory", 1024)}
KINDS = ("soft", "hard")
CAP_SYS_RESOURCE = 24  # include/uapi/linux/capability.h


class LimitState(t.NamedTuple):
    """What was read: ``others`` are the lines of all files but ours in the order of pam_limits(8), ``own`` those of ours.

    ``initial`` is what a session begins with, by (item, kind); ``nr_open`` is the most that the kernel allows for nofile. ``hindrance``
    says why limits cannot be raised here.
    """

    hindrance: str
    others: t.Tuple[t.Tuple[str, str, str, str], ...]
    own: t.Tuple[t.Tuple[str, str, str, str], ...]
    initial: t.Dict[t.Tuple[str, str], str]
    nr_open: t.Optional[int]


def read_limits(root: str = "") -> LimitState:
    """Read limits.conf, limits.d and the limits of PID 1."""
    files = ["/etc/security/limits.conf", *sorted(path[len(root) :] for path in glob.glob(root + FOLDER + "/*.conf"))]
    lines = {path: parse_lines(read_text(root + path) or "") for path in files}
    nr_open = (read_text(root + "/proc/sys/fs/nr_open") or "").strip()
    return LimitState(
        hindrance=_hindrance(root),
        others=tuple(line for path in files if path != OWN_FILE for line in lines[path]),
        own=tuple(lines.get(OWN_FILE, [])),
        initial=_initial(read_text(root + "/proc/1/limits") or ""),
        nr_open=int(nr_open) if nr_open.isdigit() else None,
    )


def _hindrance(root: str) -> str:
    if not os.path.isdir(root + "/etc/security"):
        return "no /etc/security: PAM limits no session here"
    match = re.search(r"^CapBnd:\s*([0-9a-f]+)$", read_text(root + "/proc/1/status") or "", re.MULTILINE)
    # Without it, raising a limit fails at each login (setrlimit(2)); some versions of pam_limits then refuse the session.
    if match and not int(match.group(1), 16) >> CAP_SYS_RESOURCE & 1:
        return "sessions here have no CAP_SYS_RESOURCE and cannot raise limits"
    return ""


def parse_lines(text: str) -> t.List[t.Tuple[str, str, str, str]]:
    """(domain, kind, item, value) of each line for an item that we know; ``-`` is both kinds, ``-1`` and ``infinity`` are unlimited."""
    parsed = []
    for line in text.splitlines():
        words = line.split("#", 1)[0].split()
        if len(words) == 4 and words[2] in ITEMS and words[1] in (*KINDS, "-"):
            value = UNLIMITED if words[3] in (UNLIMITED, "infinity", "-1") else words[3]
            if value == UNLIMITED or value.isdigit():
                parsed += [(words[0], kind, words[2], value) for kind in (KINDS if words[1] == "-" else (words[1],))]
    return parsed


def _initial(text: str) -> t.Dict[t.Tuple[str, str], str]:
    values = {}
    for item, (name, unit) in ITEMS.items():
        match = re.search(r"^{0}\s+(\w+)\s+(\w+)".format(name), text, re.MULTILINE)
        for kind, value in zip(KINDS, match.groups() if match else ()):
            values[item, kind] = UNLIMITED if value == UNLIMITED else str(int(value) // unit)
    return values


def effective(state: LimitState, domain: str, item: str, kind: str, with_own: bool) -> str:
    """What a session of ``domain`` gets: its own line, else that of ``*`` (never for root), else what it begins with; '' if unknown."""
    lines = (*state.others, *state.own) if with_own else state.others
    for wanted in (domain,) if domain in ("root", "*") else (domain, "*"):
        values = [value for found, found_kind, found_item, value in lines if (found, found_kind, found_item) == (wanted, kind, item)]
        if values:
            return values[-1]
    return state.initial.get((item, kind), "")


def size_of(value: str) -> float:
    """A limit as a number, to compare."""
    return math.inf if value == UNLIMITED else float(value or 0)


def wanted_lines(knobs: Knobs, state: LimitState) -> t.List[str]:
    """Lines for our file: those that raise something.

    :raises NpufleetError: more open files than the kernel allows, which fails at each login (setrlimit(2), EPERM)
    """
    if state.hindrance:
        return []
    wanted = {"nofile": None if knobs.nofile is None else str(knobs.nofile), "memlock": knobs.memlock}
    if knobs.nofile is not None and state.nr_open is not None and knobs.nofile > state.nr_open:
        raise NpufleetError(
            "{0} open files are more than the {1} that the kernel allows, and logins would fail".format(knobs.nofile, state.nr_open),
            where="knobs.nofile",
            remedy="Use at most fs.nr_open, or raise that first",
        )
    lines = []
    for item, value in wanted.items():
        lines += [
            "{0} {1} {2} {3}".format(domain, kind, item, value)
            for domain in (knobs.limits_for if value is not None else ())
            for kind in KINDS
            if size_of(effective(state, domain, item, kind, False)) < size_of(str(value))
        ]
    return lines


def with_lines(state: LimitState, lines: t.Sequence[str]) -> LimitState:
    """The state as it is once our file holds these lines."""
    return state._replace(own=tuple(parse_lines("\n".join(lines))))


def shown(knobs: Knobs, state: LimitState, item: str) -> str:
    """Soft and hard limit of each domain, as one text: ``*: 1024/1048576; root: 1024/1048576``."""
    return "; ".join(
        "{0}: {1}".format(domain, "/".join(effective(state, domain, item, kind, True) or "?" for kind in KINDS))
        for domain in knobs.limits_for
    )
