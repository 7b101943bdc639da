# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Fixtures of this scenario: the gateway, its clients, and playbooks that say what they do while they do it."""

from __future__ import annotations

import json
import os
import re
import ssl
import subprocess
import sys
import typing as t

import pytest
import testinfra
from service_host import ServiceHost

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from upgrade_load import CLIENTS, Load

SCENARIO = os.environ["MOLECULE_SCENARIO_DIRECTORY"]
PORT = 8443
MASTER = "/run/npufleet-gateway/master.sock"


class Gateway:
    """The gateway as its clients see it, and what it tells of its engines."""

    def __init__(self, container: str, key: str) -> None:
        self.host = testinfra.get_host("docker://" + container)
        self.key = key
        command = ["docker", "inspect", "-f", "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}", container]
        self.address = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
        certificate = self.host.file("/etc/npufleet-gateway/generated/certificate.pem").content_string
        self.trust = ssl.create_default_context(cadata=certificate)
        # The address of the container is not in the certificate.
        self.trust.check_hostname = False

    def load(self, clients: int = CLIENTS) -> Load:
        return Load(self.address, PORT, self.trust, self.key, clients)

    def journal(self, since: float) -> t.List[t.Tuple[float, str]]:
        """Time and text of what HAProxy has said since then."""
        text = self.host.check_output("journalctl --no-pager -o json -u npufleet-gateway --since=@{0:.0f}".format(since))
        rows = [json.loads(line) for line in text.splitlines()]
        return [(int(row["__REALTIME_TIMESTAMP"]) / 1e6, str(row["MESSAGE"])) for row in rows]

    def requests(self, since: float) -> t.List[t.Dict[str, t.Any]]:
        """Requests that ended since then, each with the time at which it began."""
        rows = [dict(json.loads(text), ended=when) for when, text in self.journal(since) if text.startswith('{"client"')]
        return [dict(row, began=row["ended"] - row["ms"] / 1000) for row in rows]


class Done(t.NamedTuple):
    """A playbook that has ended."""

    code: int
    output: str

    def changed(self) -> t.Dict[str, int]:
        """How many tasks of each host changed something."""
        recap = self.output.rpartition("PLAY RECAP")[2]
        return {host: int(count) for host, count in re.findall(r"^(\S+) +: ok=\d+ +changed=(\d+)", recap, re.MULTILINE)}


@pytest.fixture(scope="session")
def gateway(variables):
    group = variables["gateways"]["vars"]
    return Gateway(variables["molecule"]["hosts"]["gateway"]["ansible_host"], group["vllm_gateway_api_keys"]["alice"])


@pytest.fixture(scope="session")
def engines(variables):
    """The engines by their names, which are those of their hosts."""
    common = variables["molecule"]["vars"]
    return {name: ServiceHost(name, dict(common, **variables["molecule"]["hosts"][name])) for name in variables["engines"]["hosts"]}


@pytest.fixture(scope="session")
def secrets(variables):
    """What nobody may see: the keys of the client and of the engines."""
    return [variables["gateways"]["vars"]["vllm_gateway_api_keys"]["alice"], variables["engines"]["vars"]["vllm_engine_api_key"]]


@pytest.fixture
def play(tmp_path, secrets):
    """Run a playbook of the collection with all that Ansible can be made to say, and show its tasks while it runs; no secret may show."""
    facts = tmp_path / "facts"

    def run(name: str, *options: str, inventory: t.Optional[t.Dict[str, t.Any]] = None, **variables: t.Any) -> Done:
        (tmp_path / "variables.json").write_text(json.dumps(variables))
        command = ["ansible-playbook", "--diff", "-vvv", "--inventory", os.path.join(SCENARIO, "inventory")]
        if inventory is not None:
            (tmp_path / "more.json").write_text(json.dumps(inventory))
            command += ["--inventory", str(tmp_path / "more.json")]
        command += ["npufleet.ascend." + name, "--extra-vars", "@{0}".format(tmp_path / "variables.json"), *options]
        plain = {
            "ANSIBLE_NOCOLOR": "true",
            "ANSIBLE_FORCE_COLOR": "false",
            "ANSIBLE_CALLBACK_RESULT_FORMAT": "json",
            "ANSIBLE_CACHE_PLUGIN": "ansible.builtin.jsonfile",
            "ANSIBLE_CACHE_PLUGIN_CONNECTION": str(facts),
        }
        lines = []
        print("\n    " + " ".join(command[-3 - len(options) :]), flush=True)
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=dict(os.environ, **plain)
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                lines.append(line)
                if line.startswith(("TASK [", "  [", "fatal:")):
                    print("    " + line.rstrip()[:150], flush=True)
        output = "".join(lines)
        kept = "".join(path.read_text() for path in facts.rglob("*") if path.is_file())
        assert [secret for secret in secrets if secret in output or secret in kept] == [], "a key shows"
        return Done(process.returncode, output)

    return run
