# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""All that stands against serving an engine on the hosts of its group, and what could not be checked. Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._group_findings import Answers, Finding
from ansible_collections.npufleet.ascend.plugins.module_utils._group_hosts import check_hosts
from ansible_collections.npufleet.ascend.plugins.module_utils._group_members import (
    LOOK,
    PINGS,
    Group,
    Hosts,
    Row,
    answer_of,
    find_groups,
    way_of,
)
from ansible_collections.npufleet.ascend.plugins.module_utils._group_network import check_network

# TLS certificates, logs and metrics of hosts that are further apart cannot be compared; own choice.
CLOCK_SECONDS = 5.0


def check_groups(variables: Hosts, rows: t.Iterable[Row], seconds: float = CLOCK_SECONDS, asked: t.Optional[str] = None) -> t.List[Finding]:
    """Return the findings about all engines on several hosts of a plan.

    :param variables: variables of all hosts, by name; the answers of both rounds are in ``npufleet_group_look`` and ``npufleet_group_pings``
    :param seconds: how far clocks may be apart
    :param asked: how NPUs were asked to ping each other
    """
    findings: t.List[Finding] = []
    for group in find_groups(rows, variables):
        looks, pings = _answers(group, variables, LOOK), _answers(group, variables, PINGS)
        answers = Answers(group, looks, pings, way_of(group, asked))
        findings += check_hosts(answers, seconds) + check_network(answers)
    return findings


def _answers(group: Group, variables: Hosts, name: str) -> t.Dict[str, Row]:
    found = {member.host: answer_of(variables[member.host], name) for member in group.members}
    return {host: answer for host, answer in found.items() if answer is not None}
