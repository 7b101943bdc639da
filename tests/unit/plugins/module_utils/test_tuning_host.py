# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
import types

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils import _tuning_host
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_host import Irq, Node, Npu, irq_path, read_host
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.tuning_fakes import (
    BUS,
    GIB,
    Bench,
    add_npus,
    start_irqbalance,
    start_tuned,
    write,
)

NEAR = tuple(range(8, 16))


@pytest.fixture()
def bench(tmp_path, monkeypatch):
    return Bench(tmp_path, monkeypatch)


def host_of(bench, chips=(), host_type="auto"):
    return read_host(str(bench.root), chips, host_type)


def test_a_server_without_npus(bench):
    host = host_of(bench)
    assert (host.kind, host.machine, host.kernel, host.page_size, host.systemd) == ("physical", "aarch64", (6, 6), 4096, True)
    assert host.nodes == (Node(0, tuple(range(8)), 8 * GIB), Node(1, NEAR, 8 * GIB))
    assert (host.memory_bytes, host.default_kb, host.iommu) == (16 * GIB, 2048, True)
    assert host.cmdline == ("root=/dev/sda2", "ro", "quiet")
    assert (host.npus, host.irqs, host.daemons, host.irqbalance_enabled) == ((), (), frozenset(), False)
    assert host.values["/proc/sys/vm/swappiness"] == "60\n"
    assert "/proc/sys/kernel/sched_migration_cost_ns" not in host.values
    assert (host.boot_tool, host.readonly) == ("/usr/sbin/update-grub", frozenset())


def test_policies_are_in_the_order_of_their_numbers(bench):
    names = [path.split("/")[6] for path in host_of(bench).values if path.endswith("scaling_governor")]
    assert names == ["policy{0}".format(number) for number in range(16)]


def test_npus_with_their_interrupts(bench):
    chips = add_npus(bench.root)
    host = host_of(bench, chips)
    assert host.npus == (Npu(0, BUS[0], 1, NEAR), Npu(1, BUS[1], 1, NEAR))
    assert host.irqs[:3] == (
        Irq(BUS[0], "sq_send_trigger_irq", 0, 100),
        Irq(BUS[0], "cq_update_irq", 0, 101),
        Irq(BUS[0], "cq_update_irq", 1, 102),
    )
    assert host.values[irq_path(host.irqs[0])] == "0-15\n"
    assert len(host.irqs) == 6


def test_npus_without_facts_have_no_device_number(bench):
    add_npus(bench.root, driver=False)
    assert [npu.device for npu in host_of(bench).npus] == [None, None]


def test_chips_on_no_pci_bus_come_from_the_facts(bench):
    chips = [{"bus_id": None, "phy_id": 3, "numa_node": 1}, {"bus_id": "", "phy_id": None, "cpu_affinity": "0-3", "numa_node": None}]
    npus = host_of(bench, chips).npus
    assert npus == (Npu(3, "", 1, NEAR), Npu(None, "", None, (0, 1, 2, 3)))
    assert [npu.name for npu in npus] == ["davinci3", "davinci?"]
    add_npus(bench.root)
    assert [npu.bus_id for npu in host_of(bench, [*chips, {"bus_id": BUS[0], "phy_id": 0}]).npus] == [*BUS, "", ""]


@pytest.mark.parametrize(
    ("local", "node", "affinity", "cpus"),
    [("8-15", "1", None, NEAR), ("", "1", None, NEAR), ("", "-1", "0-3", (0, 1, 2, 3)), ("", "-1", None, ()), ("", "7", "rubbish", ())],
)
def test_cpus_of_an_npu_come_from_sysfs_the_facts_or_its_node(bench, local, node, affinity, cpus):
    add_npus(bench.root, driver=False)
    write(bench.root, "/sys/bus/pci/devices/{0}/local_cpulist".format(BUS[0]), local)
    write(bench.root, "/sys/bus/pci/devices/{0}/numa_node".format(BUS[0]), node)
    assert host_of(bench, [{"bus_id": BUS[0], "phy_id": 4, "cpu_affinity": affinity}]).npus[0].cpus == cpus


def test_services(bench):
    start_irqbalance(bench.root)
    start_tuned(bench.root, "balanced\n  mine", "auto")
    write(bench.root, "/etc/default/irqbalance", "#IRQBALANCE_ARGS=no\nOPTIONS='--journal'\nOTHER=1\n")
    host = host_of(bench)
    assert (host.daemons, host.irqbalance_enabled) == (frozenset({"irqbalance", "tuned"}), True)
    assert (host.tuned_profile, host.tuned_auto, host.tuned_folder) == ("balanced mine", True, "/etc/tuned")
    assert host.irqbalance_options == {"IRQBALANCE_ARGS": "", "OPTIONS": "--journal"}
    (bench.root / "etc/tuned/profiles").mkdir()
    assert host_of(bench).tuned_folder == "/etc/tuned/profiles"


def test_a_node_without_memory_gets_no_pages(bench):
    write(bench.root, "/sys/devices/system/node/node2/meminfo", "Node 2 MemTotal:       0 kB\n")
    write(bench.root, "/sys/devices/system/node/node10/meminfo", "Node 10 MemTotal:   4096 kB\nNode 10 MemFree:  1024 kB\n")
    assert [node.number for node in host_of(bench).nodes] == [0, 1, 10]
    assert host_of(bench).nodes[2] == Node(10, (), 1024**2)


def test_the_type_can_be_told(bench):
    write(bench.root, "/.dockerenv")
    assert (host_of(bench).kind, host_of(bench).kind_source) == ("container", "/.dockerenv")
    assert (host_of(bench, host_type="physical").kind, host_of(bench, host_type="physical").kind_source) == ("physical", "host_type")


def test_a_read_only_file_system_is_noticed(bench, monkeypatch):
    real = os.statvfs

    def readonly_sys(path):
        return types.SimpleNamespace(f_flag=os.ST_RDONLY) if "/sys/kernel/" in path and "/proc/" not in path else real(path)

    monkeypatch.setattr(_tuning_host.os, "statvfs", readonly_sys)
    host = host_of(bench)
    assert "/sys/kernel/mm/transparent_hugepage/enabled" in host.readonly
    assert "/proc/sys/vm/swappiness" not in host.readonly


@pytest.mark.parametrize(
    ("there", "tool"),
    [((), None), (("grubby",), "/usr/sbin/grubby"), (("update-grub", "grubby"), "/usr/sbin/update-grub")],
)
def test_boot_tool(bench, there, tool):
    (bench.root / "usr/sbin/update-grub").unlink()
    for name in there:
        write(bench.root, "/usr/sbin/" + name)
    assert host_of(bench).boot_tool == tool


def test_an_empty_host_is_read_as_well(tmp_path, monkeypatch):
    monkeypatch.setattr(_tuning_host.platform, "release", lambda: "unknown")
    host = read_host(str(tmp_path), [])
    assert (host.kernel, host.nodes, host.values, host.boot_tool, host.default_kb, host.systemd) == ((0, 0), (), {}, None, None, False)
