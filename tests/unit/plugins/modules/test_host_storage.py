# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
import yaml
from ansible_collections.npufleet.ascend.plugins.module_utils._storage_task import StorageTask
from ansible_collections.npufleet.ascend.plugins.modules import host_storage
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.storage_fakes import Disks
from ansible_collections.npufleet.ascend.tests.unit.plugins.modules.module_runner import run_module

MOUNT = {"path": "/data/models", "device": "/dev/nvme0n1", "fstype": "xfs", "format": True}


@pytest.fixture()
def disks(tmp_path, monkeypatch):
    """main() with a folder in the place of /."""
    disks = Disks(tmp_path)

    def task(params, _run, is_root):
        return StorageTask(params, disks.run, lambda name, _dirs: "/usr/sbin/" + name, True, str(tmp_path))

    monkeypatch.setattr(host_storage, "StorageTask", task)
    return disks


def run(check=False, **options):
    return run_module(host_storage.main, options, check=check)


def test_mount_again_and_remove(disks):
    assert run(check=True, mounts=[MOUNT])["changed"] is True
    assert "/data/models" not in disks.mounted
    assert [run(mounts=[MOUNT])["changed"] for _turn in range(2)] == [True, False]
    assert disks.mounted["/data/models"] == "/dev/nvme0n1"
    assert [run(state="absent")["changed"] for _turn in range(2)] == [True, False]
    assert run()["changed"] is False


def test_what_is_wrong_is_one_message(disks):
    result = run(mounts=[dict(MOUNT, format=False)])
    assert result["failed"]
    assert result["msg"] == (
        "/dev/nvme0n1 is blank. Where: /data/models. What to do: Set format: true and fstype to make a file system on it."
    )


def test_what_the_kernel_refuses_is_one_message(disks):
    disks.write("/data", "a file")
    result = run(mounts=[MOUNT])
    assert result["failed"] and result["msg"].startswith("the host refused: ")


def test_documented_suboptions_are_the_spec():
    documented = yaml.safe_load(host_storage.DOCUMENTATION)["options"]["mounts"]["suboptions"]
    keys = ("type", "default", "required")
    assert {name: {key: option[key] for key in keys if key in option} for name, option in documented.items()} == host_storage.MOUNTS


def test_the_documentation_names_every_returned_value(disks):
    returned = yaml.safe_load(host_storage.RETURN)["mounts"]["contains"]
    assert set(returned) == set(run(mounts=[MOUNT])["mounts"][0])
