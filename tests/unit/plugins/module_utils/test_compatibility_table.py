# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import re

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils import _compatibility_table as table
from ansible_collections.npufleet.ascend.plugins.module_utils._ascend_version import parse_version
from ansible_collections.npufleet.ascend.plugins.module_utils._compatibility_hdk import pair_of
from ansible_collections.npufleet.ascend.plugins.module_utils._package_names import CHIPS

ROWS = [*table.HDKS, *table.HDK_RULES, *table.PAIRS, *table.VLLM_ASCEND, *table.PYTHONS, *table.HINTS]
SOURCES = sorted({row.source for row in ROWS} | {row[3] for row in table.PAIRS_950})


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.title)
def test_each_source_can_be_found_and_has_a_date(source):
    assert source.title and re.fullmatch(r"https://[a-z.]+/\S+", source.url)
    assert re.fullmatch(r"20\d\d-\d\d(-\d\d)?", source.date)


@pytest.mark.parametrize(
    "versions",
    [
        [row.version for row in table.HDKS],
        [row.cann for row in table.HDK_RULES],
        [row.cann for row in table.PYTHONS],
    ],
    ids=["hdks", "rules", "pythons"],
)
def test_rows_are_sorted_and_unique(versions):
    parsed = [parse_version(version) for version in versions]
    assert all(left < right for left, right in zip(parsed, parsed[1:]))


def test_releases_of_vllm_ascend_are_unique_and_their_trains_sorted():
    parsed = [parse_version(row.version) for row in table.VLLM_ASCEND]
    assert len(set(parsed)) == len(parsed)
    assert [version.train for version in parsed] == sorted(version.train for version in parsed)


@pytest.mark.parametrize("row", table.VLLM_ASCEND, ids=lambda row: row.version)
def test_each_release_of_vllm_ascend_is_consistent(row):
    assert re.fullmatch(r"20\d\d(-\d\d){0,2}", row.date)
    assert parse_version(row.python[0]) < parse_version(row.python[1])
    assert all(re.fullmatch(r"\d\.\d\.(\d+|RC\d)", cann) for cann in row.cann)
    assert row.glibc is None or all(re.fullmatch(r"2\.\d\d", glibc) for glibc in row.glibc)


@pytest.mark.parametrize("rule", table.HDK_RULES, ids=lambda rule: rule.cann)
def test_a_rule_allows_what_its_cann_was_released_with(rule):
    train = parse_version(pair_of(parse_version(rule.cann)).hdk).train
    assert parse_version(rule.first).train <= train <= parse_version(rule.last).train


def test_pairs_name_releases_that_are_known():
    assert {pair.hdk for pair in table.PAIRS} <= {hdk.version for hdk in table.HDKS}


def test_chips_are_tokens_of_packages():
    assert set(table.VLLM_CHIPS) <= set(CHIPS)


def test_every_final_release_is_there():
    final = [row.version for row in table.VLLM_ASCEND if not parse_version(row.version).preview]
    assert final == ["0.7.3", "0.7.3.post1", "0.9.1", "0.11.0", "0.13.0", "0.18.0", "0.23.0", "0.23.0.post1"]
