# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Consent, and hosts that come back without their NPUs. Each step of a story needs the step before."""

from __future__ import annotations

from prepared_host import recap

testinfra_hosts = ["local://"]

UPGRADE = [("firmware", "upgrade"), ("driver", "upgrade")]
DUE = "driver 25.5.0 runs and 26.0.rc1 is installed"


def clean(done):
    """No host failed; what changed on each of those that were named."""
    assert done.returncode == 0, done.stdout
    return {name: row["changed"] for name, row in recap(done).items() if name != "localhost"}


def test_consent(play, servers):
    first = servers["first"]
    boots, before = first.boots(), first.executions()

    # Nobody said anything: nothing is installed, nothing is even downloaded.
    asked = play("prepare", "first", ascend_driver_version="26.0.rc1", npufleet_reboot=None)
    assert asked.returncode != 0
    assert "first needs a reboot: driver 25.5.0 is installed and 26.0.rc1 is wanted" in asked.stdout
    assert "Where: ascend_driver_reboot" in asked.stdout and "npufleet_serial" in asked.stdout
    assert recap(asked)["first"] == {"changed": 0, "failed": 1}
    assert (first.executions(), first.boots(), first.running()) == (before, boots, "25.5.0")
    assert not [name for name in first.host.file("/var/lib/npufleet/packages").listdir() if "26.0" in name]

    # No: it is installed, and the reboot is left to somebody else.
    refused = play("prepare", "first", ascend_driver_version="26.0.rc1", npufleet_reboot=False)
    assert clean(refused)["first"] > 0
    assert "first needs a reboot before its NPUs can be used: " + DUE in refused.stdout
    assert (first.acts()[2:], first.boots(), first.running()) == (UPGRADE, boots, "25.5.0")

    # Again: nothing changes, and it is still said.
    again = play("prepare", "first", ascend_driver_version="26.0.rc1", npufleet_reboot=False)
    assert clean(again) == {"first": 0} and DUE in again.stdout
    checked = play("verify", "first", ascend_driver_version="26.0.rc1")
    assert checked.returncode != 0 and "Driver and firmware are not what they should be: " + DUE in checked.stdout

    # A reboot that is due needs consent, too.
    asked = play("prepare", "first", ascend_driver_version="26.0.rc1", npufleet_reboot=None)
    assert asked.returncode != 0 and "first needs a reboot: " + DUE in asked.stdout
    assert first.boots() == boots

    # Yes: it is rebooted, and no installer is started for that.
    before = first.executions()
    assert clean(play("prepare", "first", ascend_driver_version="26.0.rc1"))["first"] > 0
    assert [word for word, _when in first.boots()[len(boots) :]] == ["down", "up"]
    assert (first.executions(), first.running()) == (before, "26.0.rc1")
    assert play("verify", "first", ascend_driver_version="26.0.rc1").returncode == 0


def test_a_host_that_lost_an_npu_stops_the_rest(play, servers, reboot):
    second, third = servers["second"], servers["third"]
    boots, before = second.boots(), third.executions()
    wanted = {"ascend_driver_version": "26.0.rc1", "ascend_driver_npu_timeout": 5}
    second.next_boots("--boot-missing", "3")

    done = play("prepare", "second,third", **wanted)
    assert done.returncode != 0
    assert "7 of 8 chips are healthy, and the PCI bus shows fewer than before" in done.stdout, done.stdout
    assert recap(done)["second"]["failed"] == 1
    assert (third.executions(), recap(done)["third"]["changed"]) == (before, 0)

    # It is not forgotten: the next run stops there again, and starts no installer.
    installed = second.executions()
    done = play("prepare", "second,third", **wanted)
    assert done.returncode != 0 and "7 of 8 chips are healthy" in done.stdout
    assert recap(done)["second"] == {"changed": 0, "failed": 1}
    assert (second.executions(), third.executions()) == (installed, before)

    # Repaired by hand: the run goes on where it stopped.
    second.next_boots("--boot-well")
    reboot(second)
    assert [word for word, _when in second.boots()[len(boots) :]] == ["down", "up", "down", "up"]
    clean(play("prepare", "second,third", **wanted))
    assert (second.executions(), second.running()) == (installed, "26.0.rc1")
    assert (third.acts()[2:], third.running()) == (UPGRADE, "26.0.rc1")
    assert clean(play("prepare", "second,third", **wanted)) == {"second": 0, "third": 0}


def test_a_driver_that_does_not_start(play, servers, reboot):
    first = servers["first"]
    wanted = {"ascend_driver_version": "26.1.0", "ascend_driver_npu_timeout": 5}
    first.next_boots("--boot-not-up")

    done = play("prepare", "first", **wanted)
    assert done.returncode != 0
    assert "0 of 8 chips are healthy" in done.stdout and "-8005" in done.stdout, done.stdout
    assert "What to do: look at npu-smi info, dmesg and /var/log/ascend_seclog" in done.stdout
    installed = first.executions()

    first.next_boots("--boot-well")
    reboot(first)
    clean(play("prepare", "first", **wanted))
    assert (first.executions(), first.running()) == (installed, "26.1.0")
    assert clean(play("prepare", "first", **wanted)) == {"first": 0}
    assert play("verify", "first", **wanted).returncode == 0
