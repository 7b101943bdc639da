# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_checks import (
    CPU_OVERHEAD_BYTES,
    GIB,
    CheckError,
    ModelShape,
    check_args_together,
    check_memory,
    check_shared_memory,
    memory_needed,
    model_shape,
    on_capture_grid,
)

DENSE = ModelShape(attention_heads=12, layers=24, max_positions=4096)
EXPERTS = DENSE._replace(routed_experts=64)


@pytest.mark.parametrize(
    ("config", "shape"),
    [
        ({}, ModelShape()),
        (
            {"num_attention_heads": 16, "n_routed_experts": 64, "num_hidden_layers": 27, "max_position_embeddings": 163840},
            ModelShape(16, 64, 27, 163840),
        ),
        ({"num_experts": 128, "n_routed_experts": None}, ModelShape(routed_experts=128)),
        ({"num_attention_heads": [12, 16], "num_hidden_layers": "many", "num_experts": True}, ModelShape()),
    ],
)
def test_the_shape_of_a_model(config, shape):
    assert model_shape(config) == shape


def test_the_grid():
    assert [number for number in range(-8, 33) if on_capture_grid(number)] == [1, 2, 4, 8, 16, 24, 32]


@pytest.mark.parametrize(
    ("args", "shape", "accelerator"),
    [
        ({}, DENSE, "cpu"),
        ({"max_num_seqs": 24, "max_model_len": 4096}, DENSE, "cpu"),
        ({"max_num_seqs": None}, DENSE, "cpu"),
        ({"max-num-seqs": "8"}, DENSE, "cpu"),
        ({"tensor_parallel_size": 4, "pipeline_parallel_size": 24}, DENSE, "cpu"),
        ({"tensor_parallel_size": 5, "pipeline_parallel_size": 99, "max_model_len": 99999}, ModelShape(), "cpu"),
        ({"max_model_len": "32k"}, DENSE, "cpu"),
        ({"data_parallel_size": 4, "data_parallel_size_local": 2, "data_parallel_start_rank": 3}, DENSE, "cpu"),
        ({"data_parallel_size": 2, "data_parallel_rank": "1"}, DENSE, "cpu"),
        ({"enable_expert_parallel": True}, EXPERTS, "cpu"),
        ({"enable_expert_parallel": True}, ModelShape(), "cpu"),
        ({"enable_expert_parallel": False}, DENSE, "cpu"),
        ({"data_parallel_size": 2, "quantization": "ascend", "speculative_config": {"method": "mtp"}}, EXPERTS, "ascend"),
        ({"quantization": "awq"}, DENSE, "cpu"),
    ],
)
def test_what_fits_passes(args, shape, accelerator):
    check_args_together(args, shape, accelerator)


GRID = "Give {0} or {1}; other values leave the largest batches without a graph, several times slower (vllm-ascend #16049)"
OFF = "max_num_seqs {0} is off the grid on which graphs are captured (1, 2, 4 and multiples of 8)"


