# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The simulated Atlas 800I A2 after converge: what a play learns of it, at what price, and what it learns when npu-smi fails."""

from __future__ import annotations

import pytest

HOST = "atlas-a2"
testinfra_hosts = ["ansible://" + HOST]

# fault of the simulator -> options of make_state.py, reason the facts give, npu-smi processes it may cost
FAULTS = {
    "hang": (["--fault-option", "ignore_sigterm=true", "--fault-option", "lines=3"], "timeout", 1),
    "garbage": ([], "unexpected_output", 1),
    "missing_library": ([], "missing_library", 1),
    "dcmi_8005": ([], "dcmi_init_failed", 1),
    "dcmi_8020": ([], "device_in_use", 1),
    "query_failed": ([], "query_failed", 1),
    "no_npu": ([], "devices_not_listed", 2),
}


@pytest.fixture
def gather(run_module):
    def run(**options):
        result = run_module(HOST, "npufleet.ascend.npu_facts", sysfs_root="/opt/npu-simulator/sys", **options)
        assert not result.get("failed") and not result["changed"], result
        return result["ansible_facts"]["npufleet_npu"]

    return run


def test_host_poses_as_a_server_with_eight_npus(host):
    assert host.check_output("systemctl is-system-running") == "running"
    assert host.check_output("npu-smi -v") == "npu-smi version: 25.5.1"
    kinds = host.check_output("stat -c '%F %G' /dev/davinci0 /dev/davinci7 /dev/davinci_manager /dev/devmm_svm /dev/hisi_hdc")
    assert set(kinds.splitlines()) == {"character special file HwHiAiUser"}
    assert "Driver_Install_Status=complete" in host.file("/etc/ascend_install.info").content_string


def test_gathering_costs_two_npu_smi_processes(gather, simulator):
    facts = gather()
    assert (facts["available"], facts["chip_count"], facts["image_suffix"]) == (True, 8, "")
    assert simulator.calls() == [["info"], ["info", "-m"]]


def test_load_and_processes_of_one_chip(gather, simulator):
    simulator.change("--set", "3.0.util=97", "--set", "3.0.hbm=[30100, 32768]", "--process", "3.0.10031=worker_tp0:27000")
    chips = gather()["chips"]
    assert (chips[3]["util_pct"], chips[3]["memory_used_mb"], chips[3]["memory_total_mb"]) == (97, 30100, 32768)
    assert [process["name"] for process in chips[3]["processes"]] == ["worker_tp0"]
    assert chips[2]["processes"] == []


def test_alarm_is_healthy_no_more(gather, simulator):
    simulator.change("--set", "5.0.health=Alarm", "--set", '5.0.errors=[{"code": "80E3A203", "text": "sensor"}]')
    facts = gather(gather=["health"])
    assert (facts["available"], facts["healthy_count"], facts["chips"][5]["health"]) == (True, 7, "Alarm")
    assert "80E3A203" in str(facts["chips"][5]["errors"])
    assert len(simulator.calls()) == 3


def test_card_that_fell_off_the_bus_makes_the_host_incomplete(gather, simulator):
    simulator.change("--drop", "7")
    facts = gather()
    assert (facts["available"], facts["complete"], facts["missing_bus_ids"]) == (True, False, ["0000:42:00.0"])


@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_failure_is_a_reason_and_no_error(host, gather, simulator, fault):
    options, reason, processes = FAULTS[fault]
    simulator.change("--fault", fault, *options)
    # Only a hang is waited for; a loaded machine must not turn another fault into a timeout.
    facts = gather(timeout=2 if fault == "hang" else 60)
    assert (facts["available"], facts["reason"], facts["present"]) == (False, reason, True)
    assert "8 PCI functions (Atlas 800I A2), 8 /dev/davinciN" in facts["message"]
    assert len(simulator.calls()) <= processes
    assert host.run("pgrep -f '[n]pu.smi. info'").stdout == ""


def test_npu_smi_that_is_not_executable(host, gather, simulator):
    host.check_output("chmod 0644 /usr/local/sbin/npu-smi")
    try:
        facts = gather()
    finally:
        host.check_output("chmod 0755 /usr/local/sbin/npu-smi")
    assert (facts["available"], facts["reason"]) == (False, "command_not_found")
    assert simulator.calls() == []
