# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import os

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils import _package_files
from ansible_collections.npufleet.ascend.plugins.module_utils._files import file_mode
from ansible_collections.npufleet.ascend.plugins.module_utils._host import HostError
from ansible_collections.npufleet.ascend.plugins.module_utils._package_files import (
    FileError,
    Sums,
    member_of,
    missing_file,
    only_root_writes,
    stage,
    unstage,
    verify,
)
from ansible_collections.npufleet.ascend.plugins.module_utils._package_wanted import read_packages
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.package_fakes import World, put, sum_of, zip_file

NNAL = "Ascend-cann-nnal_9.0.0_linux-x86_64"


@pytest.fixture()
def world(tmp_path):
    return World(tmp_path)


def wanted(world, package="nnal=9.0.0", **changes):
    return read_packages(world.params(package, **changes), "x86_64")[0]


def sums(world):
    return Sums(world.records + "/sums.json")


def test_a_file_is_read_again_only_when_it_changed(world, monkeypatch):
    path = put(world.packages, "/x.run", "one")
    first = sums(world).of(path, keep=True)
    assert first == sum_of(path)
    assert file_mode(world.records + "/sums.json") == 0o600
    digests = []
    real = _package_files.hashlib.sha256
    monkeypatch.setattr(_package_files.hashlib, "sha256", lambda *args: digests.append(1) or real(*args))
    assert sums(world).of(path, keep=True) == first and digests == []
    put(world.packages, "/x.run", "two")
    assert sums(world).of(path, keep=True) == sum_of(path) != first


def test_check_mode_leaves_no_sums_behind(world):
    path = put(world.packages, "/x.run", "one")
    sums(world).of(path, keep=False)
    assert not os.path.exists(world.records)


def test_sums_of_files_that_are_gone_are_forgotten(world):
    gone, stays = put(world.packages, "/gone.run", "1"), put(world.packages, "/stays.run", "2")
    for path in (gone, stays):
        sums(world).of(path, keep=True)
    os.unlink(gone)
    put(world.packages, "/new.run", "3")
    sums(world).of(world.packages + "/new.run", keep=True)
    with open(world.records + "/sums.json", encoding="utf-8") as stream:
        assert sorted(json.load(stream)) == [world.packages + "/new.run", stays]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"PATH": 7}', '{"PATH": []}', '{"PATH": [1, 2, 3, 4, 5]}', "[" * 100000])
def test_damaged_sums_count_as_none(world, text):
    path = put(world.packages, "/x.run", "one")
    put(world.records, "/sums.json", text.replace("PATH", path))
    assert sums(world).of(path, keep=True) == sum_of(path)


def test_a_sum_that_was_written_for_another_content_is_not_believed(world):
    path = put(world.packages, "/x.run", "one")
    info = os.stat(path)
    forged = [info.st_size, info.st_ino, info.st_mtime_ns, info.st_ctime_ns - 1, "0" * 64]
    put(world.records, "/sums.json", json.dumps({path: forged}))
    assert sums(world).of(path, keep=False) == sum_of(path)


@pytest.mark.parametrize(
    ("given", "unverified_ok", "words"),
    [
        ("right", False, ""),
        ("right", True, ""),
        ("none", True, ""),
        ("none", False, "nobody published a SHA-256 sum of {0}.run, and none is given".format(NNAL)),
        ("wrong", False, "and should be " + "0" * 64),
        ("wrong", True, "and should be " + "0" * 64),
    ],
)
def test_nothing_is_used_unverified(world, given, unverified_ok, words):
    name = world.add_run(NNAL + ".run")
    path = os.path.join(world.packages, name)
    checksums = {"right": {name: world.sums[name]}, "none": {}, "wrong": {name: "0" * 64}}[given]
    one = wanted(world, checksums=checksums)
    if not words:
        assert verify(one, path, sums(world), unverified_ok) == world.sums[name]
        return
    with pytest.raises(FileError) as caught:
        verify(one, path, sums(world), unverified_ok)
    assert words in caught.value.what and caught.value.where == path
    assert given == "wrong" or "ascend_package_unverified_ok" in caught.value.remedy


def test_the_run_in_an_archive(world):
    name = world.add_hdk("25.5.0")
    path = os.path.join(world.packages, name)
    assert member_of(wanted(world, "driver=25.5.0"), path).name == "Ascend-hdk-910b-npu-driver_25.5.0_linux-x86-64.run"
    assert member_of(wanted(world, "firmware=25.5.0"), path).name == "Ascend-hdk-910b-npu-firmware_7.8.0.5.220.run"
    assert member_of(wanted(world), world.packages + "/x.run") is None
    # nnal is offered as a .run, and somebody has the archive of it
    archive = world.packages + "/" + NNAL + ".zip"
    zip_file(archive, {NNAL + ".run": b"x"})
    assert wanted(world).artifact.member is None
    assert member_of(wanted(world), archive).name == NNAL + ".run"


