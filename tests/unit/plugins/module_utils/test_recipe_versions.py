# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._recipe_versions import MINORS, RELEASES, read_version, release_of, soc_of


@pytest.mark.parametrize(
    ("name", "token"),
    [("A2", "a2"), ("a3", "a3"), ("310P", "310p"), ("A5", "a5"), ("910b", "a2"), ("910_93", "a3"), ("950DT", "a5"), ("310P3", "310p")],
)
def test_generations_become_tokens(name, token):
    assert soc_of(name) == token


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("A1", "first-generation Ascend 910"),
        ("910", "#13540"),
        ("910A", "#573"),
        ("310", "310 is not supported"),
        ("310B", "310B is not supported"),
        ("h100", "h100 is not known"),
        (None, "generation is not known"),
        ("", "generation is not known"),
    ],
)
def test_other_chips_are_refused_with_the_reason_and_what_there_is(name, words):
    with pytest.raises(NpufleetError, match=words) as caught:
        soc_of(name)
    assert "a2 (Atlas A2" in caught.value.remedy


@pytest.mark.parametrize(
    ("text", "version", "minor", "vllm"),
    [
        ("0.23", "0.23.0.post1", "0.23", "0.23.0"),
        ("v0.23.0.post1", "0.23.0.post1", "0.23", "0.23.0"),
        ("0.26", "0.26.0rc1", "0.26", "0.26.0"),
        (" 0.30.0rc2 ", "0.30.0rc2", "0.30", "0.30.0"),
    ],
)
def test_versions_name_their_vllm_and_nothing_is_in_doubt(text, version, minor, vllm):
    assert read_version(text) == (version, minor, vllm, [])


def test_another_release_of_a_minor_is_in_doubt():
    assert read_version("0.23.0rc1").doubts == ["the rows for 0.23 were read in the documentation of 0.23.0.post1"]
    assert read_version("0.23.1").vllm == "0.23.1"
    assert "checked with vLLM 0.23.0, not 0.23.1" in read_version("0.23.1").doubts[1]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("latest", "another program every day"),
        ("main", "every day"),
        ("0.18.0", "no recipes for vllm-ascend 0.18.0"),
        (0.23, "quotes"),
        ("x", "no version"),
    ],
)
def test_what_is_no_version_with_recipes_is_refused(text, words):
    with pytest.raises(NpufleetError) as caught:
        read_version(text)
    assert words in str(caught.value)


def test_each_minor_has_one_release():
    assert [release_of(minor) for minor in MINORS] == list(RELEASES)
    with pytest.raises(NpufleetError, match=r"vllm-ascend 0\.99"):
        release_of("0.99")
