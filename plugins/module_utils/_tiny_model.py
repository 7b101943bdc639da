# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""The tiny test models: config.json, tensors, tokenizer and chat template of each architecture, as files in memory.

They have the architecture, the tensor names and the file layout of the real thing at a ten thousandth of its size, so that
an engine, a gateway or a whole deployment can be tried without downloading anything. What they say means nothing.
"""

from __future__ import annotations

import functools
import json
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._bpe import Tokenizer, encode, tokenizer_json, train
from ansible_collections.npufleet.ascend.plugins.module_utils._safetensors import element_count, pack_header
from ansible_collections.npufleet.ascend.plugins.module_utils._tiny_corpus import CORPUS, REPLIES, THOUGHT
from ansible_collections.npufleet.ascend.plugins.module_utils._tiny_values import WordChain, ones, pack_values

DEFAULT_SEED = 20260101

BOS, EOS, PAD, SYSTEM, USER, ASSISTANT = "<|bos|>", "<|eos|>", "<|pad|>", "<|system|>", "<|user|>", "<|assistant|>"
CONTROL_TOKENS = (BOS, EOS, PAD, SYSTEM, USER, ASSISTANT)
# The parsers deepseek_r1 and deepseek_v3 of vLLM refuse to start when the vocabulary lacks these tokens.
THINK, END_OF_THINK = "<think>", "</think>"
PARSER_TOKENS = (
    THINK, END_OF_THINK,
    "<\uff5ctool\u2581calls\u2581begin\uff5c>", "<\uff5ctool\u2581calls\u2581end\uff5c>",
    "<\uff5ctool\u2581call\u2581begin\uff5c>", "<\uff5ctool\u2581call\u2581end\uff5c>", "<\uff5ctool\u2581sep\uff5c>",
)  # fmt: skip

VOCABULARY = 1024
HIDDEN = 256
LAYERS = 3
HEADS = 4
MAX_POSITIONS = 4096

CHAT_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}"
    "{% if message['role'] in ['system', 'developer'] %}<|system|>{{ message['content'] or '' }}"
    "{% elif message['role'] == 'assistant' %}<|assistant|>{{ message['content'] or '' }}{{ eos_token }}"
    "{% else %}<|user|>{{ message['content'] or '' }}{% endif %}"
    "{% endfor %}{% if add_generation_prompt %}<|assistant|>{% if thinking %}<think>{% endif %}{% endif %}"
)


class Tensor(t.NamedTuple):
    """One weight: its name and shape as the architecture defines them."""

    name: str
    shape: t.Tuple[int, ...]


class Recipe(t.NamedTuple):
    """One architecture. ``shards`` are the tensors of each weights file; more than one file gets an index."""

    config: t.Dict[str, t.Any]
    shards: t.List[t.List[Tensor]]


_COMMON_CONFIG: t.Dict[str, t.Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": HIDDEN,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "hidden_act": "silu",
    "max_position_embeddings": MAX_POSITIONS,
    "initializer_range": 0.02,
    "rms_norm_eps": 1e-6,
    "rope_theta": 10000.0,
    "attention_dropout": 0.0,
    "tie_word_embeddings": False,
    "use_cache": True,
    "torch_dtype": "bfloat16",
    "bos_token_id": CONTROL_TOKENS.index(BOS),
    "eos_token_id": CONTROL_TOKENS.index(EOS),
    "pad_token_id": CONTROL_TOKENS.index(PAD),
}

# Kernels for multi-head latent attention exist for these sizes only; with others an engine passes /health and dies on the
# first request ("Head dimension 96 is not supported by MLA").
_DEEPSEEK_V2_CONFIG = dict(
    _COMMON_CONFIG,
    architectures=["DeepseekV2ForCausalLM"],
    model_type="deepseek_v2",
    num_key_value_heads=HEADS,
    q_lora_rank=None,
    kv_lora_rank=512,
    qk_rope_head_dim=64,
    qk_nope_head_dim=128,
    v_head_dim=128,
    intermediate_size=512,
    moe_intermediate_size=128,
    n_routed_experts=8,
    n_shared_experts=2,
    num_experts_per_tok=2,
    first_k_dense_replace=1,
    moe_layer_freq=1,
    n_group=1,
    topk_group=1,
    topk_method="greedy",
    scoring_func="softmax",
    norm_topk_prob=False,
    routed_scaling_factor=1.0,
    attention_bias=False,
)

_QWEN2_CONFIG = dict(
    _COMMON_CONFIG,
    architectures=["Qwen2ForCausalLM"],
    model_type="qwen2",
    num_key_value_heads=2,
    intermediate_size=512,
    use_sliding_window=False,
    max_window_layers=LAYERS,
    sliding_window=None,
)


def _linear(prefix: str, outputs: int, inputs: int, bias: bool = False) -> t.List[Tensor]:
    weight = Tensor(prefix + ".weight", (outputs, inputs))
    return [weight, Tensor(prefix + ".bias", (outputs,))] if bias else [weight]


def _mlp(prefix: str, size: int) -> t.List[Tensor]:
    """A gated feed-forward block, dense or one expert."""
    inward = _linear(prefix + ".gate_proj", size, HIDDEN) + _linear(prefix + ".up_proj", size, HIDDEN)
    return inward + _linear(prefix + ".down_proj", HIDDEN, size)


def _norms(prefix: str) -> t.List[Tensor]:
    return [Tensor(prefix + name + ".weight", (HIDDEN,)) for name in ("input_layernorm", "post_attention_layernorm")]


def _deepseek_v2_layer(number: int) -> t.List[Tensor]:
    config = _DEEPSEEK_V2_CONFIG
    prefix = "model.layers.{0}.".format(number)
    attention = prefix + "self_attn."
    rank, rope, nope, value = (config[key] for key in ("kv_lora_rank", "qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim"))
    tensors = _norms(prefix)
    tensors += _linear(attention + "q_proj", HEADS * (nope + rope), HIDDEN)
    tensors += _linear(attention + "kv_a_proj_with_mqa", rank + rope, HIDDEN)
    tensors.append(Tensor(attention + "kv_a_layernorm.weight", (rank,)))
    tensors += _linear(attention + "kv_b_proj", HEADS * (nope + value), rank)
    tensors += _linear(attention + "o_proj", HIDDEN, HEADS * value)
    if number < config["first_k_dense_replace"]:
        return tensors + _mlp(prefix + "mlp", config["intermediate_size"])
    tensors += _linear(prefix + "mlp.gate", config["n_routed_experts"], HIDDEN)
    for expert in range(config["n_routed_experts"]):
        tensors += _mlp("{0}mlp.experts.{1}".format(prefix, expert), config["moe_intermediate_size"])
    return tensors + _mlp(prefix + "mlp.shared_experts", config["moe_intermediate_size"] * config["n_shared_experts"])


def _qwen2_layer(number: int) -> t.List[Tensor]:
    prefix = "model.layers.{0}.".format(number)
    attention = prefix + "self_attn."
    head = HIDDEN // HEADS
    key_value = head * _QWEN2_CONFIG["num_key_value_heads"]
    tensors = _norms(prefix)
    for name, size in (("q_proj", HEADS * head), ("k_proj", key_value), ("v_proj", key_value)):
        tensors += _linear(attention + name, size, HIDDEN, bias=True)
    tensors += _linear(attention + "o_proj", HIDDEN, HEADS * head)
    return tensors + _mlp(prefix + "mlp", _QWEN2_CONFIG["intermediate_size"])


EMBEDDING = Tensor("model.embed_tokens.weight", (VOCABULARY, HIDDEN))
HEAD = Tensor("lm_head.weight", (VOCABULARY, HIDDEN))
_FINAL_NORM = Tensor("model.norm.weight", (HIDDEN,))

# As published: DeepSeek in shards with an index, R1-Distill-Qwen-1.5B in one file.
RECIPES = {
    "deepseek_v2": Recipe(
        _DEEPSEEK_V2_CONFIG,
        [[EMBEDDING, *_deepseek_v2_layer(0), *_deepseek_v2_layer(1)], [*_deepseek_v2_layer(2), _FINAL_NORM, HEAD]],
    ),
    "qwen2": Recipe(_QWEN2_CONFIG, [[EMBEDDING, *_qwen2_layer(0), *_qwen2_layer(1), *_qwen2_layer(2), _FINAL_NORM, HEAD]]),
}


def tensor_bytes(recipe: Recipe) -> int:
    """Return the bytes of all tensors; each element is a bfloat16."""
    return sum(2 * element_count(tensor.shape) for shard in recipe.shards for tensor in shard)


@functools.lru_cache(maxsize=None)
def make_tokenizer() -> Tokenizer:
    """Train the tokenizer; it is the same for every architecture and seed."""
    return train(CORPUS, VOCABULARY, CONTROL_TOKENS + PARSER_TOKENS, CONTROL_TOKENS)


def build_files(architecture: str, seed: int) -> t.Dict[str, bytes]:
    """Return file name -> content of the whole model. The same arguments give the same bytes on every Python and CPU.

    :raises KeyError: unknown architecture
    """
    recipe = RECIPES[architecture]
    tokenizer = make_tokenizer()
    chain = _reply_chain(tokenizer, seed)
    files = {
        "config.json": _json(recipe.config),
        "generation_config.json": _json(_generation_config()),
        "tokenizer.json": _json(tokenizer_json(tokenizer, BOS)),
        "tokenizer_config.json": _json(_tokenizer_config()),
    }
    weight_map: t.Dict[str, str] = {}
    for number, shard in enumerate(recipe.shards, start=1):
        name = "model.safetensors" if len(recipe.shards) == 1 else "model-{0:05d}-of-{1:05d}.safetensors".format(number, len(recipe.shards))
        header = pack_header(((tensor.name, "BF16", tensor.shape) for tensor in shard), {"format": "pt"})
        files[name] = header + b"".join(_values(tensor, "{0}/{1}".format(architecture, seed), chain) for tensor in shard)
        weight_map.update((tensor.name, name) for tensor in shard)
    if len(recipe.shards) > 1:
        files["model.safetensors.index.json"] = _json({"metadata": {"total_size": tensor_bytes(recipe)}, "weight_map": weight_map})
    return files


def _reply_chain(tokenizer: Tokenizer, seed: int) -> WordChain:
    chain = WordChain(VOCABULARY, HIDDEN, "codes/{0}".format(seed))
    vocab = tokenizer.vocab
    replies = [encode(tokenizer, reply) for reply in REPLIES]
    for reply in replies:
        chain.begin(reply[0])
        chain.learn(vocab[ASSISTANT], reply, vocab[EOS])
        chain.learn(vocab[END_OF_THINK], reply, vocab[EOS])
    chain.learn(vocab[THINK], encode(tokenizer, THOUGHT), vocab[END_OF_THINK])
    return chain


def _values(tensor: Tensor, key: str, chain: WordChain) -> bytes:
    if tensor == EMBEDDING:
        return chain.embedding()
    if tensor == HEAD:
        return chain.head()
    if tensor.name.endswith("norm.weight"):
        return ones(element_count(tensor.shape))
    return pack_values("{0}/{1}".format(key, tensor.name), element_count(tensor.shape))


def _generation_config() -> t.Dict[str, t.Any]:
    # 0.6 and 0.95 are what DeepSeek recommends for R1 and its distilled models.
    ids = {key: _COMMON_CONFIG[key] for key in ("bos_token_id", "eos_token_id", "pad_token_id")}
    return dict(ids, do_sample=True, temperature=0.6, top_p=0.95)


def _tokenizer_config() -> t.Dict[str, t.Any]:
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": BOS,
        "eos_token": EOS,
        "pad_token": PAD,
        # transformers 5 loads every qwen2 tokenizer as Qwen2Tokenizer, whose own unknown token would be one more than the vocabulary.
        "unk_token": PAD,
        "add_bos_token": True,
        "add_eos_token": False,
        "clean_up_tokenization_spaces": False,
        "model_max_length": MAX_POSITIONS,
        "chat_template": CHAT_TEMPLATE,
    }


def _json(document: t.Mapping[str, t.Any]) -> bytes:
    return (json.dumps(document, ensure_ascii=False, indent=2) + "\n").encode("utf-8")
