# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import os
import pathlib

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils import _bundle_content_task
from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_content_task import ContentTask
from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_script import identity, slug
from ansible_collections.npufleet.ascend.plugins.module_utils._clock import Clock
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._job import JobStatus
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.engine_fakes import FakeClock, FakeRun

WHEELS = {
    "kind": "wheels",
    "folder": "wheels/cp311",
    "python": "3.11",
    "glibc": "2.34",
    "arch": "x86_64",
    "sets": [{"requirements": ["a"]}],
}
DNF = {"kind": "dnf", "folder": "os/oe", "arch": "aarch64", "release": "1", "packages": ["gcc"], "repositories": []}
PIP = (0, "pip 24.0 from /x (python 3.11)", "")


class FakeJob:
    """A job that takes ``needs`` seconds; at its end the parts are there, unless its exit code says otherwise."""

    def __init__(self, world):
        self.world = world
        self.needs, self.rc = 0.0, 0
        self.lines = ["npufleet: stage 1/4 Resolve x", "busy"]
        self.stage = "3/4 Fetch wheels/cp311"
        self.digest, self.started, self.killed = "", None, False
        self.scripts = []
        self.stops = 0

    def start(self, script, digest):
        self.scripts.append(script)
        self.digest, self.started, self.killed = digest, self.world.clock.time, False
        self.world.work.mkdir(parents=True, exist_ok=True)
        (self.world.work / "job.pid").write_text("1 2 3 4")
        self.world.resolve()

    def status(self):
        if self.started is None or not (self.world.work / "job.pid").exists():
            return JobStatus("none", None, "", "", "", 0.0)
        seconds = self.world.clock.time - self.started
        if self.killed:
            return JobStatus("finished", None, self.digest, self.stage, "busy", seconds)
        if seconds < self.needs:
            return JobStatus("running", None, self.digest, self.stage, "get https://me:secret@mirror/a", seconds)
        if self.rc == 0:
            self.world.finish()
        return JobStatus("finished", self.rc, self.digest, self.stage, "", seconds)

    def log(self, limit):
        return self.lines[-limit:]

    def stop(self):
        self.killed = True
        self.stops += 1


class World:
    def __init__(self, tmp_path, monkeypatch):
        self.path = tmp_path / "bundle"
        self.clock = FakeClock()
        self.job = FakeJob(self)
        self.run = FakeRun(__version=PIP)
        self.parts = [WHEELS]
        self.missing = set()
        self.params = {
            "path": str(self.path),
            "parts": self.parts,
            "refresh": False,
            "python": "/py",
            "work_folder": str(tmp_path / "work"),
            "wait_timeout": 1000,
            "wait_slice": 10,
        }
        self.fetches = True
        monkeypatch.setattr(_bundle_content_task, "Job", lambda folder, _now, _sleep: self.at(folder))

    def at(self, folder):
        self.work = pathlib.Path(folder)
        return self.job

    def folder(self, part):
        folder = self.work / slug(part)
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def resolve(self):
        for part in self.parts:
            rows = [{"file": part["kind"] + ".file", "size": 2 << 20, "url": "u", "licence": "l"}]
            (self.folder(part) / "listing.json").write_text(json.dumps(rows))

    def finish(self):
        for part in self.parts if self.fetches else []:
            target = self.path / part["folder"]
            target.mkdir(parents=True, exist_ok=True)
            (target / (part["kind"] + ".file")).write_text("12345")
            if part["kind"] == "dnf":
                (target / "repodata").mkdir(exist_ok=True)
                (target / "repodata" / "repomd.xml").write_text("")
            (self.folder(part) / "done").write_text(identity(part))

    def task(self, **changes):
        return ContentTask(dict(self.params, **changes), self.run, Clock(self.clock.now, self.clock.sleep), self.find)

    def find(self, name):
        return None if name in self.missing else "/bin/" + name

    def execute(self, check_mode=False, **changes):
        return self.task(**changes).execute(check_mode)


@pytest.fixture()
def world(tmp_path, monkeypatch):
    return World(tmp_path, monkeypatch)


