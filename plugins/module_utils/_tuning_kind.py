# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""What kind of host this is: physical, virtual or a container. From files alone, as systemd-detect-virt(1) reads them; no process is started."""

from __future__ import annotations

import os
import re
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._files import read_text

# Each container engine leaves one of these: systemd for any engine, Docker, Podman.
CONTAINER_FILES = ("/run/systemd/container", "/.dockerenv", "/run/.containerenv")
DMI_FILES = ("sys_vendor", "product_name", "board_vendor", "bios_vendor")
# Words of the DMI strings of hypervisors (systemd, src/basic/virt.c), and of OpenStack, which Huawei Cloud names its machines after.
HYPERVISORS = re.compile(
    r"KVM|QEMU|VMware|VMW|innotek|VirtualBox|Xen|Bochs|Parallels|BHYVE|Hyper-V|Virtual Machine|OpenStack|Amazon EC2|Google Compute"
)


def kind_of_host(root: str = "") -> t.Tuple[str, str]:
    """Return (kind, why): ``physical``, ``virtual`` or ``container``, and the file that says so."""
    for path in CONTAINER_FILES:
        if os.path.exists(root + path):
            return "container", path
    if re.search(r"(?:^|\0)container=", read_text(root + "/proc/1/environ") or ""):
        return "container", "/proc/1/environ"
    return _hypervisor(root)


def _hypervisor(root: str) -> t.Tuple[str, str]:
    for name in DMI_FILES:
        path = "/sys/class/dmi/id/" + name
        if HYPERVISORS.search(read_text(root + path) or ""):
            return "virtual", path
    if re.search(r"^flags\s*:.*\bhypervisor\b", read_text(root + "/proc/cpuinfo") or "", re.MULTILINE):
        return "virtual", "/proc/cpuinfo"
    for path in ("/sys/hypervisor/type", "/proc/device-tree/hypervisor/compatible"):
        if os.path.exists(root + path):
            return "virtual", path
    return "physical", ""
