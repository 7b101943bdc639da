# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._ascend_version import parse_version
from ansible_collections.npufleet.ascend.plugins.module_utils._compatibility_hdk import check_hdk, pair_of, pairs_950
from ansible_collections.npufleet.ascend.plugins.module_utils._compatibility_host import Findings


def check(cann, hdk, chip="910b"):
    findings = Findings([], [])
    check_hdk(parse_version(cann), "CANN " + cann, parse_version(hdk), chip, findings)
    return findings


# The matrix of the release notes of CANN 9.2.0, cell by cell. 25.7.RC1 is another name of 26.0.RC1.
COLUMNS = ["25.0.0", "25.2.0", "25.3.rc1", "25.5.2", "26.0.rc1", "25.7.rc1", "26.1.1", "26.2.rc1"]
MATRIX = {
    "8.5.2": "Y Y Y Y Y Y Y Y",
    "9.0.1": "Y Y Y Y Y Y Y Y",
    "9.1.0": "N Y Y Y Y Y Y Y",
    "9.2.0": "N N Y Y Y Y Y Y",
}


@pytest.mark.parametrize("cann", sorted(MATRIX))
def test_the_matrix_of_the_release_notes(cann):
    for hdk, cell in zip(COLUMNS, MATRIX[cann].split()):
        findings = check(cann, hdk)
        assert (findings.problems == []) == (cell == "Y"), hdk
        assert findings.unknowns == []


@pytest.mark.parametrize("hdk", ["25.0.rc1", "25.0.rc1_sph001", "25.0.9", "24.1.0", "23.0.rc3"])
def test_candidates_and_patches_belong_to_their_train(hdk):
    assert check("9.1.0", hdk).problems == [
        "CANN 9.1.0 does not allow HDK {0}: install HDK 25.2.0 or later; CANN 9.1.0 was released with 26.0.rc1".format(hdk)
    ]


@pytest.mark.parametrize(
    ("cann", "hdk", "unknowns"),
    [
        ("8.3.RC1", "25.3.rc1", []),
        ("8.3.RC1", "26.0.rc1", []),
        (
            "8.3.RC2",
            "25.2.0",
            ["whether CANN 8.3.RC2 works with HDK 25.2.0 is not known; CANN 8.3.RC1 was released with the newer 25.3.rc1"],
        ),
        ("8.0.0", "24.1.0", ["which HDKs CANN 8.0.0 allows is not known"]),
        ("9.1.0", "26.3.0", ["HDK 26.3.0 is newer than the table, which ends with 26.2: whether CANN 9.1.0 allows it is not known"]),
    ],
)
def test_outside_of_the_matrix_nothing_is_refused(cann, hdk, unknowns):
    assert check(cann, hdk) == ([], unknowns)


@pytest.mark.parametrize(
    ("cann", "hdk", "known"),
    [
        ("9.1.0", "25.7.rc1", True),
        ("9.1.0", "25.1.RC1", True),
        ("9.0.0", "1.0.rc1", True),
        ("9.0.0", "25.7.rc1", False),
        ("9.1.0", "25.0.0", False),
        ("9.2.0", "25.7.rc1", False),
    ],
)
def test_the_matrix_does_not_apply_to_950(cann, hdk, known):
    findings = check(cann, hdk, "950")
    assert findings.problems == [] and (findings.unknowns == []) is known
    assert all("HDK " + hdk in sentence for sentence in findings.unknowns)


def test_pairs_of_950_as_words():
    assert pairs_950(parse_version("9.0.0")) == "Atlas 350 with 1.0.RC1"
    assert pairs_950(parse_version("8.5.0")) == ""


@pytest.mark.parametrize(
    ("cann", "hdk"),
    [
        ("8.1.RC1", "25.0.rc1.1"),
        ("8.5.0", "25.5.0"),
        ("8.5.1", "25.5.0"),
        ("9.0.2", "26.0.rc1"),
        ("9.1.0", "26.0.rc1"),
        ("9.1.1", "26.1.1"),
    ],
)
def test_what_a_cann_was_released_with(cann, hdk):
    assert pair_of(parse_version(cann)).hdk == hdk


def test_a_train_without_rows_has_no_pair():
    assert pair_of(parse_version("7.0.0")) is None
