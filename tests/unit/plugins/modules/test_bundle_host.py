# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import hashlib

from ansible_collections.npufleet.ascend.plugins.modules import bundle_host
from ansible_collections.npufleet.ascend.tests.unit.plugins.modules.module_runner import run_module


def test_missing_ready_removed(tmp_path):
    path = tmp_path / "bundle" / "wheels" / "a.whl"
    row = {"path": str(path), "size": 1, "sha256": hashlib.sha256(b"1").hexdigest()}
    options = {"folder": str(tmp_path / "bundle"), "files": [row], "parts": [{"kind": "wheels", "folder": "wheels"}]}
    refused = run_module(bundle_host.main, options)
    assert refused["failed"] is True and "1 of 1 files are missing" in refused["msg"]
    assert run_module(bundle_host.main, dict(options, missing_ok=True))["missing"] == [str(path)]
    path.parent.mkdir(parents=True)
    path.write_text("1")
    ready = run_module(bundle_host.main, options)
    assert (ready["failed"], ready["changed"], ready["ready"]) == (False, True, True)
    assert run_module(bundle_host.main, options)["changed"] is False
    absent = {"folder": str(tmp_path / "bundle"), "state": "absent"}
    assert [run_module(bundle_host.main, absent)["changed"] for _turn in range(2)] == [True, False]


def test_what_the_host_refuses_is_one_message(tmp_path):
    (tmp_path / "bundle").mkdir()
    (tmp_path / "bundle" / "pip.conf").mkdir()
    result = run_module(bundle_host.main, {"folder": str(tmp_path / "bundle")})
    assert result["failed"] is True and result["msg"].startswith("the host refused")
