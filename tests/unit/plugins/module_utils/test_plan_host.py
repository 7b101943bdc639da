# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_host import read_site
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.test_plan_fleet import a2_facts, a3_facts, facts, host


def test_what_is_known_of_a_host():
    site = read_site("h", host(a2_facts(), 7, cpus="0-191", reserved_chips=[{"chip": 3, "reason": "training"}, 5], reserved_ports=[8000]))
    assert (site.host.soc, site.host.arch, site.host.address, site.host.interface) == ("a2", "aarch64", "192.0.2.7", "eth0")
    assert site.host.memory_bytes == 1500000 << 20
    assert site.usable == (0, 1, 2, 4, 6, 7)
    assert (site.fault(3), site.fault(5)) == ("it is reserved: training", "it is reserved: nobody says for what")
    assert site.ports == {8000: "something else on the host"}
    assert site.memory_mb == 65536


@pytest.mark.parametrize(
    ("npu", "words"),
    [
        (None, "no facts of its NPUs"),
        ({"available": False, "message": "no driver"}, "no driver"),
        ({"available": True}, "the facts list no chip"),
        (
            {"available": True, "chips": [*facts("A2", 1)["chips"], *facts("A3", 2, first=4, cards=[9, 9])["chips"]]},
            "different generations",
        ),
    ],
)
def test_a_host_that_runs_nothing_says_why(npu, words):
    site = read_site("h", {"npu": npu})
    assert words in site.host.problem
    assert site.usable == ()
    assert not site.open


@pytest.mark.parametrize(("cpus", "count"), [(None, 0), (64, 64), ("64", 64), ("0-63", 64), ("0-3,8", 5)])
def test_cpus_are_a_count_or_a_list(cpus, count):
    assert len(read_site("h", host(a2_facts(), cpus=cpus)).host.cpus) == count


def test_cpus_of_nodes_serve_chips_that_know_their_node():
    npu = a2_facts()
    for chip in npu["chips"]:
        chip["cpu_affinity"] = None
    site = read_site("h", host(npu, numa_nodes={0: "0-23", "6": "144-167"}))
    assert site.host.chips[1].near == tuple(range(24))
    assert site.host.chips[2].near == tuple(range(144, 168))
    assert site.host.chips[4].near == ()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"adress": "x"}, r"'adress' has no meaning here\. Where: hosts\.h\. What to do: Did you mean address"),
        ({"interface": []}, r"Where: hosts\.h\.interface"),
        ({"address": 7}, r"Where: hosts\.h\.address"),
        ({"cpus": 0}, r"Where: hosts\.h\.cpus"),
        ({"cpus": "many"}, "no list of CPUs"),
        ({"cpus": "0-99999"}, "a host with 100000 CPUs is not believed"),
        ({"numa_nodes": {"x": "0-3"}}, r"Where: hosts\.h\.numa_nodes"),
        ({"numa_nodes": [1]}, "a mapping was expected"),
        ({"memory_mb": "lots"}, r"Where: hosts\.h\.memory_mb"),
        ({"reserved_chips": [{"chip": 1, "reson": "x"}]}, "Did you mean reason"),
        ({"reserved_chips": 3}, "a list was expected"),
        ({"reserved_ports": [0]}, "Give one from 1 to 65535"),
    ],
)
def test_input_that_cannot_be_read(changes, words):
    with pytest.raises(NpufleetError, match=words):
        read_site("h", host(a2_facts(), **changes))


def test_what_engines_hold():
    site = read_site("h", host(a3_facts(), reserved_chips=[15]))
    assert (site.fault(0), site.whole(range(16)), site.whole(range(14))) == (None, True, False)
    site.take("a", [0, 1])
    assert site.fault(0) == "engine a has it"
    assert 0 not in site.open
    site.release([0, 2, 99])
    assert 0 not in site.open
    site.open.discard(2)
    site.release([2, 14])
    assert 2 in site.open
    assert 14 not in site.open
