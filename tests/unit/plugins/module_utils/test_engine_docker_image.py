# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
import runpy
import sys
import types

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_docker_client import Docker
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_docker_image import FETCH_SOURCE, Fetching, ImageError, fetch_image
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_spec import build_spec
from ansible_collections.npufleet.ascend.plugins.module_utils._job import JobStatus
from ansible_collections.npufleet.ascend.plugins.module_utils._service import UnreachableError
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.docker_fakes import ID, FakeDocker
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.engine_fakes import FakeClock, params

IMAGE = "engine:1"
RUNS = ("running", None, "downloading, 1.00 of 5.40 GB in 9 layers")
DONE = ("finished", 0, "downloading, 5.40 of 5.40 GB in 9 layers")


class FakeJob:
    """A job whose states are told in advance, one for each look; the last one stays."""

    def __init__(self, clock):
        self.clock = clock
        self.states = []
        self.scripts = []
        self.stopped = 0
        self.began = clock.now()

    def start(self, script, _digest):
        self.scripts.append(script)

    def stop(self):
        self.stopped += 1

    def status(self):
        if not self.scripts and not self.states:
            return JobStatus("none", None, "", "", "", 0.0)
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        return JobStatus(state[0], state[1], "image", "", state[2], self.clock.now() - self.began)


class Site:
    """A host without the image, and the job that would bring it."""

    def __init__(self, folder):
        self.folder = folder
        self.clock = FakeClock()
        self.fake = FakeDocker("another")
        self.job = FakeJob(self.clock)
        self.connect = lambda _docker_host: self.fake

    def call(self, *states, check=False, archive=None, here=False, begun=False, **changes):
        options = params(runtime="docker", home=str(self.folder), container={"image": IMAGE, "archive": archive}, **changes)
        container = build_spec(options, lambda _path: False).container
        fetching = Fetching(container, str(self.folder), "/usr/bin/python3", Docker("unix:///x.sock", self.connect), self.job)
        if begun:
            self.job.states = list(states)
        else:
            start = self.job.start

            def begin(script, digest):
                start(script, digest)
                self.job.states = list(states)

            self.job.start = begin
        if here:
            self.fake.images[IMAGE] = ID
        elif states and states[-1] == DONE:
            real = self.job.status

            def status():
                found = real()
                if found.rc == 0:
                    self.fake.images[IMAGE] = ID
                return found

            self.job.status = status
        return fetch_image(fetching, self.clock.now, self.clock.sleep, options, check)


@pytest.fixture()
def site(tmp_path):
    return Site(tmp_path)


def test_an_image_that_is_here_is_kept(site):
    result = site.call(here=True)
    assert (result["changed"], result["pending"], result["engine"]["action"]) == (False, False, "keep")
    assert result["diff"]["before"] == result["diff"]["after"] == "image: engine:1\n"
    assert site.job.scripts == []


def test_check_mode_tells_and_begins_nothing(site):
    result = site.call(check=True)
    assert (result["changed"], result["pending"], result["engine"]["action"]) == (True, False, "fetch")
    assert result["diff"] == {"before": "image: absent\n", "after": "image: engine:1\n"}
    assert site.job.scripts == []
    assert os.listdir(str(site.folder)) == []


def test_an_image_is_fetched(site):
    result = site.call(RUNS, RUNS, DONE)
    assert (result["changed"], result["pending"], result["engine"]["action"]) == (True, False, "fetch")
    assert site.clock.naps == [0.5, 0.5]
    script = site.job.scripts[0]
    assert script.startswith("exec /usr/bin/python3 -c ")
    assert script.endswith(" unix:///var/run/docker.sock engine:1 ''\n")


def test_a_slice_ends_with_progress_and_the_next_call_goes_on(site):
    first = site.call(RUNS, wait_slice=3)
    assert (first["changed"], first["pending"], first["seconds"], first["progress"]) == (True, True, 3.0, RUNS[2])
    second = site.call(RUNS, DONE, begun=True, wait_slice=3)
    assert (second["changed"], second["pending"]) == (True, False)
    assert len(site.job.scripts) == 1


