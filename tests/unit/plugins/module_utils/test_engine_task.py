# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import os
import struct

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils import _engine_task
from ansible_collections.npufleet.ascend.plugins.module_utils._clock import Clock
from ansible_collections.npufleet.ascend.plugins.module_utils._command import run
from ansible_collections.npufleet.ascend.plugins.module_utils._engine import EngineFailedError
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_args import ArgumentError
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_checks import GIB, CheckError
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_docker_client import Docker
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_plan import ConsentError
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_probe import MARK
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_task import EngineTask
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._host import HostError
from ansible_collections.npufleet.ascend.plugins.module_utils._model_folder import ModelFolderError
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_info import recorded_plans
from ansible_collections.npufleet.ascend.plugins.module_utils._runtime_docker import DockerRuntime
from ansible_collections.npufleet.ascend.plugins.module_utils._service import RuntimeAdapterError, UnreachableError
from ansible_collections.npufleet.ascend.plugins.module_utils._user_access import AccessError
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.docker_fakes import OTHER_ID, ApiError, FakeDocker
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.engine_fakes import (
    KEY,
    FakeClock,
    FakeFetch,
    FakeRun,
    FakeRuntime,
    params,
)

OPTIONS = [
    {"flags": ["--max-model-len"], "nargs": None, "choices": None, "kind": "int"},
    {"flags": ["--max-num-seqs"], "nargs": None, "choices": None, "kind": "int"},
    {"flags": ["--tensor-parallel-size"], "nargs": None, "choices": None, "kind": "int"},
]
CONFIG = {"architectures": ["TinyForCausalLM"], "num_attention_heads": 4, "max_position_embeddings": 1024}


class Host:
    """A host with a model of one byte, an environment, a fake service manager and a fake engine."""

    def __init__(self, folder):
        self.folder = folder
        self.model = folder / "models" / "tiny"
        self.model.mkdir(parents=True)
        (self.model / "config.json").write_text(json.dumps(CONFIG))
        (self.model / "tokenizer.json").write_text("{}")
        header = json.dumps({"a": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}}).encode()
        (self.model / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + b"\0")
        self.venv = folder / "venv"
        (self.venv / "bin").mkdir(parents=True)
        (self.venv / "bin" / "vllm").write_text("#!/bin/sh\n")
        (self.venv / "bin" / "vllm").chmod(0o755)
        (self.venv / "npufleet-arguments.json").write_text(json.dumps({"version": "0.32.0", "options": OPTIONS}))
        self.home = folder / "home"
        self.clock = FakeClock()
        self.run = FakeRun(parse=(0, MARK + '{"accepted": true}\n', ""))
        self.fetch = FakeFetch()
        self.runtime = FakeRuntime(str(folder / "services"))
        self.port_checks = []

    def params(self, **changes):
        options = {"venv": str(self.venv), "home": str(self.home), "model": str(self.model), "api_key": KEY}
        return params(**dict(options, **changes))

    def call(self, check=False, **changes):
        task = EngineTask(self.params(**changes), self.run, self.fetch, Clock(self.clock.now, self.clock.sleep), self.runtime)
        return task.execute(check)


@pytest.fixture()
def host(tmp_path, monkeypatch):
    """Memory and ports of the real host play no part."""
    host = Host(tmp_path)
    monkeypatch.setattr(_engine_task, "SHARED_MEMORY", str(tmp_path))
    monkeypatch.setattr(_engine_task, "disk_free", lambda _path: GIB)
    monkeypatch.setattr(_engine_task, "memory_available", lambda: 8 * GIB)
    monkeypatch.setattr(_engine_task, "resident_bytes", lambda pid: GIB)
    monkeypatch.setattr(_engine_task, "check_port", lambda port, pid: host.port_checks.append((port, pid)))
    return host


def told(result):
    return (result["changed"], result["engine"]["action"], result["diff"])


def test_a_first_run_and_a_second(host):
    first = host.call()
    assert first["engine"] == {
        "name": "demo",
        "action": "create",
        "runtime": "fake",
        "url": "http://127.0.0.1:8000/v1",
        "model": "tiny",
        "running": True,
        "pid": 42,
        "restarted": False,
        "ready": True,
        "ready_seconds": 0.0,
        "completion": {"path": "/v1/chat/completions", "prompt": "What is an NPU?", "text": "An NPU.", "completion_tokens": 3},
        "differences": [],
        "needs_consent": False,
        "pending_changes": [],
    }
    assert (first["changed"], first["pending"], first["progress"], first["warn"]) == (True, False, "ready", [])
    assert json.loads(first["diff"]["before"]) == {"state": "absent"}
    assert json.loads(first["diff"]["after"])["state"] == "started"
    second = host.call()
    assert (second["changed"], second["engine"]["action"], second["engine"]["pid"]) == (False, "keep", 42)
    assert second["diff"]["before"] == second["diff"]["after"]
    assert host.runtime.calls == ["define", "start"]


