# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: ascend_artifacts
author: npufleet.ascend maintainers (@npufleet)
version_added: 0.1.0
short_description: Return the files to download for Ascend packages
description:
  - Builds name and URL of the files, and adds the SHA-256 where one is published. Nothing is looked up.
  - Driver and firmware of a version lie in one file, which is returned once.
positional: mirror
options:
  _input:
    description: The packages.
    type: list
    elements: dict
    required: true
    suboptions:
      name:
        description: Kind of the package.
        type: str
        required: true
        choices: [driver, firmware, toolkit, ops, nnal, docker_runtime, toolbox]
      version:
        description: Its version; for firmware that of the HDK.
        type: str
        required: true
      arch:
        description: Architecture of the host that it is for.
        type: str
        required: true
        choices: [aarch64, x86_64]
      chip:
        description: Chip; needed for driver, firmware and ops.
        type: str
        choices: ["910", "910b", "310p", "310b", "A3", "950"]
      file:
        description: A file of your own, where Huawei offers no download.
        type: str
      url:
        description: Where that file is.
        type: str
      sha256:
        description: Its sum; also for a file without a published one.
        type: str
  mirror:
    description: URL of a mirror with the folders of Huawei's object store.
    type: str
"""

EXAMPLES = r"""
- name: Download driver, firmware and CANN
  ansible.builtin.get_url:
    url: "{{ item.url }}"
    dest: "/srv/ascend/{{ item.file }}"
    checksum: "{{ 'sha256:' ~ item.sha256 }}"
    headers: "{{ item.headers }}"
    mode: "0644"
  loop: "{{ packages | npufleet.ascend.ascend_artifacts }}"
  vars:
    packages:
      - {name: driver, version: 26.0.rc1, chip: 910b, arch: aarch64}
      - {name: firmware, version: 26.0.rc1, chip: 910b, arch: aarch64}
      - {name: toolkit, version: 9.0.0, arch: aarch64}
"""

RETURN = r"""
_value:
  description:
    - Each file once, in the order of the packages, with the keys C(names) (kinds of packages in it), C(file), C(url), C(sha256) and C(headers).
    - C(sha256) is null when none is published. C(url) is empty for a file of your own without one. C(headers) is what Huawei's store asks for.
  type: list
  elements: dict
"""

import typing as t

from ansible.errors import AnsibleFilterError
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._package_names import fetch_list


def ascend_artifacts(packages: t.Any, mirror: t.Optional[str] = None) -> t.List[t.Dict[str, t.Any]]:
    """Return the files."""
    if not isinstance(packages, (list, tuple)) or not all(isinstance(package, t.Mapping) for package in packages):
        raise AnsibleFilterError("ascend_artifacts: the input must be a list of packages, each with name, version, chip and arch")
    try:
        return fetch_list(packages, mirror)
    except NpufleetError as exc:
        raise AnsibleFilterError("ascend_artifacts: {0}".format(exc)) from exc


class FilterModule:
    """The filter ascend_artifacts."""

    def filters(self) -> t.Dict[str, t.Callable[..., t.Any]]:
        return {"ascend_artifacts": ascend_artifacts}
