# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_model import (
    Model,
    Parallel,
    chip_bytes,
    heads_problem,
    read_model,
    room,
)
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.test_plan_fleet import GB, LLAMA_70B, QWEN_32B, R1


def test_a_mixture_of_experts():
    model = read_model(R1, 690 * GB, "w8a8", None)
    assert (model.heads, model.kv_heads, model.layers, model.experts, model.latent, model.dense) == (128, 128, 61, 256, True, False)
    # 3 matrices of 7168 x 2048, 256 experts, 58 layers and the MTP layer, a byte each
    assert model.expert_bytes == 3 * 7168 * 2048 * 256 * 59


@pytest.mark.parametrize(
    ("config", "quantization", "expert"),
    [
        (R1, None, None),
        (dict(R1, torch_dtype="bfloat16"), None, 2 * 3 * 7168 * 2048 * 256 * 59),
        (dict(R1, torch_dtype="bfloat16", quantization_config={"quant_method": "fp8"}), None, None),
        (R1, "w4a8", 3 * 7168 * 2048 * 256 * 59 // 2),
        ({key: value for key, value in R1.items() if key != "hidden_size"}, "w8a8", None),
        (dict(R1, first_k_dense_replace=99), "w8a8", None),
        (QWEN_32B, "bf16", None),
        ({"text_config": R1, "hidden_size": 1}, "w8a8", 3 * 7168 * 2048 * 256 * 59),
    ],
)
def test_the_share_of_the_experts(config, quantization, expert):
    assert read_model(config, 10**13, quantization, None).expert_bytes == expert


def test_experts_that_were_counted_count_and_are_never_more_than_all():
    assert read_model(R1, 100, "w8a8", 60).expert_bytes == 60
    assert read_model(R1, 100, "w8a8", None).expert_bytes == 100


def test_what_a_config_says_in_another_way_is_not_known():
    model = read_model({"num_attention_heads": [8, 8], "num_hidden_layers": True, "num_key_value_heads": -1}, 0, None, None)
    assert model == Model()
    assert read_model(LLAMA_70B, 1, None, None)[:4] == (64, 8, 80, 0)


@pytest.mark.parametrize(
    ("sizes", "bytes_of_a_chip", "lower"),
    [
        (Parallel(1, 1, 1, False), 1000, False),
        (Parallel(4, 1, 1, False), 250, False),
        (Parallel(4, 2, 1, False), 125, False),
        # each copy is whole
        (Parallel(4, 1, 4, False), 250, False),
        # 200 besides the experts in four parts, 800 of experts in sixteen
        (Parallel(4, 1, 4, True), 100, False),
        (Parallel(4, 1, 1, True), 250, False),
        (Parallel(3, 1, 1, False), 334, False),
    ],
)
def test_weights_on_a_chip(sizes, bytes_of_a_chip, lower):
    assert chip_bytes(Model(weights=1000, expert_bytes=800), sizes) == (bytes_of_a_chip, lower)


def test_without_the_share_of_the_experts_there_is_only_a_bound():
    assert chip_bytes(Model(weights=1000), Parallel(4, 1, 4, True)) == (63, True)


@pytest.mark.parametrize(
    ("model", "tensor", "words"),
    [
        (Model(heads=40, kv_heads=8), 8, None),
        (Model(heads=40, kv_heads=8), 16, "40 attention heads"),
        (Model(heads=28, kv_heads=4), 7, "4 key/value heads"),
        (Model(heads=64, kv_heads=8), 16, None),
        (Model(heads=64, kv_heads=8, latent=True), 64, None),
        (Model(heads=21, kv_heads=7, latent=True), 3, None),
        (Model(), 3, None),
    ],
)
def test_heads(model, tensor, words):
    found = heads_problem(model, tensor)
    assert found is None if words is None else words in found


def test_room_for_weights():
    assert room(100, 0.92, 0.15) == 77
    assert room(100, 0.1, 0.15) == 0


def test_names_of_layouts():
    assert str(Parallel(1, 1, 1, False)) == "TP 1"
    assert str(Parallel(4, 2, 3, True)) == "TP 4 x PP 2 x DP 3 with EP"
