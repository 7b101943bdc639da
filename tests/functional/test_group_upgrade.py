# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""playbooks/upgrade.yml and rollback.yml with two engines of two hosts each, behind a real HAProxy and with clients that stream.

The hosts are this machine, the engines stand-ins. Each test goes on from the one before.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import typing as t

import pytest
import yaml
from docker_host import need_docker
from functional_host import ROOT, Bench, free_port
from gateway_host import GatewayHost
from streaming_clients import Clients

NAME = "q"
# Two engines whose hosts do not stand together in the inventory.
GROUPS = {"a": ("a1", "a2"), "b": ("b1", "b2")}
ORDER = ("a1", "b1", "a2", "b2")
BETTER = {"max_num_seqs": 16}
# The stand-in fails with it where it is told to.
BROKEN = {"max_num_seqs": 32}
SPECS = {"max_num_seqs": 8}


class Fleet(Bench):
    """The homes of the hosts, their inventory, and the gateway."""

    groups = GROUPS
    order = ORDER

    def __init__(self, folder: pathlib.Path) -> None:
        super().__init__(folder)
        self.ports = {group: free_port() for group in self.groups}
        self.gateway = GatewayHost(folder, dict({hosts[0]: self.ports[group] for group, hosts in self.groups.items()}, **self.others()))
        self.hosts = {name: self._host(name) for name in self.order}

    def _host(self, name: str) -> t.Dict[str, t.Any]:
        home = self.folder / name
        make = [sys.executable, str(ROOT / "molecule/shared/standin_engine/make_standin.py"), str(home / "venv")]
        subprocess.run(make, check=True)
        group = name[0]
        return {
            "ansible_connection": "local",
            "ansible_pipelining": True,
            "ansible_python_interpreter": sys.executable,
            "vllm_engine_home": str(home),
            "vllm_engine_venv": str(home / "venv"),
            "vllm_engine_port": self.ports[group],
            **self.part(name, group),
        }

    def others(self) -> t.Dict[str, int]:
        """More engines behind the gateway, which nobody upgrades: their ports by name."""
        return {}

    def part(self, name: str, group: str) -> t.Dict[str, t.Any]:
        """What makes the host the head of its engine, or a member."""
        member = name != self.groups[group][0]
        return {
            "vllm_engine_group": list(self.groups[group]),
            "vllm_engine_accelerator": "cpu",
            "vllm_engine_args": "{{ part | combine(wanted) }}",
            "vllm_engine_ready_url": "http://127.0.0.1:{0}".format(self.ports[group]) if member else None,
            "part": {"headless": True} if member else {},
        }

    def inventory(self, args: t.Dict[str, t.Any]) -> str:
        common = {
            "wanted": dict({"max_model_len": 512}, **args),
            "vllm_engine_install": False,
            "vllm_engine_recipe": None,
            "vllm_engine_name": NAME,
            "vllm_engine_runtime": "supervisor",
            "vllm_engine_model": str(self.model),
            "vllm_engine_wait_timeout": 60,
            "vllm_engine_stop_timeout": 5,
            "vllm_engine_drain_timeout": 60,
            **self.settings(),
        }
        groups = {"engines": {"hosts": self.hosts, "vars": common}, "gateways": {"hosts": {"gateway": self.gateway.variables()}}}
        path = self.folder / "inventory.yml"
        path.write_text(yaml.safe_dump(groups))
        return str(path)

    def settings(self) -> t.Dict[str, t.Any]:
        """More variables of all hosts."""
        return {}

    def play(self, name: str, args: t.Dict[str, t.Any], *options: str) -> t.Tuple[bool, t.Dict[str, int]]:
        """Run a playbook of the collection; return whether it went well, and how many tasks of each host changed something."""
        done = self.run("ansible-playbook", "-i", self.inventory(args), "npufleet.ascend." + name, *options)
        return done.returncode == 0, {
            host: int(count) for host, count in re.findall(r"^(\S+) +: ok=\d+ +changed=(\d+)", self.output, re.MULTILINE)
        }

    def record(self, host: str) -> t.Dict[str, t.Any]:
        return json.loads((self.folder / host / "engines" / NAME / "launch.json").read_text())

    def pids(self) -> t.Dict[str, int]:
        found = {host: self.record(host)["pid"] for host in self.order}
        assert all(os.path.exists("/proc/{0}".format(pid)) for pid in found.values()), found
        return found

    def specs(self) -> t.Dict[str, int]:
        """The value of --max-num-seqs by which each part runs."""
        return {host: int(_words(pid)[_words(pid).index("--max-num-seqs") + 1]) for host, pid in self.pids().items()}

    def clients(self) -> Clients:
        return Clients(self.gateway.port, "tiny")


def _words(pid: int) -> t.List[str]:
    return pathlib.Path("/proc/{0}/cmdline".format(pid)).read_text().split("\0")


AnyFleet = t.TypeVar("AnyFleet", bound=Fleet)


