# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_arguments import ArgumentPlan
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_host import read_host
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_limits import LimitState, read_limits
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_plan import Row, judge
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_record import Record
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_rows import Parts, Seen, make_rows, table_lines
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_services import ServicePlan
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_spec import Knobs
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_targets import file_targets
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.tuning_fakes import Bench, add_npus, write

QUIET = ServicePlan("off", "", "", (), Record())
LINES = ["* soft nofile 65536", "* hard nofile 65536"]
OWN = tuple(("*", kind, "nofile", "65536") for kind in ("soft", "hard"))


@pytest.fixture()
def bench(tmp_path, monkeypatch):
    return Bench(tmp_path, monkeypatch)


def rows_with(bench, knobs=None, limits=None, **parts):
    host = read_host(str(bench.root), bench.chips)
    seen = Seen(host, limits or read_limits(str(bench.root)), {}, host.cmdline)
    empty = {"targets": {}, "verdicts": {}, "lines": [], "arguments": ArgumentPlan(), "irqbalance": QUIET, "tuned": QUIET, "base": ""}
    # Only the rows that are no kernel files: those have their own tests.
    names = ("irqbalance", "numa_plan", "iommu_passthrough", "nofile", "memlock", "tuned")
    full = Parts(**dict(empty, **parts))
    targets = file_targets(knobs or Knobs(), host)
    verdicts = {knob: judge(knob, plan, host, Record()) for knob, plan in targets.items()}
    rows = make_rows(knobs or Knobs(), seen, full._replace(targets=targets, verdicts=verdicts))
    return {row.knob: row for row in rows if row.knob in names}


@pytest.mark.parametrize(
    ("wanted", "arguments", "action", "reason"),
    [
        (False, ArgumentPlan(), "off", ""),
        (True, ArgumentPlan(), "ok", "no translation of the driver's DMA"),
        (True, ArgumentPlan(skips={"iommu_passthrough": "no IOMMU"}), "skipped", "no IOMMU"),
        (True, ArgumentPlan(("a",), ("a",), waiting=("iommu_passthrough",)), "set", "on after the next reboot"),
        (True, ArgumentPlan(("a",), (), waiting=("iommu_passthrough",)), "ok", "on after the next reboot"),
        (False, ArgumentPlan(remove=("iommu.passthrough=1",)), "undone", "off after the next reboot"),
        (False, ArgumentPlan(remove=("hugepages=1",)), "off", ""),
    ],
)
def test_the_row_of_the_iommu(bench, wanted, arguments, action, reason):
    row = rows_with(bench, Knobs(iommu_passthrough=wanted), arguments=arguments)["iommu_passthrough"]
    assert (row.action, row.reason, row.found) == (action, reason, "off")


def test_the_row_of_the_cpu_plan(bench):
    assert rows_with(bench)["numa_plan"][3:] == ("no NPU", "skipped", "no NPU here")
    bench.chips = add_npus(bench.root)
    row = rows_with(bench)["numa_plan"]
    assert (row.now, row.action) == ("2 NPUs, 4 CPUs each", "partly")
    assert row.reason.startswith("too few CPUs near 0000:c1:00.0, 0000:c2:00.0")
    for bus in ("0000:c1:00.0", "0000:c2:00.0"):
        write(bench.root, "/sys/bus/pci/devices/{0}/local_cpulist".format(bus), "0-15\n")
    assert (rows_with(bench)["numa_plan"].now, rows_with(bench)["numa_plan"].action) == ("2 NPUs, 8 CPUs each", "ok")


@pytest.mark.parametrize(
    ("nofile", "own", "lines", "hindrance", "action"),
    [
        (None, (), [], "", "off"),
        (65536, (), LINES, "", "set"),
        (65536, OWN, LINES, "", "ok"),
        (65536, (), [], "", "kept"),
        (65536, (), [], "no PAM", "skipped"),
        (None, OWN, [], "", "undone"),
    ],
)
def test_the_row_of_a_limit(bench, nofile, own, lines, hindrance, action):
    limits = LimitState(hindrance, (), own, {}, None)
    row = rows_with(bench, Knobs(nofile=nofile, limits_for=("*",)), limits, lines=lines)["nofile"]
    assert row.action == action
    assert row.now == ("*: 65536/65536" if lines else "*: ?/?")


@pytest.mark.parametrize(
    ("service", "commands", "now"),
    [
        ("irqbalance", ("irqbalance-enable", "irqbalance-start"), "running, enabled"),
        ("irqbalance", (), "stopped"),
        ("tuned", ("tuned-ours",), "npufleet"),
        ("tuned", ("tuned-back",), "balanced"),
    ],
)
def test_what_the_services_will_be(bench, service, commands, now):
    write(bench.root, "/proc/78/comm", "tuned\n")
    plan = ServicePlan("set", "why", "x", commands, Record())
    row = rows_with(bench, base="balanced", **{service: plan})[service]
    assert (row.now, row.wanted, row.action, row.reason) == (now, "x", "set", "why")


def test_columns_are_aligned():
    rows = [Row("a", "1", "22", "333", "set", "why"), Row("long", "1", "-", "1", "off", "")]
    assert table_lines(rows) == [
        "knob  found  wanted  now  reason",
        "a     1      22      333  set: why",
        "long  1      -       1    off",
    ]
