# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import sys

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils import _bundle_content_task, _job
from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_script import identity, slug
from ansible_collections.npufleet.ascend.plugins.modules import bundle_content
from ansible_collections.npufleet.ascend.tests.unit.plugins.modules.module_runner import run_module

PART = {"kind": "collection", "folder": "collections", "file": "a-b-1.tar.gz", "name": "a.b", "version": "1"}
SCRIPT = """echo 'npufleet: stage 1/1 Fetch collections/a-b-1.tar.gz'
mkdir -p {work} {target}
printf '[{{"file": "a-b-1.tar.gz", "size": null, "url": "a.b:1", "licence": "MIT"}}]' > {work}/listing.json
{more}
"""


@pytest.fixture()
def options(tmp_path, monkeypatch):
    """A bundle whose only part is made by a script that takes no time."""

    def script(parts, places, _folder, resolve_only):
        more = (
            "true"
            if resolve_only
            else "echo 12345 > {0}/a-b-1.tar.gz; printf %s {1} > {2}/done".format(places[0].target, identity(parts[0]), places[0].work)
        )
        assert places[0].work.endswith(slug(PART))
        return SCRIPT.format(work=places[0].work, target=places[0].target, more=more)

    monkeypatch.setattr(_bundle_content_task, "build_script", script)
    monkeypatch.setattr(_job, "WATCH_SECONDS", 0.02)
    return {"path": str(tmp_path / "bundle"), "parts": [PART], "python": sys.executable, "work_folder": str(tmp_path / "work")}


def test_predict_fetch_again(options, tmp_path):
    predicted = run_module(bundle_content.main, options, check=True)
    assert (predicted["failed"], predicted["changed"], predicted["unknown"]) == (False, True, 1)
    fetched = run_module(bundle_content.main, options)
    assert (fetched["failed"], fetched["changed"], fetched["bytes"], fetched["pending"]) == (False, True, 6, False)
    assert (tmp_path / "bundle/collections/a-b-1.tar.gz").read_text() == "12345\n"
    again = run_module(bundle_content.main, options)
    assert (again["changed"], again["files"]) == (False, fetched["files"])


def test_a_job_that_takes_longer_than_a_slice_is_pending(options, monkeypatch):
    monkeypatch.setattr(_bundle_content_task, "build_script", lambda *_all: "sleep 60")
    result = run_module(bundle_content.main, dict(options, wait_slice=0))
    assert (result["failed"], result["changed"], result["pending"]) == (False, True, True)
    # The next call finds it; one that wants something else ends it.
    monkeypatch.setattr(_bundle_content_task, "build_script", lambda *_all: "exit 3")
    failed = run_module(bundle_content.main, dict(options, refresh=True))
    assert "failed with exit code 3" in failed["msg"]


def test_what_is_wrong_is_one_message(options):
    result = run_module(bundle_content.main, dict(options, path="bundle", parts=[]))
    assert result["failed"] is True and "no absolute path" in result["msg"]
    refused = run_module(bundle_content.main, dict(options, work_folder="/proc/none"))
    assert refused["failed"] is True and "the host refused" in refused["msg"]
