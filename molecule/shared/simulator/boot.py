# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The boot of the simulated host: what a server's kernel, PCI bus and driver do when it starts. Runs as two systemd units, see install.sh.

boot.py                             PCI bus, device nodes, and the driver on disk becomes the one that runs
boot.py --finish                    the boot is over: another boot id
boot.py --root DIR --no-mounts      nodes and driver alone, below a folder: what a hot reset does, or a test

The boot id changes last. A program that waits for another one, such as ansible.builtin.reboot, gets into a container long before its systemd has
started the services and emptied /tmp; into a server it gets when sshd runs.

The boot id and the PCI bus are mounts over the kernel's own files: root and CAP_SYS_ADMIN, and a /proc that may be mounted upon. They end with
the container, whose restart is the boot.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import sys
import typing as t
import uuid

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

import host_tree
from npu_simulator.state import SimulatorError, State, load, save, state_path

BOOT_ID = "/proc/sys/kernel/random/boot_id"
PCI = "/sys/bus/pci/devices"
RUN = "/run/npu-simulator"
# On the disk: a boot begins with the id of the one before.
STORE = "/var/lib/npu-simulator"
MS_BIND = 4096
MNT_DETACH = 2


def installed_driver(root: str) -> t.Optional[str]:
    """Return the version of the driver on disk, None when there is none or its installation did not come to its end."""
    record = _pairs(os.path.join(root, "etc/ascend_install.info"))
    folder = os.path.join(root, record.get("Driver_Install_Path_Param", "/usr/local/Ascend").lstrip("/"), "driver")
    version = _pairs(os.path.join(folder, "version.info")).get("Version")
    is_whole = record.get("Driver_Install_Status") == "complete" and os.path.isfile(os.path.join(folder, "tools", "upgrade-tool"))
    return version if is_whole else None


def _pairs(path: str) -> t.Dict[str, str]:
    try:
        with open(path, encoding="utf-8") as stream:
            return dict(line.strip().partition("=")[::2] for line in stream if "=" in line)
    except OSError:
        return {}


def boot(state: State, driver: t.Optional[str]) -> State:
    """Return the state after a boot with this driver on disk."""
    faults = state.get("boot_faults") or {}
    state = dict(state, absent=list(faults.get("missing", [])), loaded=driver is not None and not faults.get("not_up"))
    if driver is not None:
        state.update(driver_version=driver, tool_version=driver)
    if state.get("firmware_flashed"):
        state["firmware_version"] = state["firmware_flashed"]
    return state


def make_nodes(state: State, driver: t.Optional[str], dev: str) -> None:
    """Make the device nodes a driver makes: all, the common ones when its devices did not start, none without a driver.

    :raises SimulatorError: when a node cannot be made
    """
    if state["loaded"]:
        host_tree.build_devices(state, dev)
    elif driver is not None:
        host_tree.build_common_devices(dev)
    else:
        host_tree.remove_devices(dev)


def mount_boot_id(store: str = STORE) -> None:
    """Show the id of the boot before in place of the kernel's own, which never changes while the machine around the container runs.

    :raises SimulatorError: when it cannot be mounted
    """
    path = os.path.join(store, "boot_id")
    if not os.path.exists(path):
        change_boot_id(store)
    if not is_mounted(BOOT_ID):
        bind(path, BOOT_ID)


def change_boot_id(store: str = STORE) -> None:
    """Choose another boot id. It is written into the same file, because a mount shows that and no other."""
    host_tree.write(os.path.join(store, "boot_id"), "{0}\n".format(uuid.uuid4()), 0o444)


def mount_pci(state: State, run: str = RUN) -> None:
    """Show the simulated PCI bus at its place.

    :raises SimulatorError: when it cannot be mounted
    """
    host_tree.build_pci(state, run)
    bind(os.path.join(run, "pci-devices"), PCI)


def bind(source: str, target: str) -> None:
    """Mount over a target, in place of an earlier mount of ours. The system calls, because a minimal image may lack mount(8).

    :raises SimulatorError: when the kernel refuses
    """
    libc = ctypes.CDLL(None, use_errno=True)
    while is_mounted(target) and libc.umount2(target.encode(), MNT_DETACH) == 0:
        pass
    if libc.mount(source.encode(), target.encode(), None, MS_BIND, None) != 0:
        reason = os.strerror(ctypes.get_errno())
        raise SimulatorError("cannot mount {0} over {1}: {2}; root and CAP_SYS_ADMIN are needed".format(source, target, reason))


def is_mounted(target: str) -> bool:
    """Is something mounted there?"""
    with open("/proc/self/mountinfo", encoding="utf-8") as stream:
        return any(line.split()[4] == target for line in stream)


def main(argv: t.Sequence[str]) -> int:
    """Boot, or end the boot; 1 when a part of it cannot be done."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--state", default=state_path(), help="state file (default: %(default)s)")
    parser.add_argument("--root", default="/", help="where usr/, etc/ and dev/ are (default: %(default)s)")
    parser.add_argument("--no-mounts", action="store_true", help="leave boot id and PCI bus alone")
    parser.add_argument("--finish", action="store_true", help="change the boot id and do nothing else")
    options = parser.parse_args(argv)
    try:
        if options.finish:
            mount_boot_id()
            change_boot_id()
            return 0
        driver = installed_driver(options.root)
        state = boot(load(options.state), driver)
        save(state, options.state)
        dev = os.path.join(options.root, "dev")
        os.makedirs(dev, exist_ok=True)
        make_nodes(state, driver, dev)
        if not options.no_mounts:
            mount_boot_id()
            mount_pci(state)
    except (SimulatorError, OSError) as exc:
        sys.stderr.write("boot: {0}\n".format(exc))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
