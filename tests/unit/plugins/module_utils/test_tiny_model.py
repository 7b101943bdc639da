# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import struct

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils import _tiny_model
from ansible_collections.npufleet.ascend.plugins.module_utils._bpe import encode
from ansible_collections.npufleet.ascend.plugins.module_utils._model_folder import inspect
from ansible_collections.npufleet.ascend.plugins.module_utils._safetensors import read_header
from ansible_collections.npufleet.ascend.plugins.module_utils._sha256sums import sha256
from ansible_collections.npufleet.ascend.plugins.module_utils._tiny_corpus import CORPUS, REPLIES, THOUGHT
from ansible_collections.npufleet.ascend.plugins.module_utils._tiny_digests import DIGESTS, FileDigest
from ansible_collections.npufleet.ascend.plugins.module_utils._tiny_model import (
    ASSISTANT,
    DEFAULT_SEED,
    EOS,
    THINK,
    build_files,
    make_tokenizer,
)

ARCHITECTURES = ["deepseek_v2", "qwen2"]
SEED = 7


@pytest.fixture(scope="module")
def tokenizer():
    return make_tokenizer()


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("models")
    for architecture in ARCHITECTURES:
        (root / architecture).mkdir()
        for name, content in build_files(architecture, SEED).items():
            (root / architecture / name).write_bytes(content)
    return root


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_default_seed_gives_the_recorded_bytes(architecture):
    files = build_files(architecture, DEFAULT_SEED)
    built = {name: FileDigest(len(content), sha256(content)) for name, content in files.items()}
    assert built == DIGESTS[architecture]


def test_every_architecture_has_recorded_digests():
    assert sorted(DIGESTS) == sorted(_tiny_model.RECIPES) == ARCHITECTURES


def test_another_seed_changes_the_weights_only():
    files, other = (build_files("qwen2", seed) for seed in (1, 2))
    assert [name for name in files if files[name] != other[name]] == ["model.safetensors"]


def test_an_unknown_architecture_is_refused():
    with pytest.raises(KeyError):
        build_files("llama", 1)


@pytest.mark.parametrize(("architecture", "files", "tensors", "size"), [("deepseek_v2", 7, 83, 11778560), ("qwen2", 5, 39, 4594176)])
def test_the_folder_is_a_complete_model(folders, architecture, files, tensors, size):
    folder = inspect(str(folders / architecture))
    assert (len(folder.files), folder.tensor_count, folder.total_bytes, folder.warnings) == (files, tensors, size, [])
    assert folder.total_bytes == _tiny_model.tensor_bytes(_tiny_model.RECIPES[architecture])
    assert (folder.model_type, folder.quantization, folder.max_position_embeddings) == (architecture, None, 4096)


@pytest.mark.parametrize(
    ("architecture", "shapes"),
    [
        (
            "deepseek_v2",
            {
                "model.embed_tokens.weight": (1024, 256),
                "model.layers.0.self_attn.q_proj.weight": (768, 256),
                "model.layers.0.self_attn.kv_a_proj_with_mqa.weight": (576, 256),
                "model.layers.0.self_attn.kv_a_layernorm.weight": (512,),
                "model.layers.0.self_attn.kv_b_proj.weight": (1024, 512),
                "model.layers.0.self_attn.o_proj.weight": (256, 512),
                "model.layers.0.mlp.down_proj.weight": (256, 512),
                "model.layers.1.mlp.gate.weight": (8, 256),
                "model.layers.2.mlp.experts.7.up_proj.weight": (128, 256),
                "model.layers.2.mlp.shared_experts.down_proj.weight": (256, 256),
                "lm_head.weight": (1024, 256),
            },
        ),
        (
            "qwen2",
            {
                "model.layers.2.self_attn.q_proj.bias": (256,),
                "model.layers.2.self_attn.k_proj.weight": (128, 256),
                "model.layers.2.self_attn.v_proj.bias": (128,),
                "model.layers.0.mlp.gate_proj.weight": (512, 256),
                "model.layers.0.post_attention_layernorm.weight": (256,),
                "model.norm.weight": (256,),
            },
        ),
    ],
)
def test_tensors_have_the_names_and_shapes_of_the_architecture(folders, architecture, shapes):
    actual = {
        info.name: info.shape
        for path in sorted((folders / architecture).glob("*.safetensors"))
        for info in read_header(str(path)).tensors
        if info.dtype == "BF16"
    }
    assert {name: actual.get(name) for name in shapes} == shapes


