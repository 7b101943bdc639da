# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Hosts with engines of their own, and the playbooks of this scenario."""

from __future__ import annotations

import json
import os
import typing as t

import pytest
import testinfra


class EngineHost:
    """One host, and Docker on it."""

    def __init__(self, name: str, container: str) -> None:
        self.name = name
        self.host = testinfra.get_host("docker://{0}".format(container))

    def sh(self, command: str) -> str:
        """What a command that has to succeed prints."""
        return self.host.check_output(command)

    def info(self) -> t.Dict[str, t.Any]:
        """What `docker info` says."""
        return json.loads(self.sh("docker info --format '{{json .}}'"))

    def daemon_json(self) -> t.Dict[str, t.Any]:
        """The settings in the file."""
        return json.loads(self.host.file("/etc/docker/daemon.json").content_string)

    def start(self) -> str:
        """Which start of the daemon this is."""
        return self.sh("ps -C dockerd -o pid=,lstart=").strip()

    def serves(self) -> bool:
        """Does the container of the site run?"""
        return "serving" in self.sh("docker ps --format '{{.Names}}'").split()

    def image(self) -> None:
        """Have the image box:1."""
        self.sh("docker image inspect box:1 >/dev/null 2>&1 || tar -C /opt/image -c . | docker import - box:1")


def _hosts(variables: t.Mapping[str, t.Any]) -> t.Dict[str, EngineHost]:
    return {name: EngineHost(name, options["ansible_host"]) for name, options in variables["molecule"]["hosts"].items()}


@pytest.fixture(scope="session")
def bare(variables):
    """The host that had no engine."""
    return _hosts(variables)["docker-bare"]


@pytest.fixture(scope="session")
def site(variables):
    """The host on which somebody had configured Docker."""
    return _hosts(variables)["docker-site"]


@pytest.fixture(scope="session")
def containerd(variables):
    """The host with containerd."""
    return _hosts(variables)["containerd-bare"]


@pytest.fixture(scope="session")
def podman(variables):
    """The host with Podman."""
    return _hosts(variables)["podman-bare"]


@pytest.fixture
def play(run_playbook):
    """Run a playbook of this scenario, or its converge.yml, on some hosts."""

    def run(name: str, hosts: str = "molecule", **variables: t.Any) -> t.Any:
        folder = os.environ["MOLECULE_SCENARIO_DIRECTORY"]
        path = os.path.join(folder, name if name == "converge.yml" else "plays/" + name)
        return run_playbook(path, "--limit", hosts, "--extra-vars", json.dumps(variables))

    return run
