# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Fixtures of all scenarios: the simulated host behind ``host``, and modules run the way a play runs them."""

from __future__ import annotations

import json
import os

import pytest
import testinfra

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
        self._host.check_output("{0}/make_state.py {1}".format(SIMULATOR, words))

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


@pytest.fixture
def run_module():
    """Run a module of the collection on a host of the inventory and return its result."""

    def run(hostname, module, **options):
        inventory = os.path.join(os.environ["MOLECULE_SCENARIO_DIRECTORY"], "inventory")
        host = testinfra.get_host("ansible://{0}?force_ansible=True&ansible_inventory={1}".format(hostname, inventory))
        return host.ansible(module, json.dumps(options), check=False)

    return run
