# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""vllm_engine under supervisord: states, consent, check mode, secrets, crashes, failures."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import stat
import subprocess
import time

import pytest
from functional_host import KEY, Bench


def alive(pid: int) -> bool:
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_for(condition, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.1)
    return False


def test_check_mode_on_a_bare_host_tells_and_touches_nothing(bench: Bench) -> None:
    result = bench.engine(check=True)
    assert result["changed"] is True
    assert result["engine"]["action"] == "create"
    assert '"state": "absent"' in result["diff"]["before"]
    assert "--max-num-seqs" in result["diff"]["after"]
    assert not bench.home.exists()


def test_check_mode_tolerates_a_model_and_an_environment_that_do_not_exist_yet(bench: Bench) -> None:
    result = bench.engine(check=True, model=str(bench.folder / "later"), venv=str(bench.folder / "later-venv"))
    assert result["changed"] is True
    assert "does not exist yet" in bench.output


def test_second_run_changes_nothing_and_leaves_the_process_alone(bench: Bench) -> None:
    first = bench.engine()
    assert first["changed"] is True
    assert first["engine"]["completion"]["text"] == "stand-in"
    second = bench.engine()
    assert second["changed"] is False
    assert second["engine"]["action"] == "keep"
    assert second["engine"]["pid"] == first["engine"]["pid"]
    assert second["engine"]["ready_seconds"] == first["engine"]["ready_seconds"]
    assert bench.engine(check=True)["changed"] is False


def test_only_a_changed_spec_replaces_and_only_with_consent(bench: Bench) -> None:
    pid = bench.engine()["engine"]["pid"]
    changed = {"max_model_len": 256, "max_num_seqs": 8, "enforce_eager": True}

    refused = bench.engine(args=changed)
    assert refused["failed"] is True
    assert "vllm_engine_replace" in refused["msg"]
    assert "--max-model-len" in refused["msg"]
    assert alive(pid)

    kept = bench.engine(args=changed, replace=False)
    assert kept["changed"] is False
    assert kept["engine"]["pending_changes"]
    assert alive(pid)

    told = bench.engine(check=True, args=changed)
    assert told["changed"] is True
    assert told["engine"]["action"] == "replace"
    assert alive(pid)

    replaced = bench.engine(args=changed, replace=True)
    assert replaced["changed"] is True
    assert replaced["engine"]["pid"] != pid
    assert not alive(pid)
    assert bench.engine(args=changed)["changed"] is False


def test_states(bench: Bench) -> None:
    defined = bench.engine(state="present")
    assert (defined["changed"], defined["engine"]["running"]) == (True, False)
    assert bench.engine(state="present")["changed"] is False

    started = bench.engine(state="started")
    assert (started["engine"]["action"], started["engine"]["running"]) == ("start", True)
    assert bench.engine(state="present")["changed"] is False

    restarted = bench.engine(state="restarted")
    assert restarted["changed"] is True
    assert restarted["engine"]["pid"] != started["engine"]["pid"]

    stopped = bench.engine(state="stopped")
    assert (stopped["changed"], stopped["engine"]["running"]) == (True, False)
    assert bench.engine(state="stopped")["changed"] is False

    assert bench.engine(state="absent")["changed"] is True
    assert bench.engine(state="absent")["changed"] is False
    assert not (bench.home / "engines" / "demo").exists()
    assert not (bench.home / "supervisor").exists()


