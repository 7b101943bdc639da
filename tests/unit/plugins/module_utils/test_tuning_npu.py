# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_host import Npu, read_host
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_npu import (
    Share,
    irq_cpus,
    irq_targets,
    narrow_npus,
    numa_plan,
    plan_rows,
    queue_path,
    queue_targets,
)
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_values import format_cpus, parse_cpus
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.tuning_fakes import BUS, Bench, add_npus


def npu(number, cpus):
    return Npu(number, "0000:0{0}:00.0".format(number), 0, parse_cpus(cpus))


@pytest.mark.parametrize(
    ("near", "own"),
    [
        ([], []),
        (["0-7"], ["0-7"]),
        (["0-7", "0-7"], ["0-3", "4-7"]),
        (["0-8", "0-8"], ["0-4", "5-8"]),
        # Of an Atlas 800I A2 the lists are not in the order of the NPUs.
        (["144-167", "0-23", "144-167"], ["144-155", "0-23", "156-167"]),
        (["", "0-3"], ["", "0-3"]),
        (["0-1", "0-1", "0-1"], ["0", "1", ""]),
    ],
)
def test_cpus_near_several_npus_are_divided(near, own):
    shares = numa_plan([npu(number, cpus) for number, cpus in enumerate(near)])
    assert [format_cpus(share.own) for share in shares] == own
    assert [format_cpus(share.near) for share in shares] == near


@pytest.mark.parametrize(
    ("own", "name", "cpus"),
    [
        ("8-12", "sq_send_trigger_irq", "8"),
        ("8-12", "cq_update_irq", "9"),
        # Four are too few to give two away.
        ("8-11", "sq_send_trigger_irq", "8-15"),
    ],
)
def test_cpus_of_an_interrupt(own, name, cpus):
    assert irq_cpus(Share(npu(0, "8-15"), parse_cpus("8-15"), parse_cpus(own)), name) == cpus


@pytest.fixture()
def host(tmp_path, monkeypatch):
    bench = Bench(tmp_path, monkeypatch)
    return read_host(str(bench.root), add_npus(bench.root))


def test_plan_rows(host):
    assert plan_rows(host)[1] == {"device": 1, "bus_id": BUS[1], "numa_node": 1, "near_cpus": "8-15", "cpus": "12-15"}
    assert [item.bus_id for item in narrow_npus(host)] == list(BUS)


def test_interrupts_are_wanted_near_the_npu(host):
    targets = irq_targets(host, True)
    assert [(target.key, target.path, target.wanted) for target in targets[:3]] == [
        ("irq:{0}:sq_send_trigger_irq:0".format(BUS[0]), "/proc/irq/100/smp_affinity_list", "8-15"),
        ("irq:{0}:cq_update_irq:0".format(BUS[0]), "/proc/irq/101/smp_affinity_list", "8-15"),
        ("irq:{0}:cq_update_irq:1".format(BUS[0]), "/proc/irq/102/smp_affinity_list", "8-15"),
    ]
    assert {target.within for target in targets} == {"8-15"}
    assert {target.wanted for target in irq_targets(host, False)} == {None}


def test_work_queues_need_the_device_number(host):
    assert [(target.path, target.wanted) for target in queue_targets(host, True)] == [(queue_path(0), "8-15"), (queue_path(1), "8-15")]
    blind = host._replace(npus=tuple(item._replace(device=None) for item in host.npus))
    assert queue_targets(blind, True) == []
    assert {target.wanted for target in queue_targets(host, False)} == {None}


def test_an_npu_without_cpus_is_left_alone(host):
    lost = host._replace(npus=tuple(item._replace(cpus=()) for item in host.npus))
    assert irq_targets(lost, True) == queue_targets(lost, True) == []
