# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One engine on two hosts with real Ray 2.48.0 and the stand-in engine: both hosts are this machine, their containers meet in a Docker network.

By hand, as it takes Ray (70 MB) and five minutes: NPUFLEET_E2E_SYSTEMD=1 .venv/bin/python -m pytest tests/e2e/test_engine_ray.py -q -s
"""

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
import urllib.request

import pytest
import yaml
from group_fleet import BIN, ROOT, docker

HEAD, MEMBER = "npu-01", "npu-02"
NETWORK, SUBNET = "npufleet-e2e-ray", "10.213.78.0/24"
ADDRESS = {HEAD: "10.213.78.11", MEMBER: "10.213.78.12"}
IMAGE = "npufleet-e2e-ray/engine:2.48.0"
PORT, GCS, FIRST, LAST = 18438, 6379, 14000, 14111
KEY = "sk-e2e-test-key-0123456789"
SIZES = {"tensor_parallel_size": 2, "pipeline_parallel_size": 2}
# Debian bookworm's Python, and the newest version that an image of vllm-ascend has. pip asks the markers of its own Python, which need not want the second.
RAY = ["--python-version", "3.11", "--only-binary", ":all:", "ray==2.48.0", "typing_extensions"]

DOCKERFILE = """\
FROM {base}
COPY standin /opt/standin
COPY site /opt/site
ENV PATH=/opt/standin/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin PYTHONPATH=/opt/site:/opt/standin/site
CMD ["/bin/bash"]
"""
PROGRAMS = {
    "ray": '#!/bin/sh\nexec /usr/bin/python3 -c "from ray.scripts.scripts import main; main()" "$@"\n',
    "vllm": '#!/bin/sh\nexec /usr/bin/python3 /opt/standin/ray_engine.py "$@"\n',
    "python": '#!/bin/sh\nexec /usr/bin/python3 "$@"\n',
}


def container(host: str) -> str:
    return "npufleet-e2e-ray-" + host


def state(host: str) -> t.Dict[str, t.Any]:
    found = json.loads(docker("inspect", container(host)))[0]
    return {"pid": found["State"]["Pid"], "restarts": found["RestartCount"]}


def make_image(folder: pathlib.Path) -> None:
    base = subprocess.run([str(ROOT / "molecule/shared/images/build.sh"), "debian-systemd"], capture_output=True, text=True, check=True)
    make = [sys.executable, str(ROOT / "molecule/shared/standin_engine/make_standin.py"), str(folder / "standin"), "/usr/bin/python3"]
    subprocess.run(make, check=True)
    (folder / "standin/bin/supervisord").unlink(missing_ok=True)
    for name, text in PROGRAMS.items():
        (folder / "standin/bin" / name).write_text(text)
        (folder / "standin/bin" / name).chmod(0o755)
    shutil.copy(ROOT / "tests/e2e/ray_engine.py", folder / "standin/ray_engine.py")
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder / "site"), *RAY], check=True)
    (folder / "Dockerfile").write_text(DOCKERFILE.format(base=base.stdout.strip()))
    docker("build", "--quiet", "--tag", IMAGE, str(folder))


def make_host(folder: pathlib.Path) -> t.Dict[str, t.Any]:
    """Device nodes with the names of chips, which are /dev/zero by number, and the files of a driver."""
    (folder / "dev").mkdir(parents=True)
    for name in ("davinci0", "davinci1", "davinci_manager"):
        os.mknod(folder / "dev" / name, 0o660 | 0o020000, os.makedev(1, 5))
    (folder / "usr/local/Ascend/driver").mkdir(parents=True)
    (folder / "etc").mkdir()
    (folder / "etc/ascend_install.info").write_text("Driver_Install_Path_Param=/usr/local/Ascend\n")
    nodes = ["{0}/dev/{1}:/dev/{1}".format(folder, name) for name in ("davinci0", "davinci1", "davinci_manager")]
    return {"devices": nodes[:2], "control_devices": nodes[2:], "driver_root": str(folder)}


class Fleet:
    """Two hosts, and the play that a person runs on them."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.output = ""
        make_image(folder / "image")
        self.model = folder / "models/tiny"
        words = ["localhost", "-m", "npufleet.ascend.model_weights", "-a", f"path={self.model} source=tiny architecture=qwen2"]
        self.run("ansible", *words, "-e", f"ansible_python_interpreter={BIN}/python")
        self.hosts = {host: self.values(host, make_host(folder / host)) for host in ADDRESS}

    def values(self, host: str, nodes: t.Dict[str, t.Any]) -> t.Dict[str, t.Any]:
        """What a host of the inventory has, and its row of a plan."""
        container_of = {"name": container(host), "network": NETWORK, "address": ADDRESS[host], "shm_bytes": 512 << 20, **nodes}
        node = {"address": ADDRESS[HEAD], "port": GCS, "node_address": ADDRESS[host], "node_ports": f"{FIRST}-{LAST}", "npus": 2}
        row = {
            "name": "q",
            "rank": list(ADDRESS).index(host),
            "host": host,
            "headless": host == MEMBER,
            "master_address": ADDRESS[HEAD],
            "chips": [{"device": f"/dev/davinci{number}"} for number in range(2)],
            "ray": node,
            "args": dict(SIZES, distributed_executor_backend="ray") if host == HEAD else {},
            "env": {"HCCL_IF_IP": ADDRESS[host]},
            "devices": nodes["devices"],
            "control_devices": nodes["control_devices"],
        }
        return {
            "ansible_connection": "local",
            "ansible_python_interpreter": str(BIN / "python"),
            "vllm_engine_home": str(self.folder / host / "home"),
            "vllm_engine_args": {"max_model_len": 512},
            "vllm_engine_container": container_of,
            "row": row,
        }

    def run(self, program: str, *words: str, ok: t.Optional[bool] = True) -> str:
        env = dict(os.environ, ANSIBLE_NOCOLOR="1", ANSIBLE_LOCALHOST_WARNING="false")
        done = subprocess.run([str(BIN / program), *words], cwd=ROOT, env=env, capture_output=True, text=True, timeout=900, check=False)
        self.output = done.stdout + done.stderr
        assert ok is None or (done.returncode == 0) is ok, self.output[-6000:]
        return self.output

    def play(self, *options: str, ok: t.Optional[bool] = True, **variables: t.Any) -> t.List[int]:
        common = {
            "vllm_engine_rows": [values["row"] for values in self.hosts.values()],
            "vllm_engine_host": "0.0.0.0",
            "vllm_engine_accelerator": "ascend",
            "vllm_engine_distributed": "ray",
            "vllm_engine_image": IMAGE,
            "vllm_engine_name": "q",
            "vllm_engine_runtime": "docker",
            "vllm_engine_model": str(self.model),
            "vllm_engine_recipe": None,
            "vllm_engine_port": PORT,
            "vllm_engine_api_key": KEY,
            "vllm_engine_stop_timeout": 30,
            "vllm_engine_wait_timeout": 300,
            "vllm_engine_plan_host": {"npu": {"present": True, "generation": "A2"}},
            **variables,
        }
        role = {"ansible.builtin.include_role": {"name": "npufleet.ascend.vllm_engine"}}
        (self.folder / "inventory.yml").write_text(yaml.safe_dump({"engines": {"hosts": self.hosts}}))
        (self.folder / "play.yml").write_text(
            yaml.safe_dump([{"hosts": "engines", "gather_facts": False, "vars": common, "tasks": [role]}])
        )
        self.run("ansible-playbook", "-i", str(self.folder / "inventory.yml"), str(self.folder / "play.yml"), *options, ok=ok)
        recap = self.output.rpartition("PLAY RECAP")[2]
        return [int(number) for _host, number in sorted(re.findall(r"^(\S+) +: .*changed=(\d+)", recap, re.MULTILINE))]

    def log(self, host: str) -> str:
        return docker("logs", container(host))