CHANGED = {"args": {"max_model_len": 512}, "replace": True}
BARE = []
RUNNING = [{}]
STOPPED = [{}, {"state": "stopped"}]


@pytest.mark.parametrize(
    ("before", "wanted", "changed", "action", "running"),
    [
        (BARE, {}, True, "create", True),
        (BARE, {"state": "present"}, True, "create", False),
        (BARE, {"state": "stopped"}, True, "create", False),
        (BARE, {"state": "absent"}, False, "keep", False),
        (RUNNING, {}, False, "keep", True),
        (RUNNING, {"state": "present"}, False, "keep", True),
        (RUNNING, {"state": "restarted"}, True, "restart", True),
        (RUNNING, {"state": "stopped"}, True, "stop", False),
        (RUNNING, {"state": "absent"}, True, "remove", False),
        (RUNNING, CHANGED, True, "replace", True),
        (RUNNING, dict(CHANGED, state="present"), True, "replace", True),
        (RUNNING, dict(CHANGED, state="stopped", replace=None), True, "stop", False),
        (RUNNING, dict(CHANGED, replace=False), False, "keep", True),
        (RUNNING, {"api_key": KEY + "-2", "replace": True}, True, "replace", True),
        (STOPPED, {}, True, "start", True),
        (STOPPED, {"state": "stopped"}, False, "keep", False),
        (STOPPED, dict(CHANGED, replace=None), True, "replace", True),
        (STOPPED, {"state": "absent"}, True, "remove", False),
    ],
)
def test_check_mode_tells_exactly_what_a_run_then_does(host, before, wanted, changed, action, running):
    for call in before:
        host.call(**call)
    acts = len(host.runtime.calls)
    predicted = host.call(check=True, **wanted)
    assert len(host.runtime.calls) == acts
    real = host.call(**wanted)
    done = list(host.runtime.calls)
    assert told(predicted) == told(real)
    assert (real["changed"], real["engine"]["action"], real["engine"]["running"]) == (changed, action, running)
    assert predicted["engine"]["running"] is running
    if wanted.get("state") != "restarted":
        again = host.call(**wanted)
        assert (again["changed"], again["engine"]["action"]) == (False, "keep")
        assert host.runtime.calls == done


def test_check_mode_on_a_bare_host_touches_nothing(host):
    before = sorted(os.listdir(str(host.folder)))
    (host.venv / "npufleet-arguments.json").unlink()
    host.run.answers["dump"] = (0, MARK + json.dumps({"version": "0.32.0", "options": OPTIONS}) + "\n", "")
    host.call(check=True)
    assert sorted(os.listdir(str(host.folder))) == before
    assert not (host.venv / "npufleet-arguments.json").exists()
    host.call()
    assert (host.venv / "npufleet-arguments.json").exists()


def test_check_mode_tolerates_what_earlier_tasks_would_have_made(host, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)

    def no_manager(_spec):
        raise RuntimeAdapterError("there is no supervisord in the virtual environment", where=manager)

    manager = str(host.folder)
    host.runtime.check = no_manager
    result = host.call(check=True, model="/no/such/model", venv="/no/such/venv", user="no-such-user-here")
    assert result["changed"]
    assert result["warn"] == [
        "the model folder /no/such/model does not exist yet, so it was not checked",
        "/no/such/venv/bin/vllm does not exist yet, so the options were not checked",
        "there is no supervisord in the virtual environment. Where: {0}.".format(host.folder),
        "the host has no user no-such-user-here. Where: user. What to do: Make it first, or leave vllm_engine_user out.",
    ]
    # One warning is enough for an environment that is not there at all.
    manager = "/no/such/venv/bin/supervisord"
    again = host.call(check=True, model="/no/such/model", venv="/no/such/venv", user="no-such-user-here")
    assert again["warn"] == [result["warn"][0], result["warn"][1], result["warn"][3]]


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"model": "/no/such/model"}, ModelFolderError, "/no/such/model"),
        ({"venv": "/no/such/venv"}, NpufleetError, "there is no vLLM in the virtual environment. Where: /no/such/venv/bin/vllm."),
        ({"args": {"max_num_seqs": 20}}, CheckError, "off the grid"),
        ({"args": {"tensor_parallel_size": 3}}, CheckError, "4 attention heads"),
        ({"args": {"max_model_len": 2048}}, CheckError, "1024 positions"),
        ({"args": {"max_model_le": 1}}, ArgumentError, "Did you mean --max-model-len?"),
        ({"env": {"VLLM_CPU_KVCACHE_SPACE": "6"}}, CheckError, "needs about 9.0 GiB of memory and 8.0 GiB are available"),
    ],
)
def test_nothing_is_touched_before_every_check_passed(host, changes, error, message):
    with pytest.raises(error) as caught:
        host.call(**changes)
    assert message in str(caught.value)
    assert host.runtime.calls == []
    assert not host.home.exists()


