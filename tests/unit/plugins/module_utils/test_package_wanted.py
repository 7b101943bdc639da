# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._package_names import BASE
from ansible_collections.npufleet.ascend.plugins.module_utils._package_table import SUMS
from ansible_collections.npufleet.ascend.plugins.module_utils._package_wanted import (
    read_kinds,
    read_packages,
    shown_address,
    without_password,
)
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.package_fakes import put

SUM = "ab" * 32
HDK = "Ascend-hdk-910b-npu_25.5.0_linux-x86-64.zip"


def params(*entries, **changes):
    options = {"packages": list(entries), "state": "present", "chip": "910b", "arch": None, "mirror": None, "checksums": {}}
    return dict(options, **changes)


def one(machine="x86_64", changes=None, **entry):
    (wanted,) = read_packages(params(entry, **(changes or {})), machine)
    return wanted


@pytest.mark.parametrize(
    ("machine", "changes", "entry", "file"),
    [
        ("x86_64", {}, {"name": "driver", "version": "25.5.0"}, HDK),
        ("amd64", {}, {"name": "driver", "version": "25.5.0"}, HDK),
        ("aarch64", {}, {"name": "firmware", "version": "25.5.0"}, "Ascend-hdk-910b-npu_25.5.0_linux-aarch64.zip"),
        ("arm64", {}, {"name": "nnal", "version": "9.0.0"}, "Ascend-cann-nnal_9.0.0_linux-aarch64.run"),
        ("x86_64", {"arch": "aarch64"}, {"name": "nnal", "version": "9.0.0"}, "Ascend-cann-nnal_9.0.0_linux-aarch64.run"),
        ("x86_64", {"arch": "x86_64"}, {"name": "nnal", "version": "9.0.0", "arch": "aarch64"}, "Ascend-cann-nnal_9.0.0_linux-aarch64.run"),
        ("x86_64", {}, {"name": "ops", "version": "9.0.0", "chip": "A3"}, "Ascend-cann-A3-ops_9.0.0_linux-x86_64.zip"),
        ("x86_64", {}, {"name": "driver", "version": "25.5.0", "chip": "A3", "file": "/srv/my-a3.run"}, "my-a3.run"),
        (
            "x86_64",
            {},
            {"name": "driver", "version": "25.5.0", "chip": "A3", "url": "https://mirror.example.com/a%20b/a3.zip?x=1"},
            "a3.zip",
        ),
    ],
)
def test_the_file_of_a_package(machine, changes, entry, file):
    assert one(machine, changes, **entry).artifact.file == file


@pytest.mark.parametrize(
    ("entry", "mirror", "url"),
    [
        ({}, None, BASE + "Ascend%20HDK/Ascend%20HDK%2025.5.0/" + HDK),
        ({}, "https://mirror.example.com/ascend/", "https://mirror.example.com/ascend/Ascend%20HDK/Ascend%20HDK%2025.5.0/" + HDK),
        ({"url": "https://other.example.com/x.zip"}, "https://mirror.example.com", "https://other.example.com/x.zip"),
        ({"file": "mine.zip"}, "https://mirror.example.com", ""),
    ],
)
def test_where_a_file_comes_from(entry, mirror, url):
    assert one(changes={"mirror": mirror}, name="driver", version="25.5.0", **entry).artifact.url == url


@pytest.mark.parametrize(
    ("entry", "checksums", "name", "expected"),
    [
        ({}, {}, HDK, next(row.sha256 for row in SUMS if row.file == HDK)),
        ({"sha256": SUM.upper()}, {}, HDK, SUM),
        ({}, {HDK: SUM}, HDK, SUM),
        ({"sha256": "cd" * 32}, {HDK: SUM}, HDK, "cd" * 32),
        ({}, {}, "Ascend-hdk-910b-npu-driver_25.5.0_linux-x86-64.run", ""),
        ({}, {"Ascend-hdk-910b-npu-driver_25.5.0_linux-x86-64.run": SUM}, "Ascend-hdk-910b-npu-driver_25.5.0_linux-x86-64.run", SUM),
    ],
)
def test_the_sum_a_file_must_have(entry, checksums, name, expected):
    assert one(changes={"checksums": checksums}, name="driver", version="25.5.0", **entry).sha256(name) == expected


@pytest.mark.parametrize(
    ("entry", "number"),
    [
        ({"name": "driver", "version": "25.5.0"}, "25.5.0"),
        ({"name": "firmware", "version": "25.5.0"}, ""),
        ({"name": "firmware", "version": "26.0.rc1"}, ""),
        ({"name": "firmware", "version": "7.8.0.5.220", "file": "my-archive.zip"}, "7.8.0.5.220"),
        ({"name": "firmware", "version": "25.5.0", "file": "/srv/Ascend-hdk-910b-npu-firmware_7.8.0.5.220.run"}, "7.8.0.5.220"),
        ({"name": "firmware", "version": "25.5.0", "file": "mine.run"}, ""),
    ],
)
def test_what_the_host_will_say(entry, number):
    assert one(**entry).number() == number


