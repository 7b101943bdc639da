# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: vllm_batches
author: npufleet.ascend maintainers (@npufleet)
version_added: 0.1.0
short_description: Tell in which batches hosts with engines are upgraded
description:
  - Reads the variables of the role C(vllm_engine) of all hosts. Hosts that serve an engine together are in one batch, also where several engines
    connect them; all others come one after the other, or as many at a time as O(serial) says.
  - The order is that of the hosts; hosts that go together stand where their first one stands.
positional: hosts, names, serial
options:
  _input:
    description: Variables of all hosts, C(hostvars).
    type: dict
    required: true
  hosts:
    description: Names of all hosts with engines, in the order of the inventory.
    type: list
    elements: str
    required: true
  names:
    description: Names of those of this run, in the same order.
    type: list
    elements: str
    required: true
  serial:
    description: Hosts at a time, as Ansible's C(serial); a number, a percentage, or a list of them. A group that is larger is a batch of its own.
    type: raw
    default: 1
"""

EXAMPLES = r"""
- name: Tell in which batches engines would be upgraded
  ansible.builtin.debug:
    msg: "{{ (hostvars | npufleet.ascend.vllm_batches(groups['engines'], ansible_play_hosts, serial='25%')).batches }}"
  run_once: true
"""

RETURN = r"""
_value:
  description: The batches, and what stands against them.
  type: dict
  contains:
    order:
      description: The hosts in the order in which they are upgraded.
      type: list
      elements: str
    sizes:
      description: Number of hosts of each batch.
      type: list
      elements: int
    batches:
      description: The hosts of each batch.
      type: list
      elements: list
    rows:
      description:
        - For engines that the planner puts on several hosts, a row of each part as a plan has it, as far as it is known without one.
        - They tell C(vllm_engine_rows) of the role who belongs together.
      type: list
      elements: dict
    problems:
      description: Engines that would be upgraded in part, as some of their hosts are missing in this run; one sentence each.
      type: list
      elements: str
    together:
      description: A sentence where one batch has all engines of the inventory, and null elsewhere.
      type: str
"""

import typing as t

from ansible.errors import AnsibleFilterError
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._group_batches import all_at_once, make_batches, torn
from ansible_collections.npufleet.ascend.plugins.module_utils._group_inventory import group_rows, inventory_groups


def vllm_batches(variables: t.Mapping[str, t.Any], hosts: t.Sequence[str], names: t.Sequence[str], serial: t.Any = 1) -> t.Dict[str, t.Any]:
    """Return the batches."""
    groups = inventory_groups(variables, hosts)
    try:
        batches = make_batches(groups, names, serial)
    except NpufleetError as exc:
        raise AnsibleFilterError("vllm_batches: {0}".format(exc)) from exc
    return {
        "order": batches.order,
        "sizes": batches.sizes,
        "batches": batches.batches(),
        "rows": group_rows(groups),
        "problems": torn(groups, names),
        "together": all_at_once(batches, hosts),
    }


class FilterModule:
    """The filter vllm_batches."""

    def filters(self) -> t.Dict[str, t.Callable[..., t.Any]]:
        return {"vllm_batches": vllm_batches}
