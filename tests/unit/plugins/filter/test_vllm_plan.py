# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.npufleet.ascend.plugins.filter.vllm_plan import FilterModule
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.test_plan_fleet import a2_facts, fleet

vllm_plan = FilterModule().filters()["vllm_plan"]


def test_a_plan_with_its_text_and_what_runs():
    plan = vllm_plan(fleet(a2_facts()), [{"name": "a", "npus": 2}])
    assert set(plan) == {"engines", "hosts", "text"}
    assert plan["text"].splitlines()[2].startswith("a       npu-01  single  0, 2")
    again = vllm_plan(fleet(a2_facts(processes=[{"pid": 1}])), [{"name": "a", "npus": 2}], plan["engines"])
    assert again["engines"][0]["chips"] == plan["engines"][0]["chips"]


@pytest.mark.parametrize(
    ("hosts", "engines", "running"),
    [
        (None, [{"name": "a", "npus": 1}], None),
        ([], [], None),
        ({}, "a", None),
        ({}, [], [{}]),
        ({}, [], [{"name": "a", "host": "h", "cpuset": "x"}]),
    ],
)
def test_one_message(hosts, engines, running):
    with pytest.raises(AnsibleFilterError, match=r"vllm_plan: .*Where: .*What to do: "):
        vllm_plan(hosts, engines, running)


def test_the_message_can_be_had_instead_of_a_failure():
    (said,) = vllm_plan({}, "a", raises=False).items()
    assert said[0] == "problem" and "Where: " in said[1]
