# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t
from pathlib import Path

from ansible_collections.npufleet.ascend.plugins.module_utils._npu_pci import DriverFiles, read_driver_files, scan_nodes, scan_pci


def add_function(root: Path, bus_id: str, **files: str) -> Path:
    folder = root / "bus" / "pci" / "devices" / bus_id
    folder.mkdir(parents=True)
    values = dict({"vendor": "0x19e5", "class": "0x120000"}, **files)
    for name, value in values.items():
        (folder / name).write_text(value + "\n", encoding="utf-8")
    return folder


def test_a_whole_function(tmp_path: Path) -> None:
    ids = {"device": "0xd802", "subsystem_vendor": "0x19e5", "subsystem_device": "0x3004"}
    folder = add_function(tmp_path, "0000:c1:00.0", numa_node="3", local_cpulist="72-95", **ids)
    (tmp_path / "davinci_driver").mkdir()
    (folder / "driver").symlink_to(tmp_path / "davinci_driver")
    assert scan_pci(str(tmp_path)) == [
        {
            "bus_id": "0000:c1:00.0",
            "device_id": "d802",
            "subsystem_id": "19e5:3004",
            "product": "Atlas 800I A2",
            "generation": "A2",
            "numa_node": 3,
            "cpu_affinity": "72-95",
            "driver": "davinci_driver",
            "virtual_function": False,
        }
    ]


def test_a_bare_function_has_unknown_values(tmp_path: Path) -> None:
    folder = add_function(tmp_path, "0000:01:00.0", numa_node="-1", local_cpulist="")
    (folder / "physfn").mkdir()
    assert scan_pci(str(tmp_path)) == [
        {
            "bus_id": "0000:01:00.0",
            "device_id": None,
            "subsystem_id": None,
            "product": None,
            "generation": None,
            "numa_node": None,
            "cpu_affinity": None,
            "driver": None,
            "virtual_function": True,
        }
    ]


def test_only_processing_accelerators_of_the_vendor_in_order(tmp_path: Path) -> None:
    add_function(tmp_path, "0000:82:00.0", device="0xd500", subsystem_vendor="0x0200", subsystem_device="0x0110")
    add_function(tmp_path, "0000:02:00.0", device="0xd500", subsystem_vendor="0x0200", subsystem_device="0x0110")
    add_function(tmp_path, "0000:7d:00.0", **{"class": "0x020000"})  # a network card of the vendor
    add_function(tmp_path, "0000:07:00.0", vendor="0x10de")
    add_function(tmp_path, "0000:08:00.0", vendor="no number")
    assert [(row["bus_id"], row["product"]) for row in scan_pci(str(tmp_path))] == [
        ("0000:02:00.0", "Atlas 300I Duo"),
        ("0000:82:00.0", "Atlas 300I Duo"),
    ]


def test_no_pci_bus(tmp_path: Path) -> None:
    assert scan_pci(str(tmp_path)) == []


def test_device_nodes(tmp_path: Path) -> None:
    for name in ("davinci10", "davinci2", "davinci0", "davinci_manager", "hisi_hdc", "davincix", "null"):
        (tmp_path / name).touch()
    (tmp_path / "davinci3").mkdir()  # what a bind mount of a missing node leaves behind
    (tmp_path / "uburma").mkdir()  # a folder of nodes
    assert scan_nodes(str(tmp_path)) == ([0, 2, 10], ["davinci_manager", "hisi_hdc", "uburma"])
    assert scan_nodes(str(tmp_path / "none")) == ([], [])


def write(path: Path, text: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_driver_files(tmp_path: Path) -> None:
    record = write(
        tmp_path / "ascend_install.info", "UserName=HwHiAiUser\nDriver_Install_Path_Param=/opt/none\nDriver_Install_Status=complete\n"
    )
    write(tmp_path / "driver" / "version.info", 'Version="25.5.1"\npackage_version=25.5.1\nbroken line\n')
    write(tmp_path / "firmware" / "version.info", "Version=7.8.0.6.201\n")
    assert read_driver_files(str(tmp_path), record) == DriverFiles("25.5.1", "7.8.0.6.201", "complete", str(tmp_path))


def test_the_record_tells_the_folder(tmp_path: Path) -> None:
    record = write(tmp_path / "record", "Driver_Install_Path_Param={0}\n".format(tmp_path))
    write(tmp_path / "driver" / "version.info", "Version=24.1.0\nInnerversion=\n")
    assert read_driver_files(None, record) == DriverFiles("24.1.0", None, None, str(tmp_path))


def test_nothing_installed(tmp_path: Path) -> None:
    none: t.Optional[str] = None
    assert read_driver_files(str(tmp_path), str(tmp_path / "none")) == DriverFiles(none, none, none, str(tmp_path))
    assert read_driver_files(None, str(tmp_path / "none")).root == "/usr/local/Ascend"
