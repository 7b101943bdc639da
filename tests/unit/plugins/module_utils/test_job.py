# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils import _job
from ansible_collections.npufleet.ascend.plugins.module_utils._files import file_mode
from ansible_collections.npufleet.ascend.plugins.module_utils._job import Job, JobStatus, group_alive, start_ticks

NONE = JobStatus("none", None, "", "", "", 0.0)


@pytest.fixture()
def folder(tmp_path):
    return tmp_path / "job"


@pytest.fixture()
def job(folder):
    """A real job; what is left of it is ended."""
    job = Job(str(folder))
    yield job
    job.stop()


def until(condition, seconds=10.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.01)


def finished(job):
    until(lambda: job.status().state == "finished")
    return job.status()


def test_no_job(job):
    assert job.status() == NONE
    assert job.log(10) == []
    job.stop()


@pytest.mark.parametrize(
    ("script", "rc", "stage", "last"),
    [
        ("echo one; echo two >&2", 0, "", "two"),
        ("echo 'npufleet: stage 1/2 First'; echo busy; echo 'npufleet: stage 2/2 Second one'; exit 3", 3, "2/2 Second one", "busy"),
        ("echo real; echo 'WARNING: Running pip as root'; echo; echo '  '", 0, "", "real"),
        ("kill -9 $$", 137, "", ""),
        ("cat; echo done", 0, "", "done"),
        ("", 0, "", ""),
    ],
)
def test_what_a_finished_job_tells(job, script, rc, stage, last):
    job.start(script, "digest-1")
    status = finished(job)
    assert status[:5] == ("finished", rc, "digest-1", stage, last if rc != 137 else status.last_line)
    assert status.seconds >= 0


def test_a_running_job_is_found_by_another_call(folder, job):
    job.start("echo started; echo 'npufleet: stage 1/1 Wait'; sleep 60", "digest-1")
    other = Job(str(folder), lambda: time.time() + 100)
    until(lambda: other.status().stage)
    status = other.status()
    assert status[:5] == ("running", None, "digest-1", "1/1 Wait", "started")
    assert 100 <= status.seconds < 200


def test_the_script_is_private_and_stays_for_an_operator_to_read(folder, job):
    job.start("echo https://user:secret@mirror.example/", "d")
    finished(job)
    assert (folder / "job.sh").read_text() == "echo https://user:secret@mirror.example/"
    assert file_mode(str(folder / "job.sh")) == 0o600
    assert file_mode(str(folder)) == 0o700


def test_a_new_job_forgets_the_old_one(job):
    job.start("echo old; exit 1", "old")
    finished(job)
    job.start("echo new", "new")
    status = finished(job)
    assert (status.rc, status.digest, job.log(10)) == (0, "new", ["new"])


def test_the_job_runs_in_a_session_and_folder_of_its_own(folder, job):
    job.start("exec {0} -c 'import os; print(os.getsid(0) != {1}, os.getcwd())'".format(sys.executable, os.getsid(0)), "d")
    finished(job)
    assert job.log(1) == ["True {0}".format(os.path.realpath(str(folder)))]


def test_stopping_ends_the_children_too(folder, job):
    job.start("sleep 60 & echo $! > child; wait", "d")
    until(lambda: (folder / "child").exists() and (folder / "child").read_text().strip())
    child = int((folder / "child").read_text())
    job.stop()
    assert start_ticks(child) == ""
    status = job.status()
    assert (status.state, status.rc) == ("finished", None)
    job.stop()


def test_stopping_ends_what_ignores_the_polite_signal_too(folder, job, monkeypatch):
    monkeypatch.setattr(_job, "STOP_SECONDS", 0.2)
    job.start("trap '' TERM; echo $$ > child; while :; do sleep 0.05; done", "d")
    until(lambda: (folder / "child").exists() and (folder / "child").read_text().strip())
    child = int((folder / "child").read_text())
    job.stop()
    until(lambda: start_ticks(child) == "")


