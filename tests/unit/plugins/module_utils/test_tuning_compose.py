# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils import _tuning_files as files
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_compose import FOLLOW_UPS, final_record, make_plan, render
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_host import read_host
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_limits import read_limits
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_record import Entry, Record
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_rows import Seen
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_spec import KNOBS, Knobs
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.tuning_fakes import Bench, add_npus, start_tuned, write

SWAPPINESS = "/proc/sys/vm/swappiness"
OLD = Record({SWAPPINESS: Entry("swappiness", SWAPPINESS, "number", "90", "60")}, ("iommu.passthrough=1",), {}, "balanced")


@pytest.fixture()
def bench(tmp_path, monkeypatch):
    bench = Bench(tmp_path, monkeypatch)
    bench.chips = add_npus(bench.root)
    return bench


def seen_of(bench, own=()):
    host = read_host(str(bench.root), bench.chips)
    return Seen(host, read_limits(str(bench.root)), {item.path: item for item in own}, host.cmdline)


def test_nothing_wanted_and_nothing_ours_is_no_work(bench):
    plan = make_plan(Knobs(), seen_of(bench), Record())
    assert (plan.writes, plan.files, plan.deletions, plan.commands) == ([], [], [], [])
    assert (plan.record, plan.after) == (Record(), Record())
    assert [row.knob for row in plan.rows] == list(KNOBS)


def test_the_record_before_the_change_knows_old_and_new(bench):
    start_tuned(bench.root, "npufleet")
    plan = make_plan(Knobs(numa_balancing=0), seen_of(bench), OLD)
    assert set(plan.record.values) == {SWAPPINESS, "/proc/sys/kernel/numa_balancing"}
    assert plan.record.arguments == ("iommu.passthrough=1",)
    assert plan.after.arguments == ()
    assert set(final_record(plan, seen_of(bench).host).values) == {SWAPPINESS, "/proc/sys/kernel/numa_balancing"}
    write(bench.root, SWAPPINESS, "90\n")
    assert set(final_record(plan, seen_of(bench).host).values) == {"/proc/sys/kernel/numa_balancing"}


def test_the_profile_before_is_remembered_until_it_is_back(bench):
    start_tuned(bench.root, "npufleet")
    plan = make_plan(Knobs(), seen_of(bench), OLD)
    assert (plan.commands, plan.record.tuned, plan.after.tuned) == (["tuned-back"], "balanced", None)


def test_our_files_that_are_not_wanted_are_deleted(bench):
    own = [files.OwnFile(files.SYSCTL, "x"), files.OwnFile(files.GRUB, "y"), files.OwnFile(files.UNIT, "z")]
    plan = make_plan(Knobs(), seen_of(bench, own), Record())
    assert plan.deletions == sorted(item.path for item in own)
    assert plan.commands == ["daemon-reload", "update-grub"]
    assert plan.record.pending == ("daemon-reload", "update-grub")


@pytest.mark.parametrize(
    ("pending", "commands"),
    [
        (("daemon-reload", "update-grub"), ["daemon-reload", "update-grub"]),
        # TuneD does not run, so there is no profile to activate.
        (("tuned-ours", "irqbalance-restart"), ["irqbalance-restart"]),
    ],
)
def test_what_an_earlier_run_did_not_get_to_is_done_now(bench, pending, commands):
    assert set(pending) <= set(FOLLOW_UPS)
    assert make_plan(Knobs(), seen_of(bench), Record(pending=pending)).commands == commands


def test_without_systemd_and_grub_nothing_is_left_to_do(bench):
    (bench.root / "run/systemd/system").rmdir()
    (bench.root / "usr/sbin/update-grub").unlink()
    assert make_plan(Knobs(), seen_of(bench), Record(pending=FOLLOW_UPS)).commands == []


def test_render_is_in_a_fixed_order():
    rows = {knob: "x" for knob in reversed(KNOBS)}
    link = files.OwnFile("/b", "/a", 0)
    text = render(rows, {"/b": link, "/a": files.OwnFile("/a", "one\ntwo\n", 0o755)}, ["z", "a"], Record(pending=("update-grub",)))
    assert text.splitlines()[: len(KNOBS)] == ["{0}: x".format(knob) for knob in KNOBS]
    assert text.splitlines()[len(KNOBS) :] == [
        "kernel arguments of the next boot: a z",
        "values to put back one day: -",
        "unfinished: update-grub",
        "",
        "/a (0755)",
        "    one",
        "    two",
        "",
        "/b -> /a",
    ]
