# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import hashlib
import os

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils import _package_download
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._package_download import DownloadTask, download, missing
from ansible_collections.npufleet.ascend.plugins.module_utils._package_fetch import Fetched
from ansible_collections.npufleet.ascend.plugins.module_utils._package_wanted import read_packages
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.package_fakes import World, put

HDK = "Ascend-hdk-910b-npu_25.5.0_linux-x86-64.zip"
NNAL = "Ascend-cann-nnal_9.0.0_linux-x86_64.run"
BYTES = b"content"
SUM = hashlib.sha256(BYTES).hexdigest()


class FakeFetch:
    """Fetches a file in as many calls as ``turns`` says."""

    turns = 1
    asked: list = []

    def __init__(self, url, path, sha256, clock, opener):
        self._path = path
        FakeFetch.asked.append((url, os.path.basename(path), sha256))

    def go_on(self, deadline):
        FakeFetch.turns -= 1
        if FakeFetch.turns > 0:
            return Fetched(False, 340 * 10**6, 1200 * 10**6, seconds=7.0)
        with open(self._path, "wb") as stream:
            stream.write(BYTES)
        return Fetched(True, 7, 7, SUM)


@pytest.fixture(autouse=True)
def fetch(monkeypatch):
    FakeFetch.turns, FakeFetch.asked = 1, []
    monkeypatch.setattr(_package_download, "Fetch", FakeFetch)
    return FakeFetch


@pytest.fixture()
def world(tmp_path):
    return World(tmp_path)


def run(world, *packages, check=False, **changes):
    params = world.params(*packages, state="downloaded", **changes)
    return DownloadTask(params, "x86_64", world.clock.clock()).execute(check)


def test_files_that_are_missing_each_once(world):
    wanted = read_packages(world.params("driver=25.5.0", "firmware=25.5.0", "nnal=9.0.0"), "x86_64")
    assert [one.artifact.file for one in missing(wanted, world.packages)] == [HDK, NNAL]
    put(world.packages, "/" + HDK)
    assert [one.artifact.file for one in missing(wanted, world.packages)] == [NNAL]


def test_get_and_get_again(world, fetch):
    predicted = run(world, "nnal=9.0.0", check=True)
    assert (predicted["changed"], predicted["needed_files"], predicted["pending"]) == (True, [NNAL], False)
    assert os.listdir(world.packages) == []
    result = run(world, "nnal=9.0.0")
    assert (result["changed"], result["needed_files"], result["pending"]) == (True, [], False)
    assert result["diff"] == predicted["diff"] == {"before": "", "after": NNAL + "\n"}
    assert fetch.asked[0][1:] == (NNAL, "")
    (row,) = result["packages"]
    assert (row["action"], row["sha256"], row["file"]) == ("download", SUM, os.path.join(world.packages, NNAL))
    assert row["reason"] == "the file is not there yet; nobody published a sum of it"
    again = run(world, "nnal=9.0.0")
    assert (again["changed"], again["packages"][0]["action"], again["packages"][0]["sha256"]) == (False, "none", SUM)
    assert len(fetch.asked) == 1


def test_one_slice_at_a_time(world, fetch):
    fetch.turns = 2
    result = run(world, "nnal=9.0.0", "toolbox=26.0.1")
    assert (result["pending"], result["changed"], result["seconds"]) == (True, True, 7.0)
    assert result["progress"] == "file 1 of 2, {0}: 340 of 1200 MB".format(NNAL)
    assert len(result["needed_files"]) == 2
    assert run(world, "nnal=9.0.0", checksums={NNAL: SUM})["pending"] is False


def test_several_chips_and_architectures(world, fetch):
    packages = [
        {"name": "driver", "version": "25.5.0", "chip": chip, "arch": arch} for chip in ("910b", "310p") for arch in ("aarch64", "x86_64")
    ]
    result = run(world, packages=packages, checksums={})
    assert result["needed_files"] == []
    assert sorted(name for _url, name, _sum in fetch.asked) == sorted(os.listdir(world.packages))
    assert len(result["packages"]) == 4 and all(len(digest) == 64 for _url, _name, digest in fetch.asked)


def test_a_file_that_is_there_is_compared(world):
    put(world.packages, "/" + NNAL, "other")
    with pytest.raises(NpufleetError, match="should be " + SUM):
        run(world, "nnal=9.0.0", checksums={NNAL: SUM})


def test_a_file_under_another_name_is_shown(world):
    name = "Ascend-hdk-910b-npu-driver_25.5.0_linux-x86_64.run"
    put(world.packages, "/" + name)
    (row,) = run(world, "driver=25.5.0")["packages"]
    assert row["file"] == os.path.join(world.packages, name)
    assert row["reason"] == "nobody published a sum of it"


def test_a_file_without_an_address(world):
    packages = [{"name": "driver", "version": "25.5.0", "chip": "A3", "file": "a3.zip"}]
    with pytest.raises(NpufleetError, match=r"the file a3\.zip is not in"):
        run(world, packages=packages)


def test_a_given_file_and_url(world, fetch):
    packages = [
        {"name": "driver", "version": "25.5.0", "chip": "A3", "file": "a3.zip", "url": "https://mirror.example.com/a3.zip", "sha256": SUM}
    ]
    assert run(world, packages=packages)["needed_files"] == []
    assert fetch.asked == [("https://mirror.example.com/a3.zip", "a3.zip", SUM)]


def test_a_folder_that_may_only_be_read_is_fine_where_nothing_is_missing(world, monkeypatch):
    put(world.packages, "/" + NNAL, BYTES.decode())
    monkeypatch.setattr(_package_download.os, "access", lambda *_args: False)
    assert run(world, "nnal=9.0.0", checksums={NNAL: SUM})["changed"] is False
    assert os.listdir(world.packages) == [NNAL]


def test_nothing_to_download_is_no_call(world):
    assert download([], world.packages, world.clock.clock(), 0.0) == (None, "", {})
