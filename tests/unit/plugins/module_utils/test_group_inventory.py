# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._group_inventory import InventoryGroup, group_rows, inventory_groups

NAMELESS = [{"device": "its chips"}]


def host(npus=None, **options):
    own = {"vllm_engine_" + key: value for key, value in options.items()}
    return own if npus is None else dict(own, ansible_facts={"npufleet_npu": {"present": npus}})


def found(variables):
    return [(group.name, *group.hosts) for group in inventory_groups(variables, list(variables))]


def test_the_planner_takes_as_many_hosts_at_a_time_as_the_engine_wants():
    variables = {name: host(True, hosts=2, name="q") for name in ("a", "b", "c", "d", "e")}
    # What is left over is refused by the planner, and is no group.
    assert found(variables) == [("q", "a", "b"), ("q", "c", "d")]
    assert inventory_groups(variables, list(variables))[0].planned


def test_engines_of_other_names_do_not_count():
    variables = {"a": host(hosts=2), "x": host(name="small"), "b": host(hosts=2)}
    assert found(variables) == [("deepseek", "a", "b")]


def test_hosts_that_are_named_are_a_group_on_any_chip():
    named = host(False, group=["a", "b"], accelerator="cpu", name="q")
    assert found({"a": named, "b": named, "c": host(False, name="q")}) == [("q", "a", "b")]
    assert [group.planned for group in inventory_groups({"a": named}, ["a"])] == [False]


@pytest.mark.parametrize(
    ("npus", "options", "together"),
    [
        (None, {}, True),
        (True, {}, True),
        (False, {}, False),
        (False, {"accelerator": "ascend"}, True),
        (True, {"accelerator": "cpu"}, False),
        (True, {"state": "absent"}, False),
        (True, {"hosts": None}, False),
        (True, {"group": ["a"]}, True),
    ],
    ids=["not looked at", "npus", "no npus", "asked for", "cpu", "absent", "one host", "group of one"],
)
def test_only_the_planner_puts_engines_on_several_hosts(npus, options, together):
    variables = {name: host(npus, **dict({"hosts": 2}, **options)) for name in ("a", "b")}
    assert bool(found(variables)) is together


def test_instances_are_engines_of_their_own():
    both = [{"name": "large", "hosts": 2}, {"name": "small"}]
    assert found({"a": host(instances=both), "b": host(instances=both)}) == [("large", "a", "b")]


def test_one_host_can_belong_to_two_groups():
    variables = {
        "a": host(instances=[{"name": "p", "hosts": 2}]),
        "b": host(instances=[{"name": "p", "hosts": 2}, {"name": "q", "hosts": 2}]),
        "c": host(instances=[{"name": "q", "hosts": 2}]),
    }
    assert found(variables) == [("p", "a", "b"), ("q", "b", "c")]


def test_rows_tell_who_belongs_together_where_the_planner_says_it():
    groups = [InventoryGroup("q", ("a", "b"), True), InventoryGroup("r", ("c", "d"), False)]
    assert group_rows(groups) == [
        {"name": "q", "host": "a", "rank": 0, "headless": False, "master_address": "a", "chips": NAMELESS},
        {"name": "q", "host": "b", "rank": 1, "headless": True, "master_address": "a", "chips": NAMELESS},
    ]
