# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._group_check import check_groups
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.test_group_hosts import look
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.test_group_members import NAMES, lab
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.test_group_network import good
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.test_plan_fleet import a2_facts, a3_facts


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
    assert check_groups(variables, iter(plan)) == []


def test_problems_and_doubts_are_apart():
    plan, variables = fitting()
    group = variables["npu-02"]["npufleet_group_look"]["group"]
    group.update(mtu={"eth0": 1500}, clock={"ahead": [7.0, 8.0], "synchronised": False})
    variables["npu-01"]["npufleet_group_pings"]["group"]["pings"][0]["received"] = 0
    texts = [found.text for found in check_groups(variables, plan) if found.problem]
    assert ["MTU" in text or "clocks" in text or "reach" in text for text in texts] == [True] * 3
    assert len([found for found in check_groups(variables, plan, seconds=60.0) if found.problem]) == 2
    (doubt,) = [found.text for found in check_groups(variables, plan) if not found.problem]
    assert "nothing keeps the clock right" in doubt


def test_hosts_that_failed_in_a_round():
    plan, variables = fitting()
    variables["npu-02"]["npufleet_group_look"] = {"unreachable": True}
    variables["npu-01"]["npufleet_group_pings"] = {"skipped": True}
    (found,) = check_groups(variables, plan)
    assert found.problem and "hosts did not answer. Where: npu-02. " in found.text


def test_the_way_of_pinging_that_was_asked():
    plan, variables = fitting("A3")
    found = check_groups(variables, plan, asked="ping")
    # Nobody pinged these addresses, so nothing is known of them.
    assert found == []
    variables["npu-01"]["npufleet_group_look"]["group"]["npus"]["0"]["link"] = "DOWN"
    assert [one.problem for one in check_groups(variables, plan, asked="ping")] == [True]
    assert [one.problem for one in check_groups(variables, plan)] == [False]
