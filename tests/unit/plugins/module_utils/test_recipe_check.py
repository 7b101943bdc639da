# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._recipe_check import combined, problems

CHOSEN = {
    "soc": "a3",
    "family": "v3",
    "vllm_ascend": "0.23.0.post1",
    "vllm": "0.23.0",
    "weights": {"names": [], "quantization": "w8a8", "bytes": None, "files_needed": ["config.json", "quant_model_description.json"]},
    "npus": {"minimum": 16, "per_host": 16, "hosts": 1},
    "layout": {"tensor_parallel_size": 4, "data_parallel_size": 4, "pipeline_parallel_size": 1, "enable_expert_parallel": True},
    "args": {"quantization": "ascend", "max_num_seqs": 16, "additional_config": {"enable_cpu_binding": True}},
    "env": {"HCCL_BUFFSIZE": "200"},
}
LATER = dict(CHOSEN, vllm_ascend="0.30.0rc2", vllm="0.30.0")
ON_950 = dict(CHOSEN, soc="a5", family="v4")


def test_a_recipe_alone_has_no_problems():
    assert problems(CHOSEN) == []
    assert problems(CHOSEN, {}, {}, ["config.json", "quant_model_description.json", "model-00001-of-00002.safetensors"]) == []


def test_own_options_are_laid_on_those_of_the_recipe():
    args, env = combined(CHOSEN, {"max-num-seqs": None, "additional_config": {"enable_mlapo": True}}, {"HCCL_BUFFSIZE": "512"})
    assert args == {"quantization": "ascend", "additional_config": {"enable_cpu_binding": True, "enable_mlapo": True}}
    assert env == {"HCCL_BUFFSIZE": "512"}
    assert CHOSEN["env"] == {"HCCL_BUFFSIZE": "200"}


@pytest.mark.parametrize(
    ("chosen", "args", "env", "files", "words"),
    [
        (CHOSEN, {"max_num_sequences": 8}, {}, None, "Did you mean --max-num-seqs?"),
        (CHOSEN, {"max_num_seqs": "many"}, {}, None, "takes a whole number, not many"),
        (CHOSEN, {"port": 8001}, {}, None, "set by the engine itself"),
        (CHOSEN, {"engram_config": {"cpu_offload": True}}, {}, None, "vLLM 0.23.0 knows no option --engram-config"),
        (CHOSEN, {"attention_config": {"indexer_kv_dtype": "int8"}}, {}, None, "it is for vllm-ascend 0.30"),
        (CHOSEN, {"attention_config.indexer_kv_dtype": "int8"}, {}, None, "it is for vllm-ascend 0.30"),
        (CHOSEN, {"compilation_config": {"cudagraph_modes": "FULL_DECODE_ONLY"}}, {}, None, "Did you mean cudagraph_mode?"),
        (CHOSEN, {"speculative_config": {"zzz": 1}}, {}, None, "key zzz of --speculative-config: leave it out"),
        (CHOSEN, {"speculative_config": '{"method": "mtp"}'}, {}, None, "is no mapping"),
        (CHOSEN, {"additional_config": {"scheduler_config": {}}}, {}, None, "0.23 has its keys at the top"),
        (CHOSEN, {"additional_config.enable_cpu_bind": True}, {}, None, "Did you mean enable_cpu_binding?"),
        (CHOSEN, {}, {"VLLM_USE_V1": "1"}, None, "VLLM_USE_V1 has no use"),
        (LATER, {}, {"VLLM_ASCEND_ENABLE_NZ": "0"}, None, "additional_config.weight_nz_mode"),
        (CHOSEN, {"max_num_seqs": 20}, {}, None, "20 is none of 1, 2, 4"),
        (CHOSEN, {"quantization": "fp8"}, {}, None, "FP8 weights need an Ascend 950"),
        (CHOSEN, {}, {}, ["config.json"], "no quant_model_description.json"),
        (CHOSEN, {}, {}, ["quant_model_description.json"], "the weights folder has no config.json"),
        (ON_950, {}, {}, None, "V4 on a 950"),
    ],
)
def test_what_does_not_fit_is_said_once(chosen, args, env, files, words):
    found = problems(chosen, args, env, files)
    assert len(found) == 1 and words in found[0]


def test_several_things_are_all_named():
    found = problems(CHOSEN, {"max_num_seqs": 20, "zzz": 1}, {"VLLM_USE_V1": "1"}, [])
    assert len(found) == 5


def test_options_of_the_layout_that_are_given_by_hand_are_judged():
    assert problems(ON_950, {"tensor_parallel_size": 1}) == []
    assert problems(ON_950, {"tensor_parallel_size": "x"}) != []


def test_a_value_of_the_plugin_is_taken():
    assert problems(LATER, {"attention_config": {"indexer_kv_dtype": "int8"}, "engram_config": {"cpu_offload": True}}) == []
