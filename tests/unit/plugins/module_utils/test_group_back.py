# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_history import HISTORY_NAME
from ansible_collections.npufleet.ascend.plugins.module_utils._group_back import plan_back
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.engine_fakes import params
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.group_fakes import DAY, HOSTS, Group


@pytest.fixture
def group(tmp_path):
    return Group(tmp_path)


def test_all_parts_take_one_step_back_and_no_second_one(group):
    group.launch("a1", "b1")
    group.launch("a2", "b2")
    assert (group.target(), group.answered()) == ((("a1", "b1"), True), ("a2", "b2"))
    group.launch("a1", "b1")
    assert group.target() == (("a1", "b1"), False)


def test_a_part_that_did_not_change_stays(group):
    group.launch("a1", "b1")
    group.launch("a2", "b1")
    assert group.target() == (("a1", "b1"), True)
    group.launch("a1", "b1")
    assert group.target() == (("a1", "b1"), False)


def test_the_step_before_is_one_in_which_all_parts_answered(group):
    group.launch("a1", "b1")
    group.launch("a1", "b2")
    group.launch("a2", "b2")
    assert group.target() == (("a1", "b2"), True)
    group.launch("a1", "b2")
    assert group.target() == (("a1", "b2"), False)


def test_a_spec_that_never_answered_is_left_for_the_one_that_did(group):
    group.launch("a1", "b1")
    group.launch("a2", "b2")
    group.launch("a3", "b3", until=4)
    assert group.target() == (("a2", "b2"), True)


@pytest.mark.parametrize("until", range(5))
def test_an_upgrade_that_was_interrupted_is_left_for_what_answered(group, until):
    group.launch("a1", "b1")
    group.launch("a2", "b2", until=until)
    assert group.target() == (("a1", "b1"), until > 0)


@pytest.mark.parametrize("until", range(1, 6))
def test_a_rollback_that_was_interrupted_is_gone_on_with(group, until):
    group.launch("a1", "b1")
    group.launch("a2", "b2")
    group.launch("a1", "b1", until=until)
    assert group.target() == (("a1", "b1"), True)


@pytest.mark.parametrize("until", range(1, 6))
def test_a_part_that_stays_does_not_turn_an_interrupted_rollback(group, until):
    group.launch("a1", "b1")
    group.launch("a1", "b2")
    group.launch("a2", "b2")
    group.launch("a1", "b2", until=until)
    # Where the last step is missing, both have arrived.
    assert group.target() == (("a1", "b2"), until < 5)


def test_a_part_without_an_earlier_spec_holds_all(group):
    group.launch("a1", "b1")
    group.launch("a2", "b2")
    (group.parts[1].folder / HISTORY_NAME).write_text(json.dumps(json.loads((group.parts[1].folder / HISTORY_NAME).read_text())[-1:]))
    plan = group.plan()
    assert plan["target"] == [] and "goes back on all of a, b or on none, and b has no earlier spec that answered" in plan["problem"]


@pytest.mark.parametrize("text", [None, "{", "[1]"])
def test_a_part_that_never_answered(group, text):
    group.launch("a1", "b1")
    path = group.parts[1].folder / HISTORY_NAME
    path.unlink()
    if text:
        path.write_text(text)
    plan = group.plan()
    assert (plan["target"], plan["answered"]) == ([], [])
    assert "the engine q has never answered on b" in plan["problem"]


def test_a_spec_of_another_number_of_hosts_is_none_for_this_group(tmp_path):
    def kept(digests):
        rows = [
            {"digest": one, "since": DAY * place, "options": params(plan={"layout": {"hosts": 4 - 2 * place}})}
            for place, one in enumerate(digests)
        ]
        return json.dumps(rows), json.dumps({"digest": digests[-1], "status": "ready"})

    plan = plan_back("q", HOSTS, [kept("12"), kept("12")])
    assert plan["target"] == [] and "the engine q was on 4 hosts before, and is on 2 now" in plan["problem"]
