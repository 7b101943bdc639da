# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The servers of this scenario, runs of a playbook on them, and what a run executes on a server."""

from __future__ import annotations

import json
import typing as t

import pytest
import testinfra
from prepared_host import PreparedHost, recap

Acts = t.List[t.Tuple[str, str]]


@pytest.fixture(scope="session")
def installed() -> Acts:
    """What changes a server that gets all layers, in order."""
    return [(kind, "install") for kind in ("driver", "firmware", "docker_runtime", "toolkit", "ops", "nnal")]


@pytest.fixture(scope="session")
def removed() -> Acts:
    """What changes a server that loses all of them, in order."""
    return [(kind, "uninstall") for kind in ("nnal", "ops", "toolkit", "docker_runtime", "firmware", "driver")]


class Server(PreparedHost):
    """One server."""

    def __init__(self, container: str) -> None:
        self.host = testinfra.get_host("docker://" + container)
        super().__init__(self.host)

    def is_tuned(self) -> bool:
        """Has the kernel the values that it got when the server was prepared first?"""
        kept = self.host.file("/root/found/tuned").content_string.strip()
        return self.host.check_output("sysctl kernel.shmmax kernel.shmall") == kept


@pytest.fixture(scope="session")
def servers(variables) -> t.Dict[str, Server]:
    """The servers by name."""
    return {name: Server(variables["molecule"]["hosts"][name]["ansible_host"]) for name in variables["engines"]["hosts"]}


@pytest.fixture
def play(run_playbook, servers):
    """Run a playbook of the collection on servers; return it, and ``changed`` and ``failed`` of each."""

    def run(name: str, hosts: t.Iterable[str], **changes: t.Any) -> t.Tuple[t.Any, t.Dict[str, t.Dict[str, int]]]:
        done = run_playbook("npufleet.ascend." + name, "--limit", ",".join(["localhost", *hosts]), "--extra-vars", json.dumps(changes))
        return done, {server: row for server, row in recap(done).items() if server in servers}

    return run
