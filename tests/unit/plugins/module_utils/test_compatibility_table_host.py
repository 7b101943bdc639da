# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._ascend_version import parse_version
from ansible_collections.npufleet.ascend.plugins.module_utils._compatibility_host import NAMES
from ansible_collections.npufleet.ascend.plugins.module_utils._compatibility_table_host import DOCKERS, OS_MINIMUMS, OS_ROWS
from ansible_collections.npufleet.ascend.plugins.module_utils._package_names import ARCHES, CHIPS


@pytest.mark.parametrize("row", OS_ROWS, ids=lambda row: "-".join(row[:4]))
def test_each_system_is_written_in_one_way(row):
    assert row.id in NAMES and row.id == row.id.lower() and row.release == row.release.lower()
    assert row.arch in ARCHES and row.chips and set(row.chips) <= set(CHIPS)
    assert list(row.chips) == sorted(row.chips)


def test_no_system_is_listed_twice():
    assert len({row[:4] for row in OS_ROWS}) == len(OS_ROWS)


def test_each_name_is_used():
    assert set(NAMES) == {row.id for row in OS_ROWS}


@pytest.mark.parametrize("row", OS_MINIMUMS, ids=lambda row: "{0} on {1}".format(row.product, row.id))
def test_each_minimum_is_about_a_listed_system_and_chip(row):
    assert any(row.chip in other.chips for other in OS_ROWS if other[:3] == (row.id, row.version, row.release))
    assert parse_version(row.hdk) < parse_version("26") and len(parse_version(row.firmware).numbers) == 5


def test_container_engines_have_a_range():
    assert [row.engine for row in DOCKERS] == ["docker", "containerd"]
    assert all(parse_version(row.first) < parse_version(row.last) and row.source.date for row in DOCKERS)
