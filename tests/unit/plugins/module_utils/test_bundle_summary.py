# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_summary import human, summary

CONTENT = {
    "parts": [{"name": "os/debian-12"}, {"name": "images/x.tar"}, {"name": "images/x.tar-2"}, {"name": "os/debian-12-arm"}],
    "files": [
        {"path": "os/debian-12/g++.deb", "file": "g++.deb", "size": 2048},
        {"path": "images/x.tar", "file": "x.tar", "size": None},
        {"path": "os/debian-12-arm/g++.deb", "file": "g++.deb", "size": 1024},
    ],
}
PACKAGES = [{"file": "hdk.zip"}, {"file": "hdk.zip"}, {"file": "cann.zip"}, {"file": "lost.zip"}]
ANSWERS = [
    {"item": {"file": "hdk.zip"}, "status": 200, "content_length": "3145728"},
    {"item": {"file": "cann.zip"}, "status": 404, "content_length": "120"},
    {"item": {"file": "lost.zip"}, "status": 200},
    {"skipped": True},
]


@pytest.mark.parametrize(
    "size, text",
    [(None, "?"), (0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1536 * 1024, "1.5 MiB"), (5 << 40, "5.0 TiB"), (5 << 50, "5120.0 TiB")],
)
def test_sizes_for_people(size, text):
    assert human(size) == text


def test_names_sizes_and_total():
    assert summary(CONTENT, PACKAGES, ANSWERS, names=True) == [
        "packages: 3 files, 3.0 MiB, the size of 2 is not known",
        "  cann.zip ?",
        "  hdk.zip 3.0 MiB",
        "  lost.zip ?",
        "os/debian-12: 1 file, 2.0 KiB",
        "  g++.deb 2.0 KiB",
        "images/x.tar: 1 file, 0 B, the size of 1 is not known",
        "  x.tar ?",
        "images/x.tar-2: 0 files, 0 B",
        "os/debian-12-arm: 1 file, 1.0 KiB",
        "  g++.deb 1.0 KiB",
        "total: 6 files, 3.0 MiB, the size of 3 is not known",
    ]


def test_without_names():
    lines = summary(CONTENT, [], [], names=False)
    assert lines == [line for line in summary(CONTENT, [], [], names=True) if not line.startswith(" ")]
    assert lines[-1] == "total: 3 files, 3.0 KiB, the size of 1 is not known"
