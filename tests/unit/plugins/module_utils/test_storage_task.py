# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._command import CommandResult
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._storage_task import StorageTask
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.storage_fakes import ROOT_LINE, TB, Disks

WEIGHTS = {"path": "/data/models", "device": "/dev/nvme0n1", "fstype": "xfs", "format": True, "min_bytes": TB - 512}
LOGS = {"path": "/var/log/npufleet/", "device": "UUID=1111-aaaa"}
WEIGHTS_LINE = "UUID=2222-bbbb /data/models xfs defaults,noatime,nofail,x-npufleet 0 0\n"


@pytest.fixture()
def disks(tmp_path):
    disks = Disks(tmp_path)
    disks.file_system("/dev/nvme1n1")
    disks.link("uuid", "1111-aaaa", "nvme1n1")
    return disks


def test_a_blank_disk_is_formatted_and_mounted(disks):
    checked = disks.task(WEIGHTS).execute(True)
    assert (checked["changed"], checked["mounts"][0]["actions"]) == (True, ["format", "fstab", "mount"])
    assert disks.calls == ["blkid -p -o export /dev/nvme0n1"]
    disks.calls = []
    done = disks.task(WEIGHTS).execute(False)
    assert (done["changed"], done["diff"]) == (True, checked["diff"])
    assert disks.calls == [
        "blkid -p -o export /dev/nvme0n1",
        "mkfs.xfs -q /dev/nvme0n1",
        "blkid -p -o export /dev/nvme0n1",
        "mount /data/models",
    ]
    assert disks.fstab() == "# fstab\n" + ROOT_LINE + WEIGHTS_LINE
    assert {key: done["mounts"][0][key] for key in ("path", "device", "kind", "fstype")} == {
        "path": "/data/models",
        "device": "/dev/nvme0n1",
        "kind": "nvme",
        "fstype": "xfs",
    }


def test_a_second_run_starts_no_process(disks):
    disks.task(WEIGHTS, LOGS).execute(False)
    disks.link("uuid", "2222-bbbb", "nvme0n1")  # as udev makes it
    disks.calls = []
    again = disks.task(WEIGHTS, LOGS).execute(False)
    assert (again["changed"], disks.calls) == (False, [])
    assert [row["actions"] for row in again["mounts"]] == [[], []]


def test_an_existing_file_system_is_mounted_by_its_uuid(disks):
    (disks.root / "run/systemd/system").mkdir(parents=True)
    done = disks.task(LOGS).execute(False)
    assert disks.calls == ["blkid -p -o export /dev/nvme1n1", "systemctl daemon-reload", "mount /var/log/npufleet"]
    assert disks.fstab().endswith("UUID=1111-aaaa /var/log/npufleet xfs defaults,noatime,nofail,x-npufleet 0 0\n")
    assert done["diff"] == {
        "before": "/var/log/npufleet: /dev/nvme1n1 (xfs), not mounted\n",
        "after": "/var/log/npufleet: /dev/nvme1n1 (xfs), mounted\nfstab: UUID=1111-aaaa xfs defaults,noatime,nofail,x-npufleet\n",
    }


def test_an_interrupted_run_goes_on(disks):
    disks.fail = "mount"
    with pytest.raises(NpufleetError, match="mount failed: target is busy"):
        disks.task(WEIGHTS).execute(False)
    disks.fail, disks.calls = "", []
    done = disks.task(WEIGHTS).execute(False)
    assert (done["changed"], disks.calls) == (True, ["blkid -p -o export /dev/nvme0n1", "mount /data/models"])


def test_other_options_change_our_line(disks):
    disks.task({"path": "/data"}, LOGS).execute(False)
    done = disks.task(dict(LOGS, options="nodev")).execute(False)
    assert done["mounts"][0]["actions"] == ["fstab"]
    assert "UUID=1111-aaaa /var/log/npufleet xfs nodev,x-npufleet 0 0\n" in disks.fstab()
    assert disks.fstab().count("npufleet xfs") == 1


def test_nothing_is_touched_when_one_of_several_is_refused(disks):
    before = disks.fstab()
    with pytest.raises(NpufleetError, match="/dev/sda is in use: partitioned: sda2"):
        disks.task(WEIGHTS, {"path": "/x", "device": "/dev/sda", "format": True, "fstype": "xfs"}).execute(False)
    assert disks.fstab() == before
    assert [call for call in disks.calls if not call.startswith("blkid")] == []


