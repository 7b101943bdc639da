#!/usr/bin/python
# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: bundle_manifest
short_description: Write the manifest of an offline bundle, or check a bundle
version_added: 0.1.0
author:
  - npufleet.ascend maintainers (@npufleet)
description:
  - Writes C(manifest.json) with SHA-256, size, source and licence of every file, and C(SHA256SUMS) for C(sha256sum -c), and signs it when
    asked.
  - Checks a bundle against C(SHA256SUMS), and the signature of that when a public key is given.
  - Digests are remembered in O(work_folder), outside of the bundle. A file is read again only when its size, times or inode changed, so a second
    run reads nothing; after the folder was moved everything is read once.
extends_documentation_fragment:
  - npufleet.ascend.attributes
attributes:
  check_mode:
    support: full
    details: Reads the files and writes only what it remembers of them.
  diff_mode:
    support: full
  idempotent:
    support: full
options:
  path:
    description: Folder of the bundle.
    type: path
    required: true
  state:
    description: V(present) writes the manifest. V(verified) checks, and changes nothing.
    type: str
    choices: [present, verified]
    default: present
  sources:
    description: Where files come from, each with C(path), C(url) and C(licence). Files that nobody names here are listed as put there by hand.
    type: list
    elements: dict
    default: []
  parts:
    description: Parts of the plan, which are kept in the manifest so that a site can tell what the bundle lacks.
    type: list
    elements: dict
    default: []
  packages:
    description: Huawei packages of the plan. Their files lie in C(packages).
    type: list
    elements: dict
    default: []
  sign_with:
    description:
      - Path of a private key in PEM format (RSA or EC), which signs with openssl into C(SHA256SUMS.sig), or a key that gpg knows, which signs
        into C(SHA256SUMS.asc).
    type: str
  trust:
    description: Path of the public key, PEM or OpenPGP, that must have signed the bundle. Without it no signature is checked.
    type: path
  work_folder:
    description: Folder on this machine that remembers digests. It may be removed at any time, and must not be where others can write.
    type: path
    default: ~/.cache/npufleet/bundle
  rehash:
    description: Read every file, whatever is remembered.
    type: bool
    default: false
  wait_slice:
    description: Longest time of one call on the host, in seconds. The task calls again until all is read, and shows progress between.
    type: int
    default: 10
seealso:
  - module: npufleet.ascend.bundle_content
  - module: npufleet.ascend.bundle_host
"""

EXAMPLES = r"""
- name: Write the manifest and sign it
  npufleet.ascend.bundle_manifest:
    path: /srv/bundle
    sign_with: /root/keys/bundle.pem

- name: Check a bundle and who made it
  npufleet.ascend.bundle_manifest:
    path: /media/usb/bundle
    state: verified
    trust: /etc/npufleet/bundle.pub.pem
"""

RETURN = r"""
files:
  description: Number of files that were listed or checked.
  returned: always
  type: int
bytes:
  description: Their size together.
  returned: always
  type: int
signature:
  description: Name of the signature that was made; V(valid) or V(not checked) for a bundle that was checked.
  returned: always
  type: str
manifest:
  description: Content of C(manifest.json) of a bundle that was checked.
  returned: always
  type: dict
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
from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_manifest_task import ManifestTask
from ansible_collections.npufleet.ascend.plugins.module_utils._clock import Clock
from ansible_collections.npufleet.ascend.plugins.module_utils._command import run
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError, refused_by_host


def argument_spec() -> dict:
    return {
        "path": {"type": "path", "required": True},
        "state": {"type": "str", "choices": ["present", "verified"], "default": "present"},
        "sources": {"type": "list", "elements": "dict", "default": []},
        "parts": {"type": "list", "elements": "dict", "default": []},
        "packages": {"type": "list", "elements": "dict", "default": []},
        "sign_with": {"type": "str"},
        "trust": {"type": "path"},
        "work_folder": {"type": "path", "default": "~/.cache/npufleet/bundle"},
        "rehash": {"type": "bool", "default": False},
        "wait_slice": {"type": "int", "default": 10},
    }


def main() -> None:
    module = AnsibleModule(argument_spec=argument_spec(), supports_check_mode=True)
    try:
        result = ManifestTask(module.params, run, Clock(time.time, time.sleep)).execute(module.check_mode)
    except NpufleetError as exc:
        module.fail_json(msg=str(exc))
    except OSError as exc:
        module.fail_json(msg=str(refused_by_host(exc)))
    module.exit_json(**result)


if __name__ == "__main__":
    main()
