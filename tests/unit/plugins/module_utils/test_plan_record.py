# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_host import read_site
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_model import Parallel
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_record import hold_records, keep, read_record
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_values import PlanError
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_wanted import read_wanted
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.test_plan_fleet import a2_facts, a3_facts, host

TWO = {"tensor_parallel_size": 2}


def record(**row):
    return read_record(dict({"name": "a", "host": "h", "chips": [0, 1], "layout": TWO}, **row), 0)


def stay(records, npu=None, wanted=None):
    site = read_site("h", host(npu or a2_facts()))
    other = read_site("g", host(a2_facts(), 2))
    return keep(read_wanted(dict({"name": "a"}, **(wanted or {})), 0), records, {"h": site, "g": other})


def test_a_row_of_a_plan_is_read():
    found = record(
        chips=[{"phy_id": 5, "device": "/dev/davinci5"}, 4],
        cpuset="0-9",
        binding="cpuset",
        ports={"serving": 8000, "x": 1},
        rank=1,
        reasons=["y"],
    )
    assert found == ("a", "h", (4, 5), Parallel(2, 1, 1, False), "0-9", "cpuset", {"serving": 8000}, 1)
    assert read_record({"name": "a", "host": "h"}, 0) == ("a", "h", (), None, None, None, {}, 0)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"name": None}, r"Where: running\[0\]\.name"),
        ({"host": 1}, r"Where: running\[0\]\.host"),
        ({"chips": [{"phy_id": None}]}, r"Where: running\[0\]\.chips"),
        ({"layout": {"tensor_parallel_size": "x"}}, r"Where: running\[0\]\.layout\.tensor_parallel_size"),
        ({"cpuset": "all"}, "is no list of CPUs"),
        ({"cpuset": 5}, "a text was expected"),
        ({"binding": "glue"}, "Give one of plugin"),
        ({"ports": []}, "a mapping was expected"),
        ({"rank": -1}, r"Where: running\[0\]\.rank"),
    ],
)
def test_a_row_that_is_none_is_refused(row, words):
    with pytest.raises(NpufleetError, match=words):
        record(**row)


def test_an_engine_stays():
    found = stay([record()], a2_facts(processes=[{"pid": 1}]))
    assert (found.chips, found.layout.sizes, found.reasons) == (((0, 1),), Parallel(2, 1, 1, False), ("host h: stays where it runs",))


def test_an_engine_on_two_hosts_stays():
    found = stay([record(layout={"tensor_parallel_size": 4}), record(host="g", layout={"tensor_parallel_size": 4}, rank=1)])
    assert [site.host.name for site in found.sites] == ["h", "g"]


@pytest.mark.parametrize(
    ("records", "npu", "wanted", "words"),
    [
        ([record(host="x")], None, None, "host x is gone"),
        ([record()], {"available": False, "message": "no driver"}, None, "host h: no driver"),
        ([record()], None, {"chips": [0, 2]}, "other chips are asked for"),
        ([record(chips=[0, 9])], None, None, "/dev/davinci9 cannot be used: it is gone"),
        ([record()], a2_facts(health="Critical"), None, "/dev/davinci0 cannot be used: its health is Critical"),
        ([record(chips=[])], None, None, "its record names no chips"),
        ([record(chips=[1, 2])], a3_facts(), None, "its record names one die of an A3 without the other"),
        ([record(layout=None)], None, None, "its record is not complete"),
        ([record(), record(rank=1)], None, None, "its record is not complete"),
        ([record(), record(host="g", chips=[0], rank=1)], None, None, "its record is not complete"),
        ([record()], None, {"soc": "a3"}, "its chips are of another generation"),
        ([record(), record(host="g", rank=1)], a3_facts(), None, "its chips are of another generation"),
        ([record()], None, {"npus": 4}, "another layout is asked for"),
        ([record(layout={"tensor_parallel_size": 1})], None, None, "its record has 2 chips a host, and its layout 1"),
    ],
)
def test_an_engine_that_cannot_stay_says_why(records, npu, wanted, words):
    with pytest.raises(PlanError, match=words):
        stay(records, npu, wanted)


def test_two_records_with_one_chip():
    site = read_site("h", host(a2_facts()))
    site.take("b", [1])
    with pytest.raises(PlanError, match="engine b has /dev/davinci1"):
        keep(read_wanted({"name": "a"}, 0), [record()], {"h": site})


def test_what_runs_and_is_not_in_the_list_keeps_all_it_has():
    site = read_site("h", host(a2_facts()))
    hold_records([record(chips=[1, 99], cpuset="0-1", ports={"serving": 8000, "hccl": "60000-60015"}), record(host="x")], {"h": site})
    assert site.chips == {1: "a (it runs, and is not in the list)"}
    assert set(site.cpus) == {0, 1}
    assert set(site.ports) == {8000, *range(60000, 60016)}
