# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._recipe_merge import (
    command_line,
    expand,
    layout_options,
    overlay,
    overlay_options,
)


@pytest.mark.parametrize(
    ("base", "over", "merged"),
    [
        ({"a": 1}, {}, {"a": 1}),
        ({"a": 1}, {"a": 2, "b": 3}, {"a": 2, "b": 3}),
        ({"a": 1, "b": 2}, {"a": None, "c": None}, {"b": 2}),
        ({"a": {"x": 1, "y": 2}}, {"a": {"y": None, "z": 3}}, {"a": {"x": 1, "z": 3}}),
        ({"a": {"x": 1}}, {"a": [1]}, {"a": [1]}),
        ({"a": 1}, {"a": {"x": 1, "y": None}}, {"a": {"x": 1}}),
    ],
)
def test_overlay(base, over, merged):
    before = repr(base)
    assert overlay(base, over) == merged
    assert repr(base) == before


def test_spellings_of_one_option_are_one_key():
    assert overlay_options({"max_num_seqs": 1}, {"--max-num-seqs": 2, "attention-config.backend_x": "y"}) == {
        "max_num_seqs": 2,
        "attention_config.backend_x": "y",
    }


def test_dotted_names_become_mappings_and_meet_what_is_there():
    options = {"attention_config": {"a": 1}, "attention-config.b": 2, "additional_config.x.y": True, "gone": None}
    assert expand(options) == {"attention_config": {"a": 1, "b": 2}, "additional_config": {"x": {"y": True}}}


def test_sizes_of_one_are_left_out():
    layout = {"tensor_parallel_size": 4, "data_parallel_size": 1, "pipeline_parallel_size": 1, "enable_expert_parallel": False}
    assert layout_options(layout) == {"tensor_parallel_size": 4}
    assert layout_options(dict(layout, enable_expert_parallel=True)) == {"tensor_parallel_size": 4, "enable_expert_parallel": True}


def chosen(hosts):
    layout = {"tensor_parallel_size": 4, "data_parallel_size": 4, "pipeline_parallel_size": 1, "enable_expert_parallel": True}
    return {"npus": {"hosts": hosts}, "layout": layout, "args": {"max_num_seqs": 16}}


def test_one_host_needs_no_addresses():
    assert command_line(chosen(1)) == [
        "--data-parallel-size",
        "4",
        "--enable-expert-parallel",
        "--max-num-seqs",
        "16",
        "--tensor-parallel-size",
        "4",
    ]


def test_hosts_of_one_engine_differ_in_rank():
    head, member = command_line(chosen(2)), command_line(chosen(2), rank=1, address="192.0.2.7", port=12345)
    assert "--headless" not in head and "--headless" in member
    assert head[head.index("--data-parallel-size-local") + 1] == "2"
    assert member[member.index("--data-parallel-start-rank") + 1] == "2"
    assert member[member.index("--data-parallel-address") + 1] == "192.0.2.7"
    assert member[member.index("--data-parallel-rpc-port") + 1] == "12345"
