# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Make the machine look like the host of the state file: sysfs root, device nodes, driver files.

host_tree.py sysfs --root /opt/npu-simulator      ROOT/sys with the PCI functions and NUMA nodes
host_tree.py devices --dev /dev                   /dev/davinciN and the common nodes; root and CAP_MKNOD
host_tree.py driver --root /                      version.info of driver and firmware, /etc/ascend_install.info
host_tree.py pci --root DIR                       DIR/pci-devices: the functions as folders, for a mount over /sys/bus/pci/devices
host_tree.py no-driver --root / --dev /dev        a bare machine again: no driver files, no device nodes
"""

from __future__ import annotations

import argparse
import grp
import os
import shutil
import stat
import struct
import sys
import typing as t

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

from npu_simulator.state import SimulatorError, State, load, present, state_path

# The driver takes free (dynamic) numbers; the kernel hands them out downwards from 254, so 236 and 237 are plausible on a server. Assumed.
DAVINCI_MAJOR = 236
COMMON_MAJOR = 237
COMMON_NODES = ("davinci_manager", "devmm_svm", "hisi_hdc")
DRIVER_GROUP = "HwHiAiUser"

# A network card of the same vendor: a search by vendor alone is wrong on Kunpeng servers.
NETWORK_CARD = {
    "bus": "0000:05:00.0",
    "vendor": "0x19e5",
    "device": "0x1822",
    "class": "0x020000",
    "subsystem_vendor": "0x19e5",
    "subsystem_device": "0xd136",
    "numa_node": "0",
    "local_cpulist": "0-23",
}


def write(path: str, text: str, mode: int = 0o644) -> None:
    """Write one file with its folders."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(text)
    os.chmod(path, mode)


def pci_functions(state: State) -> t.List[t.Dict[str, str]]:
    """Return the attributes of each NPU function as sysfs shows them: lower case, one function for the chips that share a bus id."""
    board, functions = state["board"], {}
    for chip in present(state)["chips"]:
        if chip["bus"] is None or board["pci_device"] == "NA":
            continue
        functions[chip["bus"].lower()] = {
            "bus": chip["bus"].lower(),
            "vendor": "0x19e5",
            "device": board["pci_device"].lower(),
            "class": "0x120000",
            "subsystem_vendor": board["subsystem_vendor"].lower(),
            "subsystem_device": board["subsystem_device"].lower(),
            "numa_node": str(chip["numa_node"]),
            "local_cpulist": chip["cpus"],
        }
    return list(functions.values())


def write_function(function: t.Dict[str, str], folder: str) -> None:
    """Write the files of one function: those for programs that read attributes, and those that lspci insists on."""
    for name, value in function.items():
        if name != "bus":
            write(os.path.join(folder, name), value + "\n")
    write(os.path.join(folder, "irq"), "0\n")
    write(os.path.join(folder, "resource"), "0x0000000000000000 0x0000000000000000 0x0000000000000000\n" * 7)
    with open(os.path.join(folder, "config"), "wb") as stream:
        stream.write(config_space(function))


def config_space(function: t.Dict[str, str]) -> bytes:
    """Return the header of the configuration space (PCI Local Bus Specification 3.0, 6.1): ids, class and subsystem, all else 0."""
    ids = struct.pack("<HHHHI", int(function["vendor"], 16), int(function["device"], 16), 0, 0, int(function["class"], 16) << 8)
    subsystem = struct.pack("<HH", int(function["subsystem_vendor"], 16), int(function["subsystem_device"], 16))
    return (ids.ljust(0x2C, b"\0") + subsystem).ljust(256, b"\0")


def build_pci(state: State, root: str) -> None:
    """Write ROOT/pci-devices. Folders, not links, because a mount takes only this one level of sysfs."""
    folder = os.path.join(root, "pci-devices")
    shutil.rmtree(folder, ignore_errors=True)
    for function in [*pci_functions(state), NETWORK_CARD]:
        write_function(function, os.path.join(folder, function["bus"]))


def build_sysfs(state: State, root: str) -> None:
    """Write ROOT/sys: devices below their host bridge, the links of bus/pci/devices, NUMA nodes and CPUs."""
    sys_root = os.path.join(root, "sys")
    shutil.rmtree(sys_root, ignore_errors=True)
    links = os.path.join(sys_root, "bus", "pci", "devices")
    os.makedirs(links)
    for function in [*pci_functions(state), NETWORK_CARD]:
        bridge = "pci{0}0".format(function["bus"][:6])
        folder = os.path.join(sys_root, "devices", bridge, function["bus"])
        write_function(function, folder)
        os.symlink(os.path.relpath(folder, links), os.path.join(links, function["bus"]))
    _build_nodes(sys_root, state["board"]["numa_nodes"], state["board"]["cpus_per_node"])


