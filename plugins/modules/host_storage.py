#!/usr/bin/python
# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: host_storage
short_description: Mount disks for weights and logs, and check that they are large enough
version_added: 0.1.0
author:
  - npufleet.ascend maintainers (@npufleet)
description:
  - Mounts existing file systems by UUID, now and at each boot, and checks size and place.
  - Makes a file system only on a blank device and only with C(format=true). A device with any signature, partition, mount or holder is refused.
  - Lines of fstab that belong to this module carry the option C(x-npufleet); other lines are never changed.
  - Everything is checked before the first change. Data is never deleted.
extends_documentation_fragment:
  - npufleet.ascend.attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: full
options:
  state:
    description: V(absent) unmounts what this module mounted and removes its lines of fstab; all of them, or those of O(mounts).
    type: str
    choices: [present, absent]
    default: present
  mounts:
    description: The file systems.
    type: list
    elements: dict
    default: []
    suboptions:
      path:
        description: Folder to mount on. It must be empty.
        type: path
        required: true
      device:
        description: Device, best a path below C(/dev/disk/by-id), or C(UUID=...). Without one, what is there is only checked.
        type: str
      fstype:
        description: Type of the file system. By default the one that is on the device.
        type: str
      options:
        description: Options of mount. With C(nofail) a host boots without the disk.
        type: str
        default: defaults,noatime,nofail
      format:
        description: Make a file system, V(xfs) or V(ext4), if the device is blank.
        type: bool
        default: false
      min_bytes:
        description: Lowest size in bytes, of the device; what the file system keeps for itself does not count.
        type: int
      separate:
        description: Refuse the file system of C(/).
        type: bool
        default: false
"""

EXAMPLES = r"""
- name: Weights on an NVMe disk of at least 1 TB, logs on a disk of their own
  npufleet.ascend.host_storage:
    mounts:
      - path: /data/models
        device: /dev/disk/by-id/nvme-EXAMPLE_DISK_0001
        fstype: xfs
        format: true
        min_bytes: 1000000000000
      - path: /var/log/npufleet
        device: UUID=01234567-89ab-cdef-0123-456789abcdef

- name: Only check that there is room for weights
  npufleet.ascend.host_storage:
    mounts:
      - path: /data/models
        min_bytes: 1000000000000
        separate: true

- name: Unmount them and forget them; the data stays
  npufleet.ascend.host_storage:
    state: absent
"""

RETURN = r"""
mounts:
  description: One element a file system.
  returned: success
  type: list
  elements: dict
  contains:
    path:
      description: Where it is mounted.
      type: str
    device:
      description: Its device, resolved.
      type: str
    kind:
      description: V(nvme), V(ssd), V(disk) or V(unknown).
      type: str
    fstype:
      description: Its type.
      type: str
    size_bytes:
      description: Size of the file system where the path is, or would be.
      type: int
    free_bytes:
      description: Bytes that are free there.
      type: int
    actions:
      description: What was done, or would be; any of V(format), V(fstab), V(mount).
      type: list
      elements: str
"""

import os

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.npufleet.ascend.plugins.module_utils._command import run
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError, refused_by_host
from ansible_collections.npufleet.ascend.plugins.module_utils._storage_task import StorageTask

MOUNTS = {
    "path": {"type": "path", "required": True},
    "device": {"type": "str"},
    "fstype": {"type": "str"},
    "options": {"type": "str", "default": "defaults,noatime,nofail"},
    "format": {"type": "bool", "default": False},
    "min_bytes": {"type": "int"},
    "separate": {"type": "bool", "default": False},
}


def argument_spec() -> dict:
    return {
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        "mounts": {"type": "list", "elements": "dict", "default": [], "options": MOUNTS},
    }


def main() -> None:
    module = AnsibleModule(argument_spec=argument_spec(), supports_check_mode=True)
    try:
        result = StorageTask(module.params, run, is_root=os.geteuid() == 0).execute(module.check_mode)
    except NpufleetError as exc:
        module.fail_json(msg=str(exc))
    except OSError as exc:
        module.fail_json(msg=str(refused_by_host(exc)))
    module.exit_json(**result)


if __name__ == "__main__":
    main()
