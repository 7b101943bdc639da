# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Answers, crashes, consent, bad input, broken and interrupted launches, removal: system units and user units at the same time."""

from __future__ import annotations

import json
import time

testinfra_hosts = ["local://"]

LIBNUMA = [
    "(EngineCore_DP0 pid=7) ERROR 11-30 12:00:01 [core.py:9] EngineCore failed to start.",
    "(EngineCore_DP0 pid=7) Traceback (most recent call last):",
    '(EngineCore_DP0 pid=7)   File "/venv/vllm/v1/engine/core.py", line 1, in run',
    "(EngineCore_DP0 pid=7) OSError: libnuma.so.1: cannot open shared object file: No such file or directory",
    "(APIServer pid=5) Traceback (most recent call last):",
    '(APIServer pid=5)   File "/venv/vllm/entrypoints/cli.py", line 1, in run',
    "(APIServer pid=5) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}",
]


def test_it_answers_who_has_the_key(run_tasks, places, key):
    ask = {"npufleet.ascend.vllm_info": {"url": "http://127.0.0.1:8000", "api_key": key}}
    other = {"npufleet.ascend.vllm_info": {"url": "http://127.0.0.1:8000", "api_key": "sk-another"}}
    for answered, refused in run_tasks(list(places), [ask, other]).values():
        assert (answered["changed"], answered["engine"]["ready"]) == (False, True)
        assert answered["engine"]["models"] == ["tiny-qwen2"]
        assert answered["engine"]["completion"]["text"] == "stand-in"
        assert (refused["engine"]["ready"], refused["engine"]["phase"]) == (False, "models")
        assert "401" in refused["engine"]["detail"]


def test_kill_takes_the_workers_along_and_the_engine_comes_back(places, wait_for):
    before = {}
    for place in places.values():
        before[place.name] = place.processes("tiny")
        assert len(before[place.name]) == 3
        place.host.check_output("kill -KILL {0}".format(place.pid("tiny")))
    for place in places.values():
        wait_for(lambda place=place: place.unit("tiny", "NRestarts") == "1" and len(place.processes("tiny")) == 3, 30)
        assert place.alive(before[place.name]) == []
        assert not before[place.name] & place.processes("tiny")


def test_consent_bad_input_and_removal(places, engines):
    """One story, because each step needs the engine of the step before."""
    other = {"max_model_len": 256, "max_num_seqs": 8}
    steps = {
        "made": {},
        "asked": {"args": other},
        "kept": {"args": other, "replace": False},
        "unknown": {"args": {"max_model_len": 512, "max_num_seq": 8}, "replace": True},
        "taken": {"port": 8000, "replace": True},
        "told": {"args": other, "check": True},
        "replaced": {"args": other, "replace": True},
        "again": {"args": other},
        "removed": {"state": "absent"},
        "gone": {"state": "absent"},
    }
    owners = {place.name: place.pid("tiny") for place in places.values()}
    for name, results in engines(places, *steps.values()).items():
        place, result = places[name], dict(zip(steps, results))
        actions = {step: result[step]["engine"]["action"] for step in steps if not result[step]["failed"]}
        assert actions == {
            "made": "create",
            "kept": "keep",
            "told": "replace",
            "replaced": "replace",
            "again": "keep",
            "removed": "remove",
            "gone": "keep",
        }
        changed = [step for step in steps if result[step]["changed"]]
        assert changed == ["made", "told", "replaced", "removed"]
        pids = {step: result[step]["engine"]["pid"] for step in actions}
        assert pids["made"] == pids["kept"] == pids["told"] != 0
        assert pids["replaced"] == pids["again"]
        assert pids["replaced"] not in (0, pids["made"])
        assert place.alive([pids["made"], pids["replaced"]]) == []

        assert result["made"]["engine"]["runtime"] == "systemd"
        assert result["made"]["engine"]["completion"]["text"] == "stand-in"
        assert "vllm_engine_replace" in result["asked"]["msg"]
        assert "--max-model-len" in result["asked"]["msg"]
        assert result["kept"]["engine"]["pending_changes"]
        assert "knows no option --max-num-seq" in result["unknown"]["msg"]
        assert "Did you mean --max-num-seqs?" in result["unknown"]["msg"]
        assert "the port 8000 is in use by process {0} (python3)".format(owners[name]) in result["taken"]["msg"]

        assert place.processes("probe") == set()
        assert place.unit("probe", "LoadState") == "not-found"
        assert not place.root.file(place.folder("probe")).exists
        assert place.root.check_output("find /etc/systemd /home -name 'npufleet-engine-probe*'") == ""


def test_engine_that_dies_fails_the_task_at_once_and_is_not_started_again(places, engines, fault):
    fault(mode="die", after=0.5, log=LIBNUMA)
    began = time.monotonic()
    for name, results in engines(places, {"wait_timeout": 300}).items():
        place, result = places[name], results[0]
        assert time.monotonic() - began < 60
        assert result["failed"]
        assert "the engine probe died while starting" in result["msg"]
        assert result["first_error"] == "OSError: libnuma.so.1: cannot open shared object file: No such file or directory"
        assert "libnuma" in result["signature"]["id"]
        assert result["signature"]["remedy"] in result["msg"]
        assert LIBNUMA[-1] in result["tail"]
        assert [place.unit("probe", word) for word in ("ActiveState", "NRestarts", "UnitFileState")] == ["inactive", "0", "enabled"]
        assert place.processes("probe") == set()


def test_engine_that_dies_between_two_looks_is_not_taken_for_a_stopped_one(places, engines, fault):
    # The module looks for a second at a time, and is on its way for about as long between.
    fault(mode="die", after=3, log=LIBNUMA)
    for result in engines(places, {"wait_slice": 1}).values():
        assert result[0]["failed"]
        assert "died while starting, after" in result[0]["msg"]
        assert float(result[0]["msg"].split("after ")[1].split(" s")[0]) < 30


def test_interrupted_launch_is_finished_without_asking(places, engines):
    pids = {name: results[0]["engine"]["pid"] for name, results in engines(places, {}).items()}
    for place in places.values():
        path = place.folder("probe") + "/launch.json"
        record = json.loads(place.host.file(path).content_string)
        place.host.check_output("printf %s '{0}' > {1}".format(json.dumps(dict(record, digest=None)), path))
    for name, (finished, again) in engines(places, {}, {}).items():
        assert finished["changed"]
        assert finished["engine"]["pid"] != pids[name]
        assert (again["changed"], again["engine"]["pid"]) == (False, finished["engine"]["pid"])


def test_crash_loop_is_ended_by_the_wish_to_stop(places, engines, fault, wait_for):
    """Between two starts nothing runs, and the service is not stopped all the same."""
    engines(places, {})
    fault(mode="die", after=0)
    for place in places.values():
        place.host.check_output("kill -KILL {0}".format(place.pid("probe")))
    for place in places.values():
        wait_for(lambda place=place: place.unit("probe", "SubState") == "auto-restart", 20)
    for name, (stopped, again) in engines(places, {"state": "stopped"}, {"state": "stopped"}).items():
        assert (stopped["changed"], stopped["engine"]["action"], again["changed"]) == (True, "stop", False)
        assert places[name].unit("probe", "ActiveState") == "inactive"