def test_a_damaged_list_of_options_is_named(host):
    (host.venv / "npufleet-arguments.json").write_text("[]")
    with pytest.raises(ArgumentError, match="Where: {0}/npufleet-arguments.json".format(host.venv)):
        host.call()


def test_a_port_in_use_a_missing_user_and_a_missing_manager_stop_it(host, monkeypatch):
    def taken(port, pid):
        raise HostError("the port {0} is in use".format(port))

    def missing(_spec):
        raise RuntimeAdapterError("there is no supervisord")

    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(HostError, match="no user no-such-user-here"):
        host.call(user="no-such-user-here")
    host.runtime.check = missing
    with pytest.raises(RuntimeAdapterError, match="no supervisord"):
        host.call()
    monkeypatch.setattr(_engine_task, "check_port", taken)
    with pytest.raises(HostError, match="the port 8000 is in use"):
        host.call()
    assert host.runtime.calls == []
    assert not host.home.exists()


def test_somebody_else_than_root_runs_it_as_himself(host, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert json.loads(host.call(user="no-such-user-here")["diff"]["after"])["spec"]["user"] is None


def test_an_engine_that_is_only_defined_needs_no_port(host):
    host.call(state="present")
    assert host.port_checks == []
    host.call()
    host.call(**CHANGED)
    assert host.port_checks == [(8000, 0), (8000, 42)]


def test_warnings_about_the_model_are_passed_on(host):
    (host.model / "tokenizer.json").unlink()
    assert "tokenizer" in host.call()["warn"][0]


def test_the_memory_of_the_engine_that_goes_counts(host, monkeypatch):
    host.call()
    monkeypatch.setattr(_engine_task, "memory_available", lambda: 7 * GIB // 2)
    host.call(**CHANGED)
    host.call(state="stopped")
    with pytest.raises(CheckError, match="of memory"):
        host.call()


def test_shared_memory_counts_for_an_engine_that_does_not_run(host, monkeypatch):
    host.call()
    monkeypatch.setattr(_engine_task, "disk_free", lambda _path: 64 << 20)
    host.call(**CHANGED)
    host.call(state="stopped")
    with pytest.raises(CheckError, match="64 MiB are free"):
        host.call()
    monkeypatch.setattr(_engine_task, "SHARED_MEMORY", "/no/such/folder")
    assert host.call()["changed"]


def test_the_parser_itself_is_asked_before_a_running_engine_is_stopped(host):
    host.call()
    assert host.run.calls == []
    host.run.answers["parse"] = (2, "", "vllm serve: error: no")
    with pytest.raises(ArgumentError, match="vllm serve: error: no"):
        host.call(**CHANGED)
    assert host.run.calls[0][3:] == [
        "parse",
        str(host.model),
        "--host",
        "127.0.0.1",
        "--port",
        "8000",
        "--served-model-name",
        "tiny",
        "--max-model-len",
        "512",
    ]
    assert host.runtime.calls == ["define", "start"]
    assert not [word for word in host.run.calls[0] if KEY in word]


REASON = "argv: (none) -> --max-model-len 512"


def test_a_running_engine_is_replaced_only_with_consent(host):
    host.call()
    with pytest.raises(ConsentError, match=r"Changed: argv: \(none\) -> --max-model-len 512\. Where: replace\."):
        host.call(args=CHANGED["args"])
    kept = host.call(**dict(CHANGED, replace=False))
    assert (kept["engine"]["pending_changes"], kept["engine"]["needs_consent"]) == ([REASON], False)
    assert kept["warn"] == ["the engine demo runs with another spec: " + REASON]
    assert kept["engine"]["completion"] is None
    assert host.runtime.calls == ["define", "start"]
    asked = host.call(check=True, args=CHANGED["args"])
    assert (asked["changed"], asked["engine"]["needs_consent"], asked["engine"]["differences"]) == (True, True, [REASON])
    assert asked["warn"] == ["vllm_engine_replace is not set: without check mode this stops and asks, as demo is running"]


@pytest.mark.parametrize("wanted", [CHANGED, {"state": "restarted"}, {"state": "stopped"}, dict(CHANGED, state="stopped", replace=None)])
def test_no_word_about_consent_where_none_is_needed(host, wanted):
    host.call()
    predicted = host.call(check=True, **wanted)
    assert (predicted["warn"], predicted["engine"]["needs_consent"]) == ([], False)


def test_an_engine_that_does_not_run_may_be_changed(host):
    host.call()
    host.call(state="stopped")
    predicted = host.call(check=True, args=CHANGED["args"])
    assert (predicted["engine"]["action"], predicted["warn"], predicted["engine"]["needs_consent"]) == ("replace", [], False)


@pytest.mark.parametrize("kind", ["folder", "text"])
def test_what_cannot_be_executed_is_no_vllm(host, kind):
    vllm = host.venv / "bin" / "vllm"
    if kind == "text":
        vllm.chmod(0o644)
    else:
        vllm.unlink()
        vllm.mkdir()
    with pytest.raises(NpufleetError, match="there is no vLLM in the virtual environment"):
        host.call()


def test_a_changed_key_is_reported_and_never_shown(host):
    host.call()
    told_result = host.call(check=True, api_key=KEY + "-2")
    assert json.loads(told_result["diff"]["after"])["rewritten"] == ["a secret changed"]
    assert KEY not in json.dumps(told_result)
    assert KEY not in json.dumps(host.call(api_key=KEY + "-2", replace=True))


def test_slices_until_ready(host):
    host.fetch.set("/health", "connection refused")
    first = host.call(wait_slice=3)
    assert (first["changed"], first["pending"], first["seconds"], first["progress"]) == (True, True, 3.0, "starting: connection refused")
    assert (first["engine"]["completion"], first["engine"]["ready_seconds"]) == (None, None)
    second = host.call(wait_slice=3)
    assert (second["changed"], second["pending"], second["seconds"]) == (False, True, 6.0)
    host.fetch.set("/health", 200, "")
    third = host.call(wait_slice=3)
    assert (third["pending"], third["engine"]["ready_seconds"]) == (False, 6.0)


def test_one_slice_and_no_more(host):
    host.fetch.set("/health", "connection refused")
    first = host.call(wait=False, wait_slice=0)
    assert (first["changed"], first["pending"], first["engine"]["ready"], first["seconds"]) == (True, False, False, 0.0)
    assert first["progress"] == "starting: connection refused"
    pid = host.runtime.pid
    # Each of these waits on and touches nothing.
    second = host.call(wait=False, wait_slice=3)
    third = host.call(wait=False, wait_slice=3, state="ready")
    fourth = host.call(wait_slice=3)
    assert [(call["changed"], call["pending"], call["seconds"]) for call in (second, third, fourth)] == [
        (False, False, 3.0),
        (False, False, 6.0),
        (False, True, 9.0),
    ]
    host.fetch.set("/health", 200, "")
    last = host.call(wait=False, state="ready")
    assert (last["engine"]["ready"], last["engine"]["ready_seconds"], last["engine"]["action"]) == (True, 9.0, "keep")
    assert (host.runtime.pid, host.runtime.calls) == (pid, ["define", "start"])


def test_waiting_alone_never_starts_or_replaces(host):
    with pytest.raises(NpufleetError, match="the engine demo was not launched, or was stopped again"):
        host.call(state="ready")
    assert host.runtime.calls == []
    host.call()
    told_result = host.call(state="ready", args={"max_model_len": 512})
    assert (told_result["changed"], told_result["engine"]["differences"]) == (False, [REASON])
    host.runtime.pid = 0
    with pytest.raises(EngineFailedError, match="the engine demo was ready and has died") as caught:
        host.call(state="ready")
    assert caught.value.changed is False
    assert host.runtime.calls == ["define", "start"]
    host.call()
    host.call(state="stopped")
    with pytest.raises(NpufleetError, match="not launched, or was stopped again"):
        host.call(state="ready")
    assert host.call(check=True, state="ready")["engine"]["ready"] is None


MEMBER = {"args": {"headless": True}, "ready_url": "http://192.0.2.1:8000/"}


@pytest.fixture()
def member(host):
    options = [*OPTIONS, {"flags": ["--headless"], "nargs": 0, "choices": None, "kind": None}]
    (host.venv / "npufleet-arguments.json").write_text(json.dumps({"version": "0.32.0", "options": options}))
    return host


def test_a_member_has_no_api_and_opens_no_port(member):
    result = member.call(**MEMBER)
    assert (result["engine"]["url"], result["engine"]["ready"], result["engine"]["completion"]) == (None, True, None)
    assert member.port_checks == []
    # Where it asks is no part of what runs.
    assert member.call(**dict(MEMBER, ready_url="http://192.0.2.2:8000"))["changed"] is False


def test_only_a_member_has_a_head(host):
    with pytest.raises(NpufleetError, match=r"this engine is asked itself\. Where: ready_url\."):
        host.call(ready_url="http://192.0.2.1:8000")


def test_the_process_that_came_back_by_itself_is_told_until_somebody_waited_for_it(host):
    host.call()
    host.runtime.pid += 1
    assert host.call(check=True)["engine"]["restarted"] is True
    with pytest.raises(EngineFailedError, match="was ready and has died"):
        host.call(state="ready")
    assert host.call()["engine"]["restarted"] is True
    assert host.call(check=True)["engine"]["restarted"] is False


@pytest.mark.parametrize(("before", "changed"), [(BARE, True), (RUNNING, False)])
def test_a_failure_tells_whether_anything_was_touched(host, before, changed):
    for call in before:
        host.call(**call)
    host.fetch.set("/v1/models", 200, {"data": []})
    with pytest.raises(EngineFailedError) as caught:
        host.call()
    assert caught.value.changed is changed


def test_a_failure_after_enabling_has_changed_something(host):
    host.call()
    host.runtime.enabled = False
    host.fetch.set("/v1/models", 200, {"data": []})
    with pytest.raises(EngineFailedError) as caught:
        host.call()
    assert caught.value.changed is True


def test_present_waits_only_for_what_it_started(host):
    host.call(state="present")
    assert host.fetch.calls == []
    host.call()
    del host.fetch.calls[:]
    host.call(state="present")
    assert host.fetch.calls == []
    assert host.call(**dict(CHANGED, state="present"))["engine"]["completion"]


def test_without_a_given_manager_the_task_chooses_one(host, monkeypatch):
    chosen = []
    monkeypatch.setattr(_engine_task, "choose_runtime", lambda options, run: chosen.append(options["runtime"]) or host.runtime)
    task = EngineTask(host.params(), host.run, host.fetch, Clock(host.clock.now, host.clock.sleep))
    assert task.execute(True)["engine"]["runtime"] == "fake"
    assert chosen == ["supervisor"]


def test_a_launch_that_died_between_two_calls_is_explained_and_not_repeated(host):
    host.fetch.set("/health", "connection refused")
    assert host.call()["pending"]
    host.runtime.pid = 0
    host.runtime.calls = []
    with pytest.raises(EngineFailedError, match="died while starting"):
        host.call()
    assert host.runtime.calls == ["stop"]


@pytest.mark.parametrize("wanted", [{"state": "restarted"}, {"args": {"max_model_len": 512}}])
def test_another_attempt_that_was_asked_for_is_made(host, wanted):
    host.fetch.set("/health", "connection refused")
    assert host.call()["pending"]
    host.runtime.pid = 0
    assert host.call(check=True)["engine"]["action"] == "start"
    host.fetch.set("/health", 200, "")
    assert host.call(**wanted)["engine"]["completion"]
    assert "stop" not in host.runtime.calls


def test_what_the_service_manager_doubts_is_a_warning(host, monkeypatch):
    monkeypatch.setattr(host.runtime, "doubts", lambda _spec: ["it ends with the session"])
    assert "it ends with the session" in host.call()["warn"]
    assert "it ends with the session" not in host.call()["warn"]


def test_the_user_of_the_engine_must_reach_what_it_needs(host, monkeypatch):
    asked = []

    def refuse(user, needs):
        asked.append((user, {need.path for need in needs}))
        raise AccessError("the user {0} may not read".format(user))

    monkeypatch.setattr(_engine_task, "check_user", lambda user: None)
    monkeypatch.setattr(_engine_task, "check_access", refuse)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    options = host.params()
    for check in (True, False):
        with pytest.raises(AccessError):
            host.call(check=check, user="vllm")
    assert [user for user, _paths in asked] == ["vllm", "vllm"]
    weights = {os.path.join(options["model"], name) for name in os.listdir(options["model"])}
    assert asked[0][1] == weights | {options["home"], options["model"], options["venv"] + "/bin/vllm"}
    assert host.runtime.calls == []


IMAGE = {"image": "engine:1"}


def contained(host, fake, **changes):
    """Options of an engine in a container, and the task with that container engine, whose image answers as the environment does."""
    if isinstance(fake, FakeDocker) and not fake.answers:
        fake.answers["dump"] = (0, (MARK + json.dumps({"version": "0.32.0", "options": OPTIONS}) + "\n").encode(), b"")
        fake.answers["parse"] = (0, (MARK + '{"accepted": true}\n').encode(), b"")
    runtime = DockerRuntime(
        Docker("unix:///x.sock", fake if callable(fake) else lambda _docker_host: fake), Clock(host.clock.now, host.clock.sleep)
    )
    options = host.params(**dict({"runtime": "docker", "venv": None, "container": IMAGE}, **changes))
    return EngineTask(options, host.run, host.fetch, Clock(host.clock.now, host.clock.sleep), runtime)


def test_an_engine_in_a_container_needs_no_environment(host):
    fake = FakeDocker("engine:1")
    told_result = contained(host, fake).execute(True)
    assert fake.containers == {}
    first = contained(host, fake).execute(False)
    assert told(first) == told(told_result)
    assert (first["engine"]["action"], first["engine"]["runtime"], first["engine"]["pid"]) == ("create", "docker", 42)
    assert (first["warn"], told_result["warn"]) == ([], [])
    assert first["engine"]["command"][:6] == ["docker", "run", "--detach", "--name", "npufleet-engine-demo", "--network"]
    assert KEY not in json.dumps(first)
    second = contained(host, fake).execute(False)
    assert (second["changed"], second["engine"]["pid"]) == (False, 42)
    third = contained(host, fake, args={"max_model_len": 512}, replace=True).execute(False)
    assert (third["engine"]["action"], third["engine"]["differences"]) == ("replace", [REASON])
    fake.images["engine:1"] = OTHER_ID
    with pytest.raises(ConsentError, match=r"container\.image: engine:1 is sha256:b"):
        contained(host, fake, args={"max_model_len": 512}).execute(False)
    assert host.run.calls == []


def test_the_image_is_loaded_while_the_old_engine_still_runs(host):
    fake = FakeDocker("engine:1")
    contained(host, fake).execute(False)
    archive = host.folder / "engine.tar"
    archive.write_bytes(b"tar")
    fake.archives[b"tar"] = ("engine:2", "")
    del fake.calls[:]
    contained(host, fake, container={"image": "engine:2", "archive": str(archive)}, replace=True).execute(False)
    assert [call[0] for call in fake.did("load_image", "stop", "create", "start")] == ["load_image", "stop", "create", "start"]


def test_memory_of_the_host_says_nothing_of_npus(host, monkeypatch):
    monkeypatch.setattr(_engine_task, "memory_available", lambda: 0)
    fake = FakeDocker("engine:1")
    with pytest.raises(CheckError, match="of memory"):
        contained(host, fake).execute(False)
    with pytest.raises(CheckError, match="64 MiB are free"):
        contained(host, fake, container=dict(IMAGE, shm_bytes=64 << 20)).execute(False)
    nodes = [str(host.folder) + ":/dev/davinci0", str(host.folder) + ":/dev/davinci_manager"]
    (host.folder / "usr/local/Ascend/driver").mkdir(parents=True)
    (host.folder / "etc").mkdir()
    (host.folder / "etc/ascend_install.info").write_text("")
    npu = dict(IMAGE, devices=nodes[:1], control_devices=nodes[1:], driver_root=str(host.folder))
    assert contained(host, fake, accelerator="ascend", container=npu).execute(False)["changed"]


@pytest.mark.parametrize(("network", "checked"), [("host", [(8000, 0), (8000, 42)]), ("bridge", [(8000, 0)])])
def test_a_port_that_the_container_engine_holds_is_free_for_the_next_container(host, network, checked):
    fake = FakeDocker("engine:1")
    container = dict(IMAGE, network=network)
    contained(host, fake, container=container).execute(False)
    contained(host, fake, container=container, **CHANGED).execute(False)
    assert host.port_checks == checked


def test_check_mode_tolerates_a_container_engine_that_does_not_exist_yet(host):
    def nobody(_docker_host):
        raise UnreachableError("no container engine answers")

    predicted = contained(host, nobody).execute(True)
    assert (predicted["changed"], predicted["engine"]["action"], predicted["engine"]["running"]) == (True, "create", True)
    assert predicted["warn"] == ["no container engine answers."]
    with pytest.raises(UnreachableError):
        contained(host, nobody).execute(False)
    assert not host.home.exists()


def test_an_image_is_asked_for_its_options_once(host):
    fake = FakeDocker("engine:1")
    with pytest.raises(ArgumentError, match=r"vLLM 0\.32\.0 knows no option --max-model-le"):
        contained(host, fake, args={"max_model_le": 1}).execute(False)
    assert not host.home.exists()
    contained(host, fake).execute(True)
    assert not host.home.exists()
    contained(host, fake).execute(False)
    assert len(fake.did("probe")) == 3
    fake.answers["parse"] = (2, b"", b"vllm serve: error: no")
    with pytest.raises(ArgumentError, match="vllm serve: error: no"):
        contained(host, fake, **CHANGED).execute(False)
    assert [call[1]["Cmd"][3] for call in fake.did("probe")] == ["dump", "dump", "dump", "parse"]
    assert fake.did("stop") == []
    assert list(fake.containers) == ["npufleet-engine-demo"]


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (
            lambda fake: fake.answers.update(dump=(1, b"", b"ImportError: libascend_hal.so")),
            "does not start: ImportError: libascend_hal.so",
        ),
        (lambda fake: fake.refuse.update(probe=ApiError(500, "no space left")), "no space left"),
    ],
)
def test_an_image_that_does_not_tell_its_options_is_launched_all_the_same(host, event, words):
    fake = FakeDocker("engine:1")
    fake.answers["dump"] = (0, b"", b"")
    event(fake)
    result = contained(host, fake).execute(False)
    assert result["changed"]
    assert result["warn"][0].startswith("the options were not checked: ")
    assert words in result["warn"][0]
    assert not (host.home / "images").exists()


