# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: vllm_group_back
author: npufleet.ascend maintainers (@npufleet)
version_added: 0.1.0
short_description: Tell with which options the parts of an engine on several hosts go back
description:
  - Each host keeps the options with which its part has answered. All parts take the same step back, whatever an interrupted run has left.
positional: name, kept
options:
  _input:
    description: Names of the hosts, the head first.
    type: list
    elements: str
    required: true
  name:
    description: Name of the engine.
    type: str
    required: true
  kept:
    description: >-
      What M(ansible.builtin.slurp) returned of C(history.json) and of C(launch.json), in this order, of each host in the order of O(_input). A
      result without C(content) is a file that is not there.
    type: list
    elements: list
    required: true
"""

EXAMPLES = r"""
- name: Read what the host has kept of its part
  ansible.builtin.slurp:
    src: /var/lib/npufleet/engines/q/{{ item }}
  loop: [history.json, launch.json]
  register: kept
  failed_when: false
  no_log: true

- name: Tell whether the engine has something to go back to
  ansible.builtin.debug:
    msg: "{{ back.problem or back.earlier }}"
  vars:
    back: "{{ ansible_play_batch | npufleet.ascend.vllm_group_back('q', ansible_play_batch | map('extract', hostvars, ['kept', 'results'])) }}"
  run_once: true
"""

RETURN = r"""
_value:
  description: Options of M(npufleet.ascend.vllm_engine) of each part, without its name, its home and the key.
  type: dict
  contains:
    target:
      description: Those to go back to, in the order of the hosts. Those with which the engine last answered where it has no earlier ones.
      type: list
      elements: dict
    answered:
      description: Those with which it last answered; empty where a part has never answered.
      type: list
      elements: dict
    earlier:
      description: Whether C(target) is something else than what is in place.
      type: bool
    problem:
      description: Why it cannot go back, in one message; empty where it can.
      type: str
"""

import base64
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._group_back import plan_back


def vllm_group_back(hosts: t.Iterable[str], name: str, kept: t.Iterable[t.Sequence[t.Mapping[str, t.Any]]]) -> t.Dict[str, t.Any]:
    """Return the options."""
    return plan_back(name, list(hosts), [(_text(files[0]), _text(files[1])) for files in kept])


def _text(result: t.Mapping[str, t.Any]) -> t.Optional[str]:
    content = result.get("content")
    return base64.b64decode(content).decode("utf-8", "replace") if content else None


class FilterModule:
    """The filter vllm_group_back."""

    def filters(self) -> t.Dict[str, t.Callable[..., t.Any]]:
        return {"vllm_group_back": vllm_group_back}
