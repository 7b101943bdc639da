# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Bring one bundle to many hosts behind a limited link: seconds, bytes that leave the controller, and seconds when nothing is missing any more.

fanout.py [--hosts 8] [--mebibytes 200] [--megabits 200] [--methods copy rsync bittorrent]

The hosts are containers that are reached by SSH. What this machine sends to them passes the bridge of their network, where tc limits it; what
they send to each other does not. copy and rsync are the role offline_bundle; bittorrent is aria2 with opentracker by hand, for comparison, and
left out where one of aria2c, mktorrent and opentracker is not installed. Needs root, Docker and tc.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import typing as t

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(sys.executable).parent
NAME = "npufleet-fanout"
MIB = 1 << 20
# Many small packages and a few big ones, as in a bundle.
SMALL_FILES, SMALL_BYTES, BIG_BYTES = 200, 50 << 10, 24 * MIB
PART = {"kind": "wheels", "folder": "wheels/cp311-glibc2.36-x86_64", "python": "3.11", "glibc": "2.36", "arch": "x86_64"}
SETS = [{"requirements": ["payload"]}]
PLATFORM = {"os": "debian", "version": "12", "arch": "x86_64", "python": "3.11"}
# As in playbooks/offline.yml.
LACK = (
    "{{ ansible_play_hosts | map('extract', hostvars) | selectattr('offline_bundle_result', 'defined') "
    "| map(attribute='offline_bundle_result.missing') | flatten | length > 0 }}"
)
COPY = "/var/lib/npufleet/bundle"
PLAY = """
- hosts: all
  gather_facts: false
  tasks:
    - ansible.builtin.import_role:
        name: npufleet.ascend.offline_bundle
        tasks_from: use
"""


def run(*argv: str, **options: t.Any) -> str:
    done = subprocess.run(argv, check=False, capture_output=True, text=True, **options)
    if done.returncode:
        raise SystemExit(f"{' '.join(argv[:6])}: exit {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-2000:]}")
    return done.stdout.strip()


class Fleet:
    """Containers behind a limited bridge."""

    def __init__(self, hosts: int, megabits: int, work: pathlib.Path) -> None:
        self.names = [f"{NAME}-{number}" for number in range(1, hosts + 1)]
        self.megabits = megabits
        self.work = work
        self.addresses: t.Dict[str, str] = {}
        self.bridge = ""
        self.gateway = ""

    def __enter__(self) -> Fleet:
        self.remove()
        image = run(str(ROOT / "molecule/shared/images/build.sh"), "fanout")
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.work / "key"))
        identity = run("docker", "network", "create", "--internal", NAME)
        self.bridge = "br-" + identity[:12]
        self.gateway = run("docker", "network", "inspect", NAME, "--format", "{{(index .IPAM.Config 0).Gateway}}")
        start = (
            "mkdir -p /run/sshd /root/.ssh && cp /key.pub /root/.ssh/authorized_keys && chmod -R go= /root/.ssh && exec /usr/sbin/sshd -D"
        )
        for name in self.names:
            run(
                "docker", "run", "-d", "--name", name, "--network", NAME, "-v", f"{self.work}/key.pub:/key.pub:ro", image, "sh", "-c", start
            )
            self.addresses[name] = run("docker", "inspect", name, "--format", "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}")
        limit = ["rate", f"{self.megabits}mbit", "burst", "256kb", "latency", "400ms"]
        run("tc", "qdisc", "add", "dev", self.bridge, "root", "tbf", *limit)
        return self

    def __exit__(self, *_error: object) -> None:
        self.remove()

    def remove(self) -> None:
        found = subprocess.run(
            ["docker", "ps", "-aq", "--filter", f"name=^{NAME}-"], capture_output=True, text=True, check=True
        ).stdout.split()
        if found:
            run("docker", "rm", "-f", *found)
        subprocess.run(["docker", "network", "rm", NAME], capture_output=True, check=False)

    def on_all(self, script: str) -> None:
        started = [subprocess.Popen(["docker", "exec", name, "sh", "-c", script], stdout=subprocess.DEVNULL) for name in self.names]
        if any(process.wait() for process in started):
            raise SystemExit(f"failed on a host: {script}")

    def sent(self) -> int:
        return int(pathlib.Path(f"/sys/class/net/{self.bridge}/statistics/tx_bytes").read_text())


def ansible(*argv: str) -> str:
    env = dict(os.environ, ANSIBLE_COLLECTIONS_PATH=str(ROOT / "collections"), ANSIBLE_PIPELINING="true", ANSIBLE_HOST_KEY_CHECKING="false")
    env.update(ANSIBLE_LOCALHOST_WARNING="false", ANSIBLE_NOCOLOR="1", ANSIBLE_FORKS="8")
    return run(str(BIN / argv[0]), *argv[1:], env=env)


def make_bundle(folder: pathlib.Path, mebibytes: int) -> None:
    part = folder / PART["folder"]
    part.mkdir(parents=True)
    left = mebibytes * MIB
    for number in range(SMALL_FILES):
        (part / f"small-{number}.whl").write_bytes(os.urandom(SMALL_BYTES))
    left -= SMALL_FILES * SMALL_BYTES
    while left > 0:
        (part / f"big-{left}.whl").write_bytes(os.urandom(min(BIG_BYTES, left)))
        left -= BIG_BYTES
    options = {"path": str(folder), "parts": [dict(PART, sets=SETS)], "work_folder": str(folder.parent / "cache")}
    ansible("ansible", "localhost", "-c", "local", "-m", "npufleet.ascend.bundle_manifest", "-a", json.dumps(options))


