#!/usr/bin/python
# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ascend_package
short_description: Install, upgrade, remove or fetch the Ascend packages of a host
version_added: 0.1.0
author:
  - npufleet.ascend maintainers (@npufleet)
description:
  - Brings driver, firmware, CANN (toolkit, operators, nnal), Ascend Docker Runtime and the toolbox of a host to exact versions, all in one call.
  - What is installed is read from the files that the installers leave behind. An installer is started only for a package that is missing,
    incomplete, or of another version; a second run starts none.
  - Everything that can be refused is refused before anything is touched, in one message. Package files are executed only after their SHA-256
    sum was compared with the one that Huawei publishes or the task gives.
  - An installer is a job of its own on the host. An interrupted play loses nothing, and never ends an installer; the next run goes on watching it.
  - Driver and firmware go in the order that the host needs, and a reboot is reported and never done.
extends_documentation_fragment:
  - npufleet.ascend.attributes
attributes:
  check_mode:
    support: full
    details: All checks run. What an earlier task of a real run would put right (files, tools, headers, the user) is returned in RV(problems).
  diff_mode:
    support: full
  idempotent:
    support: full
options:
  packages:
    description: The packages, each kind once. With O(state=downloaded) a kind may come for several chips and architectures.
    type: list
    elements: dict
    required: true
    suboptions:
      name:
        description: Kind of package. V(toolbox) is C(ascend-dmi).
        type: str
        required: true
        choices: [driver, firmware, toolkit, ops, nnal, docker_runtime, toolbox]
      version:
        description: Exact version, as in the name of the file. Of firmware that of the HDK. Not needed to remove a package.
        type: str
      file:
        description: Package file (C(.run) or C(.zip)) when it is not called as Huawei calls it; a path below O(folder), or an absolute one.
        type: path
      sha256:
        description: SHA-256 sum of the file. It counts instead of the published one.
        type: str
      url:
        description: Where to get the file.
        type: str
      chip:
        description: Instead of O(chip).
        type: str
        choices: ["910", "910b", "310p", "310b", "A3", "950"]
      arch:
        description: Instead of O(arch).
        type: str
        choices: [aarch64, x86_64]
  state:
    description:
      - V(present) has exactly these versions installed.
      - V(absent) removes the packages, whatever their versions. Users and their homes stay.
      - V(downloaded) only gets the files into O(folder), for any chip and architecture. It needs no root.
    type: str
    choices: [present, absent, downloaded]
    default: present
  folder:
    description: Folder of the package files on the host.
    type: path
    default: /var/lib/npufleet/packages
  install_path:
    description: Root of the installation.
    type: path
    default: /usr/local/Ascend
  chip:
    description: Chip of the host as packages name it, for driver, firmware and operators. V(910b) is Atlas A2.
    type: str
    choices: ["910", "910b", "310p", "310b", "A3", "950"]
  arch:
    description: Architecture of the packages. By default that of the host.
    type: str
    choices: [aarch64, x86_64]
  user:
    description: User that owns the device nodes. It has to exist.
    type: str
    default: HwHiAiUser
  group:
    description: Its group.
    type: str
    default: HwHiAiUser
  download:
    description: Get files that are missing from Huawei, from O(mirror), or from the url of the package. Proxies of the environment are used.
    type: bool
    default: false
  mirror:
    description: Address of a mirror with the same folders as Huawei's object store. It may hold user and password.
    type: str
  accept_licences:
    description: The operator accepts the licences of these packages. Without it no installer is started.
    type: bool
    default: false
  unverified_ok:
    description: Execute a file for which nobody gives a SHA-256 sum. A sum that differs is never accepted.
    type: bool
    default: false
  checksums:
    description: SHA-256 sums of files without a published one, by file name.
    type: dict
    default: {}
  allow_downgrade:
    description: Install an older version than the one that is there.
    type: bool
    default: false
  secure_boot_ok:
    description: Install the driver although secure boot or kernel lockdown is on, since the site signs its modules.
    type: bool
    default: false
  register_runtime:
    description:
      - Whether the installer of the Ascend Docker Runtime may write its runtime into Docker's C(daemon.json), as the default one.
      - V(false) gives it another file instead. Its programs are installed, and whoever wants them registers them, such as with containerd by
        M(npufleet.ascend.container_engine).
    type: bool
    default: true
  hdk:
    description: Version of the driver that the host will have, for the check that versions go together. By default the wanted or installed one.
    type: str
  vllm_ascend:
    description: Release of vllm-ascend that is to run, for the same check.
    type: str
  python_version:
    description: Version of Python that CANN is to be used with outside of a container, for the same check.
    type: str
  record_folder:
    description: Where the module keeps what it remembers, its jobs and their logs.
    type: path
    default: /var/lib/npufleet/ascend_package
  wait_timeout:
    description: Seconds to wait for one installer. After that the task fails and leaves it alone.
    type: int
    default: 3600
  wait_slice:
    description: Longest wait of one call on the host, in seconds. The task calls again until nothing is left to do, and shows progress between.
    type: int
    default: 10
