# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Podman's Docker-compatible socket: a service of our own, with its own images, that ends with the tests."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import time
import typing as t

PACKAGES = ("podman", "crun")
# Podman asks for limits and cgroups that a test machine in a virtual machine or container may not grant; a real host grants them.
CRUN = """\
#!/usr/bin/python3
import json, os, sys
words = sys.argv[1:]
if "create" in words:
    path = os.path.join(words[words.index("--bundle") + 1], "config.json")
    with open(path) as file:
        spec = json.load(file)
    spec["process"].pop("rlimits", None)
    with open(path, "w") as file:
        json.dump(spec, file)
os.execv("/usr/bin/crun", ["crun", "--cgroup-manager=disabled", *words])
"""
SETTINGS = """\
[engine]
runtime = "granted"
cgroup_manager = "cgroupfs"
[engine.runtimes]
granted = ["{0}"]
"""


def missing() -> str:
    """Why Podman cannot be used here; the packages are installed where tests may do so."""
    if all(shutil.which(name) for name in PACKAGES):
        return ""
    if os.environ.get("NPUFLEET_INSTALL_PREREQUISITES") and os.geteuid() == 0 and shutil.which("apt-get"):
        command = "apt-get update -q && apt-get install -q -y --no-install-recommends " + " ".join(PACKAGES)
        environment = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
        done = subprocess.run(["sh", "-c", command], env=environment, capture_output=True, text=True, timeout=600, check=False)
        return done.stderr if done.returncode else ""
    return "Podman is missing. As root on Debian: apt-get install {0}".format(" ".join(PACKAGES))


class Podman:
    """``podman system service`` with everything of it in one folder."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.url = "unix://{0}/podman.sock".format(folder)
        crun = folder / "crun"
        crun.write_text(CRUN)
        crun.chmod(0o755)
        (folder / "containers.conf").write_text(SETTINGS.format(crun))
        self.folders = ["--root={0}/root".format(folder), "--runroot={0}/run".format(folder)]
        self.environment = dict(os.environ, CONTAINERS_CONF=str(folder / "containers.conf"))
        self.log = open(folder / "log", "wb")  # noqa: SIM115  # as long as the service
        self.service = subprocess.Popen(
            ["podman", *self.folders, "system", "service", "--time=0", self.url],
            env=self.environment, stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        deadline = time.monotonic() + 60
        while not (folder / "podman.sock").exists():
            assert time.monotonic() < deadline and self.service.poll() is None, (folder / "log").read_text()
            time.sleep(0.1)

    def load(self, *images: str) -> None:
        """Copy images out of Docker."""
        with subprocess.Popen(["docker", "save", *images], stdout=subprocess.PIPE) as saved:
            self.do("load", stdin=saved.stdout)

    def do(self, *words: str, **options: t.Any) -> str:
        command = ["podman", *self.folders, *words]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=300, check=False, **options)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def close(self) -> None:
        self.do("rm", "--all", "--force", "--time=0")
        self.service.terminate()
        self.service.wait(30)
        self.do("rmi", "--all", "--force")
        self.log.close()
