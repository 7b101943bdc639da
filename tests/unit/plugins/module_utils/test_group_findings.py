# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from ansible_collections.npufleet.ascend.plugins.module_utils._group_findings import (
    Answers,
    differing,
    finding,
    listed,
    passed_on,
    twice,
)
from ansible_collections.npufleet.ascend.plugins.module_utils._group_members import find_groups
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.test_group_members import lab


def answers(looks=None):
    plan, variables = lab()
    return Answers(find_groups(plan, variables)[0], looks or {}, {}, "ping")


def test_only_hosts_that_answered_are_compared():
    assert [member.host for member in answers({"npu-02": {}}).members] == ["npu-02"]


def test_a_finding_names_engine_place_and_remedy():
    found = finding(answers(), "it is so", "npu-01", "Do it", problem=False)
    assert found == (False, "engine q: it is so. Where: npu-01. What to do: Do it.")
    assert passed_on(answers(), "npu-01", "It is so.") == (True, "engine q, npu-01: It is so.")


def test_many_names_are_counted():
    assert listed("abcde") == "a, b, c, d, e"
    assert listed("abcdefg") == "a, b, c, d, e and 2 more"


def test_who_differs():
    assert differing({"a": 1, "b": 1, "c": None}) is None
    assert differing({}) is None
    assert differing({"a": 1, "b": 2, "c": 1}) == "1 on a, c; 2 on b"


def test_who_has_the_same():
    assert twice([("a", "x"), ("b", "y"), ("c", "x"), ("d", None), ("e", None)]) == ["x: a, c"]
