# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.filter.vllm_group_doubts import FilterModule as Doubts
from ansible_collections.npufleet.ascend.plugins.filter.vllm_group_problems import FilterModule as Problems
from ansible_collections.npufleet.ascend.plugins.filter.vllm_group_questions import FilterModule as Questions
from ansible_collections.npufleet.ascend.plugins.module_utils._group_check import check_groups
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.test_group_hosts import look
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.test_group_members import NAMES, lab
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.test_group_network import good
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.test_plan_fleet import a2_facts, a3_facts

problems = Problems().filters()["vllm_group_problems"]
doubts = Doubts().filters()["vllm_group_doubts"]
questions = Questions().filters()["vllm_group_questions"]


def fitting(kind="A2"):
    """Rows and variables of two hosts that answered in both rounds, and fit."""
    plan, variables = lab({"A2": a2_facts, "A3": a3_facts}[kind])
    network = good(kind)
    for name in NAMES:
        variables[name]["npufleet_group_look"] = {"group": dict(look(), **network.looks[name])}
        variables[name]["npufleet_group_pings"] = {"group": network.pings[name]}
    return plan, variables


@pytest.mark.parametrize("kind", ["A2", "A3"])
def test_hosts_that_fit(kind):
    plan, variables = fitting(kind)
    assert check_groups(variables, plan) == []
    assert (problems(variables, iter(plan)), doubts(variables, plan, ping="")) == ([], [])


def test_problems_and_doubts_are_apart():
    plan, variables = fitting()
    group = variables["npu-02"]["npufleet_group_look"]["group"]
    group.update(mtu={"eth0": 1500}, clock={"ahead": [7.0, 8.0], "synchronised": False})
    variables["npu-01"]["npufleet_group_pings"]["group"]["pings"][0]["received"] = 0
    assert ["MTU" in text or "clocks" in text or "reach" in text for text in problems(variables, plan)] == [True] * 3
    assert len(problems(variables, plan, seconds="60")) == 2
    (found,) = doubts(variables, plan)
    assert "nothing keeps the clock right" in found


def test_hosts_that_failed_in_a_round():
    plan, variables = fitting()
    variables["npu-02"]["npufleet_group_look"] = {"unreachable": True}
    variables["npu-01"]["npufleet_group_pings"] = {"skipped": True}
    (found,) = problems(variables, plan)
    assert "hosts did not answer. Where: npu-02. " in found


def test_questions_by_round():
    plan, variables = fitting("A3")
    assert questions(plan, "npu-01", variables)["chips"] == [0, 1]
    second = questions(plan, "npu-01", variables, round="2", ping="", every="yes")
    assert (second["ping_command"], len(second["pings"])) == ("hccs_ping", 4)
    assert len(questions(plan, "npu-01", variables, round=2, ping="ping")["pings"]) == 2
    assert questions([], "npu-01", variables) == questions([], "npu-01", variables, round=2) == {}