def fresh_fleet(prepared: pathlib.Path, kind: t.Type[AnyFleet]) -> t.Iterator[AnyFleet]:
    """A fleet in a folder of its own; whatever still runs in it is removed at the end."""
    need_docker()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="npuf-"))
    shutil.copytree(prepared / "models", folder / "models")
    fleet = kind(folder)
    try:
        yield fleet
    finally:
        fleet.gateway.stop()
        for name in fleet.order:
            if (folder / name / "supervisor").exists():
                home = {"home": str(folder / name), "venv": str(folder / name / "venv")}
                fleet.task({"npufleet.ascend.vllm_engine": fleet.options(name=NAME, state="absent", **home)})
        shutil.rmtree(folder)


@pytest.fixture(scope="module")
def fleet(prepared: pathlib.Path) -> t.Iterator[Fleet]:
    yield from fresh_fleet(prepared, Fleet)


def changed(counts: t.Dict[str, int]) -> t.Set[str]:
    return {host for host, count in counts.items() if count}


ALL = set(ORDER)
HEADS = {"a1", "b1"}


def test_engines_that_are_not_there_yet_are_launched(fleet: Fleet) -> None:
    done, counts = fleet.play("upgrade", SPECS)
    assert done, fleet.output
    assert changed(counts) == ALL and fleet.specs() == dict.fromkeys(ORDER, 8)
    assert fleet.gateway.serving() == HEADS


@pytest.mark.parametrize("playbook", ["upgrade", "rollback"])
def test_half_of_an_engine_is_refused(fleet: Fleet, playbook: str) -> None:
    before = fleet.pids()
    done, counts = fleet.play(playbook, BETTER, "--limit", "a1,a2,b2")
    assert not done and changed(counts) == set(), fleet.output
    assert "engine q runs on b1, b2 together, and b1 failed or is not in this run; nothing was changed" in fleet.output
    assert fleet.output.count("fatal: [") == 1
    assert fleet.pids() == before and fleet.gateway.serving() == HEADS


def test_check_mode_tells_and_touches_nothing(fleet: Fleet) -> None:
    before = fleet.pids()
    done, counts = fleet.play("upgrade", BETTER, "--check", "--diff")
    assert done and changed(counts) == ALL, fleet.output
    assert "--max-num-seqs" in fleet.output and fleet.output.count("+    ") > 0
    assert fleet.pids() == before and fleet.gateway.serving() == HEADS


def test_an_upgrade_loses_no_request(fleet: Fleet) -> None:
    before = fleet.pids()
    with fleet.clients() as clients:
        done, _counts = fleet.play("upgrade", BETTER)
    assert done, fleet.output
    assert clients.failed() == []
    assert fleet.specs() == dict.fromkeys(ORDER, 16)
    assert all(pid != before[host] for host, pid in fleet.pids().items())
    assert fleet.gateway.serving() == HEADS
    assert re.findall(r"PLAY \[Upgrade the engines", fleet.output) == ["PLAY [Upgrade the engines"] * 2, "a batch for each engine"
    assert "vllm_engine_replace is not set" not in fleet.output, "nobody is asked where another engine serves"


def test_a_second_upgrade_changes_nothing(fleet: Fleet) -> None:
    before = fleet.pids()
    done, counts = fleet.play("upgrade", BETTER)
    assert done and changed(counts) == set(), fleet.output
    assert fleet.pids() == before


def test_a_head_that_an_interrupted_run_left_drained_serves_again(fleet: Fleet) -> None:
    before = fleet.pids()
    fleet.gateway.tell("set server engines/a1 state drain")
    assert fleet.gateway.serving() == {"b1"}
    done, counts = fleet.play("upgrade", BETTER)
    assert done and changed(counts) == {"a1"}, fleet.output
    assert fleet.pids() == before and fleet.gateway.serving() == HEADS


@pytest.mark.parametrize("playbook", ["upgrade", "rollback"])
def test_the_last_engine_that_serves_is_not_taken_away(fleet: Fleet, playbook: str) -> None:
    before = fleet.pids()
    fleet.gateway.tell("set server engines/b1 state drain")
    done, counts = fleet.play(playbook, SPECS)
    fleet.gateway.tell("set server engines/b1 state ready")
    assert not done and changed(counts) == set(), fleet.output
    assert "no other one serves at the gateway gateway, so that clients would get 503" in fleet.output
    assert fleet.pids() == before


