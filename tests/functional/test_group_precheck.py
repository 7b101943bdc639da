# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The precheck of hosts that serve one engine together: two hosts on this machine, each with its own simulated hccn_tool, home and files."""

from __future__ import annotations

import json
import os
import pathlib
import socket
import subprocess
import sys
import typing as t

import pytest
import yaml
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_fleet import make_plan
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.test_plan_fleet import LLAMA_70B, a2_facts, a3_facts, fleet
from functional_host import ROOT, Bench, free_port

SIMULATOR = ROOT / "molecule" / "shared" / "simulator"
NAMES = ("npu-01", "npu-02")
PRODUCTS = {"a2": ("atlas-800i-a2", a2_facts), "a3": ("atlas-800-a3", a3_facts)}


class Lab:
    """Two hosts of this machine that serve the engine q together."""

    def __init__(self, folder: pathlib.Path, kind: str = "a2") -> None:
        self.folder = folder
        self.bench = Bench(folder)
        self.port = free_port()
        self.variables: t.Dict[str, t.Dict[str, t.Any]] = {name: {} for name in NAMES}
        product, facts = PRODUCTS[kind]
        hosts = fleet(facts(), facts())
        for row in hosts.values():
            row["interface"] = "lo"
        engine = {"name": "q", "npus": 16, "host_count": 2, "config": LLAMA_70B, "weights_bytes": 140 * 10**9, "port": self.port}
        if kind == "a3":
            engine.update(npus=8)
        self.rows = make_plan(hosts, [engine])["engines"]
        for row in self.rows:
            # Ports of this machine are one for all of its hosts, and others use them.
            row["ports"] = {"serving": self.port} if row["rank"] == 0 else {}
        for place, name in enumerate(NAMES):
            self._make(name, product, "192.0.2.{0}".format(100 * place + 1))
            self.variables[name].update(vllm_engine_plan_host=hosts[name], vllm_engine_name="q", vllm_engine_model="~/model")

    def _make(self, name: str, product: str, first: str) -> None:
        home = self.folder / name
        (home / "bin").mkdir(parents=True)
        (home / "model").mkdir()
        (home / "model" / "config.json").write_text("{}")
        (home / "model" / "README.md").write_text(name)
        state = str(home / "state.json")
        subprocess.run(
            [sys.executable, str(SIMULATOR / "make_state.py"), "--state", state, "--product", product, "--call-log", str(home / "calls")],
            check=True,
        )
        self.hccn(name, first=first, first_vnic=first.replace("192.0.2", "198.51.100"))
        tool = home / "bin" / "hccn_tool"
        tool.write_text('#!/bin/sh\nexec {0} {1} "$@"\n'.format(sys.executable, SIMULATOR / "hccn_tool"))
        python = home / "bin" / "python"
        python.write_text(
            '#!/bin/sh\nexport PATH={0}:$PATH HOME={1} NPU_SIMULATOR_STATE={2}\nexec {3} "$@"\n'.format(
                home / "bin", home, state, sys.executable
            )
        )
        tool.chmod(0o755)
        python.chmod(0o755)
        head, _dot, last = first.rpartition(".")
        conf = "".join("address_{0}={1}.{2}\nnetmask_{0}=255.255.255.0\n".format(n, head, int(last) + n) for n in range(16))
        (home / "hccn.conf").write_text(conf)
        self.variables[name].update(ansible_python_interpreter=str(python), npufleet_hccn_conf=str(home / "hccn.conf"))

    def hccn(self, name: str, **changes: t.Any) -> None:
        """Change the network of the NPUs of a host."""
        path = self.folder / name / "state.json"
        state = json.loads(path.read_text())
        state["hccn"] = dict(state.get("hccn", {}), **changes)
        path.write_text(json.dumps(state))

    def calls(self, name: str) -> t.List[t.List[str]]:
        path = self.folder / name / "calls"
        return [json.loads(line)["argv"][1:] for line in path.read_text().splitlines()] if path.exists() else []

    def run(self, *args: str, plan: bool = True) -> subprocess.CompletedProcess:
        inventory = self.folder / "inventory.yml"
        everybody = {"ansible_connection": "local", "npufleet_plan": {"engines": self.rows if plan else []}}
        inventory.write_text(yaml.safe_dump({"engines": {"hosts": self.variables, "vars": everybody}}))
        playbook = self.folder / "play.yml"
        groups = str(ROOT / "playbooks" / "precheck_groups.yml")
        # Twice, as preflight.yml and deploy.yml of one run do.
        playbook.write_text(yaml.safe_dump([{"ansible.builtin.import_playbook": groups}] * 2))
        return self.bench.run("ansible-playbook", "-i", str(inventory), str(playbook), *args)


