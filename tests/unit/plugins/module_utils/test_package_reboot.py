# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._command import CommandError, CommandResult
from ansible_collections.npufleet.ascend.plugins.module_utils._package_reboot import reboot_reason, running_driver
from ansible_collections.npufleet.ascend.plugins.module_utils._package_record import DONE, REMOVED, Record, Records
from ansible_collections.npufleet.ascend.plugins.module_utils._package_state import Installed
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.package_fakes import BOOT, PATH, put

FIXTURES = Path(__file__).parents[2] / "fixtures" / "npu_smi"
TABLE = next(iter(sorted(FIXTURES.glob("info_*.txt")))).read_text(encoding="utf-8")
PENDING = Record("25.5.0", "25.5.0", "install", phase=DONE, reboot=True)
GONE = PENDING._replace(action="remove", phase=REMOVED)


def reason(tmp_path, driver, record, running="", boot=BOOT, firmware=None, firmware_record=None):
    records = Records(str(tmp_path / "records"), put(tmp_path, "/boot_id", BOOT))
    records.write("driver", record)
    if firmware_record:
        records.write("firmware", firmware_record)
    state = {"driver": Installed(driver)}
    if firmware is not None:
        state["firmware"] = Installed(firmware)
    return reboot_reason(state, records.read_all(["driver", "firmware"]), boot, running)


@pytest.mark.parametrize(
    ("driver", "record", "running", "boot", "words"),
    [
        ("25.5.0", Record(), "", BOOT, ""),
        ("25.5.0", Record(), "25.5.0", BOOT, ""),
        ("25.5.0", Record(), "25.2.0", BOOT, "driver 25.2.0 runs and 25.5.0 is installed"),
        ("25.5.0", PENDING, "", BOOT, "driver 25.5.0 takes effect at the next boot"),
        ("25.5.0", PENDING, "", "later", ""),
        ("25.5.0", PENDING, "", "", ""),
        ("25.5.0", PENDING, "25.5.0", BOOT, ""),
        ("25.5.0", PENDING, "25.2.0", "later", "driver 25.2.0 runs and 25.5.0 is installed"),
        ("26.0.rc1", PENDING, "26.0.RC1", BOOT, ""),
        ("", GONE, "", BOOT, "driver was removed since the last boot"),
        ("", GONE, "25.5.0", "later", "driver 25.5.0 still runs and was removed"),
        ("", GONE, "", "later", ""),
        ("", PENDING, "", BOOT, ""),
        ("", Record(), "25.5.0", BOOT, ""),
    ],
)
def test_whether_a_driver_needs_a_boot(tmp_path, driver, record, running, boot, words):
    assert reason(tmp_path, driver, record, running, boot) == words


def test_both_reasons_are_told(tmp_path):
    words = reason(tmp_path, "25.5.0", PENDING, firmware="7.8.0.5.220", firmware_record=PENDING)
    assert words == "driver 25.5.0 takes effect at the next boot; firmware 7.8.0.5.220 takes effect at the next boot"
    assert reason(tmp_path, "25.5.0", Record(), firmware="7.8.0.5.220", firmware_record=Record()) == ""


def test_other_packages_need_none(tmp_path):
    assert reboot_reason({"toolkit": Installed("9.0.0")}, {"toolkit": PENDING}, BOOT, "25.5.0") == ""


@pytest.mark.parametrize(
    ("answer", "version"),
    [
        (CommandResult([], 0, TABLE, ""), TABLE.split("Version: ")[1].split()[0]),
        (CommandResult([], 187, "dcmi module initialize failed. ret is -8005\n", ""), ""),
        (CommandResult([], None, "", "", timed_out=True), ""),
        (CommandError("cannot execute it"), ""),
    ],
)
def test_the_running_driver_is_asked_for_once(answer, version):
    calls = []

    def run(argv, **_options):
        calls.append(argv)
        if isinstance(answer, CommandError):
            raise answer
        return answer

    assert running_driver(run, PATH, lambda name, _dirs: "/usr/local/bin/" + name) == version
    assert calls == [["/usr/local/bin/npu-smi", "info"]]


def test_a_host_without_npu_smi_is_not_asked(tmp_path):
    assert running_driver(pytest.fail, PATH, lambda _name, dirs: None if PATH + "/driver/tools" in dirs else "/bin/true") == ""