@pytest.mark.parametrize(
    ("states", "options", "words"),
    [
        ([("finished", 1, "docker.errors.NotFound: manifest unknown")], {}, "cannot be had: docker.errors.NotFound: manifest unknown"),
        ([("finished", None, "")], {}, "cannot be had: the job was killed"),
        ([("finished", 0, "")], {}, "cannot be had: the archive holds another image"),
        ([RUNS], {"wait_timeout": 5}, "is not here after 6 s: downloading"),
    ],
)
def test_a_failure_says_why_and_leaves_nothing_behind(site, states, options, words):
    (site.folder / "images").mkdir()
    with pytest.raises(ImageError) as caught:
        site.call(*states, **options)
    assert words in str(caught.value)
    assert os.listdir(str(site.folder / "images")) == []
    assert site.job.stopped == (1 if options else 0)


def test_what_an_earlier_call_began_and_nobody_saw_fail_is_told(site):
    with pytest.raises(ImageError, match="no space left on device"):
        site.call(("finished", 1, "no space left on device"), begun=True)
    assert site.job.scripts == []


@pytest.mark.parametrize("there", [True, False])
def test_an_archive_comes_before_the_registry(site, there):
    archive = site.folder / "engine.tar"
    if there:
        archive.write_text("")
    site.call(DONE, archive=str(archive))
    assert site.job.scripts[0].endswith(" engine:1 {0}\n".format(archive if there else "''"))


def test_a_host_without_a_container_engine(site):
    def nobody(_docker_host):
        raise UnreachableError("no container engine answers")

    site.connect = nobody
    result = site.call(check=True)
    assert (result["changed"], result["warn"]) == (True, ["no container engine answers."])
    with pytest.raises(UnreachableError):
        site.call()


def test_a_job_of_its_own_for_each_image(tmp_path):
    def folder(image):
        container = build_spec(params(runtime="docker", container={"image": image})).container
        return Fetching(container, str(tmp_path) + "/", "python3", Docker("unix:///x.sock"))._folder

    assert os.path.dirname(folder("a")) == str(tmp_path) + "/images"
    assert folder("a") == folder("a") != folder("b")


def rows(*layers):
    return [{"status": "Downloading", "id": name, "progressDetail": {"current": now, "total": total}} for name, now, total in layers]


class Client:
    """What the job's own script sees of the SDK."""

    def __init__(self, answers):
        self.answers = answers
        self.asked = []

    def pull(self, image, **_options):
        self.asked.append(("pull", image))
        return iter(self.answers)

    def load_image(self, archive):
        self.asked.append(("load", archive.read()))
        return None if self.answers is None else iter(self.answers)


@pytest.fixture()
def script(tmp_path, monkeypatch, capsys):
    """Run FETCH_SOURCE in this process, with a clock of its own and a fake SDK."""
    path = tmp_path / "fetch.py"
    path.write_text(FETCH_SOURCE)

    def run(answers, archive=""):
        client = Client(answers)
        monkeypatch.setitem(sys.modules, "docker", types.SimpleNamespace(APIClient=lambda **_options: client))
        monkeypatch.setattr(sys, "argv", ["fetch", "unix:///x.sock", IMAGE, archive])
        clock = FakeClock()

        def tick():
            clock.sleep(0.6)
            return clock.now()

        monkeypatch.setattr("time.time", tick)
        runpy.run_path(str(path), run_name="__main__")
        return client.asked, capsys.readouterr().out.splitlines()

    return run


def test_the_script_pulls_and_says_how_far_it_is(script):
    asked, lines = script([{"status": "Pulling from engine"}, *rows(("a", 1e9, 4e9), ("a", 2e9, 4e9), ("b", 1e9, 1e9)), {"status": "Done"}])
    assert asked == [("pull", IMAGE)]
    assert lines[0] == "downloading, 1.00 of 4.00 GB in 1 layers"
    assert lines[-1] == "downloading, 3.00 of 5.00 GB in 2 layers"


@pytest.mark.parametrize("answers", [None, [{"stream": "Loaded image"}]])
def test_the_script_loads_an_archive(script, tmp_path, answers):
    (tmp_path / "a.tar").write_bytes(b"tar")
    assert script(answers, str(tmp_path / "a.tar")) == ([("load", b"tar")], [])


def test_the_script_ends_with_the_words_of_the_engine(script):
    with pytest.raises(SystemExit) as caught:
        script([*rows(("a", 1, 2)), {"error": "no space left on device"}])
    assert caught.value.code == "no space left on device"
