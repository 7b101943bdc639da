# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._storage_plan import (
    Steps,
    Wanted,
    check_wanted,
    not_separate,
    options_of,
    steps_for,
    with_line,
    without_line,
)
from ansible_collections.npufleet.ascend.plugins.module_utils._storage_state import Device, FstabLine, Mount

WANTED = Wanted("/data", "/dev/sdb", None, "noatime", False, 0, False)
BLANK = Device("/dev/sdb", 1000, "ssd", "", "", "", "")
XFS = BLANK._replace(fstype="xfs", uuid="1-2", signature="xfs")
HERE = [Mount("/dev/sdb", "/data", "xfs")]
OURS = FstabLine("UUID=1-2", "/data", "xfs", "noatime,x-npufleet")
THEIRS = FstabLine("/dev/sdb", "/data", "xfs", "defaults")


def steps(wanted=WANTED, device=XFS, mounts=(), fstab=(), empty=True):
    return steps_for(wanted, device, mounts, fstab, empty, lambda spec: spec in ("UUID=1-2", "/dev/sdb"))


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({}, Steps("", True, True)),
        ({"fstab": [OURS]}, Steps("", False, True)),
        ({"mounts": HERE}, Steps("", True, False)),
        ({"mounts": HERE, "fstab": [OURS]}, Steps("", False, False)),
        # A line of somebody else for the same device stays as it is.
        ({"mounts": HERE, "fstab": [THEIRS]}, Steps("", False, False)),
        ({"mounts": HERE, "fstab": [OURS], "empty": False}, Steps("", False, False)),
        ({"fstab": [OURS._replace(options="defaults,x-npufleet")]}, Steps("", True, True)),
        ({"fstab": [OURS._replace(spec="UUID=old")]}, Steps("", True, True)),
        ({"device": BLANK, "wanted": WANTED._replace(format=True, fstype="xfs")}, Steps("xfs", True, True)),
        ({"device": XFS, "wanted": WANTED._replace(format=True, fstype="xfs")}, Steps("", True, True)),
    ],
)
def test_steps(options, wanted):
    assert steps(**options) == wanted
    assert wanted.any is any(wanted)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mounts": [Mount("/dev/sdc", "/data", "xfs")]}, "/dev/sdc is mounted there, and not /dev/sdb"),
        ({"fstab": [THEIRS._replace(spec="/dev/sdc")]}, "fstab has another device for this path: /dev/sdc"),
        ({"device": XFS._replace(use="mounted on /other")}, "/dev/sdb is in use: mounted on /other"),
        ({"empty": False}, "the folder is not empty"),
        ({"wanted": WANTED._replace(min_bytes=2000)}, "are wanted and there are"),
        ({"wanted": WANTED._replace(fstype="ext4")}, "/dev/sdb holds xfs and not ext4"),
        ({"device": XFS._replace(uuid="")}, "/dev/sdb holds xfs without a UUID"),
        ({"device": BLANK}, "/dev/sdb is blank"),
        # format never touches what holds anything.
        ({"device": BLANK._replace(signature="gpt"), "wanted": WANTED._replace(format=True, fstype="xfs")}, "/dev/sdb holds gpt"),
        ({"device": BLANK._replace(use="swap"), "wanted": WANTED._replace(format=True, fstype="xfs")}, "/dev/sdb is in use: swap"),
        ({"wanted": WANTED._replace(format=True, fstype="ext4")}, "/dev/sdb holds xfs and not ext4"),
    ],
)
def test_refusals(options, message):
    with pytest.raises(NpufleetError) as caught:
        steps(**options)
    assert message in str(caught.value)
    assert caught.value.where and caught.value.remedy


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ([WANTED._replace(path="data")], "is no folder"),
        ([WANTED._replace(path="/")], "is no folder"),
        ([WANTED._replace(path="/var")], "is no folder"),
        ([WANTED, WANTED], "given twice"),
        ([WANTED._replace(format=True)], "formatting needs a device"),
        ([WANTED._replace(format=True, fstype="xfs", device=None)], "formatting needs a device"),
        ([WANTED._replace(format=True, fstype="swap")], "formatting needs a device"),
    ],
)
def test_wishes_that_cannot_be_meant(wanted, message):
    with pytest.raises(NpufleetError, match=message):
        check_wanted(wanted)


def test_wishes_that_are_fine():
    check_wanted([WANTED, WANTED._replace(path="/var/log/npufleet"), WANTED._replace(path="/x", format=True, fstype="ext4")])
    assert "lies on the file system of /" in str(not_separate(WANTED))
    assert options_of(WANTED._replace(options="")) == "x-npufleet"


@pytest.mark.parametrize(
    ("text", "line", "after"),
    [
        ("", OURS, "UUID=1-2 /data xfs noatime,x-npufleet 0 0\n"),
        ("a / ext4 b 0 1", OURS, "a / ext4 b 0 1\nUUID=1-2 /data xfs noatime,x-npufleet 0 0\n"),
        ("UUID=0 /data xfs old,x-npufleet 0 0\n# end\n", OURS, "# end\nUUID=1-2 /data xfs noatime,x-npufleet 0 0\n"),
        ("UUID=0 /data xfs old 0 0\n", OURS, "UUID=0 /data xfs old 0 0\nUUID=1-2 /data xfs noatime,x-npufleet 0 0\n"),
        ("", OURS._replace(path="/my disk", fstype="ext4"), "UUID=1-2 /my\\040disk ext4 noatime,x-npufleet 0 2\n"),
    ],
)
def test_with_line(text, line, after):
    assert with_line(text, line) == after
    assert with_line(after, line) == after


def test_without_line():
    text = "# /data\n\nUUID=0 /data xfs a 0 0\nUUID=1 /data xfs a,x-npufleet 0 0\nUUID=2 /logs xfs a,x-npufleet 0 0\n"
    assert without_line(text, "/data") == "# /data\n\nUUID=0 /data xfs a 0 0\nUUID=2 /logs xfs a,x-npufleet 0 0\n"
