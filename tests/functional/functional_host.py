# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Modules and roles run by real Ansible on this machine, with a real supervisord and the stand-in engine of molecule/shared."""

from __future__ import annotations

import json
import os
import pathlib
import socket
import subprocess
import sys
import typing as t

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(sys.executable).parent
KEY = "sk-functional-test-key-0123456789"


class Bench:
    """One home folder with a stand-in engine and a tiny model, and the ways to run things in it."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.venv = folder / "venv"
        self.model = folder / "models" / "tiny"
        self.port = free_port()
        self.output = ""

    def options(self, **changes: t.Any) -> dict:
        options = {
            "name": "demo",
            "venv": str(self.venv),
            "home": str(self.home),
            "model": str(self.model),
            "served_model_name": "tiny",
            "port": self.port,
            "runtime": "supervisor",
            "args": {"max_model_len": 512, "max_num_seqs": 8, "enforce_eager": True},
            "wait_timeout": 30,
            "stop_timeout": 5,
        }
        options.update(changes)
        return options

    def engine(self, check: bool = False, **changes: t.Any) -> dict:
        """Run vllm_engine through ansible-playbook with --diff -vvv; return the module's result."""
        return self.task({"npufleet.ascend.vllm_engine": self.options(**changes)}, check)

    def task(self, task: dict, check: bool = False) -> dict:
        result_path = self.folder / "result.json"
        result_path.unlink(missing_ok=True)
        copy = {
            "ansible.builtin.copy": {"content": "{{ outcome }}", "dest": str(result_path)},
            "check_mode": False,
            "diff": False,
            "no_log": True,
        }
        play = {
            "hosts": "localhost",
            "connection": "local",
            "gather_facts": False,
            "vars": {"ansible_python_interpreter": sys.executable},
            "tasks": [dict(task, register="outcome", ignore_errors=True), copy],
        }
        playbook = self.folder / "play.yml"
        playbook.write_text(yaml.safe_dump([play]))
        done = self.run("ansible-playbook", str(playbook), "--diff", "-vvv", *(["--check"] if check else []))
        assert result_path.exists(), done.stdout + done.stderr
        return json.loads(result_path.read_text())

    def run(self, command: str, *args: str, env: t.Optional[dict] = None) -> subprocess.CompletedProcess:
        full = dict(os.environ, ANSIBLE_COLLECTIONS_PATH=str(ROOT / "collections"), ANSIBLE_LOCALHOST_WARNING="false", ANSIBLE_NOCOLOR="1")
        full.update(env or {})
        done = subprocess.run(
            [str(BIN / command), *args], capture_output=True, text=True, env=full, timeout=240, cwd=self.folder, check=False
        )
        self.output = done.stdout + done.stderr
        return done

    def fault(self, **fault: t.Any) -> None:
        (self.venv / "fault.json").write_text(json.dumps(fault))

    def log(self) -> str:
        return (self.home / "engines" / "demo" / "engine.log").read_text()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
