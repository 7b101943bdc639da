# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._recipe_keys import KEYS, problems_of_additional_config
from ansible_collections.npufleet.ascend.plugins.module_utils._recipe_versions import MINORS


@pytest.mark.parametrize(
    ("minor", "config"),
    [
        ("0.23", {"enable_balance_scheduling": True, "multistream_overlap_gate": False, "enable_fused_mc2": 2}),
        ("0.26", {"scheduler_config": {"enable_balance_scheduling": True}, "mc2_comm_alg": "hierarchy"}),
        ("0.30", {"ascend_compilation_config": {"enable_super_kernel": False}, "rl_config": {"enabled": False}, "weight_nz_mode": 0}),
        ("0.30", {"rejection_sampler_config": {"posterior_threshold": 1, "posterior_alpha": 0.4}, "pa_shape_list": [1]}),
        ("0.30", {"dump_config": {"anything": 1}, "eplb_config": {"stair_config": {"load_window_bins": 64}}}),
        ("0.30", {}),
    ],
)
def test_keys_of_the_version_are_taken(minor, config):
    assert problems_of_additional_config(config, minor) == []


@pytest.mark.parametrize(
    ("minor", "config", "words"),
    [
        ("0.23", {"scheduler_config": {"enable_balance_scheduling": True}}, "0.23 has its keys at the top"),
        ("0.30", {"weight_prefetch_config": {}}, "removed in 0.26"),
        ("0.23", {"rl_config": {}}, "0.30 has it"),
        ("0.23", {"mc2_comm_alg": ""}, "0.26 and 0.30 has it"),
        ("0.30", {"enable_cpu_bindng": True}, "Did you mean enable_cpu_binding?"),
        ("0.30", {"ascend_compilation_config": {"fuse_norm_quants": True}}, "Did you mean ascend_compilation_config.fuse_norm_quant?"),
        ("0.30", {"zzz": 1}, "knows no additional_config.zzz: leave it out"),
        ("0.30", {"enable_mlapo": 1}, "takes true or false, not 1"),
        ("0.30", {"mega_moe_max_tokens": True}, "takes a whole number, not True"),
        ("0.30", {"mega_moe_max_tokens": "65536"}, "takes a whole number"),
        ("0.30", {"scheduler_config": True}, "takes a mapping"),
        ("0.26", {"enable_fused_mc2": 2}, "takes one of 0, 1, not 2"),
        ("0.30", {"mc2_comm_alg": "ring"}, "not 'ring'"),
        ("0.30", '{"enable_mlapo": true}', "is no mapping"),
        ("0.30", {7: 1}, "knows no additional_config.7"),
    ],
)
def test_others_are_refused_with_what_became_of_them(minor, config, words):
    found = problems_of_additional_config(config, minor)
    assert len(found) == 1 and words in found[0]


@pytest.mark.parametrize("key", KEYS.values(), ids=lambda key: key.path)
def test_each_row_is_consistent(key):
    assert key.minors and set(key.minors) <= set(MINORS)
    assert key.kind in ("bool", "int", "number", "text", "list", "map")
    head, dot, _tail = key.path.rpartition(".")
    if dot:
        assert KEYS[head].kind == "map" and set(key.minors) <= set(KEYS[head].minors)