def test_an_image_that_an_archive_will_bring_is_not_asked(host):
    fake = FakeDocker("another")
    archive = host.folder / "engine.tar"
    archive.write_bytes(b"tar")
    fake.archives[b"tar"] = ("engine:1", "")
    result = contained(host, fake, container=dict(IMAGE, archive=str(archive))).execute(False)
    assert result["warn"] == ["the image is not on this host yet, so the options were not checked"]


def test_an_image_alone(host):
    fake = FakeDocker("engine:1")
    assert contained(host, fake, state="fetched").execute(False)["engine"] == {"name": "demo", "action": "keep", "runtime": "docker"}
    assert fake.did("create", "inspect_container") == []
    with pytest.raises(NpufleetError, match="only a container has an image"):
        host.call(state="fetched")


def test_the_plan_that_an_engine_runs_by_is_kept_and_goes_with_it(host):
    row = {"name": "demo", "host": "npu-01", "chips": [{"phy_id": 3}], "reasons": ["it fits"]}
    host.call(check=True, plan=row)
    assert recorded_plans(str(host.home)) == []
    host.call(plan=row)
    assert recorded_plans(str(host.home)) == [{"name": "demo", "host": "npu-01", "chips": [{"phy_id": 3}]}]
    refused = dict(row, chips=[{"phy_id": 4}])
    host.call(plan=refused, args={"max_model_len": 512}, replace=False)
    assert recorded_plans(str(host.home))[0]["chips"] == [{"phy_id": 3}]
    host.call(plan=row, state="absent")
    assert recorded_plans(str(host.home)) == []