@pytest.mark.parametrize(
    ("entry", "files", "found"),
    [
        ({}, [HDK], HDK),
        ({}, ["Ascend-hdk-910b-npu-driver_25.5.0_linux-x86_64.run"], "Ascend-hdk-910b-npu-driver_25.5.0_linux-x86_64.run"),
        ({}, ["Ascend-hdk-910b-npu-driver_25.5.0_linux-x86_64.run", HDK], HDK),
        ({}, ["Ascend-hdk-910b-npu-driver_25.5.0_linux-aarch64.run", "Ascend-hdk-910b-npu_25.2.0_linux-x86-64.zip", "other"], ""),
        ({"file": "sub/mine.zip"}, ["sub/mine.zip", HDK], "sub/mine.zip"),
        ({"file": "mine.zip"}, [HDK], ""),
    ],
)
def test_finding_the_file(tmp_path, entry, files, found):
    for name in files:
        put(tmp_path, "/" + name)
    (tmp_path / "folder.zip").mkdir()
    wanted = one(name="driver", version="25.5.0", **entry)
    assert wanted.locate(str(tmp_path)) == (str(tmp_path / found) if found else "")


def test_an_absolute_file_and_a_folder_that_is_not_there(tmp_path):
    path = put(tmp_path, "/mine.run")
    assert one(name="nnal", version="9.0.0", file=path).locate("/nowhere") == path
    assert one(name="nnal", version="9.0.0").locate("/nowhere") == ""


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"name": "driver"}, "the Ascend HDK driver needs a version"),
        ({"name": "driver", "version": "latest"}, "'latest' is no version"),
        ({"name": "driver", "version": "newish"}, "'newish' is no version"),
        ({"name": "engine", "version": "1.0.0"}, "there is no package 'engine'"),
        ({"name": "driver", "version": "25.5.0", "arch": "riscv64"}, "'riscv64'"),
        ({"name": "driver", "version": "25.5.0", "chip": "A3"}, "no public download"),
        ({"name": "ops", "version": "8.3.RC1", "chip": "950", "url": "https://example.com/x.run"}, "no operators for 950"),
        ({"name": "driver", "version": "25.5.0", "file": "driver.tar"}, "driver.tar is no package"),
        ({"name": "driver", "version": "25.5.0", "sha256": "abc"}, "'abc' is no SHA-256 sum"),
        ({"name": "driver", "version": "25.5.0", "sha256": SUM + "\n"}, "is no SHA-256 sum"),
        ({"name": "driver", "version": "25.5.0", "url": "ftp://me:secret@example.com/x.zip"}, "ftp://***@example.com/x.zip is no address"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(entry, words):
    with pytest.raises(NpufleetError) as caught:
        one(**entry)
    assert words in str(caught.value)
    assert caught.value.where == "packages: " + entry["name"]
    assert caught.value.remedy


def test_a_wrong_sum_in_the_list_names_its_file():
    with pytest.raises(NpufleetError, match="is no SHA-256 sum") as caught:
        one(changes={"checksums": {"x.run": 7}}, name="nnal", version="9.0.0")
    assert caught.value.where == "checksums: x.run"


def test_each_kind_once_but_for_downloads():
    entries = [{"name": "driver", "version": "25.5.0", "arch": arch} for arch in ("aarch64", "x86_64")]
    with pytest.raises(NpufleetError, match="driver is named twice"):
        read_packages(params(*entries), "x86_64")
    assert [wanted.arch for wanted in read_packages(params(*entries, state="downloaded"), "x86_64")] == ["aarch64", "x86_64"]


def test_names_are_enough_to_remove():
    entries = [{"name": "driver"}, {"name": "toolkit", "version": "9.0.0"}, {"name": "driver"}]
    assert read_kinds(params(*entries)) == ["driver", "toolkit"]
    with pytest.raises(NpufleetError, match="there is no package 'engine'"):
        read_kinds(params({"name": "engine"}))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://me:secret@example.com/x", "https://***@example.com/x"),
        ("https://example.com/a@b", "https://example.com/a@b"),
        ("see http://a:b@c and https://d:e@f", "see http://***@c and https://***@f"),
    ],
)
def test_credentials_are_not_shown(text, shown):
    assert without_password(text) == shown


def test_an_address_in_a_message_holds_no_value_of_a_secret_option():
    # Ansible puts stars wherever the value of an option with no_log stands, and url and mirror hold whole addresses.
    assert shown_address("http://mirror.example.com/CANN/x.run") == "mirror.example.com/CANN/x.run"
    assert shown_address("https://me:secret@mirror.example.com/x") == "***@mirror.example.com/x"
    assert shown_address("") == ""
