# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Stand-ins for what the engine's code is given: a clock, a command runner, a service manager, an HTTP client."""

from __future__ import annotations

import json
import os
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._command import CommandResult
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_spec import EngineSpec, build_spec
from ansible_collections.npufleet.ascend.plugins.module_utils._http import HttpAnswer
from ansible_collections.npufleet.ascend.plugins.module_utils._service import Runtime, ServiceFile, ServiceState, delete_files, write_files

KEY = "sk-unit-test-key-0123456789"


def params(**changes: t.Any) -> t.Dict[str, t.Any]:
    """The options of vllm_engine, as AnsibleModule hands them over."""
    options: t.Dict[str, t.Any] = {
        "name": "demo",
        "state": "started",
        "accelerator": "cpu",
        "runtime": "supervisor",
        "venv": "/srv/venv",
        "home": "/srv/home",
        "model": "/srv/models/tiny",
        "served_model_name": None,
        "host": "127.0.0.1",
        "port": 8000,
        "api_key": None,
        "args": {},
        "ray": None,
        "env": {},
        "set_env": None,
        "command_prefix": [],
        "user": None,
        "container": None,
        "plan": None,
        "replace": None,
        "ready_url": None,
        "wait": True,
        "wait_timeout": 100,
        "wait_slice": 10,
        "stop_timeout": 60,
    }
    unknown = set(changes) - set(options)
    assert not unknown, unknown
    return dict(options, **changes)


def spec(**changes: t.Any) -> EngineSpec:
    return build_spec(params(**changes))


class FakeClock:
    """Time that passes only by sleeping."""

    def __init__(self, start: float = 1000.0) -> None:
        self.time = start
        self.naps: t.List[float] = []

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.naps.append(seconds)
        self.time += seconds


class FakeRun:
    """Answers commands by the first word of theirs that is known; records every call."""

    def __init__(self, **answers: t.Any) -> None:
        self.answers = answers
        self.calls: t.List[t.List[str]] = []
        self.options: t.List[t.Dict[str, t.Any]] = []

    def __call__(self, argv: t.Sequence[str], timeout: float, **options: t.Any) -> CommandResult:
        self.calls.append(list(argv))
        self.options.append(dict(options, timeout=timeout))
        for word in argv:
            answer = self.answers.get(word.replace("-", "_"))
            if answer is not None:
                rc, stdout, stderr = answer
                return CommandResult(list(argv), rc, stdout, stderr, timed_out=rc is None)
        return CommandResult(list(argv), 0, "", "")


class FakeRuntime(Runtime):
    """A service manager in memory; its definition is one file, so that "what the disk holds" is real."""

    kind = "fake"

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.calls: t.List[str] = []
        self.pid = 0
        self.enabled = False
        self.next_pid = 41
        self.lines: t.List[str] = []
        self.starts = True

    def files(self, spec: EngineSpec) -> t.List[ServiceFile]:
        return [ServiceFile(self.folder + "/" + spec.name, json.dumps(spec.public(), sort_keys=True), 0o644)]

    def inspect(self, spec: EngineSpec) -> ServiceState:
        return ServiceState(os.path.exists(self.files(spec)[0].path), self.pid > 0, self.enabled, self.pid, "as the fake says")

    def define(self, spec: EngineSpec) -> None:
        self.calls.append("define")
        write_files(self.files(spec))
        self.enabled = True

    def enable(self, spec: EngineSpec) -> None:
        self.calls.append("enable")
        self.enabled = True

    def start(self, spec: EngineSpec) -> None:
        self.calls.append("start")
        self.next_pid += 1
        self.pid = self.next_pid if self.starts else 0

    def stop(self, spec: EngineSpec) -> None:
        self.calls.append("stop")
        self.pid = 0

    def remove(self, spec: EngineSpec) -> None:
        self.calls.append("remove")
        delete_files(self.files(spec))

    def log_mark(self, spec: EngineSpec) -> str:
        return str(len(self.lines))

    def logs(self, spec: EngineSpec, mark: str, limit: int) -> t.List[str]:
        return self.lines[int(mark or 0) :][-limit:]


COMPLETION = {"choices": [{"message": {"content": "An NPU."}}], "usage": {"completion_tokens": 3}}


class FakeFetch:
    """The HTTP side of an engine. ``answers`` maps a path to (status, body) or to an error text; what is not there answers well."""

    def __init__(self, model: str = "tiny", **answers: t.Any) -> None:
        self.answers: t.Dict[str, t.Any] = {
            "/health": (200, ""),
            "/v1/models": (200, {"data": [{"id": model}]}),
            "/v1/chat/completions": (200, COMPLETION),
            "/version": (200, {"version": "0.32.0"}),
        }
        self.calls: t.List[t.Tuple[str, t.Any, t.Any]] = []

    def set(self, path: str, *answer: t.Any) -> "FakeFetch":
        self.answers[path] = answer if len(answer) > 1 else answer[0]
        return self

    def paths(self) -> t.List[str]:
        return [path for path, _payload, _key in self.calls]

    def __call__(self, url: str, payload: t.Any = None, api_key: t.Optional[str] = None, timeout: float = 10.0) -> HttpAnswer:
        path = "/" + url.split("/", 3)[3]
        self.calls.append((path, payload, api_key))
        answer = self.answers.get(path, "connection refused")
        if isinstance(answer, str):
            return HttpAnswer(None, "", answer)
        status, body = answer
        return HttpAnswer(status, body if isinstance(body, str) else json.dumps(body))
