# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: compatibility_problems
author: npufleet.ascend maintainers (@npufleet)
version_added: 0.1.0
short_description: Say which versions do not go together
description:
  - Compares versions of vllm-ascend, CANN, Ascend HDK, Python and the C library, the chip, and the operating system with what Huawei and
    vllm-ascend publish. Every row and its source is in C(docs/compatibility.md).
  - What no source forbids is no problem; what none of them mentions is told by P(npufleet.ascend.compatibility_unknowns#filter).
options:
  _input:
    description:
      - Versions on a host, or wanted on it. A key that is missing or null is not known or not used.
    type: dict
    required: true
    suboptions:
      vllm_ascend:
        description: Version of vllm-ascend.
        type: str
      cann:
        description: Version of CANN on the host.
        type: str
      hdk:
        description: Version of driver and firmware (Ascend HDK).
        type: str
      chip:
        description: Chip as packages call it, see P(npufleet.ascend.hdk_chip#filter).
        type: str
        choices: ["910", "910b", "310p", "310b", "A3", "950"]
      arch:
        description: Architecture of the host.
        type: str
        choices: [aarch64, x86_64]
      os_id:
        description: C(ID) of C(/etc/os-release).
        type: str
      os_version:
        description: C(VERSION) or C(VERSION_ID) of C(/etc/os-release), or version and release of the facts of Ansible.
        type: str
      glibc:
        description: Version of the C library.
        type: str
      python:
        description: Version of the Python that runs the engine.
        type: str
      docker:
        description: Version of Docker, where Ascend Docker Runtime is used.
        type: str
      containerd:
        description: Version of containerd, where Ascend Docker Runtime is used.
        type: str
      in_container:
        description: CANN, Python and the C library come with the image of vllm-ascend, and those of the host do not matter.
        type: bool
        default: false
seealso:
  - plugin: npufleet.ascend.compatibility_unknowns
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Stop before anything is touched
  ansible.builtin.assert:
    that: problems | length == 0
    fail_msg: "{{ problems | join('\n') }}"
  vars:
    problems: "{{ {'cann': '9.1.0', 'hdk': '25.0.1', 'chip': '910b'} | npufleet.ascend.compatibility_problems }}"
    # ["CANN 9.1.0 does not allow HDK 25.0.1: install HDK 25.2.0 or later; CANN 9.1.0 was released with 26.0.rc1"]
"""

RETURN = r"""
_value:
  description: What is wrong, one sentence for each, with what to install instead. Empty when no source forbids the setup.
  type: list
  elements: str
"""

import typing as t

from ansible.errors import AnsibleFilterError
from ansible_collections.npufleet.ascend.plugins.module_utils._compatibility import problems, read_setup
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError


def compatibility_problems(setup: t.Any) -> t.List[str]:
    """Return the sentences."""
    try:
        return problems(read_setup(setup))
    except NpufleetError as exc:
        raise AnsibleFilterError("compatibility_problems: {0}".format(exc)) from exc


class FilterModule:
    """The filter compatibility_problems."""

    def filters(self) -> t.Dict[str, t.Callable[..., t.Any]]:
        return {"compatibility_problems": compatibility_problems}
