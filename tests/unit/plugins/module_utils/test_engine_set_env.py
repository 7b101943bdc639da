# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._command import CommandResult, run
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_set_env import (
    SetEnvError,
    arrange,
    cann_of,
    capture,
    check_found,
    check_prefix,
    find_set_env,
    parse_environment,
    source_script,
    with_environment,
)
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.engine_fakes import FakeRun

NEW, OLD, NNAL = "/usr/local/Ascend/cann/set_env.sh", "/usr/local/Ascend/ascend-toolkit/set_env.sh", "/usr/local/Ascend/nnal/atb/set_env.sh"
MARK = "npufleet-environment\0"


@pytest.mark.parametrize(
    ("there", "found", "missing"),
    [
        ({NEW, OLD, NNAL}, [NEW, NNAL], []),
        ({OLD, NNAL}, [OLD, NNAL], []),
        ({NEW}, [NEW], ["NNAL ({0})".format(NNAL)]),
        (set(), [], ["CANN ({0} or {1})".format(NEW, OLD), "NNAL ({0})".format(NNAL)]),
    ],
)
def test_the_scripts_of_this_host(there, found, missing):
    assert find_set_env(None, there.__contains__) == (found, missing)


def test_scripts_that_somebody_named():
    assert find_set_env(["/b", "/a"], {"/a", "/b"}.__contains__) == (["/b", "/a"], [])
    assert find_set_env(["/b", "/a"], {"/a"}.__contains__) == (["/a"], ["/b"])
    assert find_set_env([], {"/a"}.__contains__) == ([], [])


def test_all_that_is_missing_is_one_message():
    check_found([])
    with pytest.raises(SetEnvError, match="there is no CANN \\(a or b\\), no NNAL \\(c\\)"):
        check_found(["CANN (a or b)", "NNAL (c)"])


def test_what_changed_between_the_two_environments():
    before = "PATH=/bin\0HOME=/root\0SHLVL=0\0_=/usr/bin/env\0"
    after = "PATH=/opt/bin:/bin\0HOME=/root\0SHLVL=1\0PWD=/\0_=x\0A=1=2\0EMPTY=\0BASH_FUNC_f%%=() { :\n}\0"
    assert parse_environment(before + MARK + after) == {"PATH": "/opt/bin:/bin", "A": "1=2", "EMPTY": ""}
    assert parse_environment(before + MARK + before) == {}


@pytest.mark.parametrize("text", ["", "A=1\0", "A=1\0" + MARK])
def test_half_an_answer_is_none(text):
    with pytest.raises(SetEnvError, match="bash gave no environment"):
        parse_environment(text)


def test_a_value_that_no_service_file_can_hold():
    with pytest.raises(SetEnvError, match="the scripts set B to a text with line breaks"):
        parse_environment(MARK + "A=1\0B=1\n2\0")


DRIVER = ["/usr/local/Ascend/driver/lib64", "/usr/local/Ascend/driver/lib64/driver"]


@pytest.mark.parametrize(
    ("env", "there", "libraries", "path"),
    [
        ({"LD_LIBRARY_PATH": "/c/lib:/c/devlib"}, DRIVER, ":".join([*DRIVER, "/c/lib", "/c/devlib"]), None),
        ({"LD_LIBRARY_PATH": "/c/lib:" + DRIVER[0] + "::/c/lib"}, DRIVER[:1], DRIVER[0] + ":/c/lib", None),
        ({}, DRIVER[:1], DRIVER[0], None),
        ({}, [], None, None),
        ({"PATH": "/c/bin:/srv/venv/bin:/usr/bin"}, [], None, "/srv/venv/bin:/c/bin:/usr/bin"),
    ],
)
def test_driver_and_engine_come_first(env, there, libraries, path):
    arranged = arrange(env, "/srv/venv", there.__contains__)
    assert arranged.get("LD_LIBRARY_PATH") == libraries
    assert arranged["PATH"] == (path or "/srv/venv/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")


class Cann:
    """Scripts of CANN in a folder, sourced by a real bash."""

    def __init__(self, folder):
        self.folder = folder
        self.scripts = []
        self.venv = folder / "venv"
        (self.venv / "bin").mkdir(parents=True)

    def script(self, name, text):
        (self.folder / name).write_text(text)
        self.scripts.append(str(self.folder / name))

    def capture(self):
        return capture(self.scripts, str(self.venv), str(self.folder), run, lambda path: False)


@pytest.fixture()
def cann(tmp_path, monkeypatch):
    monkeypatch.setenv("LD_LIBRARY_PATH", "/of/the/session")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example")
    return Cann(tmp_path)


