# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: hdk_chip
author: npufleet.ascend maintainers (@npufleet)
version_added: 0.1.0
short_description: Return the chip as driver and CANN packages call it
description:
  - Turns the field C(generation) of the fact C(npufleet_npu), which M(npufleet.ascend.npu_facts) sets, into the name that packages use.
  - A1 becomes 910, A2 910b, A3 A3, A5 950, 310P 310p, and 310B 310b.
options:
  _input:
    description: The fact C(npufleet_npu), or a generation.
    type: raw
    required: true
seealso:
  - module: npufleet.ascend.npu_facts
"""

EXAMPLES = r"""
- name: Read the hardware
  npufleet.ascend.npu_facts:

- name: Show the chip
  ansible.builtin.debug:
    msg: "{{ ansible_facts.npufleet_npu | npufleet.ascend.hdk_chip }}"  # 910b on an Atlas 800I A2
"""

RETURN = r"""
_value:
  description: One of 910, 910b, 310p, 310b, A3 and 950.
  type: str
"""

import typing as t

from ansible.errors import AnsibleFilterError
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._package_names import chip_of


def hdk_chip(npu: t.Any) -> str:
    """Return the chip."""
    try:
        return chip_of(npu.get("generation") if isinstance(npu, t.Mapping) else npu)
    except NpufleetError as exc:
        raise AnsibleFilterError("hdk_chip: {0}".format(exc)) from exc


class FilterModule:
    """The filter hdk_chip."""

    def filters(self) -> t.Dict[str, t.Callable[..., t.Any]]:
        return {"hdk_chip": hdk_chip}