def test_an_upgrade_that_fails_goes_back_to_what_answered(host):
    host.call()
    upgrade = {"args": {"max_model_len": 256}, "replace": True}
    host.fetch.set("/health", "connection refused")
    with pytest.raises(EngineFailedError):
        host.call(**dict(upgrade, wait_timeout=20, wait_slice=30))
    host.fetch.set("/health", 200, "")
    back = host.call(**dict(upgrade, state="restored"))
    assert (back["changed"], back["engine"]["running"], back["engine"]["differences"]) == (
        True,
        True,
        ["argv: --max-model-len 256 -> (none)"],
    )
    assert host.call()["changed"] is False


def test_an_upgrade_that_is_regretted_goes_back_once(host):
    host.call()
    host.call(args={"max_model_len": 256}, replace=True)
    assert host.call(check=True, state="restored", args={"max_model_len": 256}, replace=True)["engine"]["action"] == "replace"
    assert host.call(state="restored", args={"max_model_len": 256}, replace=True)["changed"] is True
    assert host.call(state="restored", args={"max_model_len": 256}, replace=True)["engine"]["action"] == "keep"
    assert host.call()["changed"] is False


def test_what_comes_back_is_not_checked_against_the_options_of_the_call(host):
    """rollback.yml plans nothing, so a container on NPUs has no devices in this call."""
    host.call()
    host.call(args={"max_model_len": 256}, replace=True)
    unplanned = {"accelerator": "ascend", "runtime": "docker", "container": {"image": "none"}}
    assert host.call(state="restored", replace=True, **unplanned)["changed"] is True
    assert host.call()["changed"] is False


