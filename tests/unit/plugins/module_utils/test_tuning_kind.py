# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_kind import kind_of_host
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.tuning_fakes import write


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        ({}, ("physical", "")),
        ({"/sys/class/dmi/id/sys_vendor": "Huawei\n", "/sys/class/dmi/id/product_name": "Atlas 800I A2\n"}, ("physical", "")),
        ({"/proc/cpuinfo": "flags\t\t: fpu vme sse\n"}, ("physical", "")),
        ({"/run/systemd/container": "docker"}, ("container", "/run/systemd/container")),
        ({"/.dockerenv": ""}, ("container", "/.dockerenv")),
        ({"/run/.containerenv": ""}, ("container", "/run/.containerenv")),
        ({"/proc/1/environ": "PATH=/bin\0container=lxc\0"}, ("container", "/proc/1/environ")),
        ({"/proc/1/environ": "container=podman\0"}, ("container", "/proc/1/environ")),
        ({"/proc/1/environ": "mycontainer=no\0"}, ("physical", "")),
        ({"/sys/class/dmi/id/sys_vendor": "QEMU\n"}, ("virtual", "/sys/class/dmi/id/sys_vendor")),
        ({"/sys/class/dmi/id/product_name": "OpenStack Compute\n"}, ("virtual", "/sys/class/dmi/id/product_name")),
        ({"/proc/cpuinfo": "x: y\nflags\t\t: fpu hypervisor lahf_lm\n"}, ("virtual", "/proc/cpuinfo")),
        ({"/sys/hypervisor/type": "xen\n"}, ("virtual", "/sys/hypervisor/type")),
        ({"/proc/device-tree/hypervisor/compatible": "linux,kvm\0"}, ("virtual", "/proc/device-tree/hypervisor/compatible")),
        # A container in a virtual machine is a container first: it does not own the kernel.
        ({"/.dockerenv": "", "/sys/class/dmi/id/sys_vendor": "QEMU"}, ("container", "/.dockerenv")),
    ],
)
def test_kind_of_host(tmp_path, files, kind):
    for path, text in files.items():
        write(tmp_path, path, text)
    assert kind_of_host(str(tmp_path)) == kind