def answers() -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/health", timeout=2) as answer:
            return answer.status == 200
    except OSError:
        return False


def wait_for(what: str, condition: t.Callable[[], bool], seconds: float = 180.0) -> float:
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < seconds, what
        time.sleep(0.5)
    took = time.monotonic() - began
    print(f"\n   {what}: after {took:.0f} s", flush=True)
    return took


def listening(host: str) -> t.Dict[int, str]:
    """Ports on which something listens in the container for others, with their local address in hexadecimal."""
    found = {}
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in docker("exec", container(host), "cat", table).splitlines()[1:]:
            local, _remote, status = line.split()[1:4]
            address, _colon, port = local.partition(":")
            # Docker's resolver of names and what is for the container alone lie on loopback addresses.
            if status == "0A" and not address.endswith("7F"):
                found[int(port, 16)] = address
    return found


@pytest.fixture(scope="module")
def fleet() -> t.Iterator[Fleet]:
    """Only where a Docker Engine answers."""
    if not os.environ.get("NPUFLEET_E2E_SYSTEMD"):
        (pytest.fail if os.environ.get("NPUFLEET_NO_SKIP") else pytest.skip)("no Docker Engine answers (NPUFLEET_E2E_SYSTEMD is not set)")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="npuf-ray-"))
    try:
        fleet = Fleet(folder)
        docker("network", "create", "--subnet", SUBNET, NETWORK)
        yield fleet
    finally:
        for host in ADDRESS:
            docker("rm", "--force", "--volumes", container(host), container(host) + "-replaced", check=False)
        docker("network", "rm", NETWORK, check=False)
        docker("image", "rm", IMAGE, check=False)
        shutil.rmtree(folder)


def workers(fleet: Fleet) -> t.List[t.Dict[str, t.Any]]:
    """What the workers of the last launch said."""
    return json.loads(re.findall(r"^workers (\[.*)$", fleet.log(HEAD), re.MULTILINE)[-1])


