# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Bare servers became Ascend hosts: what is there, what was executed, and what a further run does."""

from __future__ import annotations

import json

import pytest
from prepared_host import PreparedHost

testinfra_hosts = ["ansible://engines"]

ONCE = [
    ("driver", "install"),
    ("firmware", "install"),
    ("docker_runtime", "install"),
    ("toolkit", "install"),
    ("ops", "install"),
    ("nnal", "install"),
]


@pytest.fixture
def prepared(host):
    return PreparedHost(host)


def test_every_installer_ran_once_and_in_order(prepared):
    """Converge and idempotence came before: the second run started none."""
    assert prepared.acts() == ONCE


def test_every_package_checked_itself_before_it_was_installed(prepared):
    seen = [(kind, action) for kind, action, _version in prepared.executions()]
    assert seen == [(kind, action) for kind, _install in ONCE for action in ("check", "install")]


def test_driver_on_disk_is_the_one_that_runs(host):
    assert "Version: 25.5.0" in host.check_output("npu-smi info")
    assert "Version=25.5.0" in host.file("/usr/local/Ascend/driver/version.info").content_string
    assert "Driver_Install_Status=complete" in host.file("/etc/ascend_install.info").content_string


def test_all_npus_are_back(host, run_module):
    facts = run_module(host.backend.host, "npufleet.ascend.npu_info")["npu"]
    assert (facts["chip_count"], facts["healthy_count"], facts["missing_bus_ids"], facts["driver_matches_installed"]) == (8, 8, [], True)


def test_docker_knows_the_runtime_and_keeps_its_default(host):
    info = json.loads(host.check_output("docker info --format '{{json .}}'"))
    assert "ascend" in info["Runtimes"]
    assert info["DefaultRuntime"] == "runc"


def test_user_of_the_driver_has_a_home(host):
    user = host.user("HwHiAiUser")
    assert (user.group, user.home) == ("HwHiAiUser", "/home/HwHiAiUser")
    assert host.file(user.home).is_directory


@pytest.mark.parametrize("tool", ["lspci", "ifconfig", "gcc", "make", "dkms", "numactl", "logrotate"])
def test_base_packages(host, tool):
    assert host.exists(tool)


def test_headers_are_those_of_the_running_kernel(host):
    assert host.file("/lib/modules/{0}/build".format(host.check_output("uname -r"))).exists


def test_cann_is_complete(host):
    assert host.file("/usr/local/Ascend/cann").linked_to == "/usr/local/Ascend/cann-8.5.0"
    assert host.file("/usr/local/Ascend/cann/set_env.sh").exists
    assert host.file("/usr/local/Ascend/nnal/atb/set_env.sh").exists


def test_root_of_the_installation_is_open_to_other_users(host):
    assert host.file("/usr/local/Ascend").mode == 0o755


def test_unpacked_installers_and_logs_are_for_root_alone(host):
    assert host.file("/var/lib/npufleet/ascend_package").mode == 0o700
