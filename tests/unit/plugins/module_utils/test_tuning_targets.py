# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_host import read_host
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_spec import Knobs, knobs_of
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_targets import file_targets, shmall_pages
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.tuning_fakes import GIB, Bench, add_npus, write

ALL = {
    "swappiness": 0,
    "numa_balancing": 0,
    "sched_migration_cost_ns": 50000,
    "transparent_hugepage": "always",
    "cpu_governor": "performance",
    "npu_irq_affinity": True,
    "npu_work_queue_affinity": True,
    "reserved_ports": "60000-60255",
    "hugepages": [{"count": 4}],
    "shmmax_bytes": 1,
}
NODE_POOL = "/sys/devices/system/node/node{0}/hugepages/hugepages-{1}kB/nr_hugepages"


@pytest.fixture()
def bench(tmp_path, monkeypatch):
    return Bench(tmp_path, monkeypatch)


def host_of(bench, host_type="auto"):
    return read_host(str(bench.root), bench.chips, host_type)


def targets_of(bench, host_type="auto", **knobs):
    return file_targets(knobs_of(knobs), host_of(bench, host_type))


@pytest.mark.parametrize(
    ("shmmax", "shmall", "page_size", "pages"),
    [
        (68719476736, None, 4096, 16777216),
        # With pages of 64 KB the number of guides for x86 would be 16 times too large.
        (68719476736, None, 65536, 1048576),
        (4097, None, 4096, 2),
        (68719476736, 7, 4096, 7),
        (None, None, 4096, None),
        (None, 7, 4096, 7),
    ],
)
def test_shmall_is_pages(shmmax, shmall, page_size, pages):
    assert shmall_pages(Knobs(shmmax_bytes=shmmax, shmall_pages=shmall), page_size) == pages


def test_everything_applies_to_a_server_with_a_driver(bench):
    bench.chips = add_npus(bench.root)
    found = targets_of(bench, **ALL)
    assert {knob: plan.skip for knob, plan in found.items() if plan.skip} == {}
    assert found["sched_migration_cost_ns"].targets[0].path == "/sys/kernel/debug/sched/migration_cost_ns"
    assert len(found["cpu_governor"].targets) == 16


def test_an_older_kernel_has_the_migration_cost_as_a_sysctl(bench):
    write(bench.root, "/proc/sys/kernel/sched_migration_cost_ns", "500000\n")
    (target,) = targets_of(bench, sched_migration_cost_ns=50000)["sched_migration_cost_ns"].targets
    assert target.path == "/proc/sys/kernel/sched_migration_cost_ns"


def test_a_container_has_its_shared_memory_and_nothing_else(bench):
    write(bench.root, "/.dockerenv")
    found = targets_of(bench, **ALL)
    assert {knob for knob, plan in found.items() if plan.wanted and not plan.skip} == {"shmmax_bytes", "shmall_pages"}
    assert found["swappiness"].skip == "a container shares this with its host (/.dockerenv)"
    assert targets_of(bench)["swappiness"].skip == ""


@pytest.mark.parametrize(
    ("missing", "knob", "skip"),
    [
        ("/proc/sys/vm/swappiness", "swappiness", "this kernel does not have it"),
        (
            "/sys/kernel/debug/sched/migration_cost_ns",
            "sched_migration_cost_ns",
            "this kernel has neither the sysctl nor the file of debugfs",
        ),
        ("/sys/kernel/mm/transparent_hugepage/enabled", "transparent_hugepage", "this kernel does not have it"),
        ("/proc/sys/net/ipv4/ip_local_reserved_ports", "reserved_ports", "no NPU here"),
    ],
)
def test_a_missing_knob_is_skipped(bench, missing, knob, skip):
    (bench.root / missing[1:]).unlink()
    plan = targets_of(bench, **ALL)[knob]
    assert (plan.targets, plan.skip) == ([], skip)


def no_policies(bench):
    for path in bench.root.glob("sys/devices/system/cpu/cpufreq/policy*/scaling_governor"):
        path.unlink()


@pytest.mark.parametrize(("kind", "where"), [("virtual", "a virtual machine"), ("physical", "firmware without a governor")])
def test_no_governor(bench, kind, where):
    no_policies(bench)
    assert targets_of(bench, kind, **ALL)["cpu_governor"].skip == "no cpufreq here: " + where


def test_a_governor_that_is_not_offered(bench):
    assert targets_of(bench, cpu_governor="turbo")["cpu_governor"].skip == "this kernel offers performance, powersave"