def test_a_folder_with_files_is_not_hidden(disks):
    disks.write("/data/models/weights.bin")
    with pytest.raises(NpufleetError, match="the folder is not empty"):
        disks.task(WEIGHTS).execute(False)


def test_a_path_that_is_only_checked(disks):
    (disks.root / "data").mkdir()
    row = disks.task({"path": "/data/models", "min_bytes": 1}).execute(False)["mounts"][0]
    assert (row["device"], row["kind"], row["actions"]) == (None, None, [])
    assert row["size_bytes"] >= row["free_bytes"] > 0
    size = row["size_bytes"]
    # The device below counts, and not what its file system keeps for itself.
    disks.mount("/data", "/dev/nvme1n1")
    assert disks.task({"path": "/data/models", "min_bytes": max(size, 2 * TB - 512)}).execute(False)["changed"] is False
    with pytest.raises(NpufleetError, match="are wanted and there are"):
        disks.task({"path": "/data/models", "min_bytes": max(size, 2 * TB) + TB}).execute(False)
    disks.mount("/data", "server.example.com:/export")
    with pytest.raises(NpufleetError, match="are wanted and there are"):
        disks.task({"path": "/data/models", "min_bytes": size + 1}).execute(False)
    disks.write("/proc/self/mountinfo", "")
    assert disks.task({"path": "/data/models"}).execute(False)["changed"] is False


def test_a_path_on_the_disk_of_the_root(disks):
    with pytest.raises(NpufleetError, match="lies on the file system of /"):
        disks.task({"path": "/data/models", "separate": True}).execute(True)


def test_removal_takes_ours_and_leaves_data(disks):
    disks.task(WEIGHTS, LOGS).execute(False)
    disks.calls = []
    assert disks.task(state="absent").execute(True)["changed"] is True
    assert disks.calls == []
    done = disks.task(state="absent").execute(False)
    assert disks.calls == ["umount /data/models", "umount /var/log/npufleet"]
    assert (done["changed"], disks.fstab()) == (True, "# fstab\n" + ROOT_LINE)
    assert "/dev/nvme0n1" in disks.content
    assert disks.task(state="absent").execute(False)["changed"] is False


def test_removal_of_one(disks):
    disks.task(WEIGHTS, LOGS).execute(False)
    del disks.mounted["/data/models"]
    disks._show()
    disks.calls = []
    disks.task({"path": "/data/models"}, state="absent").execute(False)
    assert disks.calls == []
    assert "/data/models" not in disks.fstab() and "/var/log/npufleet" in disks.fstab()


def test_a_busy_file_system_is_one_message(disks):
    disks.task(LOGS).execute(False)
    disks.fail = "umount"
    before = disks.fstab()
    with pytest.raises(NpufleetError, match="umount failed: target is busy"):
        disks.task(state="absent").execute(False)
    assert disks.fstab() == before


def test_a_line_of_somebody_else_for_another_device(disks):
    disks.write("/etc/fstab", "UUID=gone /data/models xfs defaults 0 0\n")
    with pytest.raises(NpufleetError, match="fstab has another device for this path: UUID=gone"):
        disks.task(WEIGHTS).execute(False)


def test_only_root_may_mount(disks):
    assert disks.task(LOGS, is_root=False).execute(True)["changed"] is True
    with pytest.raises(NpufleetError, match="only root may mount"):
        disks.task(LOGS, is_root=False).execute(False)
    disks.task(LOGS).execute(False)
    with pytest.raises(NpufleetError, match="only root may mount"):
        disks.task(state="absent", is_root=False).execute(False)


def test_a_tool_that_is_missing_or_hangs(disks):
    params = {"state": "present", "mounts": []}
    task = StorageTask(params, disks.run, lambda _name, _dirs: None, True, str(disks.root))
    with pytest.raises(NpufleetError, match="blkid is missing"):
        task._tool("blkid")

    def hang(argv, timeout):
        return CommandResult(list(argv), None, "", "", timed_out=True)

    task = StorageTask(params, hang, lambda name, _dirs: "/usr/sbin/" + name, True, str(disks.root))
    with pytest.raises(NpufleetError, match=r"mkfs\.xfs failed: no answer after 5 s"):
        task._command("mkfs.xfs", [], 5.0)


def test_the_mode_of_fstab_stays(disks):
    path = disks.root / "etc/fstab"
    os.chmod(path, 0o600)
    disks.task(LOGS).execute(False)
    assert path.stat().st_mode & 0o777 == 0o600