class BareHost:
    """CANN on the host, read by a real bash where the task asks for it; everything else is that of host."""

    def __init__(self, host, monkeypatch):
        self.host = host
        self.script = host.folder / "set_env.sh"
        self.script.write_text("export ASCEND_HOME_PATH=/opt/cann-9.1.0 LD_LIBRARY_PATH=/opt/cann/lib\n")
        monkeypatch.setattr(_engine_task, "NPU_MANAGER", str(host.folder / "davinci_manager"))

    def run(self, argv, timeout, **options):
        return run(argv, timeout, **options) if "--norc" in argv else self.host.run(argv, timeout, **options)

    def call(self, check=False, **changes):
        wanted = dict({"accelerator": "ascend", "runtime": "systemd", "set_env": [str(self.script)]}, **changes)
        clock = Clock(self.host.clock.now, self.host.clock.sleep)
        return EngineTask(self.host.params(**wanted), self.run, self.host.fetch, clock, self.host.runtime).execute(check)


@pytest.fixture()
def bare(host, monkeypatch):
    return BareHost(host, monkeypatch)


def test_an_engine_on_npus_outside_a_container(bare):
    predicted = bare.call(check=True)
    first = bare.call(env={})
    assert told(first) == told(predicted)
    env = json.loads(first["diff"]["after"])["spec"]["env"]
    assert (env["ASCEND_HOME_PATH"], env["LD_LIBRARY_PATH"].split(":")[-1]) == ("/opt/cann-9.1.0", "/opt/cann/lib")
    assert env["PATH"].startswith(str(bare.host.venv) + "/bin:")
    assert bare.call()["changed"] is False


