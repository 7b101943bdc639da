# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The layers come back, removals that are refused, and the removal of one layer. Each test needs the ones before."""

from __future__ import annotations

import pytest

testinfra_hosts = ["local://"]

ONE = "bare"
UNTOUCHED = {ONE: {"changed": 0, "failed": 1}}
LAYERS = ["cann", "container_runtime", "ascend_driver", "kunpeng_host"]
HOLD = "import os, time; kept = os.open('/dev/davinci0', os.O_PATH); time.sleep(1000)"


@pytest.fixture
def holder(servers, wait_for):
    """Process id of somebody who works with an NPU."""
    host = servers[ONE].host
    host.check_output('systemd-run --unit=holder python3 -c "{0}"'.format(HOLD))
    pid = host.check_output("systemctl show --value --property=MainPID holder")
    wait_for(lambda: "/dev/davinci0" in host.run("readlink /proc/{0}/fd/*".format(pid)).stdout, 20)
    yield pid
    host.check_output("systemctl stop holder")


def test_all_layers_come_back(play, servers, installed, removed):
    done, rows = play("prepare", servers)
    assert done.returncode == 0, done.stdout
    for server in servers.values():
        assert server.acts() == installed + removed + installed
        assert "Version: 25.5.0" in server.host.check_output("npu-smi info")
        assert "ascend" in server.host.check_output("docker info --format '{{json .Runtimes}}'")
        assert server.is_tuned()
    done, rows = play("prepare", servers)
    assert rows == {name: {"changed": 0, "failed": 0} for name in servers}, done.stdout


def test_an_unknown_layer_is_refused(play, servers):
    before = servers[ONE].executions()
    done, rows = play("remove", [ONE], remove_layers=["cann", "ascend_drvier"])
    assert done.returncode != 0 and "There is no layer ascend_drvier. Where: remove_layers." in done.stdout
    assert (rows, servers[ONE].executions()) == (UNTOUCHED, before)


@pytest.mark.parametrize("layers", [LAYERS, ["ascend_driver"]], ids=["all", "driver"])
def test_whoever_holds_an_npu_is_named_and_nothing_is_removed(play, servers, holder, layers):
    before = servers[ONE].executions()
    done, rows = play("remove", [ONE], remove_layers=layers)
    assert done.returncode != 0 and "process {0} (python3) with /dev/davinci0".format(holder) in done.stdout, done.stdout
    assert (rows, servers[ONE].executions()) == (UNTOUCHED, before)


def test_without_consent_to_the_reboot_nothing_is_removed(play, servers):
    before = servers[ONE].executions()
    done, rows = play("remove", [ONE], npufleet_reboot=None)
    assert done.returncode != 0 and "bare needs a reboot: " in done.stdout and "Where: ascend_driver_reboot" in done.stdout, done.stdout
    assert (rows, servers[ONE].executions()) == (UNTOUCHED, before)


def test_one_layer_alone_leaves_the_others(play, servers, removed):
    server = servers[ONE]
    before = len(server.acts())
    done, rows = play("remove", [ONE], remove_layers=["cann"])
    assert done.returncode == 0, done.stdout
    assert server.acts()[before:] == [act for act in removed if act[0] in ("nnal", "ops", "toolkit")]
    assert not server.host.file("/usr/local/Ascend/cann").exists and not server.host.file("/usr/local/Ascend/nnal").exists
    assert "Version: 25.5.0" in server.host.check_output("npu-smi info")
    assert "ascend" in server.host.check_output("docker info --format '{{json .Runtimes}}'")
    assert server.is_tuned()
    done, rows = play("remove", [ONE], remove_layers=["cann"])
    assert rows == {ONE: {"changed": 0, "failed": 0}}, done.stdout
    assert len(server.acts()) == before + 3


def test_a_reboot_that_is_left_to_somebody_else_is_told(play, servers, removed):
    server = servers[ONE]
    before = len(server.acts())
    started = server.host.check_output("stat --format=%Y /proc/1")
    done, rows = play("remove", [ONE], remove_layers=["ascend_driver"], npufleet_reboot=False)
    assert done.returncode == 0 and "bare needs a reboot before" in done.stdout, done.stdout
    assert server.acts()[before:] == [("firmware", "uninstall"), ("driver", "uninstall")]
    assert server.host.check_output("stat --format=%Y /proc/1") == started
    done, rows = play("remove", [ONE], remove_layers=["ascend_driver"], npufleet_reboot=False)
    assert rows == {ONE: {"changed": 0, "failed": 0}} and "bare needs a reboot before" in done.stdout, done.stdout
    done, rows = play("remove", [ONE], remove_layers=["ascend_driver"])
    assert rows == {ONE: {"changed": 1, "failed": 0}}, done.stdout
    assert not server.host.file("/dev/davinci0").exists
    assert len(server.acts()) == before + 2
