# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._group_members import (
    DOCKER_HOST,
    address_key,
    answer_of,
    find_groups,
    pings,
    questions,
    way_of,
)
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.test_plan_fleet import (
    LLAMA_70B,
    a2_facts,
    a3_facts,
    duo_facts,
    fleet,
    rows,
)

NAMES = ("npu-01", "npu-02")
RECIPE_IMAGE = {"repository": "quay.io/ascend/vllm-ascend", "tag": "v0.23.0.post1"}


def engine(**changes):
    return dict({"name": "q", "npus": 4, "host_count": 2, "config": LLAMA_70B, "weights_bytes": 140 * 10**9}, **changes)


def lab(npu=a2_facts, engines=None, **own):
    """Rows of a plan for two hosts, and the variables of these."""
    hosts = fleet(npu(), npu())
    plan = rows(hosts, engines or [engine()])
    return plan, {
        name: dict({"vllm_engine_plan_host": hosts[name], "vllm_engine_name": "q", "vllm_engine_model": "/m"}, **own) for name in NAMES
    }


def answered(variables, host, **npus):
    """Let a host answer in the first round: addresses by number of the NPU."""
    variables[host]["npufleet_group_look"] = {"group": {"npus": {key[1:]: value for key, value in npus.items()}}}


def test_a_group_of_two_hosts():
    plan, variables = lab()
    (group,) = find_groups(plan[::-1], variables)
    head, second = group.members
    assert (group.name, head.host, second.host) == ("q", *NAMES)
    assert (head.chips, head.generation, head.address, head.interface) == ((0, 2), "A2", "192.0.2.1", "eth0")
    assert 8000 in head.ports and 8000 not in second.ports
    assert 60000 in second.ports and 60015 in second.ports
    assert (head.model, head.image, head.venv, head.docker_host) == ("/m", None, None, DOCKER_HOST)


def test_engines_on_one_host_are_none():
    hosts = fleet(a2_facts(), a2_facts())
    plan = rows(hosts, [engine(npus=2, host_count=1, weights_bytes=10**9)])
    assert find_groups(plan, {name: {} for name in NAMES}) == []
    assert questions([], "npu-01") == {}


def test_what_the_variables_say_of_the_engine():
    own = {
        "vllm_engine_image": "example.com/all:1",
        "vllm_engine_container": {"docker_host": "unix:///run/podman/podman.sock"},
        "vllm_engine_instances": [{"name": "other", "model": "/o"}, {"name": "q", "model": "/own", "venv": "/v"}],
    }
    plan, variables = lab(**own)
    member = find_groups(plan, variables)[0].members[0]
    assert (member.model, member.image, member.venv) == ("/own", "example.com/all:1", "/v")
    assert member.docker_host == "unix:///run/podman/podman.sock"


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ([{"name": "other", "recipe": {"image": RECIPE_IMAGE}}, {"name": "q", "recipe": {"image": RECIPE_IMAGE}}], "v0.23.0.post1"),
        ([{"name": "q"}], None),
        (None, None),
    ],
)
def test_the_image_of_the_recipe(known, expected):
    plan, variables = lab(vllm_engine_plan_engines=known)
    image = find_groups(plan, variables)[0].members[0].image
    assert image == (expected and "quay.io/ascend/vllm-ascend:" + expected)


def test_ports_of_the_running_engine_are_its_own():
    plan, variables = lab()
    variables["npu-01"]["vllm_engine_plan_running"] = [dict(plan[0]), {"name": "other", "ports": {"serving": 8000}}]
    assert find_groups(plan, variables)[0].members[0].ports == ()
    variables["npu-01"]["vllm_engine_plan_running"] = [{"name": "q", "ports": {"hccl": "60000-60015", "hccl_npu": "61000-61015"}}]
    assert 8000 in find_groups(plan, variables)[0].members[0].ports


def test_questions_of_the_first_round():
    plan, variables = lab(vllm_engine_image="example.com/i:1")
    asked = questions(find_groups(plan, variables), "npu-02")
    ports = asked.pop("ports")
    assert set(range(60000, 60016)) <= set(ports)
    assert asked == {
        "chips": [0, 2],
        "vnic": False,
        "interfaces": ["eth0"],
        "weights": ["/m"],
        "images": ["example.com/i:1"],
        "docker_host": DOCKER_HOST,
        "venvs": [],
    }
    assert questions(find_groups(plan, variables), "npu-03") == {}


def test_two_engines_of_a_host_are_asked_in_one_call():
    plan, variables = lab(engines=[engine(), engine(name="r")], vllm_engine_instances=[{"name": "q"}, {"name": "r", "model": "/r"}])
    groups = find_groups(plan, variables)
    asked = questions(groups, "npu-01")
    assert [group.name for group in groups] == ["q", "r"]
    assert asked["weights"] == ["/m", "/r"] and len(asked["chips"]) == 4


def test_npus_without_a_network_are_not_asked():
    plan, variables = lab(duo_facts, [engine(weights_bytes=60 * 10**9)])
    groups = find_groups(plan, variables)
    assert questions(groups, "npu-01")["chips"] == []
    assert pings(groups, "npu-01", variables) == {}


def test_each_npu_pings_the_one_of_its_place():
    plan, variables = lab()
    answered(variables, "npu-02", n0={"address": "192.0.2.50"}, n2={"address": "192.0.2.52"}, n4={"address": "192.0.2.54"})
    groups = find_groups(plan, variables)
    pairs = [{"chip": 0, "address": "192.0.2.50"}, {"chip": 2, "address": "192.0.2.52"}]
    assert pings(groups, "npu-01", variables) == {"pings": pairs, "ping_command": "ping"}
    every = pings(groups, "npu-01", variables, every=True)["pings"]
    assert [(row["chip"], row["address"][-2:]) for row in every] == [(0, "50"), (0, "52"), (2, "50"), (2, "52")]
    # That host has no answers to go by.
    assert pings(groups, "npu-02", variables) == {}


def test_npus_without_address_are_pinged_by_nobody():
    plan, variables = lab()
    answered(variables, "npu-02", n0={"address": None})
    assert pings(find_groups(plan, variables), "npu-01", variables) == {}


def test_a_super_pod():
    plan, variables = lab(a3_facts)
    answered(variables, "npu-02", n0={"address": "192.0.2.50", "vnic_address": "198.51.100.1"}, n1={"address": None, "vnic_address": None})
    groups = find_groups(plan, variables)
    assert questions(groups, "npu-01")["vnic"] is True
    assert pings(groups, "npu-01", variables) == {"pings": [{"chip": 0, "address": "198.51.100.1"}], "ping_command": "hccs_ping"}
    assert pings(groups, "npu-01", variables, asked="ping") == {"pings": [{"chip": 0, "address": "192.0.2.50"}], "ping_command": "ping"}
    assert (way_of(groups[0]), way_of(groups[0], "ping")) == ("hccs_ping", "ping")
    assert address_key(groups[0].members[0], "ping") == "address"


@pytest.mark.parametrize("result", [None, {}, {"skipped": True}, {"unreachable": True, "msg": "x"}, {"group": None}, "x"])
def test_no_answer(result):
    assert answer_of({"npufleet_group_look": result}, "npufleet_group_look") is None
