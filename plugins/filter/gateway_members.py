# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: gateway_members
author: npufleet.ascend maintainers (@npufleet)
version_added: 0.1.0
short_description: List the engines that stand behind a gateway
description:
  - Reads the variables of the role C(vllm_engine) of all hosts, and returns what C(vllm_gateway_engines) takes, and the model.
  - An engine has the name of its host, and with C(vllm_engine_instances) that and its own. Of an engine on several hosts the head alone is listed,
    and engines with another model than the gateway's are left out.
  - A host with C(npufleet_gateway_members) lists its engines itself.
positional: hosts, here
options:
  _input:
    description: Variables of all hosts, C(hostvars).
    type: dict
    required: true
  hosts:
    description: Names of the hosts with engines.
    type: list
    elements: str
    required: true
  here:
    description: Name of the host of the gateway; engines on it are reached on its loopback address.
    type: str
    required: true
  model:
    description: Name of the model that clients ask for. By default that of the first engine.
    type: str
"""

EXAMPLES = r"""
- name: Put a gateway before the engines
  ansible.builtin.include_role:
    name: npufleet.ascend.vllm_gateway
  vars:
    behind: "{{ hostvars | npufleet.ascend.gateway_members(groups['engines'], inventory_hostname) }}"
    vllm_gateway_engines: "{{ behind.engines }}"
    vllm_gateway_model: "{{ behind.model }}"
"""

RETURN = r"""
_value:
  description: C(engines), each with name, address and port, and C(model).
  type: dict
"""

import typing as t

from ansible.errors import AnsibleFilterError
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._gateway_members import first_model, members


def gateway_members(
    variables: t.Mapping[str, t.Any], hosts: t.Sequence[str], here: str, model: t.Optional[str] = None
) -> t.Dict[str, t.Any]:
    """Return the engines and the model."""
    wanted = model or first_model(variables, hosts)
    try:
        return {"engines": members(variables, hosts, here, wanted), "model": wanted}
    except NpufleetError as exc:
        raise AnsibleFilterError("gateway_members: {0}".format(exc)) from exc


class FilterModule:
    """The filter gateway_members."""

    def filters(self) -> t.Dict[str, t.Callable[..., t.Any]]:
        return {"gateway_members": gateway_members}
