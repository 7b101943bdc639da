# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import itertools

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._ascend_version import compare, parse_version
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError

# Oldest first.
ORDERED = [
    "0.9.1",
    "0.23.0rc1",
    "0.23.0",
    "0.23.0.post1",
    "7.7.0.2.220",
    "7.8.0.5.220",
    "8.2.RC1.alpha001",
    "8.2.RC1",
    "8.3.RC1",
    "8.3.RC2",
    "8.5.0",
    "8.5.1",
    "9.1.0b3",
    "9.1.0",
    "9.2.0-beta.2",
    "9.2.0",
    "24.1.rc3",
    "24.1.rc3.b999",
    "24.1.0",
    "25.0.rc1",
    "25.0.rc1_sph001",
    "25.0.rc1_sph002",
    "25.0.rc1.1",
    "25.0.1",
    "25.5.0",
    "26.0.dev1",
    "26.0.rc1",
    "26.0.rc3",
    "26.0.0",
    "26.1.0",
    "26.1.1",
]


def test_the_order_of_versions_from_the_field():
    for (i, left), (j, right) in itertools.product(enumerate(ORDERED), repeat=2):
        assert compare(left, right) == (i > j) - (i < j), (left, right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("26.0.rc1", "26.0.RC1"),
        ("26.0.rc1", "26.0.0-rc.1"),
        ("9.2.0-beta.2", "9.2.0_beta.2"),
        ("9.1.0-beta.3", "9.1.0b3"),
        ("v26.1.0", "26.1.0"),
        ("V26.1", " 26.1.0\n"),
        ("0.23.0+empty", "0.23.0"),
        ("8.5", "8.5.0"),
        ("1.2.rc", "1.2.rc0"),
    ],
)
def test_spellings_of_the_same_version(left, right):
    assert compare(left, right) == 0
    assert parse_version(left) == parse_version(right) and hash(parse_version(left)) == hash(parse_version(right))


@pytest.mark.parametrize(
    ("text", "lower", "capitals", "train", "preview", "patch"),
    [
        ("26.0.RC1", "26.0.rc1", "26.0.RC1", (26, 0), True, False),
        ("v26.1.0", "26.1.0", "26.1.0", (26, 1), False, False),
        ("25.0.rc1_SPH001", "25.0.rc1_sph001", "25.0.RC1_sph001", (25, 0), True, True),
        ("0.23.0.post1", "0.23.0.post1", "0.23.0.post1", (0, 23), False, False),
        ("9", "9", "9", (9, 0), False, False),
        ("24.1.0.b7", "24.1.0.b7", "24.1.0.b7", (24, 1), False, False),
    ],
)
def test_what_a_version_says(text, lower, capitals, train, preview, patch):
    version = parse_version(text)
    assert (str(version), version.capitals, version.train, version.preview, version.patch) == (lower, capitals, train, preview, patch)
    assert repr(version) == "AscendVersion({0!r})".format(lower)


OTHER_TEXTS = ["", " ", "latest", "x1", "1..2", "1.2.", "1.2-", "1.2.rcx", "1.2/3", "1.2 3", "..", "1.2rc1x", "1.2.foo3", "1.2rc1rc2"]


@pytest.mark.parametrize("text", [*OTHER_TEXTS, "\u0663.\u0661", "1.2\n3"])
def test_other_texts_are_refused(text):
    with pytest.raises(NpufleetError) as caught:
        parse_version(text)
    assert repr(text) in str(caught.value) and "What to do: " in str(caught.value)


@pytest.mark.parametrize("text", ["1" * 10, "1." * 40 + "1", "9" * 5000])
def test_absurd_lengths_are_refused_with_a_short_message(text):
    with pytest.raises(NpufleetError) as caught:
        parse_version(text)
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize(("value", "words"), [(8.5, "the number 8.5"), (None, "nothing"), (26, "the number 26")])
def test_a_number_of_yaml_gets_advice(value, words):
    with pytest.raises(NpufleetError, match=words) as caught:
        parse_version(value)
    assert "quotes" in str(caught.value)


def test_versions_compare_with_versions_only():
    version = parse_version("1.2")
    assert version != "1.2" and version.__lt__("1.2") is NotImplemented
