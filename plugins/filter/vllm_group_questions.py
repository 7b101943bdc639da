# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: vllm_group_questions
author: npufleet.ascend maintainers (@npufleet)
version_added: 0.1.0
short_description: Tell what a host is asked before it serves an engine together with others
description:
  - Returns options of M(npufleet.ascend.group_info) for one host, for all of its engines on several hosts. Empty where it has none.
  - In the second round, O(round=2), these are the addresses that its NPUs are to ping. They are known from the first, whose result is
    looked for in the variables of the other hosts, as C(npufleet_group_look).
  - Ports that an engine of the same name has by its record on the host are its own, and not asked about.
positional: host, variables
options:
  _input:
    description: Rows of a plan, C(engines) of P(npufleet.ascend.vllm_plan#filter).
    type: list
    elements: dict
    required: true
  host:
    description: Name of the host.
    type: str
    required: true
  variables:
    description: Variables of all hosts, C(hostvars).
    type: dict
    required: true
  round:
    description: V(1) asks all but pings, V(2) pings.
    type: int
    default: 1
  ping:
    description: How NPUs ping each other. By default C(hccs_ping) for A3 and C(ping) for others.
    type: str
  every:
    description: Whether each NPU pings all NPUs of the other hosts, and not only those of its own place.
    type: bool
    default: false
seealso:
  - module: npufleet.ascend.group_info
"""

EXAMPLES = r"""
- name: Show what this host is asked
  ansible.builtin.debug:
    msg: "{{ npufleet_plan['engines'] | npufleet.ascend.vllm_group_questions(inventory_hostname, hostvars) }}"
"""

RETURN = r"""
_value:
  description: Options of the module.
  type: dict
"""

import typing as t

from ansible.module_utils.parsing.convert_bool import boolean
from ansible_collections.npufleet.ascend.plugins.module_utils._group_members import find_groups, pings, questions


def vllm_group_questions(
    engines: t.Iterable[t.Dict[str, t.Any]],
    host: str,
    variables: t.Mapping[str, t.Any],
    round: t.Any = 1,  # the word that a playbook reads
    ping: t.Optional[str] = None,
    every: t.Any = False,
) -> t.Dict[str, t.Any]:
    """Return the options."""
    groups = find_groups(engines, variables)
    return questions(groups, host) if int(round) == 1 else pings(groups, host, variables, ping or None, boolean(every))


class FilterModule:
    """The filter vllm_group_questions."""

    def filters(self) -> t.Dict[str, t.Callable[..., t.Any]]:
        return {"vllm_group_questions": vllm_group_questions}
