# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import re
from pathlib import Path

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._npu_chips import merge_chips
from ansible_collections.npufleet.ascend.plugins.module_utils._npu_smi_matrix import parse_mapping, parse_topology
from ansible_collections.npufleet.ascend.plugins.module_utils._npu_smi_table import parse_info
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_chips import hold, read_chips
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_values import PlanError
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.test_plan_fleet import a3_facts, chip_row, facts

FIXTURES = Path(__file__).parents[2] / "fixtures" / "npu_smi"


def problems(npu):
    return [chip.problem for chip in read_chips(npu, {}, "npu")]


def recorded(info, mapping, nodes):
    """Facts as npu_facts makes them from recorded answers of npu-smi."""
    rows = parse_mapping((FIXTURES / mapping).read_text(encoding="utf-8")) if mapping else []
    return {"available": True, "chips": merge_chips(parse_info((FIXTURES / info).read_text(encoding="utf-8")), rows, [], nodes)}


@pytest.mark.parametrize(
    ("info", "mapping", "nodes", "phys", "free"),
    [
        # Workers run on the first chip.
        ("info_L6_910B3_24.1.0_eight.txt", "map_A2.txt", range(8), list(range(8)), [1, 2, 3, 4, 5, 6, 7]),
        ("info_L5_310P3-duo_24.1.0.txt", "map_310P-duo.txt", range(4), [0, 1, 2, 3], [0, 2, 3]),
        # A part of the host: die 7 is in use, NPU 4 not healthy.
        ("info_L7_Ascend910_25.3.rc1.txt", "map_A3.txt", range(16), [6, 7, 8, 9], []),
        # The table of a 950 has no physical id, the mapping has.
        ("info_L9_Ascend950PR_25.7.rc1.txt", None, range(16), [None, None], []),
        ("info_L9_Ascend950PR_25.7.rc1.txt", "map_A5.txt", range(16), [0, 1], []),
        ("info_L2_910A_21.0.2.txt", None, range(8), [2, 5], []),
    ],
)
def test_recorded_hosts(info, mapping, nodes, phys, free):
    chips = read_chips(recorded(info, mapping, list(nodes)), {}, "npu")
    assert [chip.phy for chip in chips] == phys
    assert [chip.phy for chip in chips if chip.problem is None and chip.busy is None] == free


def test_a_dead_chip_of_a_recorded_host_is_named():
    chips = read_chips(recorded("info_L6_910B4_24.1.rc2_dead-chip.txt", None, list(range(8))), {}, "npu")
    assert any("does not respond" in (chip.problem or "") for chip in chips)


def test_ids_of_a_chip():
    chip = read_chips(facts("A2", 1, first=4), {}, "npu")[0]
    assert (chip.phy, chip.logic, chip.card, chip.die, chip.soc, chip.memory_mb, chip.device) == (4, 0, 4, 0, "a2", 65536, "/dev/davinci4")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"responding": False}, "does not respond"),
        ({"health": "Warning"}, "its health is Warning"),
        ({"health": "Alarm", "errors": {"codes": ["80C98000", "81078603"], "texts": []}}, r"Alarm \(error 80C98000, 81078603\)"),
        ({"health": None}, "its health is None"),
        ({"generation": "A1"}, "serves its generation \\(A1\\)"),
        ({"generation": []}, "serves its generation \\(unknown\\)"),
        ({"phy_id": None}, "which /dev/davinciN it has is not known"),
        ({"device_node": None}, "/dev/davinci1 does not exist"),
        ({"memory_total_mb": None}, "size of its memory is not known"),
        ({"phy_id": 0}, "to several chips"),
    ],
)
def test_a_chip_that_no_engine_may_use_says_why(changes, words):
    npu = facts("A2", 3)
    npu["chips"][1].update(changes)
    npu["generation"] = None
    found = [chip.problem for chip in read_chips(npu, {}, "npu") if chip.problem]
    assert found
    assert re.search(words, found[0])
    assert len(found) == (2 if "several" in words else 1)


