# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_host import read_host
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_record import Record
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_services import (
    irqbalance_plan,
    irqbalance_state,
    may_ban,
    tuned_base,
    tuned_plan,
)
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_spec import Knobs
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.tuning_fakes import Bench, add_npus

BOTH = {"irqbalance": {"running": True, "enabled": True}}


@pytest.fixture()
def host(tmp_path, monkeypatch):
    bench = Bench(tmp_path, monkeypatch)
    return read_host(str(bench.root), add_npus(bench.root))


def with_irqbalance(host, runs, enabled):
    return host._replace(daemons=frozenset({"irqbalance"} if runs else ()), irqbalance_enabled=enabled)


@pytest.mark.parametrize(
    ("runs", "enabled", "banned", "text"),
    [
        (True, True, False, "running, enabled"),
        (True, False, True, "running, leaves NPUs alone"),
        (False, True, False, "enabled"),
        (False, False, True, "stopped"),
    ],
)
def test_irqbalance_state(host, runs, enabled, banned, text):
    assert irqbalance_state(with_irqbalance(host, runs, enabled), banned) == text


@pytest.mark.parametrize(
    ("wanted", "now", "recorded", "files", "action", "commands"),
    [
        ("keep", (True, True), {}, False, "off", ()),
        ("stopped", (True, True), {}, False, "set", ("irqbalance-disable",)),
        ("stopped", (False, True), {}, False, "set", ("irqbalance-disable",)),
        ("stopped", (False, False), {}, False, "ok", ()),
        ("stopped", (False, False), BOTH, False, "ok", ()),
        ("keep", (False, False), BOTH, False, "undone", ("irqbalance-enable", "irqbalance-start")),
        ("keep", (True, True), BOTH, False, "off", ()),
        ("keep", (True, True), {}, True, "undone", ("irqbalance-restart",)),
        ("ban_npu", (True, True), {}, True, "set", ("irqbalance-restart",)),
        ("ban_npu", (True, True), {}, False, "ok", ()),
        ("ban_npu", (False, False), {}, False, "skipped", ()),
        ("ban_npu", (False, False), BOTH, True, "set", ("irqbalance-enable", "irqbalance-start")),
        ("ban_npu", (False, True), {}, True, "set", ()),
    ],
)
def test_irqbalance_plan(host, wanted, now, recorded, files, action, commands):
    plan = irqbalance_plan(Knobs(irqbalance=wanted), with_irqbalance(host, *now), Record(services=recorded), files)
    assert (plan.action, plan.commands) == (action, commands)


def test_what_irqbalance_was_is_noted_once(host):
    first = irqbalance_plan(Knobs(irqbalance="stopped"), with_irqbalance(host, True, False), Record(), False)
    assert first.record.services == {"irqbalance": {"running": True, "enabled": False}}
    again = irqbalance_plan(Knobs(irqbalance="stopped"), with_irqbalance(host, False, True), first.record, False)
    assert again.record == first.record
    back = irqbalance_plan(Knobs(), with_irqbalance(host, False, False), first.record, False)
    assert (back.record.services, back.commands) == ({}, ("irqbalance-start",))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"kind": "container", "kind_source": "x"}, "a container shares this with its host (x)"),
        ({"systemd": False}, "systemd is not PID 1"),
        ({"npus": ()}, "no NPU here"),
    ],
)
def test_irqbalance_stays_where_it_hinders_nobody(host, changes, reason):
    host = with_irqbalance(host, True, True)._replace(**changes)
    plan = irqbalance_plan(Knobs(irqbalance="stopped"), host, Record(), False)
    assert (plan.action, plan.reason, plan.commands) == ("skipped", reason, ())
    assert not may_ban(Knobs(irqbalance="ban_npu"), host, Record())


@pytest.mark.parametrize(
    ("wanted", "now", "recorded", "may"),
    [
        ("ban_npu", (True, False), {}, True),
        ("ban_npu", (False, True), {}, True),
        ("ban_npu", (False, False), BOTH, True),
        ("ban_npu", (False, False), {}, False),
        ("stopped", (True, True), {}, False),
    ],
)
def test_may_ban(host, wanted, now, recorded, may):
    assert may_ban(Knobs(irqbalance=wanted), with_irqbalance(host, *now), Record(services=recorded)) is may


def with_tuned(host, runs, profile, auto=False):
    return host._replace(daemons=frozenset({"tuned"} if runs else ()), tuned_profile=profile, tuned_auto=auto)


@pytest.mark.parametrize(
    ("runs", "profile", "recorded", "has_file", "changes", "action", "commands"),
    [
        (False, "", None, False, False, "off", ()),
        (True, "balanced", None, False, False, "off", ()),
        (True, "balanced", None, True, True, "set", ("tuned-ours",)),
        (True, "npufleet", "balanced", True, False, "ok", ()),
        (True, "npufleet", "balanced", True, True, "set", ("tuned-ours",)),
        (True, "powersave", "balanced", True, False, "set", ("tuned-ours",)),
        (False, "npufleet", "balanced", True, False, "skipped", ()),
        (True, "npufleet", "balanced", False, True, "undone", ("tuned-back",)),
        (False, "npufleet", "balanced", False, True, "undone", ("tuned-back",)),
        (True, "powersave", "balanced", False, True, "undone", ()),
    ],
)
def test_tuned_plan(host, runs, profile, recorded, has_file, changes, action, commands):
    plan = tuned_plan(with_tuned(host, runs, profile), Record(tuned=recorded), has_file, changes)
    assert (plan.action, plan.commands) == (action, commands)
    assert plan.record.tuned == (None if action in ("off", "undone") else "balanced")


def test_a_profile_that_tuned_chose_itself_is_noted(host):
    plan = tuned_plan(with_tuned(host, True, "virtual-guest", auto=True), Record(), True, True)
    assert (plan.record.tuned, plan.record.tuned_auto) == ("virtual-guest", True)
    again = tuned_plan(with_tuned(host, True, "npufleet", auto=False), plan.record, True, False)
    assert again.record == plan.record


@pytest.mark.parametrize(("profile", "recorded", "base"), [("balanced", None, "balanced"), ("npufleet", None, ""), ("npufleet", "x", "x")])
def test_the_profile_below_ours(host, profile, recorded, base):
    assert tuned_base(with_tuned(host, True, profile), Record(tuned=recorded)) == base
