# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A run of prepare.yml on hosts that are prepared already, over SSH: `hosts.py [NUMBER OF HOSTS]...`, by default 1 4. See README.md.

The hosts are copies of the host ubuntu-a2 of the Molecule scenario host_prepare, which has to be there: `molecule converge -s host_prepare`.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import yaml
from run import BIN, ROOT, ansible_env, table

MODEL = "npufleet-molecule-prepare-ubuntu"
IMAGE = "npufleet-molecule/bench:latest"
NETWORK = "npufleet-molecule-bench"
EXECUTIONS = "/var/log/standin-packages/executions.jsonl"
ROUNDS = 3
# As molecule/shared/tasks/start_host.yml starts them; an engine cannot rename folders of a lower layer.
OPTIONS = [
    "--cap-add=SYS_ADMIN",
    "--cap-add=NET_ADMIN",
    "--cap-add=SYS_PTRACE",
    "--security-opt=seccomp=unconfined",
    "--security-opt=apparmor=unconfined",
    "--security-opt=systempaths=unconfined",
    "--tmpfs=/run",
    "--tmpfs=/run/lock",
    "--tmpfs=/tmp",
    "--volume=/sys/fs/cgroup:/sys/fs/cgroup:rw",
    "--volume=/var/lib/docker",
    "--cgroupns=host",
]
HDK_ONLY = {"npufleet_layers": ["ascend_driver"]}
# The answer of the play, without what it would change: what the official installer calls a precheck.
PRECHECK = ("--check",)


def docker(*words: str) -> str:
    return subprocess.run(["docker", *words], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


class Fleet:
    """Copies of the prepared host that answer over SSH."""

    def __init__(self, folder: pathlib.Path, count: int) -> None:
        self.folder = folder
        self.names = [f"npufleet-bench-{number}" for number in range(count)]

    def __enter__(self) -> Fleet:
        self._remove()  # an earlier run that was ended
        for name in self.names:
            docker("run", "--detach", "--name", name, "--hostname", name, "--network", NETWORK, *OPTIONS, IMAGE, "/lib/systemd/systemd")
        for name in self.names:
            self._wait(name)
        return self

    def __exit__(self, *_rest: object) -> None:
        self._remove()

    def _remove(self) -> None:
        subprocess.run(["docker", "rm", "--force", "--volumes", *self.names], check=False, capture_output=True)

    def _wait(self, name: str) -> None:
        deadline = time.monotonic() + 300
        ready = "systemctl is-active ssh docker && npu-smi info >/dev/null && ! systemctl is-system-running | grep -q starting"
        while subprocess.run(["docker", "exec", name, "sh", "-c", ready], check=False, capture_output=True).returncode:
            if time.monotonic() > deadline:
                raise SystemExit(f"{name} is not ready after 300 s: {docker('exec', name, 'systemctl', '--failed', '--no-legend')}")
            time.sleep(1)

    def inventory(self) -> str:
        addresses = {
            name: docker("inspect", "--format", "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}", name) for name in self.names
        }
        scenario = yaml.safe_load((ROOT / "molecule/host_prepare/inventory/hosts.yml").read_text(encoding="utf-8"))
        variables = {
            **scenario["engines"]["vars"],
            "ascend_package_checksums": {},
            "ansible_user": "root",
            "ansible_ssh_private_key_file": str(self.folder / "key"),
            "ansible_ssh_common_args": "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR",
            "ansible_python_interpreter": "/usr/bin/python3",
        }
        hosts = {name: {"ansible_host": address} for name, address in addresses.items()}
        path = self.folder / f"hosts-{len(self.names)}.yml"
        path.write_text(yaml.safe_dump({"engines": {"hosts": hosts, "vars": variables}}), encoding="utf-8")
        return str(path)

    def executions(self) -> int:
        return sum(int(docker("exec", name, "sh", "-c", f"wc -l < {EXECUTIONS}")) for name in self.names)


def make_image(folder: pathlib.Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / "key")], check=True)
    key = (folder / "key.pub").read_text(encoding="utf-8").strip()
    docker(
        "exec", MODEL, "sh", "-c",
        "command -v /usr/sbin/sshd >/dev/null || { apt-get -qq update && apt-get -qq install --yes --no-install-recommends openssh-server; } >/dev/null 2>&1; "
        f"mkdir -p /root/.ssh && echo '{key}' > /root/.ssh/authorized_keys && systemctl enable --quiet ssh",
    )  # fmt: skip
    docker("commit", "--change", 'CMD ["/lib/systemd/systemd"]', MODEL, IMAGE)
    if subprocess.run(["docker", "network", "inspect", NETWORK], check=False, capture_output=True).returncode:
        docker("network", "create", NETWORK)


def timed(command: list[str], forks: int) -> tuple[float, float, str]:
    """Wall and CPU seconds of the controller, and what the command said.

    :raises SystemExit: when it fails
    """
    env = dict(ansible_env(), ANSIBLE_FORKS=str(forks), ANSIBLE_HOST_KEY_CHECKING="false")
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(done.stdout[-4000:])
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def measure(fleet: Fleet, count: int) -> list[list[object]]:
    inventory, forks = fleet.inventory(), min(count, 25)
    play = [str(BIN / "ansible-playbook"), "-i", inventory, "npufleet.ascend.prepare"]
    only = ["-e", json.dumps(HDK_ONLY)]
    commands = {
        "ansible -m ping": [str(BIN / "ansible"), "-i", inventory, "engines", "-m", "ansible.builtin.ping"],
        "second run, all layers": play,
        "second run, driver and firmware": [*play, *only],
        "precheck, driver and firmware": [*play, *only, *PRECHECK],
    }
    rows: list[list[object]] = []
    for title, command in commands.items():
        timed(command, forks)
        started = fleet.executions()
        runs = [timed(command, forks) for _turn in range(ROUNDS)]
        changed = sum(int(number) for number in re.findall(r"changed=(\d+)", runs[-1][2]))
        wall, cpu = (statistics.median(run[column] for run in runs) for column in (0, 1))
        spread = " / ".join(f"{run[0]:.1f}" for run in runs)
        rows.append([count, title, f"{wall:.1f}", spread, f"{cpu:.1f}", fleet.executions() - started, changed])
    return rows


def main() -> None:
    counts = [int(word) for word in sys.argv[1:]] or [1, 4]
    if subprocess.run(["docker", "inspect", MODEL], check=False, capture_output=True).returncode:
        raise SystemExit(f"There is no host {MODEL}. Run: molecule converge -s host_prepare")
    rows: list[list[object]] = [["hosts", "operation", "wall s", "runs", "controller CPU s", "installers started", "changed"]]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make_image(folder)
        try:
            for count in counts:
                with Fleet(folder, count) as fleet:
                    rows += measure(fleet, count)
                table(f"prepare.yml on {count} prepared hosts over SSH, load before {os.getloadavg()[0]:.1f}", rows)
        finally:
            subprocess.run(["docker", "network", "rm", NETWORK], check=False, capture_output=True)


if __name__ == "__main__":
    main()