def test_the_configuration_fits_latent_attention(folders):
    config = json.loads((folders / "deepseek_v2/config.json").read_text())
    sizes = [config[key] for key in ("kv_lora_rank", "qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim")]
    assert sizes == [512, 64, 128, 128]
    assert (config["first_k_dense_replace"], config["n_routed_experts"], config["num_experts_per_tok"]) == (1, 8, 2)


def test_token_ids_agree_in_every_file(folders, tokenizer):
    for architecture in ARCHITECTURES:
        config, generation, tokens, settings = (
            json.loads((folders / architecture / name).read_text(encoding="utf-8"))
            for name in ("config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json")
        )
        assert config["vocab_size"] == len(tokens["model"]["vocab"]) == len(tokenizer.vocab) == 1024
        for name in ("bos", "eos", "pad"):
            number = tokens["model"]["vocab"][settings[name + "_token"]]
            assert config[name + "_token_id"] == generation[name + "_token_id"] == number
        assert settings["unk_token"] in tokens["model"]["vocab"]


def test_tokens_of_vllms_parsers_are_there_and_stay_in_the_text(tokenizer):
    for token in ("<think>", "</think>", "<\uff5ctool\u2581calls\u2581begin\uff5c>", "<\uff5ctool\u2581call\u2581end\uff5c>"):
        assert token in tokenizer.vocab
        assert token not in tokenizer.special


def test_replies_are_whole_words_and_the_first_repeats_none(tokenizer):
    first = encode(tokenizer, REPLIES[0])
    assert len(set(first)) == len(first)
    texts = {number: token for token, number in tokenizer.vocab.items()}
    for reply in REPLIES:
        assert len(encode(tokenizer, reply)) <= len(reply.split()) + 4, [texts[number] for number in encode(tokenizer, reply)]


def test_a_thought_shares_no_token_with_the_replies(tokenizer):
    spoken = {number for reply in REPLIES for number in encode(tokenizer, reply)}
    assert not spoken.intersection(encode(tokenizer, THOUGHT))


def test_the_corpus_is_english_and_chinese():
    assert sum("a" <= character <= "z" for character in CORPUS) > 3000
    assert sum("\u4e00" <= character <= "\u9fff" for character in CORPUS) > 700


@pytest.mark.parametrize("seed", [0, 1, 42, DEFAULT_SEED, 2**63])
def test_the_greedy_answer_is_the_first_reply_by_a_wide_margin(tokenizer, seed):
    """Embedding times head: the model without its layers, which add noise far below the two logits between the first and the rest."""
    chain = _tiny_model._reply_chain(tokenizer, seed)
    rows, codes = halves(chain.head()), halves(chain.embedding())
    spoken = [number for number, row in enumerate(rows) if any(row)]
    expected = [*encode(tokenizer, REPLIES[0]), tokenizer.vocab[EOS]]
    for token in (tokenizer.vocab["<|user|>"], tokenizer.vocab["q"]):
        assert sorted((sum(a * b for a, b in zip(codes[token], rows[row])), row) for row in spoken)[-1] == (10.0, expected[0])
    token = tokenizer.vocab[ASSISTANT]
    for follower in expected:
        logits = sorted((sum(a * b for a, b in zip(codes[token], rows[row])), row) for row in spoken)
        assert logits[-1] == (18.0, follower)
        assert logits[-2][0] <= 16.0
        token = follower


def test_thinking_comes_to_an_end(tokenizer):
    chain = _tiny_model._reply_chain(tokenizer, SEED)
    rows, codes = halves(chain.head()), halves(chain.embedding())
    token, said = tokenizer.vocab[THINK], []
    while token != tokenizer.vocab[EOS] and len(said) < 40:
        token = max(range(1024), key=lambda row: sum(a * b for a, b in zip(codes[token], rows[row])))
        said.append(token)
    assert said == [*encode(tokenizer, THOUGHT), tokenizer.vocab["</think>"], *encode(tokenizer, REPLIES[0]), tokenizer.vocab[EOS]]


def halves(raw):
    """Return bfloat16 rows of the hidden size as numbers."""
    wide = bytearray(2 * len(raw))
    wide[2::4], wide[3::4] = raw[0::2], raw[1::2]
    values = struct.unpack("<{0}f".format(len(raw) // 2), wide)
    return [values[start : start + 256] for start in range(0, len(values), 256)]
