# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""What the checks of a group have in common: the answers of its members, findings, and how hosts and devices are named. Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._group_members import Group, Member

Row = t.Dict[str, t.Any]
# So many names are spelled out in one sentence.
NAMED = 5


class Finding(t.NamedTuple):
    """A sentence. A problem stops the launch; what is none could not be checked, or need not be wrong."""

    problem: bool
    text: str


class Answers(t.NamedTuple):
    """A group and what its hosts answered, by host; hosts without an answer are missing.

    :param way: how its NPUs ping each other, ping or hccs_ping
    """

    group: Group
    looks: t.Mapping[str, Row]
    pings: t.Mapping[str, Row]
    way: str

    @property
    def members(self) -> t.List[Member]:
        """Those that answered in the first round."""
        return [member for member in self.group.members if member.host in self.looks]


def finding(answers: Answers, what: str, where: str, remedy: str, problem: bool = True) -> Finding:
    """Put a finding into the words of this collection."""
    return Finding(problem, str(NpufleetError("engine {0}: {1}".format(answers.group.name, what), where, remedy)))


def passed_on(answers: Answers, host: str, error: str) -> Finding:
    """Pass on what a host could not read, which says itself where and what to do."""
    return Finding(True, "engine {0}, {1}: {2}".format(answers.group.name, host, error))


def listed(names: t.Iterable[str]) -> str:
    """Names with commas, the first ones alone where there are many."""
    every = list(names)
    text = ", ".join(every[:NAMED])
    return text if len(every) <= NAMED else "{0} and {1} more".format(text, len(every) - NAMED)


def differing(values: t.Mapping[str, t.Any]) -> t.Optional[str]:
    """Tell who has which value where hosts have different ones, None where they agree. Unknown values (None) are left out."""
    hosts: t.Dict[str, t.List[str]] = {}
    for host, value in values.items():
        if value is not None:
            hosts.setdefault(str(value), []).append(host)
    if len(hosts) < 2:
        return None
    return "; ".join("{0} on {1}".format(value, listed(names)) for value, names in hosts.items())


def twice(owners: t.Iterable[t.Tuple[str, t.Optional[str]]]) -> t.List[str]:
    """Tell which values several owners have, as ``value: owner, owner``."""
    found: t.Dict[str, t.List[str]] = {}
    for owner, value in owners:
        if value:
            found.setdefault(value, []).append(owner)
    return ["{0}: {1}".format(value, listed(names)) for value, names in found.items() if len(names) > 1]
