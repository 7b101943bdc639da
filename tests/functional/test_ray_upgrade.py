# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""playbooks/upgrade.yml and rollback.yml with an engine that Ray spreads over two hosts, behind a real HAProxy and beside another engine.

The hosts are addresses of this machine, in Docker networks as the planner takes none of loopback, with NPUs of which it is told. Ray and the
engines are stand-ins. Each test goes on from the one before.
"""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import typing as t

import pytest
import ray_standin
import yaml
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.test_plan_fleet import facts
from docker_host import docker, need_docker
from functional_host import BIN, ROOT
from test_engine_group import ROLE, wait_for
from test_group_upgrade import BETTER, BROKEN, NAME, SPECS, Fleet, changed, fresh_fleet

HEAD, MEMBER = "a1", "a2"
NETWORK = "npufleet-functional-ray-{0}"
LAYOUT = {"tensor_parallel_size": 4, "pipeline_parallel_size": 2, "data_parallel_size": 1}
BOTH = {HEAD, MEMBER}


class RayFleet(Fleet):
    """Two hosts of one engine that is planned, and another engine that serves meanwhile."""

    groups: t.ClassVar = {"a": (HEAD, MEMBER)}
    order = (HEAD, MEMBER)

    def __init__(self, folder: pathlib.Path) -> None:
        self.address = {host: _network(host) for host in self.order}
        super().__init__(folder)
        self.distributed = "ray"
        self.replace: t.Optional[bool] = None
        self.venv_of_member = str(folder / MEMBER / "venv")
        (folder / "set_env.sh").write_text("export ASCEND_HOME_PATH=/opt/cann\n")
        for host in BOTH:
            ray_standin.install(folder / host / "venv")
        subprocess.run([sys.executable, str(ROOT / "molecule/shared/standin_engine/make_standin.py"), str(self.venv)], check=True)
        assert self.engine()["engine"]["ready"], self.output

    def others(self) -> t.Dict[str, int]:
        return {"other": self.port}

    def part(self, name: str, group: str) -> t.Dict[str, t.Any]:
        npu = dict(facts("A2", 4), present=True)
        # As what else listens on the host is told to the planner.
        taken = [port for port in range(6379, 6399) if _listens(self.address[HEAD], port)]
        host = {"npu": npu, "address": self.address[name], "interface": "lo", "reserved_ports": taken}
        return {"vllm_engine_plan_host": host, "vllm_engine_args": "{{ wanted }}"}

    def settings(self) -> t.Dict[str, t.Any]:
        self.hosts[MEMBER]["vllm_engine_venv"] = self.venv_of_member
        engine = {
            "name": NAME, "port": self.ports["a"], "host_count": 2, "layout": LAYOUT, "distributed": self.distributed,
            "devices": "bare_metal", "config": json.loads((self.model / "config.json").read_text()), "weights_bytes": 140 * 10**9,
        }  # fmt: skip
        return {
            "vllm_engine_accelerator": "ascend",
            "vllm_engine_vllm_ascend": "0.23.0.post1",
            "vllm_engine_set_env": [str(self.folder / "set_env.sh")],
            "vllm_engine_hosts": 2,
            "vllm_engine_distributed": self.distributed,
            "vllm_engine_layout": LAYOUT,
            "vllm_engine_host": "0.0.0.0",
            "vllm_engine_replace": self.replace,
            # What the role would have found on hosts with NPUs.
            "vllm_engine_plan_problem": "",
            "vllm_engine_plan_engines": [engine],
            "vllm_engine_plan_running": self._running(),
        }

    def _running(self) -> t.List[t.Dict[str, t.Any]]:
        """What the planner is told of the hosts together; it takes a row from each, so each would tell its own."""
        return [json.loads(path.read_text()) for path in sorted(self.folder.glob("a?/engines/{0}/plan.json".format(NAME)))]

    def play(self, name: str, args: t.Dict[str, t.Any], *options: str) -> t.Tuple[bool, t.Dict[str, int]]:
        """The network between NPUs is another test's (test_group_precheck.py)."""
        return super().play(name, args, "--skip-tags", "precheck", *options)

    def nodes(self) -> t.Dict[str, float]:
        """The cluster of Ray."""
        plan = json.loads((self.folder / HEAD / "engines" / NAME / "plan.json").read_text())
        return ray_standin.ask("{0}:{1}".format(self.address[HEAD], plan["ports"]["ray"]))

    def daemons(self) -> t.Set[int]:
        """All processes of Ray on both hosts, whichever spec they are of."""
        find = ["pgrep", "-f", "ray_standin.py ray start .*--node-ip-address=({0}) ".format("|".join(self.address.values()))]
        return {int(pid) for pid in subprocess.run(find, capture_output=True, text=True, check=False).stdout.split()}

    def spec(self) -> int:
        """The value of --max-num-seqs by which the head runs."""
        words = pathlib.Path("/proc/{0}/cmdline".format(self.pids()[HEAD])).read_text().split("\0")
        return int(words[words.index("--max-num-seqs") + 1])

    def serves(self, spec: int) -> bool:
        """The engine runs by the spec on both hosts, with one Ray on each, and the gateway sends requests."""
        nodes = dict.fromkeys(self.address.values(), 4)
        return (self.spec(), self.nodes(), len(self.daemons()), self.gateway.serving()) == (spec, nodes, 2, {HEAD, "other"})

    def killed(self, when: t.Callable[[], bool], args: t.Dict[str, t.Any]) -> None:
        """Run upgrade.yml, and end it with all that it has started as soon as something is true."""
        words = [str(BIN / "ansible-playbook"), "-i", self.inventory(args), "npufleet.ascend.upgrade", "--skip-tags", "precheck"]
        env = dict(os.environ, ANSIBLE_COLLECTIONS_PATH=str(ROOT / "collections"))
        with subprocess.Popen(
            words, env=env, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        ) as run:
            wait_for(lambda: when() or run.poll() is not None, 120)
            assert run.poll() is None
            os.killpg(run.pid, signal.SIGKILL)

    def deploy(self, args: t.Dict[str, t.Any]) -> bool:
        """As site.yml does after the layers below."""
        role = {"hosts": "engines", "gather_facts": False, "tasks": [ROLE], "vars": {"vllm_engine_rows": "{{ npufleet_plan['engines'] }}"}}
        path = self.folder / "deploy.yml"
        path.write_text(yaml.safe_dump([{"ansible.builtin.import_playbook": "npufleet.ascend.plan_engines"}, role]))
        return self.run("ansible-playbook", "-i", self.inventory(args), str(path)).returncode == 0


