# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a driver leaves behind. Paths from hicann/driver and ascend-deployer; the contents are placeholders of the stand-in's own."""

from __future__ import annotations

import os
import sys
import typing as t

from standin import simulator
from standin.host import Host

ENGINE = os.path.dirname(os.path.abspath(__file__))

# path below the driver folder -> mode without and with install-for-all
TREE = {
    "lib64/libdrvdsmi_host.so": 0o440,
    "lib64/common/libc_sec.so": 0o440,
    "lib64/driver/libascend_hal.so": 0o440,
    "include/ascend_hal.h": 0o440,
    "bin/setenv.bash": 0o550,
    "host/drv_pcie_host.ko": 0o440,
    "kernel/Makefile": 0o440,
    "tools/hccn_tool": 0o550,
    "tools/msnpureport": 0o550,
    "tools/ascend_system_advisor": 0o550,
    "script/feature.conf": 0o440,
    "script/filelist.csv": 0o440,
    "script/version_cap.map": 0o440,
    "scene.info": 0o440,
}
MODULES = ("drv_pcie_host", "drv_seclib_host", "drv_devmng_host", "drv_davinci_intf_host", "drv_vnic")


def version_info(manifest: t.Dict[str, t.Any]) -> str:
    """Return version.info of the driver: the keys of captures, the numbers of this package where they are known."""
    rows = [
        ("Version", manifest["version"]),
        ("ascendhal_version", "7.35.23"),
        ("aicpu_version", "1.0"),
        ("tdt_version", "1.0"),
        ("log_version", "1.0"),
        ("prof_version", "2.0"),
        ("dvppkernels_version", "1.0"),
        ("tsfw_version", "1.0"),
        ("Innerversion", "V100R001C00SPC000B000"),
        ("compatible_version", "[V100R001C00]"),
        ("package_version", manifest["version"]),
    ]
    return "".join("{0}={1}\n".format(*row) for row in rows)


def for_everybody(mode: int, for_all: bool) -> int:
    """Give others what the group has."""
    return mode | (mode >> 3 & 0o007) if for_all else mode


def tree(manifest: t.Dict[str, t.Any], for_all: bool) -> t.Dict[str, t.Tuple[str, int]]:
    """Return text and mode of the files below the driver folder, without version.info and upgrade-tool."""
    text = "# stand-in for {0} {1}\n".format(manifest["kind"], manifest["version"])
    files = {name: (text, for_everybody(mode, for_all)) for name, mode in TREE.items()}
    for name in ("tools/hccn_tool", "tools/msnpureport", "tools/ascend_system_advisor"):
        files[name] = ("#!/bin/sh\necho 'stand-in: not simulated' >&2\nexit 1\n", files[name][1])
    return files


def engine_files(folder: str) -> t.Dict[str, t.Tuple[str, int]]:
    """Return the installer's own code for a folder of the host, where the uninstall script finds it."""
    files = {}
    for name in sorted(os.listdir(ENGINE)):
        if name.endswith((".py", ".json")):
            with open(os.path.join(ENGINE, name), encoding="utf-8") as stream:
                files["{0}/standin/{1}".format(folder, name)] = (stream.read(), 0o444)
    return files


def uninstall_script(folder: str, more: str = "") -> str:
    """Return an uninstall script that runs the code of engine_files."""
    python = sys.executable or "python3"
    text = '#!/bin/sh\nexec "{0}" -B "${{STANDIN_ROOT:-}}{1}/standin/main.py" "$0" - - --uninstall {2} "$@"\n'
    return text.format(python, folder, more)


def system_files(host: Host, path: str, chip: str) -> t.Dict[str, t.Tuple[str, int]]:
    """Return text and mode of the files outside the driver folder, by absolute path."""
    files = {
        "/usr/local/bin/npu-smi": (simulator.npu_smi(host), 0o755),
        "/usr/local/dcmi/libdcmi.so": ("# stand-in\n", 0o555),
        "/usr/bin/device_boot_init.sh": ("#!/bin/sh\nexit 0\n", 0o550),
        "/lib/davinci.conf": ("DAVINCI_HOME_PATH={0}\n".format(path), 0o444),
        "/etc/ascend_filelist.info": ("".join("[driver_ko] {0}\n".format(module(host, name)) for name in MODULES), 0o644),
        "/etc/ascend_driver.conf": ("kmsagent=disable\n", 0o644),
        "/etc/logrotate.d/ascend-install": ("/var/log/ascend_seclog/ascend_install.log {\n    rotate 3\n    missingok\n}\n", 0o644),
    }
    files.update({module(host, name): ("# stand-in\n", 0o440) for name in MODULES})
    if chip == "A3":
        files["/etc/modules-load.d/ascend_modules.conf"] = ("".join(name + "\n" for name in MODULES), 0o644)
    if host.exists("/etc/dracut.conf.d"):
        files["/etc/dracut.conf.d/Ascend-dracut.conf"] = ('omit_drivers+="{0}"\n'.format(" ".join(MODULES)), 0o440)
    return files


# Settings of the administrator: made when missing, kept by an uninstallation.
KEPT = {
    "/etc/hccn.conf": ("", 0o640),
    "/etc/vnpu.cfg": ("vnpu_config_recover:enable\n[vnpu-config start]\n[vnpu-config end]\n", 0o600),
}


def module(host: Host, name: str) -> str:
    """Return the path of a kernel module."""
    return "/lib/modules/{0}/updates/{1}.ko".format(host.kernel, name)
