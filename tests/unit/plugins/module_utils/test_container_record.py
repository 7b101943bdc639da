# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._container_record import (
    Record,
    baseline,
    load_record,
    record_path,
    remembered,
    restored_default,
    save_record,
    site_default,
)
from ansible_collections.npufleet.ascend.plugins.module_utils._files import file_mode

CHANGE = {"path": ["debug"], "had": False, "before": None, "set": True}
SITE = Record(known=True, site_default="site", managed=("ascend",))


def test_a_record_is_read_as_it_was_written(tmp_path):
    path = record_path(str(tmp_path / "a" / "b"), "docker")
    record = Record(True, "site", ("ascend",), "ascend", ("ascend", "site"), (CHANGE,), True, "start1", {"debug": True})
    save_record(path, record)
    assert path.endswith("/docker.json")
    assert (load_record(path), file_mode(path)) == (record, 0o600)
    save_record(path, Record())
    assert load_record(path) == Record()


def test_an_unchanged_record_is_not_written(tmp_path):
    path = tmp_path / "docker.json"
    save_record(str(path), SITE)
    path.chmod(0o640)
    save_record(str(path), SITE)
    assert file_mode(str(path)) == 0o640


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "[]",
        "{",
        '{"managed_by": "another"}',
        '{"managed_by": "npufleet.ascend"}',
        '{"managed_by": "npufleet.ascend", "managed": 1}',
    ],
)
def test_no_record(tmp_path, text):
    path = tmp_path / "docker.json"
    if text is not None:
        path.write_text(text)
    assert load_record(str(path)) is None


def test_a_record_of_a_later_release_with_more_fields_is_none(tmp_path):
    path = tmp_path / "docker.json"
    save_record(str(path), SITE)
    path.write_text(json.dumps(dict(json.loads(path.read_text()), more=1)))
    assert load_record(str(path)) is None


@pytest.mark.parametrize(
    ("current", "record", "result"),
    [
        ("site", Record(), "site"),
        (None, Record(), None),
        ("ascend", Record(), "ascend"),  # it was there before this collection came
        ("ascend", SITE, "site"),
        ("ascend", SITE._replace(site_default=None), None),
        ("other", SITE, "other"),  # somebody decided so
        (None, SITE, None),
        ("x", SITE._replace(default_set="x"), "site"),
    ],
)
def test_the_default_runtime_of_the_site(current, record, result):
    assert site_default(current, {"ascend"}, record) == result


@pytest.mark.parametrize(
    ("current", "record", "result"),
    [(None, SITE, "site"), ("ascend", SITE, "site"), ("other", SITE, "other"), (None, Record(), None), ("ascend", Record(), "ascend")],
)
def test_the_default_runtime_after_all_is_gone(current, record, result):
    assert restored_default(current, record) == result


def test_what_a_call_remembers_of_the_site():
    record = remembered({"default-runtime": "site"}, None, {"ascend"}, Record(managed=("old",)))
    assert (record.known, record.site_default, record.managed, record.default_set) == (True, "site", ("ascend", "old"), None)
    record = remembered({"default-runtime": "ascend"}, "ascend", {"ascend"}, record)
    assert (record.site_default, record.default_set) == ("site", "ascend")
    assert remembered({"default-runtime": "ascend"}, None, {"ascend"}, record).default_set == "ascend"


@pytest.mark.parametrize(
    ("config", "record", "result"),
    [
        ({"runtimes": {"ascend": {}, "site": {}}}, Record(known=True, seen=("site",)), {"runtimes": {"site": {}}}),
        ({"runtimes": {"ascend": {}}}, Record(known=True, seen=None), {}),
        ({"runtimes": {"ascend": {}}}, Record(known=True, seen=()), {"runtimes": {}}),
        ({"runtimes": {"ascend": {}}}, Record(known=True, seen=("ascend",)), {"runtimes": {"ascend": {}}}),
        ({"runtimes": {"ascend": {}}}, Record(), {"runtimes": {"ascend": {}}}),
        ({"debug": True}, Record(known=True), {"debug": True}),
    ],
)
def test_what_an_installer_added_counts_as_ours(config, record, result):
    before = json.dumps(config)
    assert baseline(config, ["ascend"], record) == result
    assert json.dumps(config) == before