@pytest.mark.parametrize(
    ("changes", "busy"),
    [
        ({}, None),
        ({"processes": [{"pid": 7, "name": "python", "memory_mb": 9}]}, "process 7 (python) uses it"),
        ({"processes": [{"pid": 7, "name": None}, {"pid": 8, "name": "x"}]}, "process 7 (name not visible) and 1 more uses it"),
        ({"processes": ["odd"]}, "process None (name not visible) uses it"),
        ({"processes": None, "memory_used_mb": 4200}, None),
        ({"processes": None, "memory_used_mb": 6553}, None),
        ({"processes": None, "memory_used_mb": 6554}, "6554 MB of its memory are in use, by a process that npu-smi does not list"),
        ({"processes": None, "memory_used_mb": None}, None),
    ],
)
def test_who_uses_a_chip(changes, busy):
    npu = facts("A2", 1)
    npu["chips"][0].update(changes)
    assert read_chips(npu, {}, "npu")[0].busy == busy


def test_dies_of_an_a3_are_good_together_or_not_at_all():
    npu = a3_facts()
    npu["chips"][3]["health"] = "Critical"
    npu["chips"][4]["processes"] = [{"pid": 9, "name": "x"}]
    chips = read_chips(npu, {}, "npu")
    assert chips[2].problem == "dies of an A3 are used in pairs, and of the other one, /dev/davinci3, its health is Critical"
    assert chips[3].problem == "its health is Critical"
    assert chips[5].busy == "dies of an A3 are used in pairs, and of the other one, /dev/davinci4, process 9 (x) uses it"
    assert [index for index, chip in enumerate(chips) if chip.problem or chip.busy] == [2, 3, 4, 5]


def test_a_die_without_the_other_is_not_used():
    npu = a3_facts()
    del npu["chips"][0]
    npu["chips"][1]["npu_id"] = None
    chips = read_chips(npu, {}, "npu")
    assert ["exactly two dies" in (chip.problem or "") for chip in chips[:4]] == [True, True, True, False]


def test_reserved_chips_and_their_pairs_are_held():
    chips = hold(read_chips(a3_facts(), {}, "npu"), {6: "it is reserved: training"})
    assert [chip.phy for chip in chips if chip.problem] == [6, 7]
    assert chips[6].problem == "it is reserved: training"
    assert hold(read_chips({"chips": [{}]}, {}, "npu"), {0: "x"})[0].problem == "it does not respond: npu-smi prints zeros for it"


def test_cpus_near_a_chip_come_from_it_or_from_its_node():
    rows = [
        chip_row(0, "A2", cpu_affinity="0-3"),
        chip_row(1, "A2", cpu_affinity=None, numa_node=1),
        chip_row(2, "A2", cpu_affinity="rubbish"),
    ]
    chips = read_chips({"chips": rows}, {1: (8, 9)}, "npu")
    assert [chip.near for chip in chips] == [(0, 1, 2, 3), (8, 9), ()]


def test_chips_with_fast_links_are_one_island():
    npu = facts("A2", 4)
    npu["topology"] = dict(parse_topology((FIXTURES / "topo_A2.txt").read_text(encoding="utf-8"))._asdict())
    assert [chip.island for chip in read_chips(npu, {}, "npu")] == [0, 0, 0, 0]
    npu["topology"]["links"] = {"0-1": "HCCS", "0-2": "SYS", "2-3": "HCCS", "x": "HCCS"}
    assert [chip.island for chip in read_chips(npu, {}, "npu")] == [0, 0, 2, 2]


def test_links_of_an_a3_count_physical_ids():
    npu = facts("A3", 4, first=6, cards=[3, 3, 4, 4])
    npu["topology"] = dict(parse_topology((FIXTURES / "topo_A3.txt").read_text(encoding="utf-8"))._asdict())
    assert [chip.island for chip in read_chips(npu, {}, "npu")] == [6, 6, 6, 6]


@pytest.mark.parametrize(
    "topology",
    [
        {"label": "NPU", "devices": [0, 9], "links": {"0-1": "HCCS"}},
        {"label": "NPU", "devices": None, "links": {"0-1": "HCCS"}},
        {"label": "NPU"},
        [],
        None,
    ],
)
def test_links_that_cannot_be_read_are_not_known(topology):
    npu = dict(facts("A2", 2), topology=topology)
    assert [chip.island for chip in read_chips(npu, {}, "npu")] == [None, None]


def test_a_chip_without_an_id_has_no_island():
    npu = dict(facts("A2", 2), topology={"label": "Phy-ID", "links": {"0-1": "HCCS"}})
    npu["chips"][1]["phy_id"] = None
    assert [chip.island for chip in read_chips(npu, {}, "npu")] == [0, None]


def test_facts_of_another_shape_are_refused():
    with pytest.raises(PlanError, match=r"Where: npu\.chips"):
        problems({"chips": "many"})
