# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._command import CommandResult
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._storage_state import (
    FstabLine,
    Mount,
    device_size,
    disk_kind,
    find_device,
    known_uuid,
    parse_fstab,
    probe,
    read_mounts,
)
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.storage_fakes import TB, Disks


@pytest.fixture()
def disks(tmp_path):
    return Disks(tmp_path)


def test_mounts(disks):
    disks.write(
        "/proc/self/mountinfo",
        "30 1 8:2 / / rw shared:1 - ext4 /dev/sda2 rw\n"
        "31 30 0:5 / /mnt/my\\040disk rw - xfs /dev/nvme0n1 rw\n"
        "32 30 0:6 / /net rw - nfs server.example.com:/export rw\nbroken\n",
    )
    assert read_mounts(str(disks.root)) == [
        Mount("/dev/sda2", "/", "ext4"),
        Mount("/dev/nvme0n1", "/mnt/my disk", "xfs"),
        Mount("server.example.com:/export", "/net", "nfs"),
    ]


def test_fstab():
    text = "# a comment\nUUID=1 / ext4 defaults 0 1\n\nshort line\n/dev/sdb /my\\040disk xfs noatime,x-npufleet 0 0\n"
    lines = parse_fstab(text)
    assert lines == [FstabLine("UUID=1", "/", "ext4", "defaults"), FstabLine("/dev/sdb", "/my disk", "xfs", "noatime,x-npufleet")]
    assert [line.ours for line in lines] == [False, True]


def test_devices_are_found_by_any_name(disks):
    disks.link("id", "nvme-EXAMPLE", "nvme0n1")
    disks.link("uuid", "1111-aaaa", "nvme0n1")
    disks.link("label", "weights", "nvme0n1")
    root = str(disks.root)
    for spec in ("/dev/nvme0n1", "/dev/disk/by-id/nvme-EXAMPLE", "UUID=1111-aaaa", 'LABEL="weights"'):
        assert find_device(spec, root) == "/dev/nvme0n1"
    assert known_uuid("/dev/nvme0n1", root) == "1111-aaaa"
    assert known_uuid("/dev/nvme1n1", root) == ""


@pytest.mark.parametrize("spec", ["/dev/missing", "UUID=no", "nvme0n1", "/etc/fstab", "PARTUUID=x"])
def test_a_device_that_is_none(disks, spec):
    with pytest.raises(NpufleetError, match="there is no device"):
        find_device(spec, str(disks.root))


@pytest.mark.parametrize("spec", ["/dev/null", "/dev/fd"])
def test_what_is_there_and_no_disk(spec):
    with pytest.raises(NpufleetError, match=spec + " is no block device"):
        find_device(spec)


def test_no_links_at_all(tmp_path):
    assert known_uuid("/dev/x", str(tmp_path)) == ""
    assert device_size("/dev/x", str(tmp_path)) == 0


@pytest.mark.parametrize(("device", "kind"), [("nvme0n1", "nvme"), ("sda", "disk"), ("sda2", "disk"), ("vda", "ssd"), ("none", "unknown")])
def test_disk_kind(disks, device, kind):
    assert disk_kind("/dev/" + device, str(disks.root)) == kind


def probed(disks, device="/dev/nvme0n1"):
    return probe(device, read_mounts(str(disks.root)), disks.run, "/usr/sbin/blkid", str(disks.root))


def test_a_blank_disk(disks):
    device = probed(disks)
    assert (device.size_bytes, device.kind, device.fstype, device.signature, device.use) == (TB // 512 * 512, "nvme", "", "", "")
    assert disks.calls == ["blkid -p -o export /dev/nvme0n1"]


@pytest.mark.parametrize(
    ("said", "fstype", "uuid", "signature"),
    [
        ("TYPE=xfs\nUSAGE=filesystem\nUUID=1-2\n", "xfs", "1-2", "xfs"),
        ("TYPE=swap\nUSAGE=other\nUUID=1-2\n", "", "1-2", "swap"),
        ("TYPE=LVM2_member\nUSAGE=raid\n", "", "", "LVM2_member"),
        ("PTTYPE=gpt\n", "", "", "gpt"),
        ("DEVNAME=/dev/nvme0n1\nPART_ENTRY_SCHEME=gpt\nPARTUUID=7\n", "", "", ""),
        ("SBMAGIC=x\n", "", "", "something unknown"),
    ],
)
def test_what_is_on_it(disks, said, fstype, uuid, signature):
    disks.content["/dev/nvme0n1"] = said
    device = probed(disks)
    assert (device.fstype, device.uuid, device.signature) == (fstype, uuid, signature)


@pytest.mark.parametrize("rc", [4, 8, None])
def test_an_answer_that_is_not_clear_stops(disks, rc):
    def answer(argv, timeout):
        return CommandResult(list(argv), rc, "", "ambivalent result")

    with pytest.raises(NpufleetError, match="blkid cannot tell what is on /dev/nvme0n1: ambivalent result"):
        probe("/dev/nvme0n1", [], answer, "/usr/sbin/blkid", str(disks.root))


def test_who_uses_it(disks):
    assert probed(disks, "/dev/sda2").use == "mounted on /"
    assert probed(disks, "/dev/sda").use == "partitioned: sda2"
    disks.write("/proc/swaps", "Filename Type\n/dev/vda partition 1 0 -2\n")
    assert probed(disks, "/dev/vda").use == "swap"
    disks.write("/sys/class/block/nvme0n1/holders/dm-0")
    assert probed(disks).use == "part of dm-0"
    assert probed(disks, "/dev/nowhere").use == ""
