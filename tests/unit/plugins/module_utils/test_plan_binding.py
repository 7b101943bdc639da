# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_binding import additional_config, asked_binding, bind, binding_options
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_host import read_site
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_values import PlanError
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.test_plan_fleet import a2_facts, facts, host

ON, OFF = {"additional_config": {"enable_cpu_binding": True}}, {"additional_config": '{"enable_cpu_binding": false}'}


@pytest.mark.parametrize(
    ("binding", "cpuset", "args", "env", "asked"),
    [
        (None, None, {}, {}, None),
        ("plugin", None, {}, {}, "plugin"),
        ("plugin", None, ON, {}, "plugin"),
        (None, None, ON, {}, "plugin"),
        (None, None, {"numa_bind": True}, {}, "plugin"),
        (None, None, OFF, {}, "off"),
        ("cpuset", None, OFF, {}, "cpuset"),
        ("none", None, OFF, {"CPU_AFFINITY_CONF": "0"}, "none"),
        (None, "0-9", {}, {}, "cpuset"),
        ("cpuset", "0-9", {}, {}, "cpuset"),
        ("numactl", "0-9", {}, {}, "numactl"),
    ],
)
def test_one_method(binding, cpuset, args, env, asked):
    assert asked_binding(binding, cpuset, args, env, "here") == (asked, cpuset)


@pytest.mark.parametrize(
    ("binding", "cpuset", "args", "env", "words"),
    [
        ("cpuset", None, ON, {}, r"args\.additional_config\.enable_cpu_binding \(or numa_bind\) \(plugin\), binding \(cpuset\)"),
        ("plugin", None, OFF, {}, "two ways"),
        ("plugin", "0-9", {}, {}, r"binding \(plugin\), cpuset \(cpuset\)"),
        ("none", "0-9", {}, {}, "two ways"),
        (None, "0-9", ON, {}, "two ways"),
        ("cpuset", None, {}, {"CPU_AFFINITY_CONF": "1"}, r"env\.CPU_AFFINITY_CONF \(torch_npu\)"),
        (None, None, {}, {"CPU_AFFINITY_CONF": "1"}, "the plugin or a cpuset"),
    ],
)
def test_two_methods_are_refused_and_named(binding, cpuset, args, env, words):
    with pytest.raises(PlanError, match=words) as caught:
        asked_binding(binding, cpuset, args, env, "here")
    assert "Keep one" in str(caught.value)


@pytest.mark.parametrize("value", ["{", "[1]", [1], "[" * 100000])
def test_additional_config_is_a_mapping(value):
    with pytest.raises(PlanError, match="additional_config"):
        additional_config({"additional_config": value}, "here")


def site(**changes):
    return read_site("h", host(a2_facts(), **dict({"cpus": "0-191"}, **changes)))


ALL = tuple(range(8))


@pytest.mark.parametrize(
    ("changes", "chips", "asked", "cpuset", "bare", "method", "cpus"),
    [
        ({}, ALL, None, None, False, "plugin", None),
        ({}, ALL, "plugin", None, False, "plugin", None),
        ({}, ALL, "off", None, False, "cpuset", "0-23,48-71,96-119,144-167"),
        ({}, (0, 2), None, None, False, "cpuset", "144-167"),
        ({}, (0,), None, None, True, "numactl", "144-155"),
        ({}, ALL, "cpuset", None, False, "cpuset", "0-23,48-71,96-119,144-167"),
        # The plugin does nothing on x86, and nobody promises that it does where the architecture is not known.
        ({"arch": "x86_64"}, ALL, None, None, False, "cpuset", "0-23,48-71,96-119,144-167"),
        ({"arch": None}, ALL, None, None, True, "numactl", "0-23,48-71,96-119,144-167"),
        ({}, ALL, "none", None, False, "none", None),
        ({}, (0,), None, "100-110", False, "cpuset", "100-110"),
        ({}, (0,), "numactl", "100-110", True, "numactl", "100-110"),
        ({"cpus": None}, (1,), None, None, False, "cpuset", "0-11"),
    ],
)
def test_how_an_engine_is_bound(changes, chips, asked, cpuset, bare, method, cpus):
    found = bind(site(**changes), chips, asked, cpuset, bare, "here")
    assert (found.method, found.cpuset) == (method, cpus)


@pytest.mark.parametrize(
    ("chips", "asked", "cpuset", "bare", "changes", "words"),
    [
        ((0,), "plugin", None, False, {}, "has 1 of the 8 chips, and the plugin does not know of engines on the others"),
        (ALL, "plugin", None, False, {"arch": "x86_64"}, "it has no effect on x86"),
        (ALL, "plugin", None, False, {"arch": None}, "architecture is not known to be Arm"),
        (ALL, "plugin", None, False, {"cpus": 39}, "39 CPUs are fewer than 5 for each of 8 chips"),
        (ALL, "numactl", None, False, {}, "binding numactl is for engines on bare metal"),
        (ALL, "cpuset", None, True, {}, "binding cpuset is for containers.*Use numactl"),
        ((0, 2), "cpuset", None, False, {"cpus": "0-152"}, "9 CPUs are fewer than 5 a chip"),
        ((0,), None, "0-3", False, {}, "4 CPUs are fewer than 5 for each of 1 chips"),
        ((0,), None, "188-195", False, {}, "host h has no CPU 192"),
    ],
)
def test_what_is_not_possible_is_refused(chips, asked, cpuset, bare, changes, words):
    with pytest.raises(PlanError, match=words):
        bind(site(**changes), chips, asked, cpuset, bare, "here")


def test_cpus_of_another_engine_are_not_given_twice():
    place = site()
    place.cpus.update(dict.fromkeys(range(144, 150), "b"))
    assert bind(place, (0,), None, None, False, "here").cpuset == "150-155"
    with pytest.raises(PlanError, match="the cpuset 149-160 cannot be: engine b has CPUs of it"):
        bind(place, (0,), None, "149-160", False, "here")


@pytest.mark.parametrize(
    ("cpus", "method", "words"),
    [
        (None, "none", "which CPUs are near its chips is not known"),
        (8, "none", "4 CPUs are fewer than 5 a chip"),
        (20, "cpuset", "a slice of the host, as nothing tells which are near its chips"),
    ],
)
def test_where_nothing_tells_what_is_near(cpus, method, words):
    found = bind(read_site("h", host(facts("A2", 2), cpus=cpus)), (0,), None, None, False, "here")
    assert found.method == method
    assert words in found.reasons[0]


def test_a_cpuset_that_is_far_is_told():
    assert bind(site(), (0,), None, "140-149", False, "here").reasons == ("CPUs 140-149: given, 4 of them not near its chips",)
    assert bind(site(), (0,), "none", None, False, "here", "as it runs").reasons == ("CPUs are not bound: as it runs",)


@pytest.mark.parametrize(
    ("method", "arch", "config", "options"),
    [
        ("plugin", "aarch64", {"a": 1}, {"additional_config": {"a": 1, "enable_cpu_binding": True}}),
        ("cpuset", "aarch64", {"enable_cpu_binding": True}, {"additional_config": {"enable_cpu_binding": False}}),
        ("none", None, {}, {"additional_config": {"enable_cpu_binding": False}}),
        ("cpuset", "x86_64", {"a": 1}, {}),
        ("cpuset", "x86_64", {"enable_cpu_binding": True}, {"additional_config": {"enable_cpu_binding": False}}),
    ],
)
def test_the_plugin_is_told(method, arch, config, options):
    assert binding_options(method, arch, config) == options
