# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""After a dry run, the removal, and a second removal: what is gone, what stays, and what is as it was found. Before the other tests."""

from __future__ import annotations

import json

import pytest
from prepared_host import PreparedHost

testinfra_hosts = ["ansible://engines"]


@pytest.fixture
def is_site(host):
    """Is it the server whose Docker somebody had configured?"""
    return host.backend.host == "site"


def test_every_uninstaller_ran_once_and_in_order(host, installed, removed):
    assert PreparedHost(host).acts() == installed + removed


@pytest.mark.parametrize(
    "path",
    [
        "/usr/local/Ascend",
        "/usr/local/dcmi",
        "/usr/local/sbin/npu-smi",
        "/usr/local/bin/npu-smi",
        "/etc/ascend-docker-runtime.d",
        "/dev/davinci0",
        "/dev/davinci_manager",
    ],
)
def test_packages_are_gone(host, path):
    assert not host.file(path).exists


def test_server_was_rebooted_and_has_its_npus_on_the_bus_alone(host, run_module):
    facts = run_module(host.backend.host, "npufleet.ascend.npu_facts")["ansible_facts"]["npufleet_npu"]
    assert (facts["present"], facts["available"], facts["pci_count"]) == (True, False, 8)


def test_user_of_the_driver_and_its_home_stay(host):
    user = host.user("HwHiAiUser")
    assert (user.group, user.home) == ("HwHiAiUser", "/home/HwHiAiUser")
    notes = host.file("/home/HwHiAiUser/notes")
    assert (notes.content_string, notes.user, notes.mode) == ("of somebody", "HwHiAiUser", 0o600)


def test_configuration_of_docker_is_that_of_the_site(host, is_site):
    now, found = host.file("/etc/docker/daemon.json"), host.file("/root/found/daemon.json")
    assert (now.exists, found.exists) == (is_site, is_site)
    if is_site:
        assert json.loads(now.content_string) == json.loads(found.content_string)


def test_docker_runs_with_it_and_keeps_its_data(host, is_site):
    info = json.loads(host.check_output("docker info --format '{{json .}}'"))
    assert "ascend" not in info["Runtimes"]
    assert ("site" in info["Runtimes"], info["DefaultRuntime"]) == (is_site, "site" if is_site else "runc")
    assert info["DockerRootDir"] == ("/srv/docker" if is_site else "/var/lib/docker")
    assert host.check_output("docker image ls --format '{{.Repository}}'") == "kept"


def test_kernel_has_the_values_that_were_found(host):
    found, tuned = (host.file("/root/found/" + name).content_string for name in ("sysctl", "tuned"))
    assert found != tuned
    assert host.check_output("sysctl kernel.shmmax kernel.shmall") == found.strip()


@pytest.mark.parametrize("folder", ["sysctl.d", "security"])
def test_folder_of_settings_is_as_it_was_found(host, folder):
    assert host.check_output("diff --recursive --no-dereference /root/found/etc/{0} /etc/{0}".format(folder)) == ""


def test_no_file_of_the_collection_is_left_outside_its_folder(host):
    # The last two are the package repository of the image.
    others = ["/proc/*", "/var/lib/npufleet*", "/opt/npufleet-packages*", "/var/lib/apt/lists/*"]
    found = host.check_output("find / -xdev -name '*npufleet*'" + "".join(" -not -path '{0}'".format(path) for path in others))
    assert found == ""


def test_folder_of_the_collection_has_package_files_and_logs_alone(host):
    left = host.check_output("cd /var/lib/npufleet && find . -type f -not -path './packages/*' -not -path './ascend_package/*'")
    assert left == ""


def test_irqbalance_runs_again(host, is_site):
    service = host.service("irqbalance")
    assert (service.is_running, service.is_enabled) == (not is_site, not is_site)


def test_nothing_of_the_tuning_runs_on(host):
    assert host.run("pgrep --full '[t]uning.sh'").stdout == ""
    assert host.check_output("systemctl list-units --all --plain --no-legend 'npufleet-*'") == ""
    assert host.check_output("systemctl is-system-running") == "running"
