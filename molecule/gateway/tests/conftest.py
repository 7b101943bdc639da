# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Fixtures of this scenario: the door, the playbook with other variables, the module."""

from __future__ import annotations

import json
import os
import sys

import pytest
import testinfra

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from gateway_door import CONTAINER, NAME, SCENARIO, Door


@pytest.fixture(scope="session")
def door():
    return Door(testinfra.get_host("docker://" + CONTAINER))


@pytest.fixture
def converge(run_playbook, tmp_path):
    """Run the playbook of the scenario again, with other variables."""

    def run(*options, **variables):
        (tmp_path / "variables.json").write_text(json.dumps(variables))
        return run_playbook(SCENARIO + "/converge.yml", "-e", "@{0}".format(tmp_path / "variables.json"), *options)

    return run


@pytest.fixture
def server(run_module):
    """Call the module gateway_server."""
    return lambda name=None, **options: run_module(
        NAME, "npufleet.ascend.gateway_server", **dict(options, **({"server": name} if name else {}))
    )
