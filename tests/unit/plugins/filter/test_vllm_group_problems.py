# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from ansible_collections.npufleet.ascend.plugins.filter.vllm_group_doubts import FilterModule as Doubts
from ansible_collections.npufleet.ascend.plugins.filter.vllm_group_problems import FilterModule as Problems
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.test_group_check import fitting

problems = Problems().filters()["vllm_group_problems"]
doubts = Doubts().filters()["vllm_group_doubts"]


def test_hosts_that_fit():
    plan, variables = fitting()
    assert (problems(variables, iter(plan)), doubts(variables, plan, ping="")) == ([], [])


def test_problems_and_doubts_are_apart():
    plan, variables = fitting()
    variables["npu-02"]["npufleet_group_look"]["group"]["clock"] = {"ahead": [7.0, 8.0], "synchronised": False}
    (found,) = problems(variables, plan, seconds="5")
    assert "npu-02 is at least 6.5 s ahead of npu-01" in found
    assert problems(variables, plan, seconds=60) == []
    (found,) = doubts(variables, plan)
    assert "nothing keeps the clock right" in found


def test_the_way_of_pinging_decides_what_a_link_means():
    plan, variables = fitting("A3")
    variables["npu-01"]["npufleet_group_look"]["group"]["npus"]["0"]["link"] = "DOWN"
    assert (len(problems(variables, plan, ping="ping")), len(doubts(variables, plan, ping="ping"))) == (1, 0)
    assert (len(problems(variables, plan)), len(doubts(variables, plan))) == (0, 1)
