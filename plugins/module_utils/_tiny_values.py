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
_SIGN = [bfloat16(-1.0 if level < 128 else 1.0) for level in range(256)]
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

    Each token has a random code of +1 and -1 as its embedding. The head row of a token is the sum of the codes of the
    tokens that it follows, so its logit is high exactly after them. The layers between add noise that is small against
    the codes; the answer stays the same across engines, data types and tensor parallel sizes, and it ends by itself.
    """

    # The first dimensions are +1 for every token: after a token that no sentence has, sentence beginnings win.
    SHARED = 16
    # Logits: of a learnt follower, of the one in the first sentence (the greedy answer), of a beginning after any token.
    LOGIT = 16
    FIRST_LOGIT = 20
    BEGIN_LOGIT = 8

    def __init__(self, vocabulary: int, hidden: int, key: str) -> None:
        self._hidden = hidden
        self._vocabulary = vocabulary
        levels = bytearray(_random_bytes(key, vocabulary * hidden))
        for start in range(0, len(levels), hidden):
            levels[start : start + self.SHARED] = b"\xff" * self.SHARED
        self._levels = bytes(levels)
        self._edges: t.Dict[t.Tuple[int, int], int] = {}
        self._beginnings: t.Set[int] = set()

    def learn(self, before: int, sentence: t.Sequence[int], after: int) -> None:
        """Add one sentence, the token it is the answer to, and the token that ends it."""
        known = any(token == before for token, _follower in self._edges)
        ids = [before, *sentence, after]
        for edge in zip(ids, ids[1:]):
            self._edges.setdefault(edge, self.LOGIT if known else self.FIRST_LOGIT)

    def begin(self, token: int) -> None:
        """Let sentences start with this token wherever nothing else follows."""
        self._beginnings.add(token)

    def embedding(self) -> bytes:
        """Return the embedding matrix, vocabulary x hidden."""
        return _spread(self._levels, _SIGN)

    def head(self) -> bytes:
        """Return the output head, vocabulary x hidden."""
        rows: t.Dict[int, t.List[int]] = {}
        for (token, follower), logit in self._edges.items():
            row = rows.setdefault(follower, [0] * self._hidden)
            code = self._levels[token * self._hidden : (token + 1) * self._hidden]
            for dimension in range(self.SHARED, self._hidden):
                row[dimension] += logit if code[dimension] >= 128 else -logit
        for token in self._beginnings:
            rows[token][: self.SHARED] = [self.BEGIN_LOGIT * self._hidden // self.SHARED] * self.SHARED
        packed = {token: b"".join(bfloat16(value / self._hidden) for value in row) for token, row in rows.items()}
        silent = bytes(2 * self._hidden)
        return b"".join(packed.get(token, silent) for token in range(self._vocabulary))
