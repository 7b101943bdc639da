# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from ansible_collections.npufleet.ascend.plugins.filter import bundle_summary


def test_lines():
    lines = bundle_summary.FilterModule().filters()["bundle_summary"]
    content = {"parts": [{"name": "os/d"}], "files": [{"path": "os/d/a.deb", "file": "a.deb", "size": 5}]}
    assert lines(content, [], [], True) == ["os/d: 1 file, 5 B", "  a.deb 5 B", "total: 1 file, 5 B"]
