# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""tasks/group.yml of the role vllm_engine on two hosts, both of them this machine, with stand-in engines: whole or not at all."""

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import typing as t

import pytest
import yaml
from functional_host import ROOT, Bench

HEAD, MEMBER = "npu-01", "npu-02"
ARGS = {"max_model_len": 512, "data_parallel_size": 2}
# The stand-in has a few of vLLM's options only, and none of those that join the parts; --headless it has.
ROLE = {"ansible.builtin.include_role": {"name": "npufleet.ascend.vllm_engine"}}


class Group(Bench):
    """Two homes with an environment each, and a play that runs group.yml on both."""

    def __init__(self, folder: pathlib.Path) -> None:
        super().__init__(folder)
        self.hosts: t.Dict[str, t.Dict[str, t.Any]] = {}
        for name in (HEAD, MEMBER):
            home = folder / name
            make = [sys.executable, str(ROOT / "molecule/shared/standin_engine/make_standin.py"), str(home / "venv")]
            subprocess.run(make, check=True)
            self.hosts[name] = {
                "ansible_connection": "local",
                "ansible_python_interpreter": sys.executable,
                "vllm_engine_home": str(home),
                "vllm_engine_port": self.port,
                "vllm_engine_args": dict(ARGS, headless=True) if name == MEMBER else ARGS,
                "vllm_engine_ready_url": "http://127.0.0.1:{0}".format(self.port) if name == MEMBER else None,
                "vllm_engine_venv": str(home / "venv"),
            }

    def play(self, *options: str, **variables: t.Any) -> t.Dict[str, t.Dict[str, int]]:
        """Run it; return the recap of each host."""
        (self.folder / "inventory.yml").write_text(yaml.safe_dump({"engines": {"hosts": self.hosts}}))
        common = {
            "vllm_engine_group": [HEAD, MEMBER],
            "vllm_engine_accelerator": "cpu",
            "vllm_engine_install": False,
            "vllm_engine_recipe": None,
            "vllm_engine_name": "q",
            "vllm_engine_runtime": "supervisor",
            "vllm_engine_model": str(self.model),
            "vllm_engine_wait_timeout": 60,
            "vllm_engine_stop_timeout": 5,
        }
        play = {"hosts": "engines", "gather_facts": False, "vars": dict(common, **variables), "tasks": [ROLE]}
        (self.folder / "play.yml").write_text(yaml.safe_dump([play]))
        self.run("ansible-playbook", "-i", str(self.folder / "inventory.yml"), str(self.folder / "play.yml"), *options)
        rows = re.findall(r"^(\S+) +: ok=.*$", self.output, re.MULTILINE)
        lines = [line for line in self.output.splitlines() if re.match(r"\S+ +: ok=", line)]
        return {name: {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", line)} for name, line in zip(rows, lines)}

    def record(self, host: str) -> dict:
        return json.loads((self.folder / host / "engines/q/launch.json").read_text())

    def pids(self) -> t.Dict[str, int]:
        return {host: self.record(host)["pid"] for host in self.hosts}

    def running(self) -> t.Dict[str, bool]:
        return {host: os.path.exists("/proc/{0}".format(pid)) for host, pid in self.pids().items()}

    def fault_of(self, host: str, **fault: t.Any) -> None:
        path = self.folder / host / "venv/fault.json"
        if fault:
            path.write_text(json.dumps(fault))
        else:
            path.unlink()


AnyGroup = t.TypeVar("AnyGroup", bound=Group)


def fresh(prepared: pathlib.Path, kind: t.Type[AnyGroup]) -> t.Iterator[AnyGroup]:
    """A group in a folder of its own; whatever still runs in it is removed at the end."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="npuf-"))
    shutil.copytree(prepared / "models", folder / "models")
    group = kind(folder)
    yield group
    for name in group.hosts:
        if (folder / name / "supervisor").exists():
            home = {"home": str(folder / name), "venv": str(folder / name / "venv")}
            group.task({"npufleet.ascend.vllm_engine": group.options(name="q", state="absent", **home)})
    shutil.rmtree(folder)


@pytest.fixture()
def group(prepared: pathlib.Path) -> t.Iterator[Group]:
    yield from fresh(prepared, Group)


def changes(recap: t.Dict[str, t.Dict[str, int]]) -> t.List[int]:
    return [recap[name]["changed"] for name in (HEAD, MEMBER)]


LOG = ["(EngineCore pid=7) OSError: libnuma.so.1: cannot open shared object file: No such file or directory"]


def test_a_group_comes_up_whole_and_a_second_run_changes_nothing(group: Group) -> None:
    assert changes(group.play("--check", "--diff")) == [1, 1], group.output
    assert not (group.folder / HEAD / "engines").exists()
    assert changes(group.play("--diff")) == [1, 1], group.output
    assert "launched on all of its hosts: npu-01: there is none yet; npu-02: there is none yet" in group.output
    pids = group.pids()
    assert [group.record(host)["status"] for host in (HEAD, MEMBER)] == ["ready", "ready"]
    assert changes(group.play("--diff")) == [0, 0], group.output
    assert changes(group.play("--check", "--diff")) == [0, 0], group.output
    assert group.pids() == pids


def test_a_member_that_came_back_alone_replaces_all_with_consent(group: Group) -> None:
    group.play()
    pids = group.pids()
    os.kill(pids[MEMBER], signal.SIGKILL)
    wait_for(
        lambda: " waits for the head" in (group.folder / MEMBER / "engines/q/engine.log").read_text().partition("waits for the head")[2]
    )
    refused = group.play()
    assert [refused[host]["failed"] for host in (HEAD, MEMBER)] == [1, 1]
    assert "npu-02: it died and was started again, and the others do not know it. Where: vllm_engine_replace" in group.output
    assert changes(group.play(vllm_engine_replace=False)) == [0, 0], group.output
    assert "kept, as vllm_engine_replace is false: npu-02" in group.output
    assert group.running()[HEAD]
    assert changes(group.play("--check", vllm_engine_replace=True)) == [1, 1], group.output
    assert group.pids() == pids
    replaced = group.play(vllm_engine_replace=True)
    assert [replaced[host]["failed"] for host in (HEAD, MEMBER)] == [0, 0], group.output
    assert all(pid != pids[host] for host, pid in group.pids().items())
    assert changes(group.play()) == [0, 0], group.output


def test_one_changed_option_replaces_all(group: Group) -> None:
    group.play()
    pids = group.pids()
    group.hosts[MEMBER]["vllm_engine_args"]["seed"] = 7
    assert group.play()[HEAD]["failed"] == 1
    assert "npu-02: argv: (none) -> --seed 7. Where: vllm_engine_replace" in group.output
    group.play("--diff", vllm_engine_replace=True)
    assert all(pid != pids[host] for host, pid in group.pids().items())
    assert changes(group.play()) == [0, 0], group.output


def test_a_member_that_dies_takes_all_down_and_tells_why_once(group: Group) -> None:
    group.fault_of(MEMBER, mode="die", after=0.5, log=LOG)
    # The head would wait for it.
    group.fault_of(HEAD, mode="hang")
    recap = group.play(vllm_engine_wait_timeout=600)
    assert [recap[host]["failed"] for host in (HEAD, MEMBER)] == [1, 1], group.output
    assert "The engine q on npu-01, npu-02 was taken down whole, as it failed on npu-02: " in group.output
    assert "OSError: libnuma.so.1" in group.output
    assert group.running() == {HEAD: False, MEMBER: False}
    group.fault_of(MEMBER)
    group.fault_of(HEAD)
    assert [row["failed"] for row in group.play().values()] == [0, 0], group.output
    assert group.running() == {HEAD: True, MEMBER: True}


def test_a_head_that_is_not_ready_in_time_takes_all_down(group: Group) -> None:
    group.fault_of(HEAD, mode="hang")
    # As long as one slice of waiting, so that the time is over in the first round however slow Ansible is between two.
    recap = group.play(vllm_engine_wait_timeout=10)
    assert [recap[host]["failed"] for host in (HEAD, MEMBER)] == [1, 1], group.output
    assert "is not ready after 10 s" in group.output
    assert group.running() == {HEAD: False, MEMBER: False}


def test_a_group_is_not_launched_in_part(group: Group) -> None:
    recap = group.play("--limit", MEMBER)
    assert recap[MEMBER]["failed"] == 1
    assert "npu-01 failed or is not in this batch. Nothing was changed." in group.output
    assert not (group.folder / MEMBER / "engines").exists()


def test_a_wrong_option_on_one_host_touches_nothing(group: Group) -> None:
    group.play()
    pids = group.pids()
    group.hosts[MEMBER]["vllm_engine_args"]["max_model_leng"] = 7
    recap = group.play(vllm_engine_replace=True)
    assert recap[HEAD]["failed"] == 1
    assert "knows no option --max-model-leng" in group.output
    assert (group.pids(), group.running()) == (pids, {HEAD: True, MEMBER: True})


def wait_for(condition: t.Callable[[], bool], seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.2)
