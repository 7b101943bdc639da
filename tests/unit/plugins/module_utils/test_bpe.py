# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._bpe import ALPHABET, encode, tokenizer_json, train

TEXT = "low low low lower lower newest newest widest \u4f60\u597d \u4f60\u597d"
TEXTS = [
    "low lower",
    "It's 2048's,  \n\n tabs\t and_underscores!",
    "\u4f60\u597d\uff0c\u4e16\u754c\u3002",
    "na\u00efve \u00b2 \U0001f680 \x00 \u0661\u0662",
    "",
]


@pytest.fixture(scope="module")
def tokenizer():
    return train(TEXT, 2 + 256 + 12, ["<bos>", "<x>"], ["<bos>"])


def decode(tokenizer, ids):
    symbols = {number: token for token, number in tokenizer.vocab.items()}
    bytes_of = {symbol: byte for byte, symbol in enumerate(ALPHABET)}
    return bytes(bytes_of[symbol] for number in ids for symbol in symbols[number]).decode("utf-8")


def test_the_alphabet_is_gpt2s():
    assert len(set(ALPHABET)) == 256
    assert (ALPHABET[0x00], ALPHABET[0x20], ALPHABET[0x41], ALPHABET[0x7F], ALPHABET[0xAD], ALPHABET[0xFF]) == (
        "\u0100",
        "\u0120",
        "A",
        "\u0121",
        "\u0143",
        "\u00ff",
    )


def test_the_most_frequent_pair_comes_first_and_ties_go_by_code_point():
    # " low" and " lower" give l-o 5 times and o-w 5 times; "lo" sorts first
    assert train("low low low lower lower", 256 + 3, [], []).merges == [("l", "o"), ("lo", "w"), ("\u0120", "low")]


def test_ids_are_added_tokens_then_bytes_then_merges(tokenizer):
    vocab = tokenizer.vocab
    assert sorted(vocab.values()) == list(range(270))
    assert (vocab["<bos>"], vocab["<x>"], vocab[ALPHABET[0]], vocab[ALPHABET[255]]) == (0, 1, 2, 257)
    assert [vocab[left + right] for left, right in tokenizer.merges] == list(range(258, 270))


@pytest.mark.parametrize("text", TEXTS)
def test_every_text_survives(tokenizer, text):
    assert decode(tokenizer, encode(tokenizer, text)) == text


def test_frequent_words_become_one_token(tokenizer):
    assert len(encode(tokenizer, "low")) == 1
    assert len(encode(tokenizer, "xyz")) == 3


def test_a_repeated_symbol_is_joined_from_the_left():
    tokenizer = train("aaa aaa", 256 + 1, [], [])
    assert tokenizer.merges == [("a", "a")]
    assert encode(tokenizer, "aaa") == [tokenizer.vocab["aa"], tokenizer.vocab["a"]]


def test_two_ways_to_one_token_count_once():
    tokenizer = train("abc abc abc xab xab xab bc bc bc bc", 256 + 4, [], [])
    assert len(tokenizer.vocab) == 260
    assert len(tokenizer.merges) >= 4


def test_a_short_text_is_refused():
    with pytest.raises(ValueError, match="too short for 300 tokens; it gives"):
        train("low low", 300, [], [])


def test_the_document_of_the_tokenizers_library(tokenizer):
    document = tokenizer_json(tokenizer, "<bos>")
    assert [(token["id"], token["content"], token["special"]) for token in document["added_tokens"]] == [
        (0, "<bos>", True),
        (1, "<x>", False),
    ]
    assert document["model"]["vocab"] == tokenizer.vocab
    assert document["model"]["merges"][0] == " ".join(tokenizer.merges[0])
    assert document["post_processor"]["special_tokens"]["<bos>"]["ids"] == [0]
    assert {document[part]["type"] for part in ("pre_tokenizer", "decoder")} == {"ByteLevel"}
