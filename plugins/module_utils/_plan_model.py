# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""What of a model decides how it is divided among chips: heads, layers, experts, and how many bytes its weights have. Pure."""

from __future__ import annotations

import typing as t

# Bytes of one weight of an expert, by quantization.
WIDTHS = {"bf16": 2.0, "w8a8": 1.0, "fp8": 1.0, "w4a8": 0.5}

# Share of the memory of a chip that the weights leave free below gpu_memory_utilization, for the KV cache, activations, captured graphs and
# buffers of HCCL. Own estimate; the first gives the sizes of vllm-ascend's distill models (TP 1/1/1/2 for 1.5B/7B/14B/32B on 64 GB, 1/1/2/4
# on 32 GB). A layout that somebody gave may leave less: it is refused only where hardly anything would be left.
CHOSEN_RESERVE, GIVEN_RESERVE = 0.15, 0.03

# gpu_memory_utilization of vLLM 0.23 to 0.30 (vllm/config/cache.py).
UTILIZATION = 0.92


class Model(t.NamedTuple):
    """Zero is not known. ``expert_bytes`` is the part of the weights that belongs to routed experts, None when that is not known."""

    heads: int = 0
    kv_heads: int = 0
    layers: int = 0
    experts: int = 0
    latent: bool = False
    weights: int = 0
    expert_bytes: t.Optional[int] = None
    dense: bool = False


class Parallel(t.NamedTuple):
    """Sizes of a layout: tensor, pipeline and data parallel, and whether experts are spread over all of tensor and data parallel."""

    tensor: int
    pipeline: int
    data: int
    expert: bool

    @property
    def chips(self) -> int:
        return self.tensor * self.pipeline * self.data

    def __str__(self) -> str:
        sizes = [("TP", self.tensor), ("PP", self.pipeline), ("DP", self.data)]
        words = ["{0} {1}".format(name, size) for name, size in sizes if size > 1 or name == "TP"]
        return " x ".join(words) + (" with EP" if self.expert else "")


def read_model(config: t.Mapping[str, t.Any], weights: int, quantization: t.Optional[str], expert_bytes: t.Optional[int]) -> Model:
    """Read a Hugging Face config.json. What it does not say, or says in another way, is not known.

    :param weights: bytes, ``metadata.total_size`` of model.safetensors.index.json; 0 when not known
    :param expert_bytes: bytes of the routed experts, where somebody counted them; else they are estimated from the config
    """
    inner = config.get("text_config")
    shape = dict(config, **inner) if isinstance(inner, dict) else dict(config)
    experts = _count(shape, "n_routed_experts") or _count(shape, "num_experts") or _count(shape, "num_local_experts")
    heads = _count(shape, "num_attention_heads")
    if expert_bytes is None and experts and weights:
        expert_bytes = _expert_bytes(shape, experts, quantization or _plain(shape))
    return Model(
        heads=heads,
        kv_heads=_count(shape, "num_key_value_heads") or heads,
        layers=_count(shape, "num_hidden_layers"),
        experts=experts,
        latent=bool(_count(shape, "kv_lora_rank")),
        weights=weights,
        expert_bytes=None if expert_bytes is None else min(expert_bytes, weights),
        dense=bool(heads and not experts),
    )


def _count(config: t.Mapping[str, t.Any], key: str) -> int:
    """Some models give a list, one value a layer; that is not read."""
    value = config.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 10**9 else 0


def _plain(shape: t.Mapping[str, t.Any]) -> t.Optional[str]:
    dtype = shape.get("torch_dtype") or shape.get("dtype")
    return "bf16" if dtype in ("bfloat16", "float16") and not shape.get("quantization_config") else None


def _expert_bytes(shape: t.Mapping[str, t.Any], experts: int, quantization: t.Optional[str]) -> t.Optional[int]:
    """Three matrices an expert in every layer that has experts, those of the MTP layers included."""
    hidden, inner = _count(shape, "hidden_size"), _count(shape, "moe_intermediate_size")
    layers = _count(shape, "num_hidden_layers") - _count(shape, "first_k_dense_replace") + _count(shape, "num_nextn_predict_layers")
    if not hidden or not inner or layers < 1 or quantization not in WIDTHS:
        return None
    return int(3 * hidden * inner * experts * layers * WIDTHS[quantization])


def chip_bytes(model: Model, sizes: Parallel) -> t.Tuple[int, bool]:
    """Return the bytes of weights on one chip, and whether that is a lower bound because the share of the experts is not known."""
    replica = sizes.tensor * sizes.pipeline
    if not sizes.expert or sizes.data == 1:
        return -(-model.weights // replica), False
    if model.expert_bytes is None:
        return -(-model.weights // sizes.chips), True
    return -(-(model.weights - model.expert_bytes) // replica) + -(-model.expert_bytes // sizes.chips), False


def room(memory_bytes: int, utilization: float, reserve: float) -> int:
    """Bytes of a chip that weights may have."""
    return max(0, int(memory_bytes * (utilization - reserve)))


def heads_problem(model: Model, tensor: int) -> t.Optional[str]:
    """Say why the attention cannot be divided by ``tensor``, or None.

    vLLM gives each chip whole heads. KV heads are repeated where they are fewer than the chips; with latent attention (MLA) all share one.
    """
    if model.heads and model.heads % tensor:
        return "{0} attention heads are not divisible by tensor_parallel_size {1}".format(model.heads, tensor)
    if model.kv_heads and not model.latent and model.kv_heads % tensor and tensor % model.kv_heads:
        return "{0} key/value heads and tensor_parallel_size {1} do not divide each other".format(model.kv_heads, tensor)
    return None
