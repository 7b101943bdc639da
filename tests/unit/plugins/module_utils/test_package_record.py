# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._files import file_mode
from ansible_collections.npufleet.ascend.plugins.module_utils._package_record import (
    BEGUN,
    DONE,
    FAILED,
    REMOVED,
    Record,
    Records,
    firmware_number,
    unfinished,
)
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.package_fakes import BOOT, put

FULL = Record("25.5.0", "7.8.0.5.220", "upgrade", "ab" * 32, DONE, "cd" * 32, BOOT, True, 2)


@pytest.fixture()
def records(tmp_path):
    return Records(str(tmp_path / "deep" / "records"), put(tmp_path, "/boot_id", BOOT + "\n"))


def test_what_is_written_is_read(records):
    assert records.write("driver", FULL._replace(boot_id="earlier")) == FULL
    assert records.read("driver") == FULL
    assert records.read_all(["driver", "firmware"]) == {"driver": FULL, "firmware": Record()}


@pytest.mark.parametrize(("text", "number"), [("8\n", 8), ("", None), ("eight", None), ("²", None), ("9" * 5000, None), (None, None)])
def test_npus_that_were_there_are_a_number_or_unknown(records, tmp_path, text, number):
    if text is not None:
        put(tmp_path, "/deep/records/npus", text)
    assert records.npus_before() == number


def test_records_are_roots_alone(records):
    records.write("driver", FULL)
    assert file_mode(records.folder) == 0o700
    assert file_mode(records.folder + "/driver.json") == 0o600


@pytest.mark.parametrize(
    ("text", "record"),
    [
        ("", Record()),
        ("{", Record()),
        ("[]", Record()),
        ("7", Record()),
        ("[" * 100000, Record()),
        ('{"version": 7, "reboot": "yes", "attempts": "many", "strange": 1}', Record()),
        ('{"version": "25.5.0", "reboot": true, "attempts": 2}', Record(version="25.5.0", reboot=True, attempts=2)),
    ],
)
def test_a_damaged_record_counts_as_far_as_it_makes_sense(records, text, record):
    put(records.folder, "/driver.json", text)
    assert records.read("driver") == record


def test_two_tasks_do_not_start_something_at_once(records):
    with records.locked() as free:
        assert free is True
        with Records(records.folder).locked() as other:
            assert other is False
    with Records(records.folder).locked() as again:
        assert again is True


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (Record(), ""),
        (FULL, ""),
        (FULL._replace(phase=REMOVED), ""),
        (FULL._replace(phase=BEGUN), "an earlier upgrade of 25.5.0 was interrupted"),
        (FULL._replace(phase=FAILED), "an earlier upgrade of 25.5.0 failed"),
        (Record(phase=FAILED), "an earlier run of it failed"),
    ],
)
def test_what_was_not_finished(record, words):
    assert unfinished(record) == words


@pytest.mark.parametrize(
    ("record", "hdk", "number"),
    [
        (FULL, "25.5.0", "7.8.0.5.220"),
        (FULL, "25.5.00", "7.8.0.5.220"),
        (FULL, "26.0.rc1", ""),
        (FULL._replace(number="of HDK 25.5.0"), "25.5.0", ""),
        (FULL._replace(number=""), "25.5.0", ""),
        (Record(), "25.5.0", ""),
    ],
)
def test_the_number_of_a_firmware(record, hdk, number):
    assert firmware_number(record, hdk) == number