def _network(host: str) -> str:
    """Make a network, in which this machine has the address that is returned."""
    docker("network", "create", NETWORK.format(host))
    return docker("network", "inspect", "--format", "{{(index .IPAM.Config 0).Gateway}}", NETWORK.format(host)).strip()


def _listens(address: str, port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((address, port)) == 0


@pytest.fixture(scope="module")
def fleet(prepared: pathlib.Path) -> t.Iterator[RayFleet]:
    need_docker()
    try:
        for fleet in fresh_fleet(prepared, RayFleet):
            yield fleet
            fleet.engine(state="absent")
    finally:
        docker("network", "rm", *(NETWORK.format(host) for host in RayFleet.order))


def gone(pid: int) -> bool:
    return not os.path.exists("/proc/{0}".format(pid))


def test_an_upgrade_replaces_the_engine_and_its_ray_and_loses_no_request(fleet: RayFleet) -> None:
    assert fleet.deploy(SPECS), fleet.output
    assert fleet.serves(8)
    pids, daemons = fleet.pids(), fleet.daemons()
    with fleet.clients() as clients:
        done, counts = fleet.play("upgrade", BETTER)
    assert done and clients.failed() == [], fleet.output
    assert fleet.serves(16) and changed(counts) == BOTH
    assert all(pid != pids[host] for host, pid in fleet.pids().items()) and not daemons & fleet.daemons()


def test_a_second_upgrade_changes_nothing(fleet: RayFleet) -> None:
    pids, daemons = fleet.pids(), fleet.daemons()
    done, counts = fleet.play("upgrade", BETTER)
    assert done and changed(counts) == set(), fleet.output
    assert (fleet.pids(), fleet.daemons()) == (pids, daemons)


def test_a_version_without_ray_on_one_host_puts_the_whole_engine_back(fleet: RayFleet) -> None:
    venv = fleet.folder / MEMBER / "newer"
    shutil.copytree(fleet.folder / MEMBER / "venv", venv, symlinks=True)
    (venv / "bin/ray").unlink()
    before, fleet.venv_of_member = fleet.venv_of_member, str(venv)
    with fleet.clients() as clients:
        done, _counts = fleet.play("upgrade", BROKEN)
    fleet.venv_of_member = before
    assert not done and clients.failed() == [], fleet.output
    assert "The engine q is as it was before and serves on a1, a2, since the new one failed" in fleet.output, fleet.output
    assert "there is no Ray here: {0}/bin/ray".format(venv) in " ".join(fleet.output.split())
    assert fleet.serves(16)


def test_rollback_brings_the_earlier_spec_back_with_ray(fleet: RayFleet) -> None:
    daemons = fleet.daemons()
    with fleet.clients() as clients:
        # What the inventory says by now does not count.
        done, counts = fleet.play("rollback", BROKEN)
    assert done and clients.failed() == [] and changed(counts) == BOTH, fleet.output
    assert fleet.serves(8) and not daemons & fleet.daemons()


def test_site_takes_ray_away_with_consent(fleet: RayFleet) -> None:
    fleet.distributed, fleet.replace = "native", True
    assert fleet.deploy(SPECS), fleet.output
    assert fleet.daemons() == set() and fleet.gateway.serving() == {HEAD, "other"}


def test_an_upgrade_that_brings_ray_again_and_is_killed_is_finished_by_the_next(fleet: RayFleet) -> None:
    fleet.distributed, fleet.replace = "ray", None
    before = fleet.record(HEAD)["pid"]
    # Ray is there on both hosts, nobody knows yet whether the engine is, and the head is drained.
    fleet.killed(lambda: gone(before) and len(fleet.daemons()) == 2, BETTER)
    with fleet.clients() as clients:
        done, _counts = fleet.play("upgrade", BETTER)
    assert done and clients.failed() == [], fleet.output
    assert fleet.serves(16)