def test_fetch_and_then_nothing(world):
    result = world.execute()
    assert (result["changed"], result["pending"], result["bytes"], result["unknown"]) == (True, False, 5, 0)
    assert result["files"] == [{"file": "wheels.file", "path": "wheels/cp311/wheels.file", "size": 5, "url": "u", "licence": "l"}]
    assert result["parts"] == [{"name": "wheels/cp311", "kind": "wheels", "changed": True, "files": 1, "bytes": 5, "unknown": 0}]
    assert result["diff"] == {"before": "", "after": "wheels/cp311: 1 files, 5 bytes\n"}
    again = world.execute()
    assert (again["changed"], again["bytes"], len(world.job.scripts)) == (False, 5, 1)
    assert again["diff"]["before"] == again["diff"]["after"] == "wheels/cp311: 1 files, 5 bytes\n"


def test_check_mode_only_finds_out(world):
    world.fetches = False
    result = world.execute(check_mode=True)
    assert (result["changed"], result["bytes"], result["files"][0]["size"]) == (True, 2 << 20, 2 << 20)
    assert not world.path.exists()
    assert "Fetch" not in world.job.scripts[0] and "Resolve wheels/cp311" in world.job.scripts[0]


def test_check_mode_asks_again_each_time(world):
    world.fetches = False
    world.execute(check_mode=True)
    world.execute(check_mode=True)
    assert len(world.job.scripts) == 2


def test_only_what_is_stale_is_fetched(world):
    world.execute()
    world.parts.append(DNF)
    result = world.execute()
    assert [part["changed"] for part in result["parts"]] == [False, True]
    assert "os/oe" in world.job.scripts[1] and "wheels/cp311" not in world.job.scripts[1]
    assert result["diff"]["before"] == "wheels/cp311: 1 files, 5 bytes\n"


def test_refresh_fetches_all_once(world):
    world.execute()
    result = world.execute(refresh=True)
    assert (result["changed"], result["pending"], len(world.job.scripts)) == (True, False, 2)
    assert world.execute()["changed"] is False


def test_a_long_job_is_pending_and_the_next_call_goes_on(world):
    world.job.needs = 25.0
    first = world.execute()
    assert (first["pending"], first["changed"], first["seconds"]) == (True, True, 10.0)
    assert first["progress"] == "3/4 Fetch wheels/cp311: 0 of about 2 MiB, get https://***@mirror/a"
    assert first["files"][0]["size"] == 2 << 20
    assert world.execute()["pending"] is True
    last = world.execute()
    assert (last["pending"], last["changed"], last["bytes"], len(world.job.scripts)) == (False, True, 5, 1)


def test_progress_outside_of_a_download_names_no_amount(world):
    world.job.needs, world.job.stage = 25.0, "1/4 Resolve wheels/cp311"
    assert world.execute()["progress"] == "1/4 Resolve wheels/cp311: get https://***@mirror/a"


def test_a_job_that_ended_well_unwatched_only_needs_its_records(world):
    world.job.needs = 15.0
    world.execute()
    world.clock.time += 100
    result = world.execute()
    assert (result["changed"], result["bytes"], len(world.job.scripts)) == (True, 5, 1)


def test_parts_of_an_interrupted_job_are_kept(world):
    world.parts.append(DNF)
    world.job.rc = 1
    with pytest.raises(NpufleetError):
        world.execute()
    # The first part was finished before the second failed.
    world.parts.remove(DNF)
    world.finish()
    world.parts.append(DNF)
    world.job.rc = 0
    result = world.execute()
    assert [part["changed"] for part in result["parts"]] == [False, True]


def test_another_plan_stops_the_job_that_runs(world):
    world.job.needs = 25.0
    world.execute()
    assert world.job.stops == 1
    world.parts.append(DNF)
    assert world.execute()["pending"] is True
    assert (len(world.job.scripts), world.job.stops) == (2, 2)


def test_check_mode_does_not_end_a_job_that_fetches(world):
    world.job.needs = 25.0
    world.execute()
    with pytest.raises(NpufleetError, match="is being filled, which check mode does not interrupt: 3/4 Fetch wheels/cp311"):
        world.execute(check_mode=True)
    assert world.job.stops == 1
    assert world.execute()["pending"] is True and len(world.job.scripts) == 1


