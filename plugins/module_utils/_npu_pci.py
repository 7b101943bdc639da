# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""What a host shows of its NPUs without npu-smi: PCI functions in sysfs, device nodes, and the version files of the driver.

All of it works for any user, and the PCI scan before any driver is installed. Each function takes the folder it reads, so that another
folder can pose as /sys, /dev or /usr/local/Ascend. A file that is missing or unreadable is None, never an error.
"""

from __future__ import annotations

import os
import re
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._npu_table import CLASS, VENDOR, pci_model

# Nodes beside /dev/davinciN that containers need; ummu and uburma belong to A5 servers.
CONTROL_NODES = ("davinci_manager", "devmm_svm", "hisi_hdc", "ummu", "uburma")


class DriverFiles(t.NamedTuple):
    """Versions as the installed packages say them; the running driver can be older until the next boot."""

    driver_version: t.Optional[str]
    firmware_version: t.Optional[str]
    install_status: t.Optional[str]
    root: str


def scan_pci(sysfs_root: str) -> t.List[t.Dict[str, t.Any]]:
    """Return the Ascend functions (vendor 0x19e5, class 0x1200xx) below ``sysfs_root``/bus/pci/devices, sorted by bus id.

    Each has bus_id (lower case, as sysfs writes it), device_id and subsystem_id (hex without 0x), product, generation, numa_node,
    cpu_affinity (a CPU list such as "0-23"), driver (bound kernel module), and virtual_function (True below a physical function).
    """
    folder = os.path.join(sysfs_root, "bus", "pci", "devices")
    functions = []
    for bus_id in sorted(_listdir(folder)):
        path = os.path.join(folder, bus_id)
        if _hex(path, "vendor") == VENDOR and (_hex(path, "class") or 0) >> 8 == CLASS:
            functions.append(_function(path, bus_id))
    return functions


def _function(path: str, bus_id: str) -> t.Dict[str, t.Any]:
    device, vendor, subsystem = (_hex(path, name) for name in ("device", "subsystem_vendor", "subsystem_device"))
    generation, product = pci_model(_four(device), _four(subsystem))
    driver = os.path.join(path, "driver")
    node = _read(os.path.join(path, "numa_node"))
    return {
        "bus_id": bus_id.lower(),
        "device_id": _four(device),
        "subsystem_id": None if vendor is None or subsystem is None else "{0}:{1}".format(_four(vendor), _four(subsystem)),
        "product": product,
        "generation": generation,
        # -1 means that the firmware names no node
        "numa_node": int(node) if node and re.fullmatch(r"[0-9]{1,6}", node) else None,
        "cpu_affinity": _read(os.path.join(path, "local_cpulist")) or None,
        "driver": os.path.basename(os.path.realpath(driver)) if os.path.exists(driver) else None,
        "virtual_function": os.path.exists(os.path.join(path, "physfn")),
    }


def scan_nodes(dev_root: str) -> t.Tuple[t.List[int], t.List[str]]:
    """Return the numbers of the davinciN nodes in ``dev_root``, sorted, and the names of the control nodes that exist.

    A folder of such a name, as a bind mount of a missing node leaves behind, does not count.
    """
    names = [name for name in _listdir(dev_root) if not os.path.isdir(os.path.join(dev_root, name)) or name in ("ummu", "uburma")]
    numbers = sorted(int(name[len("davinci") :]) for name in names if re.fullmatch(r"davinci[0-9]{1,6}", name))
    return numbers, [name for name in CONTROL_NODES if name in names]


def read_driver_files(driver_root: t.Optional[str], install_info: str) -> DriverFiles:
    """Read driver/version.info and firmware/version.info below ``driver_root`` and the install record (/etc/ascend_install.info).

    Without ``driver_root`` the path from the record counts, then /usr/local/Ascend.
    """
    record = _key_values(install_info)
    root = driver_root or record.get("Driver_Install_Path_Param") or "/usr/local/Ascend"
    return DriverFiles(
        driver_version=_key_values(os.path.join(root, "driver", "version.info")).get("Version"),
        firmware_version=_key_values(os.path.join(root, "firmware", "version.info")).get("Version"),
        install_status=record.get("Driver_Install_Status"),
        root=root,
    )


def _read(path: str) -> t.Optional[str]:
    """Return the stripped text of a small file, or None."""
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read(65536).strip()
    except OSError:
        return None


def _key_values(path: str) -> t.Dict[str, str]:
    pairs = {}
    for line in (_read(path) or "").splitlines():
        key, equals, value = line.partition("=")
        value = value.strip().strip("\"'")
        if equals and value:
            pairs[key.strip()] = value
    return pairs


def _listdir(folder: str) -> t.List[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _hex(path: str, name: str) -> t.Optional[int]:
    text = _read(os.path.join(path, name)) or ""
    return int(text, 16) if re.fullmatch(r"(?:0x)?[0-9a-fA-F]{1,8}", text) else None


def _four(number: t.Optional[int]) -> t.Optional[str]:
    return None if number is None else "{0:04x}".format(number)
