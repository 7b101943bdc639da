# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_chips import read_chips
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_devices import Devices, inner_selection, outer_selection, select
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_values import PlanError
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.test_plan_fleet import facts


def chips(*args, **changes):
    return read_chips(facts(*args, **changes), {}, "npu")


@pytest.mark.parametrize(("physical", "text"), [([4, 5], "4-5"), ([0, 2], "0,2"), ([7], "7"), ([3, 2, 1, 0, 9], "0-3,9")])
def test_from_outside_by_physical_number(physical, text):
    assert outer_selection(physical) == text


@pytest.mark.parametrize(
    ("wanted", "visible", "text"),
    [
        # vllm-ascend #13399: the container has davinci3 alone, and 3 fails in it.
        ([3], [3], "0"),
        ([4, 5], [4, 5], "0,1"),
        ([6, 2], [0, 2, 4, 6], "1,3"),
        ([], [1], ""),
    ],
)
def test_from_inside_by_place(wanted, visible, text):
    assert inner_selection(wanted, visible) == text


def test_what_is_not_visible_cannot_be_selected():
    with pytest.raises(PlanError, match="/dev/davinci1 is wanted and not visible"):
        inner_selection([0, 1], [0])


NODES = ["/dev/davinci_manager", "/dev/devmm_svm", "/dev/hisi_hdc"]


@pytest.mark.parametrize(
    ("method", "found"),
    [
        ("explicit", Devices(["/dev/davinci4", "/dev/davinci5"], NODES, {})),
        ("runtime", Devices([], [], {"ASCEND_VISIBLE_DEVICES": "4-5"})),
        ("bare_metal", Devices([], [], {"ASCEND_RT_VISIBLE_DEVICES": "2,3"})),
    ],
)
def test_one_rule_at_a_time(method, found):
    every = chips("A2", 4, first=2)
    assert select(method, every[2:], every, (), "here") == found


def test_a5_has_other_nodes_and_no_logic_ids():
    every = chips("A5", 4, first=2, logic_id=None)
    assert select("explicit", every[:1], every, ("davinci_manager", "hisi_hdc", "ummu", "uburma"), "here").control == [
        "/dev/davinci_manager",
        "/dev/hisi_hdc",
        "/dev/ummu",
        "/dev/uburma",
    ]
    assert select("bare_metal", every[1:3], every, (), "here").env == {"ASCEND_RT_VISIBLE_DEVICES": "1,2"}


def test_a_control_node_that_is_missing_stops_a_container_and_nothing_else():
    every = chips("A2", 1)
    with pytest.raises(PlanError, match="/dev/devmm_svm does not exist"):
        select("explicit", every, every, ("davinci_manager", "hisi_hdc"), "here")
    assert select("bare_metal", every, every, ("davinci_manager",), "here").nodes == []
