# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: bundle_files
author: npufleet.ascend maintainers (@npufleet)
version_added: 0.1.0
short_description: Return which files of an offline bundle a host needs
description:
  - Picks the files for one host out of the manifest of a bundle, says where they go on the host, and what the bundle lacks.
options:
  _input:
    description: Plan for this host alone, from P(npufleet.ascend.bundle_plan#filter).
    type: dict
    required: true
  manifest:
    description: Manifest of the bundle, from M(npufleet.ascend.bundle_manifest).
    type: dict
    required: true
  folder:
    description: Folder of the copy on the host.
    type: str
    required: true
  package_folder:
    description: Folder of the Huawei packages on the host.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Show the files
  ansible.builtin.debug:
    msg: "{{ plan | npufleet.ascend.bundle_files(manifest, '/var/lib/npufleet/bundle', '/var/lib/npufleet/packages') }}"
  vars:
    plan: {packages: [], parts: []}
    manifest: {files: {}, parts: {}}
"""

RETURN = r"""
_value:
  description:
    - C(files), each with C(source) in the bundle, C(path) on the host, C(size) and C(sha256).
    - C(parts) and C(images); C(checksums) of the Huawei packages that somebody gave a sum for; and C(lacks), a list of sentences.
  type: dict
"""

import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_files import host_files
from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_plan import Plan


def bundle_files(plan: Plan, manifest: t.Mapping[str, t.Any], folder: str, package_folder: str) -> t.Dict[str, t.Any]:
    """Return files and lacks."""
    return host_files(plan, manifest, folder, package_folder)


class FilterModule:
    """The filter bundle_files."""

    def filters(self) -> t.Dict[str, t.Callable[..., t.Any]]:
        return {"bundle_files": bundle_files}
