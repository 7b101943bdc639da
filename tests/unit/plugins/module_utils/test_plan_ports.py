# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_host import read_site
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_ports import fixed_ports, give, needed, port_env, read_ports, span
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_values import PlanError


def sites(*reserved):
    return [read_site("h{0}".format(place), {"reserved_ports": list(ports)}) for place, ports in enumerate(reserved)]


@pytest.mark.parametrize(
    ("value", "ports"),
    [
        (8000, (8000,)),
        ("8000", (8000,)),
        ("60000-60002", (60000, 60001, 60002)),
        ("5-4", ()),
        ("0", ()),
        ("1-65536", ()),
        ("auto", ()),
        (None, ()),
    ],
)
def test_ports_of_a_value(value, ports):
    assert span(value) == ports


@pytest.mark.parametrize(
    ("hosts", "spans", "ray", "chips", "apart", "kinds"),
    [
        (1, False, False, 1, True, ["serving"]),
        (1, False, False, 4, False, ["serving", "hccl"]),
        (1, False, True, 4, True, ["serving", "hccl", "hccl_npu"]),
        (2, False, False, 16, False, ["serving", "data_parallel_rpc", "hccl"]),
        (2, True, False, 16, False, ["serving", "master", "hccl"]),
        (2, True, True, 16, False, ["serving", "ray", "ray_node", "hccl"]),
    ],
)
def test_what_an_engine_needs(hosts, spans, ray, chips, apart, kinds):
    assert needed(hosts, spans, ray, chips, apart) == kinds


ALL = ["serving", "data_parallel_rpc", "hccl"]


def test_ports_are_free_on_every_host_of_the_engine():
    places = sites([8000], [8001, 13389, 60032])
    ports = give(places, ALL, {}, {}, {8002}, "a", "here")
    assert ports == {"serving": 8003, "data_parallel_rpc": 13390, "hccl": "60000-60031"}
    assert places[0].ports[60031] == places[1].ports[8003] == "engine a"
    assert give(places, ALL, {}, {}, set(), "b", "here") == {"serving": 8002, "data_parallel_rpc": 13391, "hccl": "60064-60095"}


def test_a_node_of_ray_has_a_range_of_its_own():
    places = sites([14005], [6379])
    kinds = ["ray", "ray_node"]
    assert give(places, kinds, {}, {}, set(), "a", "here") == {"ray": 6380, "ray_node": "14112-14223"}
    assert give(places, kinds, {}, {"ray": 6390, "ray_node": "14336-14447"}, set(), "b", "here") == {"ray": 6390, "ray_node": "14336-14447"}
    assert give(places, kinds, {}, {}, set(), "c", "here") == {"ray": 6381, "ray_node": "14224-14335"}


def test_what_an_engine_has_it_keeps():
    recorded = {"serving": 8500, "hccl": "61000-61031", "data_parallel_rpc": "7"}
    assert give(sites([]), ALL, {}, recorded, {8500}, "a", "here") == {"serving": 8500, "hccl": "61000-61031", "data_parallel_rpc": "7"}
    # A range of another size, or one that something else has by now, is not kept.
    assert give(sites([8500]), ALL, {}, dict(recorded, hccl="61000-61001"), set(), "a", "here")["hccl"] == "60000-60031"
    assert give(sites([8500]), ALL, {}, recorded, set(), "a", "here")["serving"] == 8000


def test_given_ports_are_taken_or_refused():
    places = sites([9000])
    assert give(places, ALL, {"serving": 9001, "hccl": "50000-50015"}, {"serving": 7000}, {9001}, "a", "here")["serving"] == 9001
    with pytest.raises(PlanError, match="port 9001 for serving cannot be: engine a has port 9001"):
        give(places, ALL, {"serving": 9001}, {}, set(), "b", "here")
    with pytest.raises(PlanError, match="something else on the host has port 9000"):
        give(places, ALL, {"serving": 9000}, {}, set(), "b", "here")
    with pytest.raises(PlanError, match="the engine itself has port 9002"):
        give(places, ALL, {"serving": 9002, "data_parallel_rpc": 9002}, {}, set(), "b", "here")
    with pytest.raises(PlanError, match="it gives no port"):
        give(places, ALL, {"data_parallel_rpc": "auto"}, {}, set(), "b", "here")


def test_no_port_is_left():
    with pytest.raises(PlanError, match="no port is left for hccl"):
        give(sites(range(60000, 65536)), ["hccl"], {}, {}, set(), "a", "here")


def test_ports_that_a_person_names():
    found = fixed_ports(8000, {"data_parallel_rpc_port": 1, "master_port": 2, "x": 3}, {"HCCL_IF_BASE_PORT": "1024"}, "here")
    assert found == {"serving": 8000, "data_parallel_rpc": 1, "master": 2, "hccl": "1024-1055"}
    assert fixed_ports(None, {}, {}, "here") == {}
    for base in ("1023", "65505", "x"):
        with pytest.raises(PlanError, match="Give a port from 1024 to 65504"):
            fixed_ports(None, {}, {"HCCL_IF_BASE_PORT": base}, "here")


def test_ports_of_a_record():
    assert read_ports({"serving": 8000, "hccl": "x", "other": 5}, "here") == {"serving": 8000}
    assert read_ports(None, "here") == {}
    with pytest.raises(PlanError, match="a mapping was expected"):
        read_ports([8000], "here")


def test_hccl_is_told_its_ports():
    assert port_env({"serving": 1, "hccl": "60016-60031", "hccl_npu": "61000-61015"}) == {
        "HCCL_IF_BASE_PORT": "60016",
        "HCCL_NPU_SOCKET_PORT_RANGE": "61000-61015",
    }
    assert port_env({"serving": 1}) == {}
