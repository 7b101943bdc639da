# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import hashlib
import struct

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._tiny_values import WordChain, bfloat16, ones, pack_values


def floats(raw):
    return [struct.unpack("<f", b"\0\0" + raw[start : start + 2])[0] for start in range(0, len(raw), 2)]


@pytest.mark.parametrize(
    ("value", "raw"), [(0.0, "0000"), (1.0, "803f"), (-1.0, "80bf"), (0.5, "003f"), (1.00390625, "803f"), (-2.5, "20c0")]
)
def test_bfloat16_is_the_upper_half_of_a_float(value, raw):
    assert bfloat16(value).hex() == raw


def test_noise_is_even_exact_and_keyed():
    values = floats(pack_values("key", 20000))
    assert len(values) == 20000
    assert max(values) == -min(values) == 255 / 8192
    assert abs(sum(values) / len(values)) < 0.0005
    assert 0.0175 < (sum(value * value for value in values) / len(values)) ** 0.5 < 0.0185
    assert all((value * 8192) % 2 == 1 for value in values)
    assert pack_values("key", 8).hex() == pack_values("key", 9).hex()[:32]
    assert pack_values("other", 8) != pack_values("key", 8)


def test_noise_is_the_same_everywhere():
    # SHAKE-128 of "npufleet" begins with these bytes; each level is (2 * byte - 255) / 8192
    levels = hashlib.shake_128(b"npufleet").digest(4)
    assert floats(pack_values("npufleet", 4)) == [(2 * level - 255) / 8192 for level in levels]


def test_ones():
    assert floats(ones(3)) == [1.0, 1.0, 1.0]


def logits(chain, token, vocabulary, hidden):
    embedding, head = floats(chain.embedding()), floats(chain.head())
    code = embedding[token * hidden : (token + 1) * hidden]
    return [sum(a * b for a, b in zip(code, head[row * hidden : (row + 1) * hidden])) for row in range(vocabulary)]


@pytest.mark.parametrize("key", ["key", "another", "codes/0"])
def test_a_chain_says_what_it_learnt(key):
    vocabulary, hidden = 40, 256
    chain = WordChain(vocabulary, hidden, key)
    chain.begin(3)
    chain.learn(1, [3, 4, 5], 2)
    chain.learn(1, [6, 5], 2)
    chain.learn(7, [6], 3)
    for token, expected in ((1, {3: 18, 6: 16}), (3, {4: 18}), (4, {5: 18}), (5, {2: 18}), (7, {6: 18}), (6, {5: 16, 3: 18})):
        row = logits(chain, token, vocabulary, hidden)
        assert {number: logit for number, logit in enumerate(row) if logit} == expected


def test_after_an_unknown_token_a_sentence_begins():
    chain = WordChain(40, 256, "key")
    for sentence in ([3, 4], [5, 6]):
        chain.begin(sentence[0])
        chain.learn(1, sentence, 2)
    for token in (0, 2, 30, 39):
        row = logits(chain, token, 40, 256)
        assert {number: logit for number, logit in enumerate(row) if logit} == {3: 10, 5: 8}


def test_embeddings_are_orthogonal_codes_of_plus_and_minus_one():
    chain = WordChain(300, 256, "key")
    chain.learn(0, range(1, 240), 299)
    values = floats(chain.embedding())
    codes = [values[row * 256 : (row + 1) * 256] for row in range(300)]
    assert set(values) == {1.0, -1.0}
    for known in (0, 1, 120, 239):
        assert not any(sum(a * b for a, b in zip(codes[known], codes[other])) for other in range(300) if other != known)
    assert len({tuple(code) for code in codes[240:]}) == 16
    assert len({tuple(code[: WordChain.SHARED]) for code in codes[240:]}) == 1


def test_more_tokens_than_codes_are_refused():
    with pytest.raises(ValueError, match="more different tokens than 256 dimensions"):
        WordChain(300, 256, "key").learn(0, range(1, 241), 299)


def test_another_key_gives_other_codes():
    first, second = WordChain(10, 64, "a"), WordChain(10, 64, "b")
    for chain in (first, second):
        chain.learn(1, [2], 3)
    assert first.embedding() != second.embedding()
    assert first.head() != second.head()
