# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: compatibility_unknowns
author: npufleet.ascend maintainers (@npufleet)
version_added: 0.1.0
short_description: Say what no source tells about versions
description:
  - Takes the same input as P(npufleet.ascend.compatibility_problems#filter) and says what the sources leave open, such as a version that is
    newer than the table.
  - These sentences are worth a message and no reason to stop.
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
  - plugin: npufleet.ascend.compatibility_problems
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Say what is not known
  ansible.builtin.debug:
    msg: "{{ {'cann': '9.1.0', 'hdk': '27.0.0'} | npufleet.ascend.compatibility_unknowns }}"
"""

RETURN = r"""
_value:
  description: What is not known, one sentence for each.
  type: list
  elements: str
"""

import typing as t

from ansible.errors import AnsibleFilterError
from ansible_collections.npufleet.ascend.plugins.module_utils._compatibility import read_setup, unknowns
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError


def compatibility_unknowns(setup: t.Any) -> t.List[str]:
    """Return the sentences."""
    try:
        return unknowns(read_setup(setup))
    except NpufleetError as exc:
        raise AnsibleFilterError("compatibility_unknowns: {0}".format(exc)) from exc


class FilterModule:
    """The filter compatibility_unknowns."""

    def filters(self) -> t.Dict[str, t.Callable[..., t.Any]]:
        return {"compatibility_unknowns": compatibility_unknowns}
