# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._container_versions import ADR_ENGINES, adr_doubts, version_numbers
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("20.10.24+dfsg1", (20, 10, 24)), ("v2.1.4", (2, 1, 4)), ("1.6.20~ds1", (1, 6, 20)), ("28.5.1-ce", (28, 5, 1)), ("", ()), ("dev", ())],
)
def test_numbers(text, numbers):
    assert version_numbers(text) == numbers


@pytest.mark.parametrize(
    ("engine", "version", "warned"),
    [
        ("docker", "18.09.0", False),
        ("docker", "20.10.24+dfsg1", False),
        ("docker", "28.5.1", False),
        ("docker", "28.5.2", True),
        ("docker", "29.0.0", True),
        ("docker", "", False),
        ("containerd", "1.4.0", False),
        ("containerd", "2.1.4", False),
        ("containerd", "2.2.0", True),
    ],
)
def test_what_the_vendor_supports(engine, version, warned):
    doubts = adr_doubts(engine, version)
    assert bool(doubts) is warned
    assert all(version in doubt and ADR_ENGINES[engine].highest in doubt and ADR_ENGINES[engine].source in doubt for doubt in doubts)


@pytest.mark.parametrize(
    ("engine", "version", "words"),
    [
        ("docker", "18.03.1", "18.03.1 is too old"),
        ("containerd", "1.3.9", "supports 1.4 to 2.1.4"),
        ("podman", "5.0", "does not support podman"),
    ],
)
def test_what_it_does_not(engine, version, words):
    with pytest.raises(NpufleetError) as caught:
        adr_doubts(engine, version)
    assert words in str(caught.value) and "devices and mounts" in str(caught.value)


def test_every_row_has_a_source():
    assert all(row.source and version_numbers(row.lowest) < version_numbers(row.highest) for row in ADR_ENGINES.values())
