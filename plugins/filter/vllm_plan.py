# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: vllm_plan
author: npufleet.ascend maintainers (@npufleet)
version_added: 0.1.0
short_description: Plan which chips, CPUs and ports vLLM engines get
description:
  - Turns facts of hosts and a list of wanted engines into one row for each engine and host, with devices, parallel sizes, CPUs, ports,
    environment and the reasons, or stops with one message. It changes nothing.
  - Every key of hosts and engines is described in C(docs/planning.md).
options:
  _input:
    description:
      - Hosts by name. Each has C(npu), the fact C(npufleet_npu) of M(npufleet.ascend.npu_facts), and where they are known C(address),
        C(interface), C(arch), C(cpus), C(numa_nodes), C(memory_mb), C(reserved_chips) and C(reserved_ports).
    type: dict
    required: true
  engines:
    description:
      - Wanted engines. Each has C(name), and what is to be decided by the inventory, such as C(recipe), C(weights_bytes), C(config),
        C(layout), C(npus), C(chips), C(hosts), C(port) and C(binding).
    type: list
    elements: dict
    required: true
  running:
    description:
      - Rows of earlier plans for engines that run now. They stay where they are.
    type: list
    elements: dict
    default: []
  raises:
    description: Whether an impossible plan ends the task. V(false) returns the message as C(problem), and nothing else.
    type: bool
    default: true
seealso:
  - module: npufleet.ascend.npu_facts
"""

EXAMPLES = r"""
- name: Read the hardware
  npufleet.ascend.npu_facts:

- name: Show where an engine would go
  ansible.builtin.debug:
    msg: "{{ (hosts | npufleet.ascend.vllm_plan(engines)).text }}"
  vars:
    hosts:
      npu-01:
        npu: "{{ ansible_facts.npufleet_npu }}"
        arch: aarch64
        cpus: 192
        address: 192.0.2.11
        interface: eth0
    engines:
      - name: distill
        weights_bytes: 65527752704
        config: {num_attention_heads: 40, num_key_value_heads: 8, num_hidden_layers: 64}
        port: 8000
"""

RETURN = r"""
_value:
  description:
    - C(engines), a list with one row for each engine and host; C(hosts), what is left of each host and which chips cannot be used and why;
      and C(text), all of it as a table for people. Or C(problem), see O(raises).
  type: dict
"""

import typing as t

from ansible.errors import AnsibleFilterError
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_fleet import make_plan
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_summary import text


def vllm_plan(hosts: t.Any, engines: t.Any, running: t.Any = None, raises: bool = True) -> t.Dict[str, t.Any]:
    """Return the plan and its text."""
    try:
        plan = make_plan(hosts, engines, running)
    except NpufleetError as exc:
        if not raises:
            return {"problem": str(exc)}
        raise AnsibleFilterError("vllm_plan: {0}".format(exc)) from exc
    return dict(plan, text=text(plan))


class FilterModule:
    """The filter vllm_plan."""

    def filters(self) -> t.Dict[str, t.Callable[..., t.Any]]:
        return {"vllm_plan": vllm_plan}
