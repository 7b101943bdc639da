# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A bare aarch64 server became an Ascend host, with the packages of its architecture."""

from __future__ import annotations

import json

import pytest
from prepared_host import EXECUTIONS, PreparedHost

testinfra_hosts = ["ansible://engines"]

KINDS = ["driver", "firmware", "toolkit", "ops"]


def test_the_server_is_aarch64_and_this_machine_may_be_another(host):
    assert host.check_output("uname -m") == "aarch64"


def test_every_installer_ran_once_and_in_order(host):
    """Converge and idempotence came before: the second run started none."""
    assert PreparedHost(host).acts() == [(kind, "install") for kind in KINDS]


def test_packages_are_those_of_the_architecture(host):
    lines = [json.loads(line) for line in host.file(EXECUTIONS).content_string.splitlines()]
    files = [line["argv"][0] for line in lines if line["event"] == "start" and line["action"] == "install"]
    # The firmware is one file for all architectures.
    assert [("aarch64" in name, "x86" in name) for name in files] == [(True, False), (False, False), (True, False), (True, False)]


def test_all_npus_are_back_with_the_driver_on_disk(host, run_module):
    facts = run_module(host.backend.host, "npufleet.ascend.npu_info")["npu"]
    assert (facts["chip_count"], facts["healthy_count"], facts["missing_bus_ids"], facts["driver_matches_installed"]) == (8, 8, [], True)
    assert "Version=25.5.0" in host.file("/usr/local/Ascend/driver/version.info").content_string


@pytest.mark.parametrize("path", ["/usr/local/Ascend/cann-8.5.0/set_env.sh", "/usr/local/Ascend/cann/set_env.sh"])
def test_cann_is_there(host, path):
    assert host.file(path).exists


@pytest.mark.parametrize("tool", ["lspci", "ifconfig", "gcc", "make", "dkms", "numactl", "logrotate"])
def test_base_packages(host, tool):
    assert host.exists(tool)