@pytest.mark.parametrize("safe", [True, False])
@pytest.mark.parametrize("form", ["zip", "run"])
def test_a_package_is_made_ready(world, monkeypatch, safe, form):
    monkeypatch.setattr(_package_files, "only_root_writes", lambda _path: safe)
    if form == "zip":
        name, one, run = world.add_hdk("25.5.0"), wanted(world, "driver=25.5.0"), "Ascend-hdk-910b-npu-driver_25.5.0_linux-x86-64.run"
        content = b"driver 25.5.0"
    else:
        name, one, run = world.add_run(NNAL + ".run"), wanted(world), NNAL + ".run"
        content = b"content of " + name.encode()
    digest = world.sums[name]
    own = os.path.join(world.records, "unpacked", digest[:16])
    # What an interrupted call left is no obstacle.
    put(own, "/member.part", "half")
    put(own, "/" + run, "half", 0o400)
    assert stage(one, os.path.join(world.packages, name), digest, world.records) == os.path.join(own, run)
    with open(os.path.join(own, run), "rb") as stream:
        assert stream.read() == content
    assert file_mode(os.path.join(own, run)) == 0o700
    assert os.listdir(own) == [run]
    assert file_mode(own) == 0o700
    unstage(world.records, digest)
    assert not os.path.exists(own)


def test_a_file_that_changes_after_its_check_is_not_executed(world):
    name = world.add_run(NNAL + ".run")
    put(world.packages, "/" + name, "something else")
    with pytest.raises(FileError, match="changed while it was used"):
        stage(wanted(world), os.path.join(world.packages, name), world.sums[name], world.records)
    assert os.listdir(os.path.join(world.records, "unpacked", world.sums[name][:16])) == []


def test_an_archive_that_others_could_change_is_copied_and_compared(world, monkeypatch):
    monkeypatch.setattr(_package_files, "only_root_writes", lambda _path: False)
    name = world.add_hdk("25.5.0")
    digest = world.sums[name]
    world.add_hdk("25.5.0", chip="910b")
    with open(os.path.join(world.packages, name), "ab") as stream:
        stream.write(b"more")
    with pytest.raises(FileError, match="changed while it was used"):
        stage(wanted(world, "driver=25.5.0"), os.path.join(world.packages, name), digest, world.records)


def test_a_full_disk_is_told_before_it_is_filled(world, monkeypatch):
    name = world.add_hdk("25.5.0")
    monkeypatch.setattr(_package_files, "only_root_writes", lambda _path: True)

    def full(_path, needed, what):
        raise HostError("{0} needs {1}".format(what, needed))

    monkeypatch.setattr(_package_files, "check_disk", full)
    with pytest.raises(HostError, match=r"unpacking Ascend-hdk-910b-npu-driver_25\.5\.0_linux-x86-64\.run needs 13"):
        stage(wanted(world, "driver=25.5.0"), os.path.join(world.packages, name), world.sums[name], world.records)


class Status:
    def __init__(self, uid, mode):
        self.st_uid = uid
        self.st_mode = mode


@pytest.mark.parametrize(
    ("changes", "safe"),
    [
        ({}, True),
        ({"/srv/packages/x.zip": Status(1000, 0o644)}, False),
        ({"/srv/packages/x.zip": Status(0, 0o664)}, False),
        ({"/srv/packages": Status(0, 0o777)}, False),
        ({"/srv": Status(1000, 0o755)}, False),
        ({"/": Status(0, 0o757)}, False),
        ({"/srv/packages/x.zip": OSError()}, False),
    ],
)
def test_who_could_change_a_file(monkeypatch, changes, safe):
    def look(path):
        found = changes.get(path, Status(0, 0o755))
        if isinstance(found, OSError):
            raise found
        return found

    monkeypatch.setattr(_package_files.os.path, "realpath", lambda path: path)
    monkeypatch.setattr(_package_files.os, "stat", look)
    assert only_root_writes("/srv/packages/x.zip") is safe


def test_where_a_missing_file_is_to_be_had(world):
    words = missing_file(wanted(world, mirror="https://me:secret@mirror.example.com"), "/srv/packages")
    assert "the file {0}.run is not in /srv/packages".format(NNAL) in words
    assert "cann_download" in words and " ***@mirror.example.com/CANN/" in words and "secret" not in words
    by_hand = wanted(world, packages=[{"name": "driver", "version": "25.5.0", "chip": "A3", "file": "a3.zip"}])
    assert missing_file(by_hand, "/srv/packages").startswith("the file a3.zip is not in /srv/packages; get it from Huawei support")
