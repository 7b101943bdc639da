# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_values import PlanError
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_wanted import read_wanted
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.test_plan_fleet import GB, R1, RECIPE


def read(**row):
    return read_wanted(dict({"name": "a"}, **row), 0)


def test_an_engine_with_nothing_but_a_name():
    one = read()
    assert (one.name, one.where, one.present, one.soc, one.hosts, one.chips, one.devices, one.ray) == (
        "a", "engines.a", True, None, None, None, "explicit", False,
    )  # fmt: skip
    assert one.asked._replace(where="") == read(hosts=None, args=None).asked._replace(where="")
    assert (one.asked.utilization, one.asked.chips, one.asked.hosts) == (0.92, 0, 0)


def test_a_recipe_gives_what_the_person_leaves_open():
    one = read(recipe=RECIPE, config=R1)
    assert (one.soc, one.model_name, one.model.weights, one.model.expert_bytes) == ("a3", "DeepSeek-R1-W8A8", 690 * GB, 665183059968)
    assert (one.asked.tensor, one.asked.data, one.asked.pipeline, one.asked.expert, one.asked.minimum, one.asked.hosts) == (
        4,
        4,
        1,
        True,
        16,
        1,
    )
    assert one.asked.giver == "of the recipe deepseek-r1-w8a8"
    assert one.args["quantization"] == "ascend"
    assert one.env == {"HCCL_OP_EXPANSION_MODE": "AIV"}


def test_what_the_person_says_wins():
    one = read(
        recipe=RECIPE,
        layout={"tensor_parallel_size": 8, "data_parallel_size": None},
        args={"data-parallel-size": "2", "gpu-memory-utilization": "0.8", "data_parallel_rpc_port": 4000},
        env={"HCCL_OP_EXPANSION_MODE": "AICPU", "HCCL_IF_BASE_PORT": 50000},
        weights_bytes=7,
        soc="a2",
        model="X",
        host_count=2,
        port="9000",
    )
    assert (one.asked.tensor, one.asked.data, one.asked.giver, one.asked.utilization, one.asked.hosts) == (8, 2, "given", 0.8, 2)
    assert (one.model.weights, one.soc, one.model_name, one.env["HCCL_OP_EXPANSION_MODE"]) == (7, "a2", "X", "AICPU")
    assert one.ports == {"serving": 9000, "data_parallel_rpc": 4000, "hccl": "50000-50031"}


def test_sizes_among_the_options_of_a_recipe_count_where_its_layout_is_silent():
    recipe = {"layout": {"tensor_parallel_size": 2}, "args": {"data_parallel_size": 4, "tensor_parallel_size": 9}}
    assert read(recipe=recipe).asked[1:4] == (2, None, 4)


def test_chips_that_are_named_say_how_many():
    one = read(chips=[5, 4])
    assert (one.chips, one.asked.chips) == ((4, 5), 2)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"recipe": []}, r"Where: engines\.a\.recipe"),
        ({"wieghts_bytes": 1}, r"Did you mean weights_bytes\?"),
        ({"state": "gone"}, "Give one of present, absent"),
        ({"soc": "a1"}, "Give one of a2, a3, 310p, a5"),
        ({"hosts": "npu-01"}, "a list was expected"),
        ({"chips": [1, 1]}, "a chip is named twice"),
        ({"chips": ["x"]}, r"Where: engines\.a\.chips"),
        ({"weights_bytes": 0}, r"Where: engines\.a\.weights_bytes"),
        ({"quantization": "int3"}, "Give one of bf16, fp8, w4a8, w8a8"),
        ({"layout": {"tensor_parallel": 4}}, r"Did you mean tensor_parallel_size\?"),
        ({"layout": {"tensor_parallel_size": 4}, "args": {"tensor_parallel_size": 8}}, "layout and args name two values"),
        ({"args": {"tensor_parallel_size": 0}}, "Give one from 1 to 4096"),
        ({"args": {"gpu_memory_utilization": 1.1}}, "Give a number above 0, at most 1"),
        ({"args": {"gpu_memory_utilization": 0}}, "Give a number above 0, at most 1"),
        ({"args": {"gpu_memory_utilization": True}}, "Give a number above 0, at most 1"),
        ({"args": {"gpu_memory_utilization": "most"}}, "Give a number above 0, at most 1"),
        ({"args": {"gpu_memory_utilization": float("nan")}}, "Give a number above 0, at most 1"),
        ({"args": {"--node-rank": 1}}, "the option node_rank is the planner's"),
        ({"env": {"ASCEND_RT_VISIBLE_DEVICES": "0"}}, "would select chips a second time"),
        ({"env": {"ASCEND_VISIBLE_DEVICES": "0"}}, "would select chips a second time"),
        ({"devices": "all"}, "Give one of explicit, runtime, bare_metal"),
        ({"distributed": "mpi"}, "Give one of native, ray"),
        ({"port": 0}, "Give one from 1 to 65535"),
        ({"npus": 0}, "Give one from 1 to 4096"),
        ({"recipe": {"npus": {"minimum": "few"}}}, r"recipe\.npus\.minimum"),
        ({"binding": "numad"}, "Give one of plugin, cpuset, numactl, none"),
    ],
)
def test_what_cannot_be_read(row, words):
    with pytest.raises(PlanError, match=words):
        read(**row)


@pytest.mark.parametrize("row", [None, 3, {}, {"name": ""}, {"name": ["a"]}])
def test_an_engine_has_a_name(row):
    with pytest.raises(PlanError, match=r"engines\[2\]"):
        read_wanted(row, 2)


def test_a_share_of_all_is_one():
    assert read(args={"gpu_memory_utilization": 1}).asked.utilization == 1.0