def test_npu_knobs_say_what_is_missing(bench):
    assert targets_of(bench, **ALL)["npu_irq_affinity"].skip == "no NPU here"
    assert targets_of(bench, **ALL)["npu_work_queue_affinity"].skip == "no NPU here"
    assert targets_of(bench, **ALL)["reserved_ports"].skip == "no NPU here"
    add_npus(bench.root, driver=False)
    # HCCL comes with the engine, so no driver is needed to reserve its ports.
    assert targets_of(bench, **ALL)["reserved_ports"].skip == ""
    assert targets_of(bench, **ALL)["npu_irq_affinity"].skip == "no interrupts of an NPU: the driver is not loaded"
    assert targets_of(bench, **ALL)["npu_work_queue_affinity"].skip.startswith("no such work queue")
    add_npus(bench.root)
    assert targets_of(bench, **ALL)["npu_work_queue_affinity"].skip == "the device numbers are not known: gather npu_facts"


def pages_of(plan):
    return {(target.path, target.wanted) for target in plan.targets if target.wanted is not None}


@pytest.mark.parametrize(
    ("wanted", "pages"),
    [
        ([{"count": 4}], {(NODE_POOL.format(0, 2048), "2"), (NODE_POOL.format(1, 2048), "2")}),
        ([{"size": "2M", "count": 5}], {(NODE_POOL.format(0, 2048), "3"), (NODE_POOL.format(1, 2048), "2")}),
        ([{"size": "1G", "count": 1, "node": 1}], {(NODE_POOL.format(1, 1048576), "1")}),
        (
            [{"count": 2, "node": 0}, {"count": 2}],
            {(NODE_POOL.format(0, 2048), "3"), (NODE_POOL.format(1, 2048), "1")},
        ),
    ],
)
def test_huge_pages_by_node(bench, wanted, pages):
    plan = targets_of(bench, hugepages=wanted)["hugepages"]
    assert pages_of(plan) == pages
    assert plan.skip == ""
    assert len(plan.targets) == 4  # the others are shown, too


@pytest.mark.parametrize(
    ("wanted", "skip"),
    [
        ([{"size": "32M", "count": 1}], "this kernel has pages of 2M, 1G and not of 32M"),
        ([{"size": "2M", "count": 1, "node": 5}], "there is no NUMA node 5 with memory"),
        ([{"size": "2M", "count": 1}, {"size": "512M", "count": 1}], "this kernel has pages of 2M, 1G and not of 512M"),
    ],
)
def test_pages_that_this_kernel_does_not_have(bench, wanted, skip):
    plan = targets_of(bench, hugepages=wanted)["hugepages"]
    assert plan.skip == skip
    assert pages_of(plan) == set()


def test_a_kernel_without_nodes_or_without_huge_pages(bench):
    for path in bench.root.glob("sys/devices/system/node/*/*"):
        if path.is_file():
            path.unlink()
    plan = targets_of(bench, hugepages=[{"count": 4}])["hugepages"]
    assert pages_of(plan) == {("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "4")}
    for path in bench.root.glob("sys/kernel/mm/hugepages/*/*"):
        path.unlink()
    assert targets_of(bench)["hugepages"].skip == "this kernel has no huge pages"
    assert targets_of(bench, hugepages=[{"count": 4}])["hugepages"].skip == "this kernel has pages of no size and not of 2M"


@pytest.mark.parametrize(
    ("count", "node", "share", "fits"),
    [
        (4, 0, 0.5, True),
        (5, 0, 0.5, False),  # 8 GiB are free on a node
        (5, 0, 0.7, True),
        (8, None, 0.5, True),
        (9, None, 0.5, False),
    ],
)
def test_huge_pages_take_no_more_than_their_share(bench, count, node, share, fits):
    wanted = {"hugepages": [{"size": "1G", "count": count, "node": node}], "hugepages_share": share}
    if fits:
        assert targets_of(bench, **wanted)["hugepages"].skip == ""
        return
    with pytest.raises(NpufleetError) as caught:
        targets_of(bench, **wanted)
    assert "5.0 GiB more would take over 50% of the 8.0 GiB that are free" in str(caught.value)
    assert caught.value.where == "knobs.hugepages, NUMA node 0"


def test_pages_that_are_there_already_take_nothing_more(bench):
    write(bench.root, NODE_POOL.format(0, 1048576), "6\n")
    assert targets_of(bench, hugepages=[{"size": "1G", "count": 7, "node": 0}])["hugepages"].skip == ""


def test_without_nodes_the_memory_of_the_host_counts(bench):
    for path in bench.root.glob("sys/devices/system/node/*/*"):
        if path.is_file():
            path.unlink()
    with pytest.raises(NpufleetError) as caught:
        targets_of(bench, hugepages=[{"size": "1G", "count": 9}])
    assert "{0:.1f} GiB that are free".format(16 * GIB / GIB) in str(caught.value)
    assert caught.value.where == "knobs.hugepages"


def test_what_is_read_only_is_skipped(bench):
    host = host_of(bench)
    host = host._replace(readonly=frozenset(host.values))
    plans = file_targets(knobs_of(ALL), host)
    assert plans["swappiness"].skip == plans["cpu_governor"].skip == plans["hugepages"].skip == "read-only here"
