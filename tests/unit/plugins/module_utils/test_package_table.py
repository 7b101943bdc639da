# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import re

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._package_names import artifact
from ansible_collections.npufleet.ascend.plugins.module_utils._package_table import KINDS, SUMS

# Name of a file -> kind, chip, version and architecture; written down again here, apart from the code that builds the names.
PATTERNS = [
    ("driver", r"Ascend-hdk-(?P<chip>910|910b|310p)-npu_(?P<version>[0-9a-z.]+)_linux-(?P<arch>aarch64|x86-64)\.zip"),
    ("toolkit", r"Ascend-cann-toolkit_(?P<version>[0-9A-Z.]+)_linux-(?P<arch>aarch64|x86_64)\.zip"),
    ("ops", r"Ascend-cann-kernels-(?P<chip>910|910b|310p)_(?P<version>8\.[123]\.RC1)_linux-(?P<arch>aarch64|x86_64)\.zip"),
    ("ops", r"Ascend-cann-(?P<chip>910|910b|310p|A3)-ops_(?P<version>[0-9.]+)_linux-(?P<arch>aarch64|x86_64)\.zip"),
    ("docker_runtime", r"Ascend-docker-runtime_(?P<version>[0-9A-Z.]+)_linux-(?P<arch>aarch64|x86_64)\.run"),
    ("toolbox", r"Ascend-mindx-toolbox_(?P<version>[0-9A-Z.]+)_linux-(?P<arch>aarch64|x86_64)\.zip"),
]


@pytest.mark.parametrize("row", SUMS, ids=lambda row: row.file)
def test_each_published_sum_is_found_by_what_its_file_is(row):
    assert re.fullmatch(r"[0-9a-f]{64}", row.sha256)
    assert row.source and re.fullmatch(r"20\d\d-\d\d(-\d\d)?", row.date)
    ((kind, found),) = [(kind, found) for kind, found in ((kind, re.fullmatch(text, row.file)) for kind, text in PATTERNS) if found]
    groups = found.groupdict()
    wanted = artifact(kind, groups["version"], groups.get("chip"), groups["arch"].replace("-", "_"))
    assert (wanted.file, wanted.sha256) == (row.file, row.sha256)


def test_the_rows_are_sorted_and_unique():
    files = [row.file for row in SUMS]
    assert files == sorted(set(files)) and len({row.sha256 for row in SUMS}) == len(SUMS) == 94


@pytest.mark.parametrize(
    ("file", "sha256"),
    [
        ("Ascend-hdk-910b-npu_26.0.rc1_linux-aarch64.zip", "c09dbd1b80f3655dbc26c1a3efb8d2742db1c6e03ca064f9248e9a998b25715f"),
        ("Ascend-hdk-910b-npu_25.5.0_linux-x86-64.zip", "5b95f52ff65772da7b5334f014329571f0bf7582a06ac995cb5d8c6bc54111a1"),
        ("Ascend-cann-A3-ops_8.5.0_linux-aarch64.zip", "272cfc8ce4395b1749ec7acc73710d7effb27baff7ca6229a62c0cfd0003f5ce"),
        ("Ascend-docker-runtime_26.0.0_linux-x86_64.run", "c8a25309ffc91879040440dd0ec538b6eb01e1be5678feff0b3bd5a1ae7ca954"),
        ("Ascend-mindx-toolbox_26.0.1_linux-aarch64.zip", "03859930f29592c8cb6db7faa692a5c5bd0c731a73e52bfa845d1746dda71782"),
    ],
)
def test_sums_as_published(file, sha256):
    assert {row.file: row.sha256 for row in SUMS}[file] == sha256


def test_the_kinds():
    assert list(KINDS) == ["driver", "firmware", "toolkit", "ops", "nnal", "docker_runtime", "toolbox"]
    assert all(kind.name == name and kind.title for name, kind in KINDS.items())
    assert [kind.name for kind in KINDS.values() if kind.needs_chip] == ["driver", "firmware", "ops"]


@pytest.mark.parametrize("name", sorted(KINDS))
def test_a_licence_can_be_found_and_limits_are_sane(name):
    kind = KINDS[name]
    assert "licence" in kind.licence and "https://www.hiascend.com/" in kind.licence
    assert 60 <= kind.time_limit <= 3600 and 16 << 20 <= kind.disk_bytes <= 10 << 30


def test_disk_sizes_with_a_source():
    assert (KINDS["driver"].disk_bytes, KINDS["firmware"].disk_bytes, KINDS["toolkit"].disk_bytes) == (300 << 20, 32 << 20, 10 << 30)
