# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Weights of the tiny models as bfloat16 bytes, the same on every Python and CPU.

Noise comes from SHAKE-128 (FIPS 202), whose output is fixed by a standard; the random module promises that for random() only.
All arithmetic is on integers and on floats that are exact, so nothing depends on the C library.
"""

from __future__ import annotations

import hashlib
import struct
import typing as t

# Noise has 256 equidistant values from -255/8192 to 255/8192: each is exact in bfloat16, and the standard deviation
# is 0.018, near the 0.02 that these architectures are initialised with.
NOISE_STEP = 2.0**-13


def bfloat16(value: float) -> bytes:
    """Return the two little-endian bytes; digits that do not fit are cut off."""
    return struct.pack("<f", value)[2:]


_NOISE = [bfloat16((2 * level - 255) * NOISE_STEP) for level in range(256)]
_ONE = bfloat16(1.0)


def _spread(levels: bytes, values: t.Sequence[bytes]) -> bytes:
    """Replace each byte by the bfloat16 it stands for; translate() does a million a millisecond."""
    spread = bytearray(2 * len(levels))
    spread[0::2] = levels.translate(bytes(value[0] for value in values))
    spread[1::2] = levels.translate(bytes(value[1] for value in values))
    return bytes(spread)


def _random_bytes(key: str, count: int) -> bytes:
    return hashlib.shake_128(key.encode("utf-8")).digest(count)


def pack_values(key: str, count: int) -> bytes:
    """Return ``count`` noise values; another key gives other values."""
    return _spread(_random_bytes(key, count), _NOISE)


def ones(count: int) -> bytes:
    """Return ``count`` times 1.0, what a norm starts with."""
    return _ONE * count


class WordChain:
    """Embedding and output head that make the model say learnt sentences: which token follows which.

    The embedding of each token is a code of +1 and -1, and the head row of a token is the sum of the codes of the tokens it
    follows, times a logit. The codes are Walsh functions, which are orthogonal, so that the logits come out exactly: the
    given one after a learnt predecessor, 0 after any other. The layers between add noise that is small against that. So
    the answer is the same across engines, data types and tensor parallel sizes, and it ends by itself.
    """

    # Walsh functions whose index is a multiple of this are all equal in their first so many dimensions. Tokens that no
    # sentence has use these, and there the head lets sentences begin; over the others' first dimensions it sums to 0.
    SHARED = 16
    # Logits: of a learnt follower, of a beginning after a token that no sentence has, and more for the first of each,
    # so that the greedy answer is the first sentence.
    LOGIT = 16
    BEGIN_LOGIT = 8
    FIRST = 2

    def __init__(self, vocabulary: int, hidden: int, key: str) -> None:
        """``hidden`` is a power of two."""
        self._vocabulary = vocabulary
        self._hidden = hidden
        # One random sign for each dimension, over all codes, keeps them orthogonal and makes them differ by key.
        self._signs = [1 if level >= 128 else -1 for level in _random_bytes(key, hidden)]
        self._codes: t.Dict[int, t.List[int]] = {}
        self._edges: t.Dict[t.Tuple[int, int], int] = {}
        self._beginnings: t.Dict[int, int] = {}

    def learn(self, before: int, sentence: t.Sequence[int], after: int) -> None:
        """Add one sentence, the token it is the answer to, and the token that ends it.

        :raises ValueError: all sentences together have more different tokens than there are codes
        """
        logit = self.LOGIT if before in self._codes else self.LOGIT + self.FIRST
        ids = [before, *sentence, after]
        for edge in zip(ids, ids[1:]):
            self._edges.setdefault(edge, logit)
        for token in ids[:-1]:
            if token not in self._codes:
                number = len(self._codes)
                self._codes[token] = self._walsh(number + number // (self.SHARED - 1) + 1)

    def begin(self, token: int) -> None:
        """Let sentences start with this token after tokens that no sentence has."""
        self._beginnings.setdefault(token, self.BEGIN_LOGIT if self._beginnings else self.BEGIN_LOGIT + self.FIRST)

    def _walsh(self, index: int) -> t.List[int]:
        if index >= self._hidden:
            raise ValueError("the sentences have more different tokens than {0} dimensions can tell apart".format(self._hidden))
        return [-sign if bin(index & dimension).count("1") % 2 else sign for dimension, sign in enumerate(self._signs)]

    def embedding(self) -> bytes:
        """Return the embedding matrix, vocabulary x hidden."""
        codes = {token: self._pack(code) for token, code in self._codes.items()}
        others = [self._pack(self._walsh(index)) for index in range(0, self._hidden, self.SHARED)]
        return b"".join(codes.get(token, others[token % len(others)]) for token in range(self._vocabulary))

    def head(self) -> bytes:
        """Return the output head, vocabulary x hidden."""
        rows: t.Dict[int, t.List[int]] = {}
        for (token, follower), logit in self._edges.items():
            row = rows.setdefault(follower, [0] * self._hidden)
            for dimension, sign in enumerate(self._codes[token]):
                row[dimension] += logit * sign
        for token, logit in self._beginnings.items():
            for dimension in range(self.SHARED):
                rows[token][dimension] += logit * self._hidden // self.SHARED * self._signs[dimension]
        packed = {token: self._pack(value / self._hidden for value in row) for token, row in rows.items()}
        silent = bytes(2 * self._hidden)
        return b"".join(packed.get(token, silent) for token in range(self._vocabulary))

    def _pack(self, values: t.Iterable[float]) -> bytes:
        return b"".join(bfloat16(value) for value in values)