def test_an_upgrade_of_cann_shows_as_what_it_changes_and_asks(bare):
    bare.call()
    bare.script.write_text("export ASCEND_HOME_PATH=/opt/cann-9.2.0 LD_LIBRARY_PATH=/opt/cann/lib\n")
    reason = "env: ASCEND_HOME_PATH=/opt/cann-9.1.0 -> ASCEND_HOME_PATH=/opt/cann-9.2.0"
    with pytest.raises(ConsentError, match=reason):
        bare.call()
    replaced = bare.call(replace=True)
    assert (replaced["engine"]["action"], replaced["engine"]["differences"]) == ("replace", [reason])
    parsed = [options for argv, options in zip(bare.host.run.calls, bare.host.run.options) if "parse" in argv]
    assert parsed[-1]["env"]["ASCEND_HOME_PATH"] == "/opt/cann-9.2.0"


def test_without_cann_nothing_is_touched(bare):
    missing = str(bare.host.folder / "none.sh")
    predicted = bare.call(check=True, set_env=[missing])
    assert [text.partition(",")[0] for text in predicted["warn"]] == [
        "an engine on NPUs outside a container needs CANN and NNAL on the host"
    ]
    with pytest.raises(NpufleetError, match="there is no " + missing):
        bare.call(set_env=[missing])
    assert bare.host.runtime.calls == []


def test_what_goes_away_needs_no_cann(bare):
    bare.call()
    assert bare.call(state="absent", set_env=["/no/such/set_env.sh"])["engine"]["action"] == "remove"


def test_a_tool_before_the_engine_must_be_there(bare):
    with pytest.raises(NpufleetError, match="the engine is to be started by npufleet-no-such-tool, which the host does not have"):
        bare.call(command_prefix=["npufleet-no-such-tool"])
    assert bare.host.runtime.calls == []
    started = bare.call(command_prefix=["/bin/sh"])
    assert json.loads(started["diff"]["after"])["spec"]["argv"][:2] == ["/bin/sh", str(bare.host.venv) + "/bin/vllm"]


def test_the_user_of_an_engine_on_npus_must_reach_them(bare, monkeypatch):
    asked = []
    monkeypatch.setattr(_engine_task, "check_user", lambda name: None)
    monkeypatch.setattr(_engine_task, "check_access", lambda user, needs: asked.extend(need.path for need in needs))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    bare.call(check=True, user="somebody")
    assert asked[-1] == str(bare.host.folder / "davinci_manager")
