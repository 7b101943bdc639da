# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The servers of this scenario with their boots, and runs of a playbook on some of them."""

from __future__ import annotations

import json
import os
import typing as t

import pytest
import testinfra
from prepared_host import EXECUTIONS, PreparedHost


class RebootedHost(PreparedHost):
    """One server."""

    def __init__(self, container: str) -> None:
        self.host = testinfra.get_host("docker://" + container)
        super().__init__(self.host)

    def boots(self) -> t.List[t.Tuple[str, float]]:
        """What happened when, in seconds: up and down."""
        lines = [line.split() for line in self.host.file("/var/log/boots").content_string.splitlines()]
        return [(word, float(seconds)) for word, seconds in lines]

    def first_start(self) -> float:
        """When the first package was started, in seconds."""
        return float(json.loads(self.host.file(EXECUTIONS).content_string.splitlines()[0])["time"])

    def npu_smi_calls(self) -> t.List[float]:
        """When npu-smi was asked, in seconds."""
        return [json.loads(line)["time"] for line in self.host.file("/var/log/npu-simulator/calls.jsonl").content_string.splitlines()]

    def next_boots(self, *options: str) -> None:
        """Options of make_state.py about the boots that follow."""
        self.host.check_output("python3 /opt/npu-simulator/make_state.py " + " ".join(options))

    def running(self) -> str:
        """The version of the driver that npu-smi shows."""
        return self.host.run("npu-smi info | grep -o 'Version: [^ ]*'").stdout.replace("Version:", "").strip()


@pytest.fixture(scope="session")
def servers(variables):
    """The servers by name."""
    return {name: RebootedHost(variables["molecule"]["hosts"][name]["ansible_host"]) for name in variables["engines"]["hosts"]}


@pytest.fixture
def play(run_playbook):
    """Run the collection's playbook prepare, or one of this scenario, on some hosts."""

    def run(name: str, hosts: str, **changes: t.Any) -> t.Any:
        path = os.path.join(os.environ["MOLECULE_SCENARIO_DIRECTORY"], "plays", name + ".yml")
        playbook = path if os.path.exists(path) else "npufleet.ascend." + name
        return run_playbook(playbook, "--limit", "localhost," + hosts, "--extra-vars", json.dumps(changes))

    return run


@pytest.fixture
def reboot(wait_for):
    """Reboot a server by hand and wait until it is up again."""

    def run(server: RebootedHost) -> None:
        boots = len(server.boots())
        server.host.run("systemctl reboot")
        up = "[ $(wc -l </var/log/boots) -ge {0} ] && systemctl is-system-running".format(boots + 2)
        wait_for(lambda: server.host.run(up).rc == 0, 90)

    return run
