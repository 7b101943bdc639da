# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""A small byte-level BPE: train it on a text, encode with it, write it as a Hugging Face tokenizer.json.

The scheme is the one of GPT-2, which the ``ByteLevel`` parts of the tokenizers library implement: split text into words,
write each byte as a printable character, merge the most frequent pair again and again. Every text can be encoded.
"""

from __future__ import annotations

import collections
import re
import typing as t

Pair = t.Tuple[str, str]

# GPT-2's word pattern in terms of Python's re, which has no \p{L}: letters are \w without digits and underscore.
WORD = re.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+")


class Tokenizer(t.NamedTuple):
    """``vocab`` maps token to id: the added tokens, 256 bytes, then one token for each of ``merges``, in this order.

    ``special`` tokens are control tokens, dropped when an engine decodes; the rest of ``added`` stays in the text.
    """

    added: t.Tuple[str, ...]
    special: t.FrozenSet[str]
    merges: t.List[Pair]
    vocab: t.Dict[str, int]


def byte_alphabet() -> t.List[str]:
    """Return the character that stands for each byte: itself when printable Latin-1, else one from U+0100 on."""
    printable = set(range(0x21, 0x7F)) | set(range(0xA1, 0xAD)) | set(range(0xAE, 0x100))
    alphabet = []
    spare = 0x100
    for byte in range(256):
        if byte in printable:
            alphabet.append(chr(byte))
        else:
            alphabet.append(chr(spare))
            spare += 1
    return alphabet


ALPHABET = byte_alphabet()


def _symbols(word: str) -> t.List[str]:
    return [ALPHABET[byte] for byte in word.encode("utf-8")]


def _pairs(word: t.Sequence[str]) -> t.Iterator[Pair]:
    return zip(word, word[1:])


def _join(word: t.Sequence[str], pair: Pair) -> t.List[str]:
    """Return the word with each occurrence of the pair, from the left, made one symbol."""
    joined: t.List[str] = []
    position = 0
    while position < len(word):
        if tuple(word[position : position + 2]) == pair:
            joined.append(pair[0] + pair[1])
            position += 2
        else:
            joined.append(word[position])
            position += 1
    return joined


class _Counts:
    """How often each pair occurs over all words, kept current while words change."""

    def __init__(self, words: t.List[t.List[str]], weights: t.List[int]) -> None:
        self._words = words
        self._weights = weights
        self.pairs: t.Dict[Pair, int] = collections.defaultdict(int)
        self._users: t.Dict[Pair, t.Set[int]] = collections.defaultdict(set)
        for number in range(len(words)):
            self._add(number)

    def _add(self, number: int) -> None:
        for pair in _pairs(self._words[number]):
            self.pairs[pair] += self._weights[number]
            self._users[pair].add(number)

    def merge(self, pair: Pair) -> None:
        for number in self._users.pop(pair):
            for old in _pairs(self._words[number]):
                self.pairs[old] -= self._weights[number]
            self._words[number] = _join(self._words[number], pair)
            self._add(number)
        del self.pairs[pair]


def train(text: str, size: int, added: t.Sequence[str], special: t.Iterable[str]) -> Tokenizer:
    """Return a tokenizer of exactly ``size`` tokens. Of equally frequent pairs the first in code point order is merged.

    :raises ValueError: the text has too few pairs that occur at least twice
    """
    counted = collections.Counter(WORD.findall(text))
    counts = _Counts([_symbols(word) for word in counted], list(counted.values()))
    vocab = {token: number for number, token in enumerate([*added, *ALPHABET])}
    merges: t.List[Pair] = []
    while len(vocab) < size:
        pair, count = min(counts.pairs.items(), key=lambda item: (-item[1], item[0]))
        if count < 2:
            raise ValueError("the text is too short for {0} tokens; it gives {1}".format(size, len(vocab)))
        counts.merge(pair)
        merges.append(pair)
        vocab.setdefault(pair[0] + pair[1], len(vocab))
    return Tokenizer(tuple(added), frozenset(special), merges, vocab)


def encode(tokenizer: Tokenizer, text: str) -> t.List[int]:
    """Return the ids of a text; added tokens in it are text like any other."""
    ranks = {pair: rank for rank, pair in enumerate(tokenizer.merges)}
    ids: t.List[int] = []
    for match in WORD.findall(text):
        word = _symbols(match)
        while len(word) > 1:
            pair = min(_pairs(word), key=lambda item: ranks.get(item, len(ranks)))
            if pair not in ranks:
                break
            word = _join(word, pair)
        ids.extend(tokenizer.vocab[symbol] for symbol in word)
    return ids


def tokenizer_json(tokenizer: Tokenizer, bos: str) -> t.Dict[str, t.Any]:
    """Return the document of tokenizer.json; ``bos`` is put before every text, as DeepSeek's tokenizers do."""
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    first = {"SpecialToken": {"id": bos, "type_id": 0}}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [_added_token(tokenizer, token) for token in tokenizer.added],
        "normalizer": None,
        "pre_tokenizer": byte_level,
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [first, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [first, {"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {bos: {"id": bos, "ids": [tokenizer.vocab[bos]], "tokens": [bos]}},
        },
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": tokenizer.vocab,
            "merges": [left + " " + right for left, right in tokenizer.merges],
        },
    }


def _added_token(tokenizer: Tokenizer, token: str) -> t.Dict[str, t.Any]:
    return {
        "id": tokenizer.vocab[token],
        "content": token,
        "single_word": False,
        "lstrip": False,
        "rstrip": False,
        "normalized": False,
        "special": token in tokenizer.special,
    }
