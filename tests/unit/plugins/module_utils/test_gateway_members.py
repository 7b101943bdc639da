# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._gateway_members import first_model, members

Q = "/data/models/q"


def engine(**options):
    return {"vllm_engine_" + key: value for key, value in dict({"host": "0.0.0.0", "model": Q}, **options).items()}


def listed(variables, here="gw", **options):
    return members(variables, list(variables), here, **options)


def test_each_host_has_an_engine_of_its_name():
    variables = {"a": dict(engine(), ansible_host="192.0.2.11"), "b": engine(port=8001), "c": dict(engine(), npufleet_address="192.0.2.13")}
    assert listed(variables) == [
        {"name": "a", "address": "192.0.2.11", "port": 8000},
        {"name": "b", "address": "b", "port": 8001},
        {"name": "c", "address": "192.0.2.13", "port": 8000},
    ]


@pytest.mark.parametrize(
    ("host", "address"), [("0.0.0.0", "127.0.0.1"), ("127.0.0.1", "127.0.0.1"), (None, "127.0.0.1"), ("192.0.2.11", "192.0.2.11")]
)
def test_an_engine_on_the_host_of_the_gateway(host, address):
    assert listed({"gw": engine(host=host)})[0]["address"] == address


def test_an_engine_with_an_address_is_found_there():
    assert listed({"a": dict(engine(host="192.0.2.11"), ansible_host="198.51.100.1")})[0]["address"] == "192.0.2.11"


def test_an_engine_that_is_not_reached_is_named():
    with pytest.raises(NpufleetError, match=r"the engine of a listens on 127\.0\.0\.1, which gw does not reach"):
        listed({"a": engine(host=None)})


def test_instances_have_names_and_options_of_their_own():
    variables = {"a": engine(instances=[{"name": "one"}, {"name": "two", "port": 8001}, {"name": "gone", "state": "absent"}])}
    assert [(row["name"], row["port"]) for row in listed(variables)] == [("a-one", 8000), ("a-two", 8001)]


def test_of_an_engine_on_several_hosts_the_head_has_the_api():
    variables = {name: engine(hosts=2) for name in "abcd"}
    assert [row["name"] for row in listed(variables)] == ["a", "c"]
    variables = {"a": engine(), "b": engine(ready_url="http://192.0.2.11:8000")}
    assert [row["name"] for row in listed(variables)] == ["a"]


def test_other_models_are_left_out():
    variables = {"a": engine(), "b": engine(model="/data/models/ocr"), "c": engine(model="/elsewhere/x", served_model_name="q")}
    assert [row["name"] for row in listed(variables)] == ["a", "c"]
    assert [row["name"] for row in listed(variables, model="ocr")] == ["b"]


def test_a_host_may_list_its_engines_itself():
    own = [{"name": "x", "address": "192.0.2.20", "port": 9000, "weight": 10}]
    assert listed({"a": dict(engine(host=None), npufleet_gateway_members=own)}) == own


def test_the_model_is_that_of_the_first_engine_that_serves():
    assert first_model({"a": engine(state="absent", model="/m/x"), "b": engine()}, ["a", "b"]) == "q"
    assert first_model({"a": {}}, ["a"]) is None
    assert first_model({}, []) is None
    assert listed({"a": engine(state="stopped")}) == []
