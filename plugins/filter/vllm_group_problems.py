# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: vllm_group_problems
author: npufleet.ascend maintainers (@npufleet)
version_added: 0.1.0
short_description: Tell what stands against serving one engine on several hosts
description:
  - Compares what M(npufleet.ascend.group_info) found on the hosts of each engine on several hosts. Returned is what stops the launch.
  - The answers are looked for in the variables of the hosts, as C(npufleet_group_look) and, of pings, as C(npufleet_group_pings).
positional: engines
options:
  _input:
    description: Variables of all hosts, C(hostvars).
    type: dict
    required: true
  engines:
    description: Rows of a plan, C(engines) of P(npufleet.ascend.vllm_plan#filter). Engines on one host are left out.
    type: list
    elements: dict
    required: true
  seconds:
    description: How far clocks may be apart.
    type: float
    default: 5
  ping:
    description: How NPUs were asked to ping each other. By default C(hccs_ping) for A3 and C(ping) for others.
    type: str
seealso:
  - module: npufleet.ascend.group_info
  - plugin: npufleet.ascend.vllm_group_doubts
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Tell what is wrong
  ansible.builtin.debug:
    msg: "{{ hostvars | npufleet.ascend.vllm_group_problems(npufleet_plan['engines']) }}"
  run_once: true
"""

RETURN = r"""
_value:
  description: Sentences; what, where and what to do. Empty when there is nothing to say.
  type: list
  elements: str
"""

import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._group_check import CLOCK_SECONDS, check_groups


def vllm_group_problems(
    variables: t.Mapping[str, t.Any], engines: t.Iterable[t.Dict[str, t.Any]], seconds: t.Any = CLOCK_SECONDS, ping: t.Optional[str] = None
) -> t.List[str]:
    """Return the sentences."""
    return [found.text for found in check_groups(variables, engines, float(seconds), ping or None) if found.problem is True]


class FilterModule:
    """The filter vllm_group_problems."""

    def filters(self) -> t.Dict[str, t.Callable[..., t.Any]]:
        return {"vllm_group_problems": vllm_group_problems}
