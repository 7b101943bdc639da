# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_host import read_site
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_place import pick, place, pools, whole_pairs
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_values import PlanError
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_wanted import read_wanted
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.test_plan_fleet import (
    a2_facts,
    a3_facts,
    duo_facts,
    facts,
    host,
)


def site(npu, name="h", **changes):
    return read_site(name, host(npu, **changes))


def put(sites, **row):
    wanted = read_wanted(dict({"name": "a"}, **row), 0)
    found = place(wanted, pools(sites), sites, ())
    return [(one.host.name, [one.host.chips[index].phy for index in chips]) for one, chips in zip(found.sites, found.chips)]


@pytest.mark.parametrize(
    ("npu", "taken", "count", "picked"),
    [
        # Chips of one NUMA node lie together, of the smallest group that has enough.
        (a2_facts(), [], 1, (0,)),
        (a2_facts(), [], 2, (0, 2)),
        (a2_facts(), [0], 1, (2,)),
        (a2_facts(), [0, 2], 2, (1, 3)),
        (a2_facts(), [], 4, (1, 3, 5, 7)),
        (a2_facts(), [0], 8, None),
        (a2_facts(), [], 0, None),
        # Both dies of an NPU, whatever is free.
        (a3_facts(), [], 2, (0, 1)),
        (a3_facts(), [0, 1], 4, (2, 3, 4, 5)),
        (a3_facts(), [], 1, None),
        # Somebody runs on one die without the other.
        (a3_facts(), [0], 2, (2, 3)),
        (a3_facts(), [0], 15, None),
        # Whole cards of two chips first, and a card that is used already before an untouched one.
        (duo_facts(), [], 2, (0, 1)),
        (duo_facts(), [0], 1, (1,)),
        (duo_facts(), [0], 2, (2, 3)),
        (duo_facts(), [0], 3, (1, 2, 3)),
        (duo_facts(), [0, 2, 4, 6], 2, (1, 3)),
    ],
)
def test_chips_of_a_host(npu, taken, count, picked):
    one = site(npu)
    one.take("b", taken)
    assert pick(one, count) == picked


def test_linked_chips_come_first():
    npu = facts("A2", 6)
    npu["topology"] = {"label": "NPU", "devices": list(range(6)), "links": {"0-3": "HCCS", "1-2": "HCCS", "2-4": "HCCS", "4-5": "HCCS"}}
    assert pick(site(npu), 2) == (0, 3)
    assert pick(site(npu), 4) == (1, 2, 4, 5)
    assert pick(site(npu), 5) == (0, 1, 2, 3, 4)
    found = place(read_wanted({"name": "a", "npus": 5}, 0), pools([site(npu)]), [], ())
    assert "of 2 groups without fast links" in found.reasons[0]
    assert ", linked" in place(read_wanted({"name": "a", "npus": 2}, 0), pools([site(npu)]), [], ()).reasons[0]


def test_the_first_host_with_room():
    busy = site(a2_facts(processes=[{"pid": 1}]), "h1")
    assert put([busy, site(a2_facts(), "h2"), site(a2_facts(), "h3")], npus=8) == [("h2", list(range(8)))]


def test_hosts_of_a_group_in_their_order():
    sites = [site(a2_facts(), name) for name in ("h1", "h2", "h3")]
    sites[0].take("b", [0])
    assert put(sites, npus=16) == [("h2", list(range(8))), ("h3", list(range(8)))]


def test_where_it_ran_before_comes_first():
    sites = [site(a2_facts(), name) for name in ("h1", "h2")]
    assert place(read_wanted({"name": "a", "npus": 1}, 0), pools(sites), sites, ["h2"]).sites[0].host.name == "h2"


def test_kinds_are_never_mixed():
    sites = [site(a2_facts(), "h1"), site(a2_facts(memory_total_mb=32768), "h2"), site(a3_facts(), "h3"), site(a2_facts(), "h4")]
    assert put(sites, npus=16) == [("h1", list(range(8))), ("h4", list(range(8)))]
    assert put(sites, npus=16, soc="a3") == [("h3", list(range(16)))]
    # The weights fit on 64 GB and not on 32 GB.
    assert put([sites[1], sites[0]], npus=1, weights_bytes=40 * 10**9) == [("h1", [0])]


def test_named_chips():
    sites = [site(a2_facts(), "h1"), site(facts("A2", 2, first=4), "vm")]
    assert put(sites, chips=[5, 4], hosts=["vm"]) == [("h1", [4, 5])]
    sites[0].take("b", [4])
    assert put(sites, chips=[5, 4]) == [("vm", [4, 5])]
    with pytest.raises(PlanError, match=r"needs 2 free chips on each of 1 host\(s\) \(/dev/davinci6-7\), and they are not there"):
        put(sites[1:], chips=[6, 7])
    with pytest.raises(PlanError, match="they are not there"):
        put([site(a3_facts())], chips=[1, 2])
    with pytest.raises(PlanError, match=r"the layout TP 4 takes 4 chips a host, and 2 are named\. Where: engines\.a\.chips"):
        put([site(a2_facts())], chips=[1, 2], npus=4)


def test_named_chips_on_each_of_two_hosts():
    assert put([site(a2_facts(), "h1"), site(a2_facts(), "h2")], chips=[1, 3], host_count=2) == [("h1", [1, 3]), ("h2", [1, 3])]


def test_an_a3_is_not_torn_apart():
    assert whole_pairs(site(a3_facts()), (0, 1, 4, 5))
    assert not whole_pairs(site(a3_facts()), (1, 2))
    assert whole_pairs(site(a2_facts()), (1, 2))


def test_one_error_names_hosts_chips_and_reasons():
    npu = a2_facts()
    npu["chips"][3]["health"] = "Alarm"
    sites = [site(npu, "h1"), site(a3_facts(), "h2"), site({"available": False, "message": "no driver"}, "h3")]
    sites[0].take("b", [0, 1])
    with pytest.raises(PlanError) as caught:
        put(sites, npus=6, soc="a2")
    assert str(caught.value) == (
        "engine a needs 6 free chips on each of 1 host(s), and they are not there. "
        "Where: h1: 5 of 8 chips are free (/dev/davinci0, /dev/davinci1: engine b has it; /dev/davinci3: its health is Alarm); "
        "h2: has a3 chips, the recipe is for a2; h3: no driver. "
        "What to do: Add hosts, repair or free chips, take fewer of them, or remove an engine."
    )


def test_many_hosts_are_counted_and_no_usable_chip_is_told():
    sites = [site({"available": False, "message": "no NPU"}, "h{0}".format(place)) for place in range(7)]
    with pytest.raises(PlanError, match="h4: no NPU; and 2 more hosts"):
        put(sites, npus=1)
    with pytest.raises(PlanError, match=r"engine a needs usable chips, and they are not there\. Where: hosts"):
        put([], npus=1)


def test_a_layout_that_no_kind_of_host_allows_is_the_error():
    with pytest.raises(PlanError, match="dies of an A3"):
        put([site(a3_facts())], layout={"tensor_parallel_size": 1})
