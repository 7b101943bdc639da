# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An engine on two hosts with Ray, by the role and a plan: both hosts are addresses of this machine, Ray and the engine are stand-ins."""

from __future__ import annotations

import copy
import functools
import os
import pathlib
import signal
import subprocess
import typing as t
import urllib.request

import pytest
import ray_standin
from functional_host import KEY, free_port
from test_engine_group import HEAD, LOG, MEMBER, Group, changes, fresh, wait_for

ADDRESS = {HEAD: "127.0.0.2", MEMBER: "127.0.0.3"}
ARGS = {"max_model_len": 512, "max_num_seqs": 8}
CANN = "export ASCEND_HOME_PATH=/opt/cann LD_LIBRARY_PATH=/opt/cann/lib\n"


class RayGroup(Group):
    """Two hosts with NPUs, the rows of a plan for them, and a `ray` in each environment."""

    def __init__(self, folder: pathlib.Path) -> None:
        super().__init__(folder)
        self.gcs = free_port()
        (folder / "set_env.sh").write_text(CANN)
        rows = [self.row(rank, host) for rank, host in enumerate((HEAD, MEMBER))]
        for host, values in self.hosts.items():
            ray_standin.install(folder / host / "venv")
            del values["vllm_engine_args"], values["vllm_engine_ready_url"]
            values.update(vllm_engine_rows=rows, vllm_engine_plan_host={"npu": {"present": True, "generation": "A2"}})

    def row(self, rank: int, host: str) -> t.Dict[str, t.Any]:
        """What the planner gives for tensor parallel 4, pipeline parallel 2."""
        args = {"tensor_parallel_size": 4, "pipeline_parallel_size": 2, "distributed_executor_backend": "ray"}
        node = {"address": ADDRESS[HEAD], "port": self.gcs, "node_address": ADDRESS[host], "node_ports": "14000-14111", "npus": 4}
        return {
            "name": "q", "host": host, "rank": rank, "role": "member" if rank else "head", "headless": bool(rank),
            "master_address": ADDRESS[HEAD], "ray": node, "args": {} if rank else args, "env": {"VLLM_HOST_IP": ADDRESS[host]},
            "chips": [{"device": "/dev/davinci{0}".format(number)} for number in range(4)], "layout": {"hosts": 2},
        }  # fmt: skip

    def play(self, *options: str, **variables: t.Any) -> t.Dict[str, t.Dict[str, int]]:
        common = {
            "vllm_engine_group": [],
            "vllm_engine_accelerator": "ascend",
            "vllm_engine_vllm_ascend": "0.23.0.post1",
            "vllm_engine_set_env": [str(self.folder / "set_env.sh")],
            "vllm_engine_distributed": "ray",
            "vllm_engine_args": ARGS,
            "vllm_engine_host": "0.0.0.0",
            "vllm_engine_api_key": KEY,
        }
        return super().play(*options, **dict(common, **variables))

    def answers(self) -> bool:
        try:
            with urllib.request.urlopen("http://{0}:{1}/health".format(ADDRESS[HEAD], self.port), timeout=2) as answer:
                return answer.status == 200
        except OSError:
            return False

    def log_of(self, host: str) -> str:
        return (self.folder / host / "engines/q/engine.log").read_text()

    def services(self) -> t.Dict[str, int]:
        """The processes that supervisord runs now."""
        return {host: int((self.folder / host / "engines/q/engine.pgid").read_text()) for host in self.hosts}

    def started_again(self, before: t.Dict[str, int]) -> bool:
        return all(pid != before[host] for host, pid in self.services().items())

    def children(self, host: str, words: str) -> t.List[int]:
        find = ["pgrep", "-P", str(self.services()[host]), "-f", words]
        return [int(pid) for pid in subprocess.run(find, capture_output=True, text=True, check=False).stdout.split()]


@pytest.fixture()
def group(prepared: pathlib.Path) -> t.Iterator[RayGroup]:
    yield from fresh(prepared, RayGroup)