def test_a_group_that_is_gone_before_the_signal_is_no_error(folder, job, monkeypatch):
    job.start("sleep 60", "d")
    real = os.killpg

    def late(group, signum):
        real(group, signal.SIGKILL)
        raise ProcessLookupError

    monkeypatch.setattr(os, "killpg", late)
    job.stop()
    assert job.status().rc is None


def test_a_process_that_nothing_can_end_does_not_hold_the_task(job, monkeypatch):
    job.start("sleep 60", "d")
    naps = []
    with monkeypatch.context() as patch:
        patch.setattr(_job, "group_alive", lambda _group: True)
        patch.setattr(os, "killpg", lambda _group, _signum: None)
        Job(job._folder, sleep=naps.append).stop()
    assert sum(naps) == pytest.approx(2 * _job.STOP_SECONDS)


def test_a_job_that_was_killed_from_outside_has_no_code(job):
    job.start("sleep 60", "d")
    with open(job._path("job.pid"), encoding="utf-8") as stream:
        os.killpg(int(stream.read().split()[0]), signal.SIGKILL)
    status = finished(job)
    assert (status.rc, status.digest) == (None, "d")


def test_a_job_that_ends_between_two_looks_at_it_is_not_taken_for_killed(job, folder, monkeypatch):
    job.start("sleep 60", "d")

    def just_ended(_pid):
        (folder / "job.rc").write_text("0\n")
        return ""

    with monkeypatch.context() as patch:
        patch.setattr(_job, "start_ticks", just_ended)
        status = job.status()
    assert (status.state, status.rc) == ("finished", 0)


def test_a_later_process_of_the_same_number_is_another_one(folder, job):
    folder.mkdir()
    (folder / "job.pid").write_text("{0} {1} digest 1.0\n".format(os.getpid(), "1"))
    assert job.status().state == "finished"
    job.stop()
    (folder / "job.pid").write_text("{0} {1} digest 1.0\n".format(os.getpid(), start_ticks(os.getpid())))
    assert job.status().state == "running"
    (folder / "job.pid").unlink()


@pytest.mark.parametrize("text", ["", "garbage", "1 2 3"])
def test_a_damaged_record_is_no_job(folder, job, text):
    folder.mkdir()
    (folder / "job.pid").write_text(text)
    assert job.status() == NONE
    job.stop()


def test_an_empty_code_is_a_failure(folder, job):
    folder.mkdir()
    (folder / "job.pid").write_text("1 1 digest 1.0\n")
    (folder / "job.rc").write_text("")
    assert job.status().rc == 1


def test_a_job_that_could_not_be_recorded_does_not_run(folder, job, monkeypatch):
    processes = []
    popen = subprocess.Popen
    write = _job.write_text

    def remembered(*args, **options):
        processes.append(popen(*args, **options))
        return processes[0]

    def no_space(path, *args):
        if path.endswith("job.pid"):
            raise OSError(28, "No space left on device")
        write(path, *args)

    monkeypatch.setattr(_job.subprocess, "Popen", remembered)
    monkeypatch.setattr(_job, "write_text", no_space)
    with pytest.raises(OSError, match="No space left"):
        job.start("touch ran", "d")
    processes[0].stdin.close()
    assert processes[0].wait(10) == 1
    assert not (folder / "ran").exists()
    assert not (folder / "job.rc").exists()


def test_start_times_tell_processes_apart():
    assert start_ticks(os.getpid()).isdigit()
    assert start_ticks(os.getpid()) == start_ticks(os.getpid())
    assert start_ticks(2**22 + 1) == ""


def test_a_zombie_is_gone():
    process = subprocess.Popen(["/bin/sh", "-c", "exit 0"], preexec_fn=os.setsid)
    until(lambda: start_ticks(process.pid) == "")
    assert not group_alive(process.pid)
    process.wait()


def test_groups():
    assert group_alive(os.getpgrp())
    assert not group_alive(2**22 + 1)