def test_a_job_that_only_resolves_is_ended_by_any_other(world):
    world.job.needs, world.fetches = 25.0, False
    world.execute(check_mode=True)
    world.parts.append(DNF)
    assert world.execute(check_mode=True)["pending"] is True
    assert world.execute()["pending"] is True
    assert len(world.job.scripts) == 3


@pytest.mark.parametrize(
    "lines, said",
    [
        (["Collecting a", "ERROR: first", "ERROR: No matching distribution found for a"], "ERROR: No matching distribution found for a"),
        (["E: Unable to locate package a", "more"], "E: Unable to locate package a"),
        (["Error: nothing provides a"], "Error: nothing provides a"),
        (["connect to https://me:secret@mirror/ failed"], "connect to https://***@mirror/ failed"),
        ([], "no message"),
    ],
)
def test_a_failure_is_one_message_with_the_line_that_matters(world, lines, said):
    world.job.rc, world.job.lines = 4, lines
    with pytest.raises(NpufleetError) as caught:
        world.execute()
    assert caught.value.what == "filling the bundle failed with exit code 4, in stage 3/4 Fetch wheels/cp311: " + said
    assert caught.value.where == str(world.work / "job.log") and "secret" not in str(caught.value)
    # The next run starts anew.
    world.job.rc = 0
    assert world.execute()["changed"] is True and len(world.job.scripts) == 2


def test_a_job_that_was_killed_is_a_failure(world):
    world.job.needs = 100.0
    world.execute()
    world.job.killed = True
    with pytest.raises(NpufleetError, match="was killed"):
        world.task()._watch("", False)


def test_a_job_that_takes_too_long_is_stopped(world):
    world.job.needs = 10**6
    world.clock.time = 0
    with pytest.raises(NpufleetError, match="is not finished after 100 s"):
        for _turn in range(100):
            world.execute(wait_timeout=100)
    assert world.job.killed


def test_missing_tools_are_named_before_anything_starts(world):
    world.parts.append(DNF)
    world.missing = {"dnf", "createrepo_c"}
    with pytest.raises(NpufleetError) as caught:
        world.execute()
    assert caught.value.what == "this machine lacks dnf, createrepo_c"
    assert "Install createrepo-c dnf (Debian, Ubuntu) or createrepo_c dnf (openEuler" in caught.value.remedy
    assert world.job.scripts == []


@pytest.mark.parametrize("answer", [(0, "pip 21.3 from /x", ""), (1, "", "No module named pip"), (None, "", "")])
def test_pip_must_be_there_and_know_reports(world, answer):
    world.run.answers["__version"] = answer
    with pytest.raises(NpufleetError, match=r"/py has no pip 22\.2 or later"):
        world.execute()
    assert world.job.scripts == []


def test_without_wheels_nobody_asks_for_pip(world):
    world.parts[:] = [DNF]
    world.execute()
    assert world.run.calls == []


def test_the_signing_key_of_a_repository_must_be_here(world, tmp_path):
    apt = {"kind": "apt", "folder": "os/d", "arch": "arm64", "packages": ["a"]}
    key = tmp_path / "key.gpg"
    world.parts[:] = [dict(apt, repositories=[{"url": "http://d", "suites": ["s"], "key": str(key)}])]
    with pytest.raises(NpufleetError) as caught:
        world.execute()
    assert caught.value.where == str(key) and "copy the file from one of its hosts" in caught.value.remedy
    key.write_text("")
    world.fetches = False
    assert world.execute(check_mode=True)["changed"] is True


def test_a_collection_is_built_again_when_its_source_changed(world, tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    (source / "a").write_text("1")
    part = {"kind": "collection", "folder": "collections", "file": "collection.file", "name": "a.b", "version": "1", "source": str(source)}
    world.parts[:] = [part]
    first = world.task()._parts[0]["digest"]
    (source / "a").write_text("22")
    assert world.task()._parts[0]["digest"] != first


def test_a_relative_path_is_refused(world):
    with pytest.raises(NpufleetError, match="no absolute path"):
        world.task(path="bundle")


def test_the_folder_of_the_job_is_private(world):
    world.execute()
    assert os.stat(str(world.work)).st_mode & 0o077 == 0