def test_a_version_that_fails_on_one_member_puts_the_whole_engine_back(fleet: Fleet) -> None:
    before = fleet.pids()
    log = ["(EngineCore pid=7) OSError: libnuma.so.1: cannot open shared object file: No such file or directory"]
    fault = {"mode": "die", "when": ["--max-num-seqs", "32"], "log": log}
    (fleet.folder / "a2/venv/fault.json").write_text(json.dumps(fault))
    with fleet.clients() as clients:
        done, _counts = fleet.play("upgrade", BROKEN)
    (fleet.folder / "a2/venv/fault.json").unlink()
    assert not done and clients.failed() == []
    assert "The engine q is as it was before and serves on a1, a2, since the new one failed" in fleet.output, fleet.output
    assert "it failed on a2" in fleet.output and "OSError: libnuma.so.1" in fleet.output
    assert fleet.specs() == dict.fromkeys(ORDER, 16)
    now = fleet.pids()
    assert {host for host in ORDER if now[host] != before[host]} == {"a1", "a2"}, "the other engine must not be touched"
    assert fleet.gateway.serving() == HEADS


def test_an_upgrade_that_was_interrupted_is_finished_by_the_next(fleet: Fleet) -> None:
    """As a run leaves them that was killed between the stop of the parts and their start: drained, and down."""
    fleet.gateway.tell("set server engines/a1 state drain")
    for host in ("a1", "a2"):
        home = {"home": str(fleet.folder / host), "venv": str(fleet.folder / host / "venv")}
        args = dict({"max_model_len": 512}, **BROKEN, **fleet.hosts[host]["part"])
        fleet.task({"npufleet.ascend.vllm_engine": fleet.options(name=NAME, state="stopped", args=args, port=fleet.ports["a"], **home)})
    with fleet.clients() as clients:
        done, counts = fleet.play("upgrade", BETTER)
    assert done and clients.failed() == [], fleet.output
    assert changed(counts) == {"a1", "a2"} and fleet.specs() == dict.fromkeys(ORDER, 16)
    assert fleet.gateway.serving() == HEADS


def test_rollback_brings_all_parts_back(fleet: Fleet) -> None:
    before = fleet.pids()
    done, counts = fleet.play("rollback", BROKEN, "--check")
    assert done and changed(counts) == ALL, fleet.output
    assert fleet.pids() == before and fleet.gateway.serving() == HEADS
    with fleet.clients() as clients:
        done, _counts = fleet.play("rollback", BROKEN)
    assert done and clients.failed() == [], fleet.output
    assert fleet.specs() == dict.fromkeys(ORDER, 8)
    assert fleet.gateway.serving() == HEADS
    before = fleet.pids()
    done, counts = fleet.play("rollback", BROKEN)
    assert done and changed(counts) == set(), fleet.output
    assert "The engine q has no earlier spec that answered, and stays as it is." in fleet.output
    assert fleet.pids() == before


def test_a_part_that_cannot_go_back_holds_all(fleet: Fleet) -> None:
    assert fleet.play("upgrade", BETTER)[0], fleet.output
    before = fleet.pids()
    history = fleet.folder / "a2/engines" / NAME / "history.json"
    history.write_text(json.dumps(json.loads(history.read_text())[-1:]))
    done, counts = fleet.play("rollback", SPECS)
    assert not done and changed(counts) == set(), fleet.output
    assert (
        "the engine q goes back on all of a1, a2 or on none, and a2 has no earlier spec that answered; nothing was changed" in fleet.output
    )
    assert fleet.pids() == before and fleet.gateway.serving() == HEADS


def test_a_launch_that_an_interrupted_run_has_not_waited_for_is_waited_for(fleet: Fleet) -> None:
    """As a run leaves them that was killed after the start of the parts: drained, and not yet known to be ready."""
    before = fleet.pids()
    fleet.gateway.tell("set server engines/a1 state drain")
    for host in GROUPS["a"]:
        path = fleet.folder / host / "engines" / NAME / "launch.json"
        path.write_text(json.dumps(dict(fleet.record(host), status="starting", ready_seconds=None)))
        (path.parent / "history.json").unlink()
    done, counts = fleet.play("upgrade", BETTER)
    assert done and changed(counts) == {"a1"}, fleet.output
    assert fleet.pids() == before and fleet.gateway.serving() == HEADS
    for host in GROUPS["a"]:
        assert fleet.record(host)["status"] == "ready"
        assert (fleet.folder / host / "engines" / NAME / "history.json").exists(), "something to go back to"


def test_an_engine_that_does_not_come_back_either_is_told_and_healed_by_the_next_run(fleet: Fleet) -> None:
    before = fleet.pids()
    (fleet.folder / "a2/venv/fault.json").write_text(json.dumps({"mode": "die"}))
    with fleet.clients() as clients:
        done, _counts = fleet.play("upgrade", BROKEN)
        (fleet.folder / "a2/venv/fault.json").unlink()
        assert not done
        assert "The engine q does not serve, as it did not come back to the spec of before either; why is told above." in fleet.output
        assert fleet.gateway.serving() == {"b1"}
        done, counts = fleet.play("upgrade", BETTER)
    assert done and clients.failed() == [], fleet.output
    assert changed(counts) == {"a1", "a2"} and fleet.specs() == dict.fromkeys(ORDER, 16)
    assert fleet.gateway.serving() == HEADS
    assert (fleet.pids()["b1"], fleet.pids()["b2"]) == (before["b1"], before["b2"])