def test_a_cluster_comes_up_and_a_second_run_changes_nothing(fleet: Fleet) -> None:
    assert fleet.play("--check", "--diff") == [1, 1]
    assert "No such" in docker("inspect", container(HEAD), check=False)
    began = time.monotonic()
    assert fleet.play("--diff") == [1, 1]
    print(f"\n   up after {time.monotonic() - began:.0f} s", flush=True)
    rows = workers(fleet)
    assert sorted(row["ip"] for row in rows) == [ADDRESS[HEAD]] * 2 + [ADDRESS[MEMBER]] * 2
    for host in ADDRESS:
        own = [row for row in rows if row["ip"] == ADDRESS[host]]
        # As vLLM wants it: each worker knows its chip, none is hidden, and the environment is that of its own host.
        assert sorted(row["chips"] for row in own) == [["0"], ["1"]]
        assert not {"ASCEND_RT_VISIBLE_DEVICES", "VLLM_API_KEY"} & {name for row in own for name in row["env"]}
        assert {(row["env"]["VLLM_HOST_IP"], row["env"]["HCCL_IF_IP"]) for row in own} == {(ADDRESS[host], ADDRESS[host])}
    before = {host: state(host) for host in ADDRESS}
    assert fleet.play("--diff") == [0, 0]
    assert {host: state(host) for host in ADDRESS} == before
    assert KEY not in fleet.log(HEAD) + fleet.log(MEMBER) + docker("inspect", *map(container, ADDRESS))


def test_every_port_is_one_of_the_plan(fleet: Fleet) -> None:
    planned = set(range(FIRST, LAST + 1))
    head, member = listening(HEAD), listening(MEMBER)
    print("\n   head", sorted(head), "member", sorted(member), flush=True)
    assert set(head) - planned == {GCS, PORT}
    assert set(member) - planned == set()
    assert {FIRST, FIRST + 1} <= set(head) & set(member)


def launch_again(fleet: Fleet, what: str, act: t.Callable[[], None]) -> None:
    before = {host: state(host) for host in ADDRESS}
    act()
    wait_for(what + ", both services started again", lambda: all(state(host)["restarts"] > before[host]["restarts"] for host in ADDRESS))
    wait_for(what + ", the engine answers again", answers)
    assert len(workers(fleet)) == 4
    assert fleet.play() == [0, 0]


def test_a_new_cluster_forms_when_the_head_was_killed(fleet: Fleet) -> None:
    launch_again(fleet, "head killed", lambda: os.kill(state(HEAD)["pid"], signal.SIGKILL))


def test_a_new_cluster_forms_when_a_member_was_killed(fleet: Fleet) -> None:
    launch_again(fleet, "member killed", lambda: os.kill(state(MEMBER)["pid"], signal.SIGKILL))


def test_a_new_cluster_forms_when_the_engine_died(fleet: Fleet) -> None:
    launch_again(fleet, "engine killed", lambda: docker("exec", container(HEAD), "pkill", "-KILL", "-f", "ray_engine.py") and None)


def test_the_head_waits_for_a_member_that_is_late(fleet: Fleet) -> None:
    for host in ADDRESS:
        docker("stop", container(host))
    waits = fleet.log(HEAD).count("Waiting for creating")
    pid = docker("start", container(HEAD)) and state(HEAD)["pid"]
    wait_for("the head waits", lambda: fleet.log(HEAD).count("Waiting for creating") > waits)
    time.sleep(20)
    docker("start", container(MEMBER))
    wait_for("member 20 s late, the engine answers", answers)
    assert state(HEAD)["pid"] == pid


def test_a_new_cluster_forms_when_the_host_of_the_head_was_gone(fleet: Fleet) -> None:
    """As after a power cut: no packet tells the member of it, and it knows nothing before the head is there again."""
    before = {host: state(host) for host in ADDRESS}
    docker("network", "disconnect", NETWORK, container(HEAD))
    os.kill(before[HEAD]["pid"], signal.SIGKILL)
    time.sleep(30)
    print("\n   member restarts while the head is gone:", state(MEMBER)["restarts"] - before[MEMBER]["restarts"], flush=True)
    docker("network", "connect", "--ip", ADDRESS[HEAD], NETWORK, container(HEAD))
    wait_for("head back, Ray of the member was started again", lambda: state(MEMBER)["restarts"] > before[MEMBER]["restarts"])
    wait_for("head back, the engine answers again", answers)


def test_a_changed_option_launches_all_again_with_consent(fleet: Fleet) -> None:
    for values in fleet.hosts.values():
        values["vllm_engine_args"]["seed"] = 7
    fleet.play(ok=False)
    assert "npu-01: argv: (none) -> --seed 7. Where: vllm_engine_replace" in fleet.output
    before = {host: state(host)["pid"] for host in ADDRESS}
    fleet.play(vllm_engine_replace=True)
    assert all(state(host)["pid"] != pid for host, pid in before.items())
    assert fleet.play() == [0, 0]


def test_an_orderly_stop_is_quick(fleet: Fleet) -> None:
    began = time.monotonic()
    fleet.play(vllm_engine_state="stopped")
    print(f"\n   stopped after {time.monotonic() - began:.0f} s", flush=True)
    for host in ADDRESS:
        found = json.loads(docker("inspect", container(host)))[0]["State"]
        # 137 would be a container that had to be killed after the time limit.
        assert (found["Running"], found["ExitCode"] in (0, 1, 143)) == (False, True), (host, found)
