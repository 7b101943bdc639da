# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Fixtures of all scenarios: the simulated host behind ``host``, modules and playbooks run as a person runs them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import pytest
import yaml

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "shared"))

from service_host import ServiceHost

SIMULATOR = "/opt/npu-simulator"
STATE = "/etc/npu-simulator/state.json"
CALL_LOG = "/var/log/npu-simulator/calls.jsonl"


class Simulator:
    """The simulator on one host."""

    def __init__(self, host):
        self._host = host

    def change(self, *options):
        """Change the state with options of make_state.py."""
        words = " ".join("'{0}'".format(option) for option in options)
        self._host.check_output("python3 {0}/make_state.py {1}".format(SIMULATOR, words))

    def calls(self):
        """Return the argument lists of all logged npu-smi processes, oldest first."""
        return [json.loads(line)["argv"] for line in self._host.file(CALL_LOG).content_string.splitlines()]

    def forget_calls(self):
        """Empty the call log."""
        self._host.check_output("truncate --size=0 {0}".format(CALL_LOG))


@pytest.fixture
def simulator(host):
    """The simulator, with an empty call log; its state is put back after the test."""
    host.check_output("cp {0} {0}.kept".format(STATE))
    found = Simulator(host)
    found.forget_calls()
    yield found
    host.check_output("mv {0}.kept {0}".format(STATE))


def inventory():
    """Path of the inventory of the scenario."""
    return os.path.join(os.environ["MOLECULE_SCENARIO_DIRECTORY"], "inventory")


@pytest.fixture(scope="session")
def variables():
    """The inventory of the scenario as it is written."""
    with open(os.path.join(inventory(), "hosts.yml"), encoding="utf-8") as stream:
        return yaml.safe_load(stream)


@pytest.fixture(scope="session")
def places(variables):
    """The hosts of the scenario by their names, as ones that run engines."""
    return {name: ServiceHost(name, options) for name, options in variables["molecule"]["hosts"].items()}


@pytest.fixture
def place(host, places):
    """The host of the test, as one that runs engines."""
    return places[host.backend.host]


def ansible(*words):
    """Run a command of Ansible with the inventory of the scenario; all it says is in ``stdout``."""
    command = [words[0], "--inventory", inventory(), *words[1:]]
    # Molecule asks for colours, and for results as wrapped YAML.
    plain = {"ANSIBLE_NOCOLOR": "true", "ANSIBLE_FORCE_COLOR": "false", "ANSIBLE_CALLBACK_RESULT_FORMAT": "json"}
    return subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=500, check=False, env=dict(os.environ, **plain)
    )


@pytest.fixture(scope="session")
def run_tasks(tmp_path_factory):
    """Run tasks as one play on hosts of the inventory, a failed one no hindrance to the next; return their results for each host."""

    folder = tmp_path_factory.mktemp("tasks")

    def run(hosts, tasks, **variables):
        names = ["result_{0}".format(number) for number in range(len(tasks))]
        results = "{{ [" + ", ".join(names) + "] | to_json }}"
        write = {
            "ansible.builtin.copy": {"content": results, "dest": "{0}/{{{{ inventory_hostname }}}}.json".format(folder)},
            "delegate_to": "localhost",
            "vars": {"ansible_shell_executable": "/bin/sh"},
        }
        play = {
            "hosts": hosts,
            "gather_facts": False,
            "vars": variables,
            "tasks": [dict(task, register=name, ignore_errors=True) for name, task in zip(names, tasks)] + [write],
        }
        (folder / "play.json").write_text(json.dumps([play]))
        done = ansible("ansible-playbook", str(folder / "play.json"))
        assert done.returncode == 0, done.stdout
        return {name: json.loads((folder / (name + ".json")).read_text()) for name in hosts}

    return run


@pytest.fixture(scope="session")
def run_module(run_tasks):
    """Run one module on one host and return its result, be it a failure."""
    return lambda hostname, module, **options: run_tasks([hostname], [{module: options}])[hostname][0]


@pytest.fixture
def run_playbook():
    """Run a playbook on the inventory of the scenario, with all that Ansible can be made to say."""

    def run(name, *options):
        return ansible("ansible-playbook", "--diff", "-vvv", name, *options)

    return run


@pytest.fixture
def wait_for():
    """Wait until a function returns something true, and return that."""

    def wait(function, seconds):
        deadline = time.monotonic() + seconds
        while True:
            found = function()
            if found or time.monotonic() > deadline:
                assert found, "{0} s were not enough".format(seconds)
                return found
            time.sleep(0.5)

    return wait