def by_role(fleet: Fleet, bundle: pathlib.Path, method: str) -> None:
    peers = [{"name": name, "address": fleet.addresses[name], "platform": PLATFORM} for name in fleet.names]
    inventory = {
        "all": {
            "hosts": {name: {"ansible_host": fleet.addresses[name]} for name in fleet.names},
            "vars": {
                "ansible_user": "root",
                "ansible_ssh_private_key_file": str(fleet.work / "key"),
                "ansible_ssh_common_args": "-o UserKnownHostsFile=/dev/null -o LogLevel=ERROR",
                "ansible_python_interpreter": "/usr/bin/python3",
                "npufleet_bundle": str(bundle),
                "offline_bundle_work_folder": str(fleet.work / "cache"),
                "npufleet_platform": PLATFORM,
                "offline_bundle_needs": [{"wheels": SETS}],
                "offline_bundle_peers": peers,
                "offline_bundle_peers_lack": LACK,
                "offline_bundle_distribution": method,
            },
        }
    }
    (fleet.work / "inventory.json").write_text(json.dumps(inventory))
    (fleet.work / "play.yml").write_text(PLAY)
    ansible("ansible-playbook", "-i", str(fleet.work / "inventory.json"), str(fleet.work / "play.yml"))


def by_bittorrent(fleet: Fleet, bundle: pathlib.Path, _method: str) -> None:
    """A tracker and a seed here, aria2 on the hosts, until all are done."""
    torrent = fleet.work / "bundle.torrent"
    torrent.unlink(missing_ok=True)
    run("mktorrent", "-p", "-a", f"http://{fleet.gateway}:6969/announce", "-o", str(torrent), str(bundle))
    # The tracker serves only what is on its list.
    shown = run("aria2c", "--show-files", str(torrent))
    (fleet.work / "allowed").write_text(shown.partition("Info Hash: ")[2].split()[0] + "\n")
    os.chmod(fleet.work, 0o755)
    tracker = ["opentracker", "-i", fleet.gateway, "-p", "6969", "-d", str(fleet.work), "-w", "allowed"]
    seed = ["aria2c", "-q", "--seed-ratio=0.0", "--check-integrity", "-d", str(bundle.parent), str(torrent)]
    helpers = [
        subprocess.Popen(tracker, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL),
        subprocess.Popen(seed, stdout=subprocess.DEVNULL),
    ]
    try:
        for name in fleet.names:
            run("docker", "cp", str(torrent), f"{name}:/bundle.torrent")
        # A host that is done goes on seeding for the others until all are.
        fleet.on_all("rm -f /done; printf '#!/bin/sh\\ntouch /done\\n' > /done.sh; chmod +x /done.sh; mkdir -p /var/lib/npufleet")
        options = "-q --seed-time=60 --bt-tracker-interval=2 --file-allocation=none --on-bt-download-complete=/done.sh -d /var/lib/npufleet"
        fleet.on_all(f"(aria2c {options} /bundle.torrent >/dev/null 2>&1 &); timeout 300 sh -c 'until test -e /done; do sleep 0.2; done'")
        fleet.on_all("cd /var/lib/npufleet/bundle && { sha256sum -c --quiet SHA256SUMS; rc=$?; pkill -x aria2c; exit $rc; }")
    finally:
        for helper in helpers:
            helper.terminate()
            helper.wait(20)


METHODS: t.Dict[str, t.Callable[[Fleet, pathlib.Path, str], None]] = {"copy": by_role, "rsync": by_role, "bittorrent": by_bittorrent}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=8)
    parser.add_argument("--mebibytes", type=int, default=200)
    parser.add_argument("--megabits", type=int, default=200)
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    options = parser.parse_args()
    missing = [tool for tool in ("aria2c", "mktorrent", "opentracker") if shutil.which(tool) is None]
    print(f"{options.hosts} hosts, bundle of {options.mebibytes} MiB, link of {options.megabits} Mbit/s", flush=True)
    print(f"{'method':<12}{'seconds':>9}{'sent MiB':>10}{'copies':>8}{'again s':>9}", flush=True)
    with tempfile.TemporaryDirectory(prefix="npuf-fanout-") as name:
        work = pathlib.Path(name)
        bundle = work / "bundle"
        make_bundle(bundle, options.mebibytes)
        with Fleet(options.hosts, options.megabits, work) as fleet:
            for method in options.methods:
                if method == "bittorrent" and missing:
                    print(f"{method:<12} left out, not installed: {', '.join(missing)}")
                    continue
                fleet.on_all(f"rm -rf {COPY}")
                before, began = fleet.sent(), time.monotonic()
                METHODS[method](fleet, bundle, method)
                seconds, sent = time.monotonic() - began, (fleet.sent() - before) / MIB
                line = f"{method:<12}{seconds:>9.1f}{sent:>10.0f}{sent / options.mebibytes:>8.2f}"
                if METHODS[method] is by_role:
                    # What the role costs when every host has everything.
                    began = time.monotonic()
                    by_role(fleet, bundle, method)
                    line += f"{time.monotonic() - began:>9.1f}"
                print(line, flush=True)


if __name__ == "__main__":
    main()
