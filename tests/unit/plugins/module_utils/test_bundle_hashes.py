# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import hashlib
import json
import os

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils import _bundle_hashes
from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_hashes import Hasher
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.engine_fakes import FakeClock


class Reading:
    """Counts which files are read; reading one takes a second."""

    def __init__(self, folder, monkeypatch):
        self.folder = folder
        self.clock = FakeClock()
        self.read = []
        monkeypatch.setattr(_bundle_hashes, "file_sha256", self.sha256)

    def sha256(self, path):
        self.clock.time += 1
        self.read.append(os.path.basename(path))
        with open(path, "rb") as stream:
            return hashlib.sha256(stream.read()).hexdigest()

    def hasher(self, memory="state/hashes.json", again=False):
        return Hasher(str(self.folder), memory and str(self.folder / memory), self.clock.now, again)


@pytest.fixture()
def reading(tmp_path, monkeypatch):
    for name in ("a", "b", "c"):
        (tmp_path / name).write_text(name)
    return Reading(tmp_path, monkeypatch)


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


def test_a_file_is_read_once(reading):
    wanted = {"a": digest("a"), "b": digest("b"), "none": None}
    assert reading.hasher().digests(["a", "b", "none"], 60) == wanted
    assert reading.hasher().digests(["a", "b", "none"], 60) == wanted
    assert reading.read == ["a", "b"]


def test_what_is_no_regular_file_is_none(reading):
    (reading.folder / "folder").mkdir()
    os.mkfifo(str(reading.folder / "pipe"))
    assert reading.hasher().digests(["folder", "pipe"], 60) == {"folder": None, "pipe": None}


def test_a_file_that_was_touched_is_read_again(reading):
    reading.hasher().digests(["a", "b"], 60)
    # The same size and modification time: only the change time, which nobody can set, tells.
    stat = os.stat(str(reading.folder / "a"))
    (reading.folder / "a").write_text("x")
    os.utime(str(reading.folder / "a"), ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert reading.hasher().digests(["a", "b"], 60) == {"a": digest("x"), "b": digest("b")}
    assert reading.read == ["a", "b", "a"]


def test_only_the_names_that_were_asked_for_are_remembered(reading):
    reading.hasher().digests(["a", "b"], 60)
    reading.hasher().digests(["b", "c"], 60)
    assert sorted(json.loads((reading.folder / "state/hashes.json").read_text())) == ["b", "c"]


def test_a_look_without_a_file_leaves_nothing_behind(reading):
    assert reading.hasher().digests(["none"], 60) == {"none": None}
    assert not (reading.folder / "state").exists()


def test_reading_all_again_takes_one_call(reading):
    """The next call would begin anew, and never come to an end."""
    assert reading.hasher(again=True).digests(["a", "b", "c"], 0) == {name: digest(name) for name in "abc"}


def test_all_is_read_again_when_asked(reading):
    reading.hasher().digests(["a"], 60)
    reading.hasher(again=True).digests(["a"], 60)
    assert reading.read == ["a", "a"]


def test_each_call_goes_on_where_the_last_one_stopped(reading):
    first = reading.hasher()
    assert first.digests(["a", "b", "c"], 2) is None
    assert reading.read == ["a", "b"] and first.progress == "0.0 of 0.0 GiB left were hashed"
    assert reading.hasher().digests(["a", "b", "c"], 0) == {name: digest(name) for name in "abc"}
    assert reading.read == ["a", "b", "c"]


def test_a_file_is_read_however_short_the_time(reading):
    assert reading.hasher().digests(["a", "b"], 0) is None
    assert reading.read == ["a"]


@pytest.mark.parametrize("memory", [None, "/proc/none/hashes.json"])
def test_where_nothing_can_be_remembered_all_is_read_in_one_call(reading, memory):
    assert reading.hasher(memory).digests(["a", "b", "c"], 0) == {name: digest(name) for name in "abc"}


def test_an_existing_folder_that_may_not_be_written_is_no_memory(reading, monkeypatch):
    (reading.folder / "state").mkdir()
    monkeypatch.setattr(_bundle_hashes.os, "access", lambda _path, _mode: False)
    assert reading.hasher().digests(["a", "b"], 0) == {"a": digest("a"), "b": digest("b")}
    assert list((reading.folder / "state").iterdir()) == []


@pytest.mark.parametrize("text", ["{", "[]", json.dumps({"a": "x", "b": [1, 2]})])
def test_a_damaged_memory_is_none(reading, text):
    (reading.folder / "state").mkdir()
    (reading.folder / "state" / "hashes.json").write_text(text)
    assert reading.hasher().digests(["a", "b"], 60) == {"a": digest("a"), "b": digest("b")}
    assert reading.read == ["a", "b"]


def test_absolute_names_lie_where_they_say(reading, tmp_path):
    other = tmp_path / "elsewhere"
    other.mkdir()
    (other / "x").write_text("x")
    assert Hasher(str(tmp_path / "copy"), None, reading.clock.now).digests([str(other / "x")], 60) == {str(other / "x"): digest("x")}
