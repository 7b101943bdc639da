# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from ansible_collections.npufleet.ascend.plugins.filter import bundle_files


def test_files_of_a_host():
    choose = bundle_files.FilterModule().filters()["bundle_files"]
    plan = {"packages": [{"name": "nnal", "version": "9.0.0", "file": "nnal.run", "sha256": "5e"}], "parts": []}
    manifest = {"files": {"packages/nnal.run": {"size": 1, "sha256": "5e"}}, "parts": {}}
    found = choose(plan, manifest, "/copy", "/packages")
    assert found["files"] == [{"source": "packages/nnal.run", "path": "/packages/nnal.run", "size": 1, "sha256": "5e"}]
    assert (found["checksums"], found["lacks"]) == ({"nnal.run": "5e"}, [])
