# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import stat

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_history import (
    HISTORY_NAME,
    parse_entries,
    parse_launch,
    remember,
    restored,
)
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.engine_fakes import KEY, params


def image(name):
    return params(runtime="docker", container={"image": name}, api_key=KEY)


def back(folder, current, status="ready", **changes):
    """``current`` is the digest of the spec in place, None where the launch has left no record."""
    if current is not None:
        (folder / "launch.json").write_text(json.dumps({"digest": current, "status": status}))
    return restored(dict(params(name="demo"), **changes), str(folder))


def test_it_goes_back_to_what_answered_before_the_present_spec(tmp_path):
    remember(str(tmp_path), image("one"), "1")
    remember(str(tmp_path), image("two"), "2")
    assert back(tmp_path, "2")["container"] == {"image": "one"}


def test_a_spec_that_never_answered_is_none_to_go_back_to(tmp_path):
    remember(str(tmp_path), image("one"), "1")
    assert back(tmp_path, "2")["container"] == {"image": "one"}
    assert back(tmp_path, None)["container"] == {"image": "one"}


def test_going_back_twice_stays(tmp_path):
    for name, digest in (("one", "1"), ("two", "2"), ("one", "1")):
        remember(str(tmp_path), image(name), digest)
    assert back(tmp_path, "1")["container"] == {"image": "one"}


def test_an_engine_on_its_way_back_is_not_turned_round(tmp_path):
    """Waiting for it takes several calls."""
    remember(str(tmp_path), image("one"), "1")
    remember(str(tmp_path), image("two"), "2")
    assert back(tmp_path, "1", "starting")["container"] == {"image": "one"}
    assert back(tmp_path, "3", "starting")["container"] == {"image": "two"}
    assert back(tmp_path, "1", "failed")["container"] == {"image": "two"}


def test_a_launch_record_of_somebody_else_means_nothing(tmp_path):
    remember(str(tmp_path), image("one"), "1")
    (tmp_path / "launch.json").write_text("[")
    assert back(tmp_path, None)["container"] == {"image": "one"}


def test_only_the_present_and_the_one_before_are_kept(tmp_path):
    for name, digest in (("one", "1"), ("two", "2"), ("three", "3"), ("three", "3")):
        remember(str(tmp_path), image(name), digest)
    assert back(tmp_path, "3")["container"] == {"image": "two"}
    assert '"one"' not in (tmp_path / HISTORY_NAME).read_text()


def test_a_part_of_a_group_is_remembered_only_when_all_are_ready(tmp_path):
    remember(str(tmp_path), dict(image("one"), wait=False), "1")
    assert not (tmp_path / HISTORY_NAME).exists()
    remember(str(tmp_path), image("one"), "1")
    assert [entry["digest"] for entry in parse_entries((tmp_path / HISTORY_NAME).read_text())] == ["1"]


def test_what_counts_is_the_spec_that_was_launched(tmp_path):
    """Without CANN's scripts, which a call that waits does not run, the spec is another one."""
    (tmp_path / "launch.json").write_text(json.dumps({"digest": "with CANN"}))
    remember(str(tmp_path), image("one"), "without")
    assert [entry["digest"] for entry in parse_entries((tmp_path / HISTORY_NAME).read_text())] == ["with CANN"]


def test_it_is_noted_since_when_a_spec_runs(tmp_path):
    for number, name in enumerate(("one", "two")):
        (tmp_path / "launch.json").write_text(json.dumps({"digest": str(number), "started_at": 10.0 * number}))
        remember(str(tmp_path), image(name), str(number))
    assert [entry["since"] for entry in parse_entries((tmp_path / HISTORY_NAME).read_text())] == [0.0, 10.0]


@pytest.mark.parametrize("text", [None, "", "{", "[]", '{"digest": null}', '{"digest": 1}'])
def test_a_launch_that_tells_no_spec(text):
    assert parse_launch(text) is None


def test_a_launch_tells_the_spec_in_place():
    assert parse_launch('{"digest": "1", "status": "failed"}') == "1"


def test_where_it_is_and_what_the_call_is_about_stay_those_of_the_call(tmp_path):
    remember(str(tmp_path), dict(image("one"), home="/old", replace=False, state="restarted"), "1")
    options = back(tmp_path, "2", home="/srv/home", replace=True, api_key="k", state="started")
    assert (options["home"], options["replace"], options["api_key"], options["state"]) == ("/srv/home", True, "k", "started")


def test_no_key_is_written_and_nobody_else_reads_it(tmp_path):
    remember(str(tmp_path), image("one"), "1")
    path = tmp_path / HISTORY_NAME
    assert KEY not in path.read_text() and stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "text", [None, "{", "{}", "[1]", '[{"digest": "1"}]', "[]"], ids=["none", "cut", "mapping", "number", "half", "empty"]
)
def test_an_engine_that_never_answered(tmp_path, text):
    if text is not None:
        (tmp_path / HISTORY_NAME).write_text(text)
    with pytest.raises(NpufleetError, match="the engine demo has never answered"):
        back(tmp_path, "1")
