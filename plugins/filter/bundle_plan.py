# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: bundle_plan
author: npufleet.ascend maintainers (@npufleet)
version_added: 0.1.0
short_description: Return what an offline bundle has to hold for some hosts
description:
  - Turns declared platforms and the needs of roles into Huawei packages, OS repositories, wheels and container images, each once.
options:
  _input:
    description:
      - Hosts, each with C(name), C(platform) and C(needs).
      - C(platform) holds C(os), C(version), C(arch), and where they are needed C(chip), C(kernel), C(python) and C(glibc).
      - C(needs) is a list of mappings with C(packages), C(checksums) of these, C(os_packages), C(wheels) and C(images).
    type: list
    elements: dict
    required: true
  systems:
    description: C(family), C(glibc) and C(repositories) of operating systems, by C(os-version) in lower case.
    type: dict
    required: true
  checksums:
    description: SHA-256 that the inventory gives for Huawei packages, by file name.
    type: dict
seealso:
  - module: npufleet.ascend.bundle_content
"""

EXAMPLES = r"""
- name: Show what is needed
  ansible.builtin.debug:
    msg: "{{ hosts | npufleet.ascend.bundle_plan(systems) }}"
  vars:
    hosts:
      - name: npu-01
        platform: {os: debian, version: '12', arch: aarch64, chip: 910b}
        needs:
          - packages: [{name: toolkit, version: 9.0.0}]
            os_packages: {debian: [g++], rpm: [gcc-c++]}
    systems:
      debian-12:
        family: debian
        glibc: '2.36'
        repositories:
          - url: http://deb.debian.org/debian
            suites: [bookworm]
            components: [main]
            key: /usr/share/keyrings/debian-archive-keyring.gpg
"""

RETURN = r"""
_value:
  description: C(packages) with their files, sums and licences, and C(parts) for M(npufleet.ascend.bundle_content).
  type: dict
"""

import typing as t

from ansible.errors import AnsibleFilterError
from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_plan import Plan, make_plan
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError


def bundle_plan(
    hosts: t.Sequence[t.Mapping[str, t.Any]], systems: t.Mapping[str, t.Any], checksums: t.Optional[t.Mapping[str, t.Any]] = None
) -> Plan:
    """Return the plan."""
    try:
        return make_plan(hosts, systems, checksums)
    except NpufleetError as exc:
        raise AnsibleFilterError("bundle_plan: {0}".format(exc)) from exc


class FilterModule:
    """The filter bundle_plan."""

    def filters(self) -> t.Dict[str, t.Callable[..., t.Any]]:
        return {"bundle_plan": bundle_plan}
