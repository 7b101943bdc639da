#!/usr/bin/python
# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: bundle_content
short_description: Fetch OS packages, wheels, container images and collections into an offline bundle
version_added: 0.1.0
author:
  - npufleet.ascend maintainers (@npufleet)
description:
  - Fetches with the tools that know each kind - apt-get, dnf, pip, skopeo, ansible-galaxy - for operating systems, architectures and interpreters
    that need not be those of this machine, with everything that the packages need. Root is not needed.
  - Makes repositories that apt and dnf use from the folder.
  - First all names are resolved, then the disk is checked, then the parts are fetched one after the other. An interrupted run goes on where
    it stopped. A part that is complete is not asked for again.
  - The work is a shell script that runs as a job of its own; it, its log and its metadata lie in O(work_folder).
  - In check mode only resolves, and returns names and sizes.
extends_documentation_fragment:
  - npufleet.ascend.attributes
attributes:
  check_mode:
    support: full
    details: Reads repository metadata into O(work_folder) and leaves the bundle alone.
  diff_mode:
    support: full
  idempotent:
    support: full
options:
  path:
    description: Folder of the bundle.
    type: path
    required: true
  parts:
    description: What shall be in it, as the filter P(npufleet.ascend.bundle_plan#filter) says.
    type: list
    elements: dict
    required: true
  refresh:
    description: Ask for all parts again, and take newer versions where the repositories have them.
    type: bool
    default: false
  python:
    description: Interpreter with pip 22.2 or later, and with ansible-core when there are collections.
    type: path
    required: true
  work_folder:
    description: Folder for repository metadata, partial downloads and logs. It may be removed at any time.
    type: path
    default: ~/.cache/npufleet/bundle
  wait_timeout:
    description: Seconds that the work may take.
    type: int
    default: 86400
  wait_slice:
    description: Longest wait of one call, in seconds. The task calls again until the work is done, and shows progress between.
    type: int
    default: 10
seealso:
  - module: npufleet.ascend.bundle_manifest
"""

EXAMPLES = r"""
- name: Fetch a compiler for openEuler on Kunpeng
  npufleet.ascend.bundle_content:
    path: /srv/bundle
    python: "{{ ansible_playbook_python }}"
    parts:
      - kind: dnf
        folder: os/openeuler-24.03-lts-sp1-aarch64
        arch: aarch64
        release: 24.03-lts-sp1
        packages: [gcc-c++, numactl]
        repositories:
          - url: https://repo.openeuler.org/openEuler-24.03-LTS-SP1/everything/aarch64/
            key: https://repo.openeuler.org/openEuler-24.03-LTS-SP1/everything/aarch64/RPM-GPG-KEY-openEuler
"""

RETURN = r"""
parts:
  description: Each part with C(name), C(kind), C(changed), number of C(files), C(bytes), and the number of files of C(unknown) size.
  returned: always
  type: list
  elements: dict
files:
  description: Each file with C(path), C(size), C(url) and C(licence).
  returned: always
  type: list
  elements: dict
bytes:
  description: Size of all files together, as far as it is known.
  returned: always
  type: int
unknown:
  description: Number of files whose size is not known before they are there.
  returned: always
  type: int
pending:
  description: True while the work goes on; the task then calls again by itself.
  returned: always
  type: bool
progress:
  description: Stage of the work, amount, and its last line.
  returned: always
  type: str
seconds:
  description: How long the work has been going on.
  returned: always
  type: float
"""

import time

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_content_task import ContentTask
from ansible_collections.npufleet.ascend.plugins.module_utils._clock import Clock
from ansible_collections.npufleet.ascend.plugins.module_utils._command import run
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError, refused_by_host


def argument_spec() -> dict:
    return {
        "path": {"type": "path", "required": True},
        "parts": {"type": "list", "elements": "dict", "required": True},
        "refresh": {"type": "bool", "default": False},
        "python": {"type": "path", "required": True},
        "work_folder": {"type": "path", "default": "~/.cache/npufleet/bundle"},
        "wait_timeout": {"type": "int", "default": 86400},
        "wait_slice": {"type": "int", "default": 10},
    }


def main() -> None:
    module = AnsibleModule(argument_spec=argument_spec(), supports_check_mode=True)
    try:
        result = ContentTask(module.params, run, Clock(time.time, time.sleep)).execute(module.check_mode)
    except NpufleetError as exc:
        module.fail_json(msg=str(exc))
    except OSError as exc:
        module.fail_json(msg=str(refused_by_host(exc)))
    module.exit_json(**result)


if __name__ == "__main__":
    main()
