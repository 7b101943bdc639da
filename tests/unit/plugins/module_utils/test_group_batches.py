# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._group_batches import all_at_once, make_batches, torn
from ansible_collections.npufleet.ascend.plugins.module_utils._group_inventory import InventoryGroup


def group(*hosts):
    return InventoryGroup("q", hosts, True)


def test_a_group_is_one_batch_where_its_first_host_stands():
    batches = make_batches([group("a", "c")], ["x", "a", "b", "c", "d"])
    assert batches.order == ["x", "a", "c", "b", "d"]
    assert batches.batches() == [["x"], ["a", "c"], ["b"], ["d"]]


def test_engines_that_share_a_host_go_together():
    assert make_batches([group("a", "b"), group("c", "d"), group("b", "c")], ["a", "b", "c", "d", "e"]).sizes == [4, 1]


@pytest.mark.parametrize(
    ("serial", "sizes"),
    [
        (1, [2, 1, 1, 2, 1]),
        (2, [2, 2, 2, 1]),
        (3, [3, 3, 1]),
        ("4", [4, 3]),
        ("50%", [3, 3, 1]),
        ("1%", [2, 1, 1, 2, 1]),
        ([1, 4], [2, 4, 1]),
        ([1, "100%"], [2, 5]),
        (0, [7]),
        (100, [7]),
        ([], [2, 1, 1, 2, 1]),
    ],
)
def test_hosts_at_a_time(serial, sizes):
    assert make_batches([group("a", "b"), group("e", "f")], list("abcdefg"), serial).sizes == sizes


@pytest.mark.parametrize("serial", ["all", "-1", None, "1.5", [2, "x"]])
def test_words_that_are_no_number(serial):
    with pytest.raises(NpufleetError, match="Where: npufleet_upgrade_serial"):
        make_batches([], ["a"], serial)


def test_no_hosts_are_no_batches():
    assert make_batches([], []).sizes == []


def test_half_of_a_group_is_refused_and_none_of_it_is_not():
    groups = [group("a", "b", "c"), group("d", "e")]
    (words,) = torn(groups, ["a", "c"])
    assert "the engine q runs on a, b, c together, and b failed or is not in this run; nothing was changed" in words
    assert torn(groups, ["d", "e", "f"]) == []


@pytest.mark.parametrize(
    ("names", "serial", "said"),
    [("abcd", 4, True), ("abc", 4, False), ("abcd", 3, False), ("ab", 0, False)],
    ids=["all at once", "one is left out", "two batches", "limited"],
)
def test_all_at_once(names, serial, said):
    words = all_at_once(make_batches([group("a", "b")], list(names), serial), list("abcd"))
    assert bool(words) is said
    assert not said or "all 4 hosts" in words


def test_one_group_alone_is_not_said_to_be_all_at_once():
    """Whether a gateway has another engine is asked when it is known whether it changes at all."""
    assert all_at_once(make_batches([group("a", "b")], ["a", "b"]), ["a", "b"]) is None