def test_scripts_are_sourced_in_a_clean_bash(cann):
    (cann.venv / "bin" / "python3").write_text("#!/bin/sh\necho True\n")
    (cann.venv / "bin" / "python3").chmod(0o755)
    cann.script(
        "cann it's set_env.sh",
        'export HOME_OF_CANN=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)\nexport LD_LIBRARY_PATH=/c/lib:$LD_LIBRARY_PATH\n',
    )
    cann.script("nnal.sh", 'export ABI=$(python3 -c "import torch") ARGUMENTS=$# PROXY=$HTTPS_PROXY PATH=/c/bin:$PATH\nlocal_one=1\n')
    captured = cann.capture()
    assert captured.pop("PATH").startswith("{0}/bin:/c/bin:/usr/local/sbin:".format(cann.venv))
    assert captured == {"HOME_OF_CANN": str(cann.folder), "LD_LIBRARY_PATH": "/c/lib", "ABI": "True", "ARGUMENTS": "0", "PROXY": ""}


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("echo hello", "printed something: hello"),
        ("echo 'no torch' >&2", "printed something: no torch"),
        ("false", "failed: {0} ended with 1"),
        ("exit 3", "failed: no message"),
        ("if", "failed: "),
    ],
)
def test_a_script_that_fails_or_prints(cann, text, what):
    cann.script("set_env.sh", text + "\n")
    with pytest.raises(SetEnvError) as caught:
        cann.capture()
    assert ("the environment scripts of CANN " + what.format(cann.scripts[0])) in str(caught.value)
    assert "Where: {0}.".format(cann.scripts[0]) in str(caught.value)


def test_a_script_that_does_not_end():
    def slow(argv, timeout):
        return CommandResult(list(argv), None, "", "", timed_out=True)

    with pytest.raises(SetEnvError, match="took more than 180 s: no message"):
        capture(["/a"], "/srv/venv", "/root", slow)


def test_a_host_without_bash(monkeypatch):
    monkeypatch.setattr("ansible_collections.npufleet.ascend.plugins.module_utils._engine_set_env.find_tool", lambda *_words: None)
    with pytest.raises(SetEnvError, match="the host has no bash"):
        capture(["/a"], "/srv/venv", "/root", FakeRun())


def test_the_script_is_plain():
    assert source_script(["/a b"]) == (
        "env -0\nprintf '%s\\0' npufleet-environment\n. '/a b' >&2 || { echo '/a b ended with' $? >&2; exit 1; }\nenv -0\n"
    )


def test_a_runner_with_an_environment():
    inner = FakeRun()
    runner = with_environment(inner, {"A": "1", "B": "1"})
    runner(["x"], timeout=5, env={"B": "2"}, stdin="y")
    runner(["x"], timeout=5)
    assert inner.options == [
        {"timeout": 5, "env": {"A": "1", "B": "2"}, "stdin": "y"},
        {"timeout": 5, "env": {"A": "1", "B": "1"}},
    ]


@pytest.mark.parametrize(
    "changes",
    [{"accelerator": "cpu"}, {"runtime": "docker"}, {"state": "absent"}, {"state": "ready"}, {"state": "fetched"}],
    ids=lambda changes: "-".join(changes.values()),
)
def test_engines_that_take_nothing_of_cann(changes):
    options = {"accelerator": "ascend", "runtime": "systemd", "state": "started", "set_env": ["/no/such"], "venv": "/srv/venv/"}
    runner = FakeRun()
    assert cann_of(dict(options, **changes), runner) == ({}, [])
    assert cann_of(options, runner) == ({}, ["/no/such"])
    assert runner.calls == []


def test_engines_that_take_what_cann_sets(cann):
    cann.script("set_env.sh", "export A=1\n")
    options = {"accelerator": "ascend", "runtime": "auto", "state": "started", "set_env": cann.scripts, "venv": "/srv/venv/"}
    captured, missing = cann_of(options, run)
    assert (captured["A"], captured["PATH"].partition(":")[0], missing) == ("1", "/srv/venv/bin", [])


@pytest.mark.parametrize("prefix", [[], ["numactl", "-x"], ["/bin/sh"]])
def test_a_tool_that_is_there(prefix):
    check_prefix(prefix, lambda name: "/usr/bin/" + name)


@pytest.mark.parametrize("prefix", [["numactl"], ["/no/such/numactl"]])
def test_a_tool_that_is_not(prefix):
    with pytest.raises(NpufleetError, match="started by {0}, which the host does not have".format(prefix[0])):
        check_prefix(prefix, lambda name: None)
