# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from ansible_collections.npufleet.ascend.plugins.module_utils._plan_input import plan_input


def host(*engines, running=(), problem=""):
    return {
        "vllm_engine_plan_host": {"npu": {"available": not problem}},
        "vllm_engine_plan_engines": list(engines),
        "vllm_engine_plan_running": list(running),
        "vllm_engine_plan_problem": problem,
    }


def test_each_host_has_its_engines():
    a, b = {"name": "a", "host_count": 1}, {"name": "b"}
    said = plan_input({"h1": host(a, b, running=[{"name": "a"}]), "h2": host(a), "cpu": {}}, ["h1", "h2", "cpu"])
    assert list(said["hosts"]) == ["h1", "h2"]
    assert said["engines"] == [dict(a, hosts=["h1"]), dict(a, hosts=["h2"]), dict(b, hosts=["h1"])]
    assert (said["running"], said["waiting"]) == ([{"name": "a"}], {})


def test_engines_over_hosts_take_them_in_order_and_leave_a_rest():
    pair = {"name": "p", "host_count": 2}
    said = plan_input({"h3": host(pair), "h1": host(pair), "h2": host(pair)}, ["h1", "h2", "h3"])
    assert [row["hosts"] for row in said["engines"]] == [["h1", "h2"], ["h3"]]


def test_a_host_that_cannot_be_planned_yet_waits():
    said = plan_input({"h1": host(problem="no driver"), "h2": host({"name": "a"})}, ["h1", "h2"])
    assert (said["waiting"], list(said["hosts"])) == ({"h1": "no driver"}, ["h2"])


def test_hosts_that_are_not_asked_for_play_no_part():
    assert plan_input({"h1": host({"name": "a"}), "h2": host({"name": "a"})}, ["h2"])["engines"] == [{"name": "a", "hosts": ["h2"]}]
