# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Versions as Huawei and vllm-ascend write them, and their order.

A version is numbers, then words and further numbers. ``rc``, ``beta``, ``alpha`` and ``dev`` come before the release; a build (``.b999``, seen
in version.info of drivers), ``sph`` (a patch of a driver) and ``post`` after it: 25.5.0 < 26.0.rc1 < 26.0.rc1_sph001 < 26.0.rc1.1 < 26.0.0.
Capitals, the separator, and zeros at the end of the leading numbers carry no meaning: 26.0.RC1 = 26.0.0-rc.1.
"""

from __future__ import annotations

import functools
import re
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError

# Where a part stands among the parts that may follow the same beginning. The end of the text is a part too, so that rc1 < (end) < sph001.
_END = 0
_BUILD = 1
_NUMBER = 3
_RANKS = {"dev": -4, "a": -3, "alpha": -3, "b": -2, "beta": -2, "rc": -1, "sph": 2, "post": 2}

# Nine digits and 64 characters are far beyond any real version, and keep conversions cheap.
_NUMBERS = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})*")
_PART = re.compile(
    r"[._-]b(?P<build>[0-9]{1,9})(?![0-9a-z])"
    r"|[._-]?(?P<word>alpha|beta|dev|post|rc|sph|a|b)(?:[._-]?(?P<of>[0-9]{1,9}))?(?![0-9a-z])"
    r"|[._-](?P<number>[0-9]{1,9})(?![0-9a-z])"
)
_LOCAL = re.compile(r"\+[0-9a-z.]+")
_LONGEST = 64

Part = t.Tuple[int, int]


@functools.total_ordering
class AscendVersion:
    """A version that can be compared. ``str()`` gives its text in lower case and without the leading v.

    :param text: the text in lower case
    :param numbers: the leading numbers
    :param parts: rank and number of what follows them
    """

    __slots__ = ("_key", "numbers", "text")

    def __init__(self, text: str, numbers: t.Tuple[int, ...], parts: t.Tuple[Part, ...]) -> None:
        self.text = text
        self.numbers = numbers
        significant = list(numbers)
        while significant and not significant[-1]:
            significant.pop()
        self._key = (tuple(significant), (*parts, (_END, 0)))

    @property
    def capitals(self) -> str:
        """The text as folders and CANN packages spell it: 26.0.RC1."""
        return self.text.replace("rc", "RC")

    @property
    def train(self) -> t.Tuple[int, int]:
        """The first two numbers, which name a release train: (25, 5) of 25.5.1."""
        return (self.numbers[0], self.numbers[1] if len(self.numbers) > 1 else 0)

    @property
    def patch(self) -> bool:
        """Is this a patch (SPH) of another version?"""
        return "sph" in self.text

    @property
    def preview(self) -> bool:
        """Does it come before the release that its numbers name?"""
        return self._key[1][0][0] < _END

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return "AscendVersion({0!r})".format(self.text)

    def __eq__(self, other: object) -> bool:
        return self._key == other._key if isinstance(other, AscendVersion) else NotImplemented

    def __lt__(self, other: AscendVersion) -> bool:
        return self._key < other._key if isinstance(other, AscendVersion) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key)


def parse_version(text: t.Any) -> AscendVersion:
    """Return the version that a text names.

    :raises NpufleetError: for anything else: no text, other words, more than 64 characters
    """
    if not isinstance(text, str):
        raise NpufleetError(
            "a version must be text, and this is {0}".format("nothing" if text is None else "the number {0}".format(text)),
            remedy="Put it in quotes and write it in full, like '8.5.0': YAML makes a number of 8.5",
        )
    plain = text.strip().lower()
    found = _NUMBERS.match(plain[1:] if plain.startswith("v") else plain)
    if found is None or len(plain) > _LONGEST:
        raise _not_a_version(text)
    rest = found.string[found.end() :]
    parts: t.List[Part] = []
    while rest:
        part = _PART.match(rest)
        if part is None:
            if _LOCAL.fullmatch(rest):
                break
            raise _not_a_version(text)
        parts.append(_rank(part))
        rest = rest[part.end() :]
    return AscendVersion(found.string, tuple(int(number) for number in found.group().split(".")), tuple(parts))


def _rank(part: t.Match[str]) -> Part:
    if part.group("build"):
        return _BUILD, int(part.group("build"))
    if part.group("word"):
        return _RANKS[part.group("word")], int(part.group("of") or 0)
    return _NUMBER, int(part.group("number"))


def compare(left: t.Any, right: t.Any) -> int:
    """Return -1, 0 or 1: is the left version older, the same or newer than the right one?

    :raises NpufleetError: when one is no version
    """
    first, second = parse_version(left), parse_version(right)
    return (first > second) - (first < second)


def _not_a_version(text: str) -> NpufleetError:
    shown = text if len(text) <= _LONGEST else text[:_LONGEST] + "..."
    return NpufleetError(
        "{0!r} is no version".format(shown), remedy="Write it as the package does, like 25.5.0, 26.0.rc1, 25.0.rc1_sph001 or 9.1.0"
    )
