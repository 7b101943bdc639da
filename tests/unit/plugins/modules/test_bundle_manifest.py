# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from ansible_collections.npufleet.ascend.plugins.modules import bundle_manifest
from ansible_collections.npufleet.ascend.tests.unit.plugins.modules.module_runner import run_module


def test_write_check_and_refuse(tmp_path):
    bundle = tmp_path / "bundle"
    bundle.mkdir()
    (bundle / "a").write_text("1")
    options = {"path": str(bundle), "work_folder": str(tmp_path / "work")}
    assert run_module(bundle_manifest.main, options, check=True)["changed"] is True
    assert [run_module(bundle_manifest.main, options)["changed"] for _turn in range(2)] == [True, False]
    checked = run_module(bundle_manifest.main, dict(options, state="verified"))
    assert (checked["failed"], checked["changed"], checked["files"]) == (False, False, 2)
    (bundle / "a").write_text("2")
    refused = run_module(bundle_manifest.main, dict(options, state="verified"))
    assert refused["failed"] is True and "1 of 2 files" in refused["msg"]


def test_what_the_host_refuses_is_one_message(tmp_path):
    (tmp_path / "manifest.json").mkdir()
    result = run_module(bundle_manifest.main, {"path": str(tmp_path), "work_folder": str(tmp_path / ".work")})
    assert result["failed"] is True and result["msg"].startswith("the host refused")