def test_the_key_is_needed_and_shows_nowhere(bench: Bench) -> None:
    result = bench.engine(api_key=KEY)
    assert result["engine"]["completion"]["text"] == "stand-in", bench.output
    assert KEY not in bench.output
    pid = result["engine"]["pid"]
    command_lines = subprocess.run(["ps", "axww", "-o", "args"], capture_output=True, text=True, check=True).stdout
    assert str(bench.venv) in command_lines or str(pid) in command_lines or bench.home.name in command_lines
    assert KEY not in command_lines
    holders = [path for path in bench.home.rglob("*") if path.is_file() and KEY in path.read_text(errors="replace")]
    assert holders, "the key must be stored somewhere"
    assert [oct(stat.S_IMODE(path.stat().st_mode)) for path in holders] == ["0o600"] * len(holders)

    rotated = bench.engine(api_key=KEY + "-2", replace=True)
    assert rotated["changed"] is True
    assert "secret changed" in json.dumps(rotated["diff"]) or rotated["engine"]["pid"] != pid
    assert KEY not in bench.output


def test_a_killed_engine_comes_back(bench: Bench) -> None:
    pid = bench.engine()["engine"]["pid"]
    os.kill(pid, signal.SIGKILL)
    assert wait_for(lambda: bench.log().count("Application startup complete") == 2, 20)
    result = bench.engine()
    assert result["changed"] is False
    assert result["engine"]["pid"] != pid


def test_an_engine_that_dies_fails_at_once_with_its_first_error_and_the_signature(bench: Bench) -> None:
    bench.fault(
        mode="die",
        after=0.2,
        log=[
            "(EngineCore_DP0 pid=7) ERROR 11-30 12:00:01 [core.py:9] EngineCore failed to start.",
            "(EngineCore_DP0 pid=7) Traceback (most recent call last):",
            '(EngineCore_DP0 pid=7)   File "/venv/vllm/v1/engine/core.py", line 1, in run',
            "(EngineCore_DP0 pid=7) OSError: libnuma.so.1: cannot open shared object file: No such file or directory",
            "(APIServer pid=5) Traceback (most recent call last):",
            '(APIServer pid=5)   File "/venv/vllm/entrypoints/cli.py", line 1, in run',
            "(APIServer pid=5) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}",
        ],
    )
    began = time.monotonic()
    result = bench.engine(wait_timeout=120)
    assert result["failed"] is True
    assert time.monotonic() - began < 60
    assert "libnuma.so.1" in result["first_error"]
    assert "libnuma.so.1" in result["msg"]
    assert "died while starting" in result["msg"]
    assert result["tail"]
    first = bench.log().count("vLLM API server version")
    assert not wait_for(lambda: bench.log().count("vLLM API server version") > first, 3), (
        "a broken engine must not be started again and again"
    )


def test_an_engine_that_never_gets_ready_fails_at_its_time_limit(bench: Bench) -> None:
    bench.fault(mode="hang")
    result = bench.engine(wait_timeout=3)
    assert result["failed"] is True
    assert "not ready after" in result["msg"]


@pytest.mark.parametrize(("mode", "words"), [("broken_completion", "/v1/chat/completions"), ("wrong_model", "another-model")])
def test_health_alone_is_not_enough(bench: Bench, mode: str, words: str) -> None:
    bench.fault(mode=mode)
    result = bench.engine(wait_timeout=4)
    assert result["failed"] is True
    assert words in result["msg"]


def test_an_interrupted_launch_is_finished_by_the_next_run_without_asking(bench: Bench) -> None:
    pid = bench.engine()["engine"]["pid"]
    record_path = bench.home / "engines" / "demo" / "launch.json"
    record = json.loads(record_path.read_text())
    record_path.write_text(json.dumps(dict(record, digest=None)))
    result = bench.engine()
    assert result["changed"] is True
    assert result["engine"]["pid"] != pid
    assert bench.engine()["changed"] is False


def test_progress_is_shown_while_waiting(bench: Bench) -> None:
    result = bench.engine(env={"STANDIN_START_SECONDS": "4"}, wait_slice=1)
    assert result["changed"] is True
    assert result["engine"]["action"] == "create"
    lines = [line for line in bench.output.splitlines() if line.strip().startswith("[localhost] ") and " s, " in line]
    assert len(lines) >= 2
    assert "starting" in lines[0]
