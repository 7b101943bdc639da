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
from ansible_collections.npufleet.ascend.plugins.module_utils import _command
from ansible_collections.npufleet.ascend.plugins.module_utils._command import CommandError, CommandResult, find_tool, run


def shell(script, timeout=30.0, **options):
    return run(["/bin/sh", "-c", script], timeout, **options)


def gone(pid, seconds=5.0):
    """True as soon as no process of that number runs: a killed one closes its files before it is gone. A zombie is gone."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            with open("/proc/{0}/stat".format(pid)) as stream:
                if stream.read().rpartition(")")[2].split()[0] == "Z":
                    return True
        except OSError:
            return True
        time.sleep(0.01)
    return False


@pytest.mark.parametrize(
    ("script", "rc", "stdout", "stderr"),
    [
        ("echo out; echo err >&2; exit 3", 3, "out\n", "err\n"),
        ("printf '\\377'", 0, "\ufffd", ""),
        ("echo $LC_ALL $LANGUAGE", 0, "C C\n", ""),
        ("cat", 0, "", ""),
        ("kill -9 $$", -9, "", ""),
    ],
)
def test_the_result_tells_what_the_command_did(script, rc, stdout, stderr):
    result = shell(script)
    assert result == CommandResult(["/bin/sh", "-c", script], rc, stdout, stderr)
    assert result.text == stdout + stderr
    assert not result.timed_out


@pytest.mark.parametrize(
    ("script", "options", "stdout"),
    [
        ("echo $COLOUR $HOME", {"env": {"COLOUR": "red", "HOME": "/h"}}, "red /h\n"),
        ("echo $LC_ALL", {"env": {"LC_ALL": "C.UTF-8"}}, "C.UTF-8\n"),
        ("cat", {"stdin": "fed \u00e9"}, "fed \u00e9"),
        ("pwd -P", {"cwd": "/"}, "/\n"),
    ],
)
def test_environment_input_and_folder(script, options, stdout):
    assert shell(script, **options).stdout == stdout


def test_the_command_has_a_session_of_its_own():
    assert run([sys.executable, "-c", "import os; print(os.getsid(0) == os.getpid())"], 30.0).stdout == "True\n"


def test_the_time_limit_ends_the_whole_group_and_keeps_what_was_printed():
    result = shell("sleep 60 & echo $! $$; wait", timeout=0.3)
    assert (result.rc, result.timed_out) == (None, True)
    child, shell_pid = result.stdout.split()
    assert gone(child)
    assert gone(shell_pid)


def test_a_command_that_ignores_the_polite_signal_is_killed(monkeypatch):
    monkeypatch.setattr(_command, "GRACE_SECONDS", 0.2)
    result = shell("trap '' TERM; echo $$; while :; do sleep 0.05; done", timeout=0.3)
    assert result.timed_out
    assert gone(result.stdout.strip())


def test_a_command_that_nothing_can_end_does_not_hold_the_task(monkeypatch):
    signals = []

    class Stuck:
        pid = 4711

        def communicate(self, data=None, timeout=None):
            raise subprocess.TimeoutExpired("npu-smi", timeout)

    monkeypatch.setattr(_command.subprocess, "Popen", lambda *_args, **_options: Stuck())
    monkeypatch.setattr(os, "killpg", lambda group, signum: signals.append((group, signum)))
    assert run(["npu-smi"], 1.0) == CommandResult(["npu-smi"], None, "", "", timed_out=True)
    assert signals == [(4711, signal.SIGTERM), (4711, signal.SIGKILL)]


def test_a_command_that_ends_while_it_is_stopped_is_no_error(monkeypatch):
    answers = [None, (b"late", b"")]

    class Late:
        pid = 4711

        def communicate(self, data=None, timeout=None):
            answer = answers.pop(0)
            if answer is None:
                raise subprocess.TimeoutExpired("tool", timeout)
            return answer

    def nobody(_group, _signum):
        raise ProcessLookupError

    monkeypatch.setattr(_command.subprocess, "Popen", lambda *_args, **_options: Late())
    monkeypatch.setattr(os, "killpg", nobody)
    assert run(["tool"], 1.0) == CommandResult(["tool"], None, "late", "", timed_out=True)


def test_a_file_that_cannot_be_executed_is_one_clear_error(tmp_path):
    with pytest.raises(CommandError) as caught:
        run([str(tmp_path / "none"), "-v"], 1.0)
    assert str(caught.value) == (
        "cannot execute {0}/none: No such file or directory. Where: {0}/none -v. "
        "What to do: Check that the file is there, executable, and made for this machine.".format(tmp_path)
    )


def test_find_tool_takes_the_first_executable_file(tmp_path, monkeypatch):
    for name in ("folder", "plain", "first", "second", "extra"):
        (tmp_path / name).mkdir()
    (tmp_path / "folder" / "tool").mkdir()
    (tmp_path / "plain" / "tool").write_text("")
    for name in ("first", "second", "extra"):
        (tmp_path / name / "tool").write_text("")
        (tmp_path / name / "tool").chmod(0o755)
    path = {name: str(tmp_path / name) for name in ("folder", "plain", "first", "second", "extra")}
    monkeypatch.setenv("PATH", os.pathsep.join(["", path["folder"], path["plain"], path["first"], path["second"]]))
    assert find_tool("tool", [path["extra"]]) == path["first"] + "/tool"
    monkeypatch.setenv("PATH", path["folder"])
    assert find_tool("tool", [path["extra"]]) == path["extra"] + "/tool"
    assert find_tool("tool") is None
    monkeypatch.delenv("PATH")
    assert find_tool("tool", [path["extra"]]) == path["extra"] + "/tool"


def test_find_tool_leaves_relative_parts_of_the_path_out(tmp_path, monkeypatch):
    (tmp_path / "tool").write_text("")
    (tmp_path / "tool").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", ".")
    assert find_tool("tool") is None
