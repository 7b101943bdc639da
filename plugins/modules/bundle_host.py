#!/usr/bin/python
# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: bundle_host
short_description: Check a host's copy of an offline bundle, and let apt, dnf and pip use it
version_added: 0.1.0
author:
  - npufleet.ascend maintainers (@npufleet)
description:
  - Compares the files with their SHA-256 and returns those that are missing or differ, so that a play brings just these.
  - When all are there, writes settings for apt, dnf and pip that know the bundle and nothing else. The host's own settings stay as they are;
    a play names these files to the tools with RV(environment) and RV(dnf_config).
  - Digests are remembered, so a second run reads no file.
extends_documentation_fragment:
  - npufleet.ascend.attributes
attributes:
  check_mode:
    support: full
    details: Reads files that are there, and writes only what it remembers of them.
  diff_mode:
    support: full
  idempotent:
    support: full
options:
  folder:
    description: Folder of the copy on the host. It belongs to this module.
    type: path
    default: /var/lib/npufleet/bundle
  state:
    description: V(absent) removes O(folder), and those of O(files) that lie elsewhere.
    type: str
    choices: [present, absent]
    default: present
  files:
    description: Files that the host needs, each with absolute C(path), C(size) and C(sha256), as the filter P(npufleet.ascend.bundle_files#filter) says.
    type: list
    elements: dict
    default: []
  parts:
    description: Parts of the bundle that the host has, each with C(kind) and C(folder).
    type: list
    elements: dict
    default: []
  missing_ok:
    description: Return the names of files that are missing or differ instead of failing. Fails when there is no room for them.
    type: bool
    default: false
  rehash:
    description: Read every file, whatever is remembered.
    type: bool
    default: false
  wait_slice:
    description: Longest time of one call on the host, in seconds. The task calls again until all is read, and shows progress between.
    type: int
    default: 10
seealso:
  - module: npufleet.ascend.bundle_manifest
"""

EXAMPLES = r"""
- name: Look what the host lacks
  npufleet.ascend.bundle_host:
    files: "{{ wanted.files }}"
    parts: "{{ wanted.parts }}"
    missing_ok: true
  register: bundle

- name: Install from the bundle
  ansible.builtin.apt:
    name: numactl
  environment: "{{ bundle.environment }}"

- name: Remove it
  npufleet.ascend.bundle_host:
    state: absent
"""

RETURN = r"""
missing:
  description: Files that are missing or differ.
  returned: always
  type: list
  elements: str
ready:
  description: True when the files and the settings are there.
  returned: always
  type: bool
environment:
  description: Environment variables that make apt and pip use the bundle and nothing else; empty while it is not RV(ready).
  returned: always
  type: dict
dnf_config:
  description: Configuration for the option C(conf_file) of M(ansible.builtin.dnf); empty while the bundle is not RV(ready), and without dnf.
  returned: always
  type: str
pending:
  description: True while files are left to read; the task then calls again by itself.
  returned: always
  type: bool
progress:
  description: How much is read.
  returned: always
  type: str
"""

import time

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_host_task import HostTask
from ansible_collections.npufleet.ascend.plugins.module_utils._clock import Clock
from ansible_collections.npufleet.ascend.plugins.module_utils._command import run
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError, refused_by_host


def argument_spec() -> dict:
    return {
        "folder": {"type": "path", "default": "/var/lib/npufleet/bundle"},
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        "files": {"type": "list", "elements": "dict", "default": []},
        "parts": {"type": "list", "elements": "dict", "default": []},
        "missing_ok": {"type": "bool", "default": False},
        "rehash": {"type": "bool", "default": False},
        "wait_slice": {"type": "int", "default": 10},
    }


def main() -> None:
    module = AnsibleModule(argument_spec=argument_spec(), supports_check_mode=True)
    try:
        result = HostTask(module.params, run, Clock(time.time, time.sleep)).execute(module.check_mode)
    except NpufleetError as exc:
        module.fail_json(msg=str(exc))
    except OSError as exc:
        module.fail_json(msg=str(refused_by_host(exc)))
    module.exit_json(**result)


if __name__ == "__main__":
    main()
