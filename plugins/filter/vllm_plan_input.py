# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: vllm_plan_input
author: npufleet.ascend maintainers (@npufleet)
version_added: 0.1.0
short_description: Put together what hosts said of themselves, for the planner
description:
  - Takes the facts that the entry point C(plan) of the role C(vllm_engine) leaves on each host, and returns what the filter
    P(npufleet.ascend.vllm_plan#filter) takes.
  - An engine over several hosts gets those that ask for an engine of its name, in the order of O(hosts).
positional: hosts
options:
  _input:
    description: Variables of all hosts, C(hostvars).
    type: dict
    required: true
  hosts:
    description: Names of the hosts to plan with, such as C(ansible_play_hosts). Hosts without NPUs are left out.
    type: list
    elements: str
    required: true
seealso:
  - plugin: npufleet.ascend.vllm_plan
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Plan the engines of all hosts of the play
  ansible.builtin.set_fact:
    plan: "{{ input.hosts | npufleet.ascend.vllm_plan(input.engines, input.running) }}"
  vars:
    input: "{{ hostvars | npufleet.ascend.vllm_plan_input(ansible_play_hosts) }}"
  run_once: true
"""

RETURN = r"""
_value:
  description: C(hosts), C(engines) and C(running), and C(waiting), the hosts that cannot be planned yet with the reason.
  type: dict
"""

import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._plan_input import plan_input


class FilterModule:
    """The filter vllm_plan_input."""

    def filters(self) -> t.Dict[str, t.Callable[..., t.Any]]:
        return {"vllm_plan_input": plan_input}
