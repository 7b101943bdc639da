# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_checks import on_capture_grid
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._recipe_profiles import KNOBS, PROFILES, apply_profile, check_profile

LAYOUT = {"tensor_parallel_size": 4, "data_parallel_size": 4}
ARGS = {"max_num_seqs": 16, "max_num_batched_tokens": 4096, "speculative_config": {"num_speculative_tokens": 3}}
BALANCE = {"VLLM_ASCEND_BALANCE_SCHEDULING": "1"}


def applied(profile, args=None, env=None, minor="0.23", family="v3", layout=None):
    return apply_profile(profile, minor, family, layout or LAYOUT, ARGS if args is None else args, env or {})


def test_balanced_changes_nothing():
    assert applied("balanced", env=BALANCE) == (ARGS, BALANCE, [])


def test_latency_takes_fewer_requests_and_shorter_chunks():
    result = applied("latency", env=dict(BALANCE, OMP_NUM_THREADS="1"))
    assert result.args == dict(ARGS, max_num_seqs=8, max_num_batched_tokens=2048, enable_chunked_prefill=True)
    assert result.env == {"OMP_NUM_THREADS": "1"}
    assert result.changed == ["enable_chunked_prefill", "max_num_batched_tokens", "max_num_seqs", "balance scheduling"]


def test_throughput_takes_more_of_both():
    result = applied("throughput")
    assert result.args == dict(ARGS, max_num_seqs=32, max_num_batched_tokens=8192, enable_chunked_prefill=True)
    assert result.env == BALANCE


@pytest.mark.parametrize(
    ("profile", "number", "tokens", "wanted"),
    [
        ("latency", 1, 0, 1),
        ("latency", 2, 0, 1),
        ("latency", 4, 0, 2),
        ("latency", 8, 0, 4),
        ("latency", 24, 0, 8),
        ("throughput", 1, 0, 2),
        ("throughput", 2, 0, 4),
        ("throughput", 4, 0, 8),
        ("throughput", 96, 3, 128),
        ("throughput", 256, 1, 256),
        ("throughput", 300, 1, 300),
    ],
)
def test_requests_stay_on_the_grid_and_below_the_ceiling(profile, number, tokens, wanted):
    args = {"max_num_seqs": number, "speculative_config": {"num_speculative_tokens": tokens}}
    assert applied(profile, args).args["max_num_seqs"] == wanted
    assert on_capture_grid(wanted) or wanted == number


@pytest.mark.parametrize(
    ("profile", "number", "wanted"),
    [("latency", 1024, 1024), ("latency", 8192, 2048), ("throughput", 10240, 16384), ("throughput", 32768, 32768)],
)
def test_tokens_of_a_step_have_a_limit(profile, number, wanted):
    assert applied(profile, {"max_num_batched_tokens": number}).args["max_num_batched_tokens"] == wanted


def test_a_knob_that_the_recipe_does_not_set_is_left_alone():
    assert applied("latency", {"max_model_len": 8192}) == ({"max_model_len": 8192}, {}, [])


def test_sizes_of_graphs_that_the_recipe_names_keep_the_number_of_requests():
    args = {"max_num_seqs": 16, "compilation_config": {"cudagraph_capture_sizes": [8, 16]}}
    assert applied("throughput", args).args["max_num_seqs"] == 16
    assert applied("latency", args).args["max_num_seqs"] == 8


@pytest.mark.parametrize(
    ("minor", "args", "env"),
    [
        ("0.23", {}, BALANCE),
        ("0.26", {}, BALANCE),
        ("0.30", {"additional_config": {"scheduler_config": {"enable_balance_scheduling": True}}}, {}),
    ],
)
def test_balance_scheduling_is_switched_as_the_version_has_it(minor, args, env):
    on = applied("throughput", {}, {}, minor)
    assert (on.args, on.env, on.changed) == (args, env, ["balance scheduling"])
    again = applied("throughput", on.args, on.env, minor)
    assert again.changed == []
    off = applied("latency", on.args, on.env, minor)
    assert off.env == {} and "True" not in str(off.args) and off.changed == ["balance scheduling"]


def test_the_older_place_of_the_key_is_switched_off_as_well():
    args = {"additional_config": {"enable_balance_scheduling": True, "enable_cpu_binding": True}}
    assert applied("latency", args).args == {"additional_config": {"enable_cpu_binding": True}}


@pytest.mark.parametrize(("family", "data"), [("v4", 4), ("v3", 1)])
def test_balance_scheduling_is_switched_on_only_where_it_is_documented(family, data):
    assert applied("throughput", {}, family=family, layout={"data_parallel_size": data}) == ({}, {}, [])


def test_each_knob_has_a_direction_and_a_source():
    assert {knob.profile for knob in KNOBS} == set(PROFILES) - {"balanced"}
    assert all(all(knob) for knob in KNOBS)


def test_other_profiles_are_refused():
    check_profile("latency")
    with pytest.raises(NpufleetError, match="no profile fast") as caught:
        check_profile("fast")
    assert "latency, balanced, throughput" in str(caught.value)