@pytest.mark.parametrize(
    ("args", "shape", "what", "where", "remedy"),
    [
        ({"max_num_seqs": 3}, DENSE, OFF.format(3), "max_num_seqs", GRID.format(2, 4)),
        ({"max_num_seqs": 7}, DENSE, OFF.format(7), "max_num_seqs", GRID.format(4, 8)),
        ({"max-num-seqs": 20}, DENSE, OFF.format(20), "max_num_seqs", GRID.format(16, 24)),
        ({"max_num_seqs": "many"}, DENSE, "max-num-seqs is many", "max_num_seqs", "Give a whole number from 1"),
        ({"max_num_seqs": "\u00b2"}, DENSE, "max-num-seqs is \u00b2", "max_num_seqs", "Give a whole number from 1"),
        ({"tensor_parallel_size": 0}, DENSE, "tensor-parallel-size is 0", "tensor_parallel_size", "Give a whole number from 1"),
        ({"tensor_parallel_size": True}, DENSE, "tensor-parallel-size is True", "tensor_parallel_size", "Give a whole number from 1"),
        (
            {"tensor_parallel_size": 8},
            DENSE,
            "tensor_parallel_size 8 does not divide the 12 attention heads of the model",
            "tensor_parallel_size",
            "Give one of 1, 2, 3, 4, 6, 12",
        ),
        (
            {"pipeline_parallel_size": 25},
            DENSE,
            "pipeline_parallel_size 25 is more than the 24 layers of the model",
            "pipeline_parallel_size",
            "Give at most 24",
        ),
        (
            {"data_parallel_size": 2, "data_parallel_size_local": 4},
            DENSE,
            "data_parallel_size_local 4 is more than data_parallel_size 2",
            "data_parallel_size_local",
            "The local size is this host's part of the whole",
        ),
        (
            {"data_parallel_size": 2, "data_parallel_start_rank": 2},
            DENSE,
            "the data parallel rank 2 does not exist in a group of 2",
            "data_parallel_start_rank",
            "Ranks count from 0 to data_parallel_size - 1",
        ),
        (
            {"data_parallel_rank": "first"},
            DENSE,
            "the data parallel rank first does not exist in a group of 1",
            "data_parallel_rank",
            "Ranks count from 0 to data_parallel_size - 1",
        ),
        (
            {"enable_expert_parallel": True},
            DENSE,
            "the model has no experts to spread",
            "enable_expert_parallel",
            "Leave it out for a dense model",
        ),
        (
            {"data_parallel_size": 2},
            EXPERTS,
            "the CPU engine cannot run a mixture-of-experts model with data parallelism",
            "data_parallel_size",
            "Use tensor_parallel_size; the engine would die at the first request (tried with vLLM 0.30 to 0.32, all_gatherv)",
        ),
        ({"quantization": "ascend"}, DENSE, "quantization ascend needs NPUs", "quantization", "Leave it out on the CPU engine"),
        (
            {"speculative_config": {"method": "deepseek_mtp"}},
            DENSE,
            "the CPU engine has no speculative decoding for DeepSeek",
            "speculative_config",
            "Leave it out (tried with vLLM 0.30)",
        ),
        (
            {"max_model_len": 4097},
            DENSE,
            "max_model_len 4097 is more than the 4096 positions that the model knows",
            "max_model_len",
            "Give at most 4096",
        ),
    ],
)
def test_what_does_not_fit_is_named_with_a_value_that_does(args, shape, what, where, remedy):
    with pytest.raises(CheckError) as caught:
        check_args_together(args, shape, "cpu")
    assert (caught.value.what, caught.value.where, caught.value.remedy) == (what, "args." + where, remedy)


def test_too_little_shared_memory_says_how_to_get_more():
    check_shared_memory(160 << 20)
    with pytest.raises(CheckError) as caught:
        check_shared_memory(64 << 20)
    assert caught.value.what == "the engine needs 160 MiB of shared memory and 64 MiB are free"
    assert caught.value.where == "/dev/shm"
    assert "--shm-size=1g" in caught.value.remedy
    with pytest.raises(CheckError) as caught:
        check_shared_memory(64 << 20, "container.shm_bytes")
    assert (caught.value.where, caught.value.remedy) == ("container.shm_bytes", "Give at least 167772160")


@pytest.mark.parametrize(
    ("env", "cache"),
    [
        ({}, 0),
        ({"VLLM_CPU_KVCACHE_SPACE": "1"}, GIB),
        ({"VLLM_CPU_KVCACHE_SPACE": "0.5"}, GIB // 2),
        ({"VLLM_CPU_KVCACHE_SPACE": "much"}, 0),
        ({"VLLM_CPU_KVCACHE_SPACE": "1..5"}, 0),
        ({"VLLM_CPU_KVCACHE_SPACE": "\u00b2"}, 0),
    ],
)
def test_needed_memory_is_weights_cache_and_the_processes(env, cache):
    assert memory_needed(5 * GIB, env) == 5 * GIB + cache + CPU_OVERHEAD_BYTES


@pytest.mark.parametrize(("available", "used"), [(4 * GIB, 0), (1 * GIB, 3 * GIB)])
def test_memory_that_a_replaced_engine_gives_back_counts(available, used):
    check_memory(4 * GIB, available, used)
    with pytest.raises(CheckError) as caught:
        check_memory(4 * GIB + 1, available, used)
    assert caught.value.what == "the engine needs about 4.0 GiB of memory and 4.0 GiB are available"
    assert "VLLM_CPU_KVCACHE_SPACE" in caught.value.remedy