def test_the_head_and_ray_on_the_other_host_come_up_whole(group: RayGroup) -> None:
    assert changes(group.play("--check", "--diff")) == [1, 1], group.output
    assert not (group.folder / HEAD / "engines").exists()
    assert changes(group.play("--diff")) == [1, 1], group.output
    assert ray_standin.ask("{0}:{1}".format(ADDRESS[HEAD], group.gcs)) == {"127.0.0.2": 4, "127.0.0.3": 4}
    assert [group.record(host)["status"] for host in (HEAD, MEMBER)] == ["ready", "ready"]
    member = pathlib.Path("/proc/{0}/cmdline".format(group.pids()[MEMBER])).read_bytes().decode().split("\0")
    assert "--address=127.0.0.2:{0}".format(group.gcs) in member
    assert '--resources={"NPU":4}' in member
    assert "vllm" not in " ".join(member[3:])
    pids = group.pids()
    assert changes(group.play("--diff")) == [0, 0], group.output
    assert changes(group.play("--check", "--diff")) == [0, 0], group.output
    assert group.pids() == pids
    assert KEY not in group.output
    assert KEY not in "".join(group.log_of(host) for host in (HEAD, MEMBER))
    kept = group.folder / HEAD / "engines/q/config/vllm/ray_non_carry_over_env_vars.json"
    assert kept.read_text() == '["VLLM_API_KEY"]\n'
    for pid in (pids[MEMBER], *group.children(HEAD, "ray start")):
        assert KEY not in pathlib.Path("/proc/{0}/environ".format(pid)).read_text()


def test_a_new_cluster_forms_by_itself_when_a_part_dies(group: RayGroup) -> None:
    group.play()
    for part in ("vllm serve", "ray start", "the member"):
        before = group.services()
        os.kill(before[MEMBER] if part == "the member" else group.children(HEAD, part)[0], signal.SIGKILL)
        wait_for(functools.partial(group.started_again, before), 60)
        wait_for(group.answers, 60)
        assert ray_standin.ask("{0}:{1}".format(ADDRESS[HEAD], group.gcs)) == {"127.0.0.2": 4, "127.0.0.3": 4}, part
    # Both came back, so the group is whole: a run looks at it, and changes nothing.
    after = group.services()
    assert changes(group.play()) == [0, 0], group.output
    assert group.services() == after


def test_one_changed_option_of_the_head_replaces_all_with_consent(group: RayGroup) -> None:
    group.play()
    pids = group.pids()
    refused = group.play(vllm_engine_args=dict(ARGS, seed=7))
    assert refused[HEAD]["failed"] == 1, group.output
    assert "npu-01: argv: (none) -> --seed 7. Where: vllm_engine_replace" in group.output
    group.play(vllm_engine_args=dict(ARGS, seed=7), vllm_engine_replace=True)
    assert all(pid != pids[host] for host, pid in group.pids().items()), group.output
    assert group.answers()


def test_an_engine_that_dies_takes_the_ray_of_all_hosts_down(group: RayGroup) -> None:
    group.fault_of(HEAD, mode="die", after=0.5, log=LOG)
    recap = group.play()
    assert [recap[host]["failed"] for host in (HEAD, MEMBER)] == [1, 1], group.output
    assert "OSError: libnuma.so.1" in group.output
    assert group.running() == {HEAD: False, MEMBER: False}
    wait_for(lambda: not subprocess.run(["pgrep", "-f", str(group.gcs)], capture_output=True, check=False).stdout)


def test_an_environment_without_ray_is_told(group: RayGroup) -> None:
    (group.folder / MEMBER / "venv/bin/ray").unlink()
    recap = group.play()
    assert [recap[host]["failed"] for host in (HEAD, MEMBER)] == [1, 1], group.output
    assert "there is no Ray here: {0}/venv/bin/ray".format(group.folder / MEMBER) in " ".join(group.output.split())


def test_what_cannot_be_is_refused_before_anything_is_touched(group: RayGroup) -> None:
    group.play(vllm_engine_accelerator="cpu", vllm_engine_rows=[])
    assert "cannot have Ray: vLLM refuses it on the CPU engine" in " ".join(group.output.split())
    rows = copy.deepcopy(group.hosts[HEAD]["vllm_engine_rows"])
    for row in rows:
        row["ray"] = None
    for values in group.hosts.values():
        values["vllm_engine_rows"] = rows
    group.play()
    assert "its plan is one without Ray" in " ".join(group.output.split())
    for host in (HEAD, MEMBER):
        assert not (group.folder / host / "engines").exists()