@pytest.fixture
def lab(tmp_path: pathlib.Path) -> Lab:
    return Lab(tmp_path)


@pytest.mark.parametrize("args", [(), ("--check", "--diff")], ids=["run", "check"])
def test_hosts_that_fit_are_asked_once_and_nothing_is_changed(lab: Lab, args: t.Tuple[str, ...]) -> None:
    done = lab.run(*args)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("changed=0") == 2 and "WARNING" not in done.stderr
    calls = lab.calls("npu-02")
    pings = [call for call in calls if "-ping" in call]
    assert [call[:2] + call[-1:] for call in pings] == [["-i", str(n), "192.0.2.{0}".format(n + 1)] for n in range(8)]
    assert len(calls) == 8 * 5 + 8


def test_everything_that_is_wrong_is_said_at_once(lab: Lab) -> None:
    lab.hccn("npu-01", devices={"1": {"link": "DOWN", "health": "Fault"}, "2": {"address": "192.0.2.77"}})
    lab.hccn("npu-02", devices={"3": {"tls": 1}}, silent=["192.0.2.5"], lossy=["192.0.2.6"])
    (lab.folder / "npu-02" / "model" / "config.json").write_text("[]")
    (lab.folder / "npu-02" / "model" / "more.safetensors").write_text("x")
    lab.variables["npu-02"]["vllm_engine_image"] = "example.com/other:1"
    with socket.socket() as other:
        other.bind(("127.0.0.1", lab.port))
        other.listen(1)
        done = lab.run()
    assert done.returncode == 2
    for words in (
        "the network link of NPUs is down. Where: npu-01 NPU 1. What to do: ",
        "the network health of NPUs is not Success. Where: npu-01 NPU 1 (Fault). ",
        "npu-01 NPU 2 has 192.0.2.77, the file 192.0.2.3",
        "on: npu-02 NPU 3; off: ",
        "NPUs do not reach each other. Where: npu-02 NPU 4 -> npu-01 NPU 4 (192.0.2.5). ",
        "npu-02 NPU 5 -> npu-01 NPU 5 (192.0.2.6), 2 of 3 packets",
        "npu-01 port {0} by process {1} (".format(lab.port, os.getpid()),
        "the weights differ from those of npu-01: config.json has another content, more.safetensors is too much. Where: npu-02. ",
    ):
        assert words in done.stdout, words
    assert "README.md" not in done.stdout


def test_all_pairs_of_a_super_pod(tmp_path: pathlib.Path) -> None:
    lab = Lab(tmp_path, "a3")
    for name in NAMES:
        # RoCE is not used there, and may be down.
        lab.hccn(name, devices={"0": {"link": "DOWN", "health": "Init"}})
    lab.variables["npu-01"]["npufleet_precheck_all_pairs"] = True
    done = lab.run()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the network link of NPUs is down. Where: npu-01 NPU 0, npu-02 NPU 0" in done.stdout
    assert [len([call for call in lab.calls(name) if "-hccs_ping" in call]) for name in NAMES] == [4 * 4, 4]


def test_a_host_without_hccn_tool_and_a_host_that_is_gone(lab: Lab) -> None:
    (lab.folder / "npu-01" / "bin" / "hccn_tool").unlink()
    lab.variables["npu-02"].update(ansible_connection="ssh", ansible_host="127.0.0.1", ansible_port=free_port(), ansible_ssh_retries=0)
    done = lab.run()
    assert done.returncode != 0
    assert "engine q, npu-01: hccn_tool is not installed. Where: PATH, " in done.stdout
    assert "engine q: hosts did not answer. Where: npu-02. " in done.stdout


def test_hosts_without_such_an_engine_do_nothing(lab: Lab) -> None:
    done = lab.run(plan=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert lab.calls("npu-01") == [] and "changed=0" in done.stdout