def _build_nodes(sys_root: str, count: int, cpus: int) -> None:
    system = os.path.join(sys_root, "devices", "system")
    write(os.path.join(system, "node", "online"), "0-{0}\n".format(count - 1) if count > 1 else "0\n")
    write(os.path.join(system, "cpu", "online"), "0-{0}\n".format(count * cpus - 1))
    for node in range(count):
        write(os.path.join(system, "node", "node{0}".format(node), "cpulist"), "{0}-{1}\n".format(node * cpus, (node + 1) * cpus - 1))


def build_devices(state: State, dev: str) -> None:
    """Make the device nodes: one for each chip, by physical id, and the common ones.

    :raises SimulatorError: when the node cannot be made
    """
    numbers = [("davinci{0}".format(chip["phy"]), os.makedev(DAVINCI_MAJOR, chip["phy"])) for chip in present(state)["chips"]]
    make_nodes(numbers + _common_nodes(), dev)


def build_common_devices(dev: str) -> None:
    """Make the common nodes alone: a driver whose devices did not start (assumed)."""
    make_nodes(_common_nodes(), dev)


def _common_nodes() -> t.List[t.Tuple[str, int]]:
    return [(name, os.makedev(COMMON_MAJOR, minor)) for minor, name in enumerate(COMMON_NODES)]


def make_nodes(numbers: t.Sequence[t.Tuple[str, int]], dev: str) -> None:
    """Replace all nodes of a driver by these.

    :raises SimulatorError: when one cannot be made
    """
    remove_devices(dev)
    for name, number in numbers:
        path = os.path.join(dev, name)
        try:
            os.mknod(path, 0o660 | stat.S_IFCHR, number)
        except OSError as exc:
            raise SimulatorError("cannot make {0}: {1}; device nodes need root and CAP_MKNOD".format(path, exc.strerror)) from exc
        os.chmod(path, 0o660)
        _give_to_driver_group(path)


def remove_devices(dev: str) -> None:
    """Remove every node a driver would have made."""
    for name in os.listdir(dev):
        if name in COMMON_NODES or (name.startswith("davinci") and name[7:].isdigit()):
            os.unlink(os.path.join(dev, name))


def _give_to_driver_group(path: str) -> None:
    try:
        os.chown(path, 0, grp.getgrnam(DRIVER_GROUP).gr_gid)
    except KeyError:
        return


def driver_files(state: State) -> t.Dict[str, t.Tuple[str, int]]:
    """Return path, text and mode of the files an installed driver and firmware leave behind."""
    install = {
        "UserName": DRIVER_GROUP,
        "UserGroup": DRIVER_GROUP,
        "Firmware_Install_Type": "full",
        "Firmware_Install_Path_Param": "/usr/local/Ascend",
        "Driver_Install_Type": "full",
        "Driver_Install_Path_Param": "/usr/local/Ascend",
        "Driver_Install_For_All": "no",
        "Driver_Install_Mode": "normal",
        "Driver_Install_Status": "complete",
    }
    tool = "#!/bin/sh\necho 'npu-simulator: upgrade-tool is not simulated' >&2\nexit 70\n"
    return {
        "usr/local/Ascend/driver/version.info": ("Version={0}\n".format(state["driver_version"]), 0o444),
        "usr/local/Ascend/firmware/version.info": ("Version={0}\n".format(state["firmware_version"]), 0o444),
        "usr/local/Ascend/driver/tools/upgrade-tool": (tool, 0o755),
        "etc/ascend_install.info": ("".join("{0}={1}\n".format(*item) for item in install.items()), 0o644),
    }


def build_driver(state: State, root: str) -> None:
    """Write the driver files below ROOT."""
    for path, (text, mode) in driver_files(state).items():
        write(os.path.join(root, path), text, mode)


def remove_driver(state: State, root: str) -> None:
    """Remove what build_driver wrote."""
    for path in driver_files(state):
        full = os.path.join(root, path)
        if os.path.exists(full):
            os.unlink(full)


def main(argv: t.Sequence[str]) -> int:
    """Build the parts named on the command line; 1 when one cannot be built."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", nargs="+", choices=["sysfs", "pci", "devices", "driver", "no-driver"])
    parser.add_argument("--state", default=state_path(), help="state file (default: %(default)s)")
    parser.add_argument("--root", default="/opt/npu-simulator", help="where sys/, usr/ and etc/ begin (default: %(default)s)")
    parser.add_argument("--dev", default="/dev", help="folder of the device nodes (default: %(default)s)")
    options = parser.parse_args(argv)
    try:
        state = load(options.state)
        if "sysfs" in options.part:
            build_sysfs(state, options.root)
        if "pci" in options.part:
            build_pci(state, options.root)
        if "devices" in options.part:
            build_devices(state, options.dev)
        if "driver" in options.part:
            build_driver(state, options.root)
        if "no-driver" in options.part:
            remove_driver(state, options.root)
            remove_devices(options.dev)
    except SimulatorError as exc:
        sys.stderr.write("host_tree: {0}\n".format(exc))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