seealso:
  - module: npufleet.ascend.npu_facts
"""

EXAMPLES = r"""
- name: Driver and firmware of one HDK, from files that lie on the host
  npufleet.ascend.ascend_package:
    chip: 910b
    accept_licences: true
    packages:
      - {name: driver, version: 25.5.0}
      - {name: firmware, version: 25.5.0}
  register: packages

- name: CANN, with a sum for the package that has no published one
  npufleet.ascend.ascend_package:
    chip: 910b
    accept_licences: true
    download: true
    packages:
      - {name: toolkit, version: 8.5.0}
      - {name: ops, version: 8.5.0}
      - name: nnal
        version: 8.5.0
        sha256: 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef

- name: Get the files for two architectures into a folder, to be carried to hosts without a network
  npufleet.ascend.ascend_package:
    state: downloaded
    folder: /srv/bundle/packages
    packages:
      - {name: driver, version: 25.5.0, chip: 910b, arch: aarch64}
      - {name: driver, version: 25.5.0, chip: 910b, arch: x86_64}

- name: Remove the Docker runtime
  npufleet.ascend.ascend_package:
    state: absent
    packages:
      - name: docker_runtime
"""

RETURN = r"""
packages:
  description: The packages in the order they were asked for, as they are after the task. In check mode, as they are now.
  returned: always
  type: list
  elements: dict
  contains:
    name:
      description: Kind of package.
      type: str
    installed:
      description: Version on disk, or null. Of firmware its own number.
      type: str
    wanted:
      description: Version that is to be there, or null. Of firmware its own number where that is known.
      type: str
    running:
      description: Version of the driver that runs, from C(npu-smi); null for unknown, and for other kinds.
      type: str
    action:
      description: What was done, or would be. One of C(none), C(install), C(upgrade), C(downgrade), C(repair), C(remove) and C(download).
      type: str
    file:
      description: Path of the package file.
      type: str
    sha256:
      description: Its SHA-256 sum.
      type: str
      returned: with O(state=downloaded)
    reason:
      description: Why something is to be done, in words.
      type: str
needed_files:
  description: Names of the package files that are needed and not on the host yet.
  returned: always
  type: list
  elements: str
unrecorded:
  description:
    - Packages whose installer came to a good end while nobody looked, as when the play was interrupted.
    - Check mode can only tell; any other run writes that down and removes what was unpacked for them.
  returned: with O(state=present) and O(state=absent)
  type: list
  elements: str
reboot_required:
  description: Must the host be rebooted before driver and firmware on disk are those that run?
  returned: always
  type: bool
reboot_reason:
  description: Why, in words.
  returned: always
  type: str
npus_before:
  description:
    - Number of NPUs that the host had before driver or firmware changed, or null once all of them were seen again.
    - The role P(npufleet.ascend.ascend_driver#role) writes it to the file C(npus) in O(record_folder), and deletes that.
  returned: with O(state=present) and O(state=absent)
  type: int
problems:
  description: What would stop a real run, and is usually put right by an earlier task of it.
  returned: always
  type: list
  elements: str
pending:
  description: True while an installer or a download goes on; the task then calls again by itself.
  returned: always
  type: bool
progress:
  description: What is going on, and the last line of the installer's log.
  returned: always
  type: str
seconds:
  description: For how long that has been going on.
  returned: always
  type: float
"""

import os
import platform
import time

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.npufleet.ascend.plugins.module_utils._clock import Clock
from ansible_collections.npufleet.ascend.plugins.module_utils._command import find_tool, run
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError, refused_by_host
from ansible_collections.npufleet.ascend.plugins.module_utils._package_options import argument_spec
from ansible_collections.npufleet.ascend.plugins.module_utils._package_prerequisites import Host
from ansible_collections.npufleet.ascend.plugins.module_utils._package_task import PackageTask


def main() -> None:
    module = AnsibleModule(argument_spec=argument_spec(), supports_check_mode=True)
    clock = Clock(time.time, time.sleep)
    host = Host(run, find_tool, os.geteuid(), platform.machine(), os.uname()[2])
    try:
        if module.params["state"] == "downloaded":
            # With all that it takes to speak HTTP, which a target would compile at each call.
            from ansible_collections.npufleet.ascend.plugins.module_utils._package_download import DownloadTask

            result = DownloadTask(module.params, host.machine, clock).execute(module.check_mode)
        else:
            result = PackageTask(module.params, host, clock).execute(module.check_mode)
    except NpufleetError as exc:
        module.fail_json(msg=str(exc), **getattr(exc, "result", {}))
    except OSError as exc:
        module.fail_json(msg=str(refused_by_host(exc)))
    for doubt in result.pop("doubts", []):
        module.warn(doubt)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
