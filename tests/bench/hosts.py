# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A run of prepare.yml on hosts that are prepared already, over SSH: `hosts.py [--growth] [NUMBER OF HOSTS]...`. See README.md.

By default 1 4, all operations; with --growth 1 4 10 25 50, a run of all layers and a ping, once each, on hosts that are started once.
The hosts are copies of the host ubuntu-a2 of the Molecule scenario host_prepare, which has to be there: `molecule converge -s host_prepare`.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import re
import resource
import statistics
import subprocess
import tempfile
import time

import yaml
from run import BIN, ROOT, ansible_env, table

MODEL = "npufleet-molecule-prepare-ubuntu"
IMAGE = "npufleet-molecule/bench:latest"
NETWORK = "npufleet-molecule-bench"
EXECUTIONS = "/var/log/standin-packages/executions.jsonl"
ROUNDS = 3
# A host takes 5 of them, and root's limit is 128 where nobody raised it.
INOTIFY = pathlib.Path("/proc/sys/fs/inotify/max_user_instances")
INOTIFY_PER_HOST = 5
# Hosts that boot at the same time; more of them only wait for each other.
BOOTING = 5
FORKS = 25
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
        for start in range(0, len(self.names), BOOTING):
            for name in self.names[start : start + BOOTING]:
                docker("run", "--detach", "--name", name, "--hostname", name, "--network", NETWORK, *OPTIONS, IMAGE, "/lib/systemd/systemd")
            for name in self.names[start : start + BOOTING]:
                self._wait(name)
        return self

    def __exit__(self, *_rest: object) -> None:
        self._remove()

    def _remove(self) -> None:
        for name in self.names:
            subprocess.run(["docker", "rm", "--force", "--volumes", name], check=False, capture_output=True)

    def _wait(self, name: str) -> None:
        deadline = time.monotonic() + 300
        ready = "systemctl is-active ssh docker && npu-smi info >/dev/null && ! systemctl is-system-running | grep -q starting"
        while subprocess.run(["docker", "exec", name, "sh", "-c", ready], check=False, capture_output=True).returncode:
            if time.monotonic() > deadline:
                raise SystemExit(f"{name} is not ready after 300 s: {docker('exec', name, 'systemctl', '--failed', '--no-legend')}")
            time.sleep(1)

    def inventory(self, count: int) -> str:
        """The path of an inventory with the first hosts."""
        addresses = {
            name: docker("inspect", "--format", "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}", name)
            for name in self.names[:count]
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
        path = self.folder / f"hosts-{count}.yml"
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


def commands_on(inventory: str) -> dict[str, list[str]]:
    play = [str(BIN / "ansible-playbook"), "-i", inventory, "npufleet.ascend.prepare"]
    only = ["-e", json.dumps(HDK_ONLY)]
    return {
        "ansible -m ping": [str(BIN / "ansible"), "-i", inventory, "engines", "-m", "ansible.builtin.ping"],
        "second run, all layers": play,
        "second run, driver and firmware": [*play, *only],
        "precheck, driver and firmware": [*play, *only, *PRECHECK],
    }


def measure(fleet: Fleet, count: int) -> list[list[object]]:
    forks = min(count, FORKS)
    rows: list[list[object]] = []
    for title, command in commands_on(fleet.inventory(count)).items():
        timed(command, forks)
        started = fleet.executions()
        runs = [timed(command, forks) for _turn in range(ROUNDS)]
        changed = sum(int(number) for number in re.findall(r"changed=(\d+)", runs[-1][2]))
        wall, cpu = (statistics.median(run[column] for run in runs) for column in (0, 1))
        spread = " / ".join(f"{run[0]:.1f}" for run in runs)
        rows.append([count, title, f"{wall:.1f}", spread, f"{cpu:.1f}", fleet.executions() - started, changed])
    return rows


def measure_growth(fleet: Fleet, counts: list[int]) -> list[list[object]]:
    """One ping and one run for each count, the ping twice: before it no host has a connection."""
    rows: list[list[object]] = []
    for count in counts:
        forks = min(count, FORKS)
        ping, run = list(commands_on(fleet.inventory(count)).values())[:2]
        timed(ping, forks)
        (ping_wall, ping_cpu, _said), before = timed(ping, forks), os.getloadavg()[0]
        wall, cpu, said = timed(run, forks)
        changed = sum(int(number) for number in re.findall(r"changed=(\d+)", said))
        shares = [f"{wall / ping_wall:.1f}", f"{wall / count:.2f}", f"{cpu / count:.2f}"]
        rows.append([count, f"{ping_wall:.1f}", f"{ping_cpu:.1f}", f"{wall:.1f}", f"{cpu:.1f}", *shares, changed, f"{before:.1f}"])
        print(*rows[-1], flush=True)
    return rows


def check_limits(count: int) -> None:
    wanted, found = 64 + count * INOTIFY_PER_HOST, int(INOTIFY.read_text(encoding="ascii"))
    if found < wanted:
        raise SystemExit(f"{count} hosts need more inotify instances than {found}. Run: sysctl -w fs.inotify.max_user_instances=2048")


def main() -> None:
    parser = argparse.ArgumentParser(description="Second runs of prepare.yml on containers over SSH")
    parser.add_argument("--growth", action="store_true", help="one ping and one run for each number of hosts")
    parser.add_argument("counts", nargs="*", type=int, metavar="NUMBER")
    options = parser.parse_args()
    counts = options.counts or ([1, 4, 10, 25, 50] if options.growth else [1, 4])
    check_limits(max(counts))
    if subprocess.run(["docker", "inspect", MODEL], check=False, capture_output=True).returncode:
        raise SystemExit(f"There is no host {MODEL}. Run: molecule converge -s host_prepare")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make_image(folder)
        try:
            (growth if options.growth else side_by_side)(folder, counts)
        finally:
            subprocess.run(["docker", "network", "rm", NETWORK], check=False, capture_output=True)


def side_by_side(folder: pathlib.Path, counts: list[int]) -> None:
    rows: list[list[object]] = [["hosts", "operation", "wall s", "runs", "controller CPU s", "installers started", "changed"]]
    for count in counts:
        with Fleet(folder, count) as fleet:
            rows += measure(fleet, count)
        table(f"prepare.yml on {count} prepared hosts over SSH, load before {os.getloadavg()[0]:.1f}", rows)


def growth(folder: pathlib.Path, counts: list[int]) -> None:
    head = ["hosts", "ping s", "ping CPU s", "run s", "run CPU s", "run/ping", "s a host", "CPU s a host", "changed", "load before"]
    with Fleet(folder, max(counts)) as fleet:
        table(f"second run of all layers over SSH, {FORKS} forks at most", [head, *measure_growth(fleet, counts)])


if __name__ == "__main__":
    main()
