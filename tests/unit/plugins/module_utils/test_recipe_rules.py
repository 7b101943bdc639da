# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import re

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._recipe_rules import RULES, Case

BY_NAME = {rule.name: rule for rule in RULES}
PLAIN = Case("a2", "0.23", "v3", "w8a8", 8, 4, {"quantization": "ascend"}, {}, None)
ON_310P = PLAIN._replace(soc="310p", family="dense", quantization="bf16", options={})
TRANSFER = {"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer", "kv_port": "30000"}
DSPARK = {"method": "dspark", "num_speculative_tokens": 7}


def case(base=PLAIN, **changes):
    return base._replace(**changes)


def options(**values):
    return case(options=values)


def config(**values):
    return options(additional_config=values)


BAD = [
    ("fp8-weights", case(quantization="fp8"), "an Ascend 950: on a2"),
    ("fp8-weights", case(soc="a3", options={"quantization": "fp8"}), "on a3"),
    ("310p-bfloat16", ON_310P, "dtype is left to the model"),
    ("310p-bfloat16", case(ON_310P, options={"dtype": "bfloat16"}), "dtype is bfloat16. Set dtype to float16"),
    ("310p-length", ON_310P, "max_model_len is not set"),
    ("310p-length", case(ON_310P, options={"max_model_len": 32768}), "is 32768, .* at most 20480"),
    ("310p-length", case(ON_310P, options={"max_model_len": "auto"}), "is auto"),
    ("310p-npugraph", ON_310P, "enable_npugraph_ex to false"),
    ("310p-transfer", case(ON_310P, options={"kv_transfer_config": TRANSFER}), "Remove kv_transfer_config"),
    ("310p-mla", case(ON_310P, family="v3.2"), "KV cache"),
    ("description-missing", case(files=frozenset({"config.json"})), "has no quant_model_description.json"),
    ("quantization-missing", case(options={}, files=frozenset({"quant_model_description.json"})), "Set quantization to ascend"),
    ("foreign-format", options(quantization="awq"), "no quantization awq"),
    ("capture-grid", options(max_num_seqs=12), "12 is none of 1, 2, 4"),
    ("capture-grid", options(max_num_seqs="3"), "3 is none"),
    ("capture-ceiling", options(max_num_seqs=264, speculative_config={"num_speculative_tokens": 1}), "Give at most 256"),
    ("capture-ceiling", options(max_num_seqs=520), "Give at most 512"),
    ("balance-transfer", options(kv_transfer_config=TRANSFER, additional_config={"enable_balance_scheduling": True}), "Switch it off"),
    ("balance-transfer", case(options={"kv_transfer_config": TRANSFER}, env={"VLLM_ASCEND_BALANCE_SCHEDULING": "1"}), "Switch it off"),
    (
        "balance-chunks",
        config(scheduler_config={"enable_balance_scheduling": True, "profiling_chunk_config": {"enabled": True}}),
        "exclude each other",
    ),
    ("recompute-scheduler", config(recompute_scheduler_enable=True), "kv_consumer"),
    (
        "recompute-scheduler",
        options(kv_transfer_config=TRANSFER, additional_config={"scheduler_config": {"recompute_scheduler_enable": True}}),
        "kv_consumer",
    ),
    ("transfer-port", case(npus_per_host=16, options={"kv_transfer_config": TRANSFER}), "Give 36000 or more"),
    ("v2-lite-graph", case(family="v2-lite"), "16 heads"),
    ("v2-lite-graph", case(family="v2-lite", options={"enforce_eager": False}), "Set enforce_eager"),
    ("uniform-graph", options(compilation_config={"cudagraph_mode": "full"}), "FULL_DECODE_ONLY"),
    ("dspark", options(speculative_config=DSPARK), "came with 0.25"),
    ("dspark", case(minor="0.26", options={"speculative_config": {"method": "dspark", "num_speculative_tokens": 3}}), "and 3 are asked"),
    ("dspark", case(minor="0.26", options={"speculative_config": {"method": "dspark"}}), "and none are asked"),
    ("950-tensor-parallel", case(soc="a5", family="v4"), "enable_flashcomm1 and enable_dsa_cp"),
    ("context-parallel", config(enable_dsa_cp=True), "FlashComm1 in vllm-ascend 0.23"),
    ("fused-mc2", config(enable_fused_mc2=1, multistream_overlap_shared_expert=True), "Leave one out"),
    (
        "fused-mc2",
        case(options={"additional_config": {"multistream_overlap_shared_expert": True}}, env={"VLLM_ASCEND_ENABLE_FUSED_MC2": "1"}),
        "Leave one out",
    ),
]
GOOD = [
    ("fp8-weights", case(soc="a5", quantization="fp8")),
    ("310p-bfloat16", case(ON_310P, options={"dtype": "half"})),
    ("310p-length", case(ON_310P, options={"max_model_len": 20480})),
    ("310p-npugraph", case(ON_310P, options={"additional_config": {"ascend_compilation_config": {"enable_npugraph_ex": False}}})),
    ("310p-transfer", ON_310P),
    ("310p-transfer", options(kv_transfer_config=TRANSFER)),
    ("310p-mla", ON_310P),
    ("description-missing", case(files=frozenset({"quant_model_description.json"}))),
    ("description-missing", case(options={}, files=frozenset())),
    ("quantization-missing", case(files=frozenset({"quant_model_description.json"}))),
    ("foreign-format", options(quantization="compressed-tensors")),
    ("capture-grid", options(max_num_seqs=24)),
    ("capture-ceiling", options(max_num_seqs=256, speculative_config={"num_speculative_tokens": 1})),
    ("capture-ceiling", options(max_num_seqs=520, enforce_eager=True)),
    ("balance-transfer", config(enable_balance_scheduling=True)),
    ("balance-transfer", options(kv_transfer_config=TRANSFER)),
    ("balance-chunks", config(enable_balance_scheduling=True)),
    ("recompute-scheduler", options(kv_transfer_config={"kv_role": "kv_consumer"}, additional_config={"recompute_scheduler_enable": True})),
    ("transfer-port", case(options={"kv_transfer_config": TRANSFER})),
    ("v2-lite-graph", case(family="v2-lite", options={"enforce_eager": True})),
    ("uniform-graph", case(family="dense", options={"compilation_config": {"cudagraph_mode": "FULL"}})),
    ("dspark", case(minor="0.26", options={"speculative_config": DSPARK})),
    ("950-tensor-parallel", case(soc="a5", family="v4", tensor_parallel_size=1)),
    (
        "950-tensor-parallel",
        case(soc="a5", family="v4", options={"additional_config": {"enable_flashcomm1": True, "enable_dsa_cp": True}}),
    ),
    ("context-parallel", case(minor="0.30", options={"additional_config": {"enable_dsa_cp": True}})),
    ("context-parallel", config(enable_dsa_cp=True, enable_flashcomm1=True)),
    ("context-parallel", case(options={"additional_config": {"enable_dsa_cp": True}}, env={"VLLM_ASCEND_ENABLE_FLASHCOMM1": "1"})),
    ("fused-mc2", config(enable_fused_mc2=1)),
]


@pytest.mark.parametrize(("name", "wrong", "words"), BAD)
def test_a_wrong_pair_is_refused_with_what_to_do(name, wrong, words):
    assert re.search(words, BY_NAME[name].check(wrong) or "")


@pytest.mark.parametrize(("name", "fine"), [*GOOD, *((rule.name, PLAIN) for rule in RULES)])
def test_its_neighbour_is_not(name, fine):
    assert BY_NAME[name].check(fine) is None


def test_each_rule_is_tried_and_has_a_source():
    assert {name for name, _case, _words in BAD} == set(BY_NAME)
    assert {name for name, _case in GOOD} == set(BY_NAME)
    assert len(BY_NAME) == len(RULES) and all(rule.text and rule.source for rule in RULES)


@pytest.mark.parametrize("value", [None, True, "12a", -1, 10**13, [8], {}])
def test_strange_values_are_no_numbers(value):
    assert options(max_num_seqs=value).number("max_num_seqs") is None
    assert options(additional_config=value).part("additional_config", "key") is None
