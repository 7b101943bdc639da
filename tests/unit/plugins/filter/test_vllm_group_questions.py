# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from ansible_collections.npufleet.ascend.plugins.filter.vllm_group_questions import FilterModule
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.test_group_check import fitting

questions = FilterModule().filters()["vllm_group_questions"]


def test_questions_by_round():
    plan, variables = fitting("A3")
    assert questions(plan, "npu-01", variables)["chips"] == [0, 1]
    second = questions(plan, "npu-01", variables, round="2", ping="", every="yes")
    assert (second["ping_command"], len(second["pings"])) == ("hccs_ping", 4)
    assert len(questions(plan, "npu-01", variables, round=2, ping="ping")["pings"]) == 2
    assert questions([], "npu-01", variables) == questions([], "npu-01", variables, round=2) == {}
