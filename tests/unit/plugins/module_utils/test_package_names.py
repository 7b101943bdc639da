# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import re

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._package_names import (
    ARCHES,
    BASE,
    CHIPS,
    REFERER,
    artifact,
    by_hand,
    chip_of,
    fetch_list,
    member_pattern,
    same_file,
    version_in,
    with_mirror,
)
from ansible_collections.npufleet.ascend.plugins.module_utils._package_table import KINDS

HDK = "https://ascend-repo.obs.cn-east-2.myhuaweicloud.com/Ascend%20HDK/Ascend%20HDK%20"


@pytest.mark.parametrize(
    ("kind", "version", "chip", "arch", "path"),
    [
        ("driver", "26.0.RC1", "910b", "x86_64", "Ascend%20HDK/Ascend%20HDK%2026.0.RC1/Ascend-hdk-910b-npu_26.0.rc1_linux-x86-64.zip"),
        (
            "firmware",
            "25.0.rc1.1",
            "310p",
            "aarch64",
            "Ascend%20HDK/Ascend%20HDK%2025.0.RC1.1/Ascend-hdk-310p-npu_25.0.rc1.1_linux-aarch64.zip",
        ),
        ("driver", "26.1.0", "910", "aarch64", "Ascend%20HDK/Ascend%20HDK%2026.1.0/Ascend-hdk-910-npu_26.1.0_linux-aarch64.zip"),
        ("toolkit", "9.0.0", None, "x86_64", "CANN/CANN%209.0.0/Ascend-cann-toolkit_9.0.0_linux-x86_64.zip"),
        ("toolkit", "9.1.0", None, "aarch64", "CANN/CANN%209.1.0/Ascend-cann-toolkit_9.1.0_linux-aarch64.run"),
        ("toolkit", "8.3.rc2", "910b", "aarch64", "CANN/CANN%208.3.RC2/Ascend-cann-toolkit_8.3.RC2_linux-aarch64.run"),
        ("ops", "8.3.RC1", "910b", "aarch64", "CANN/CANN%208.3.RC1/Ascend-cann-kernels-910b_8.3.RC1_linux-aarch64.zip"),
        ("ops", "8.3.RC2", "A3", "aarch64", "CANN/CANN%208.3.RC2/Atlas-A3-cann-kernels_8.3.RC2_linux-aarch64.run"),
        ("ops", "8.5.0", "A3", "x86_64", "CANN/CANN%208.5.0/Ascend-cann-A3-ops_8.5.0_linux-x86_64.zip"),
        ("ops", "9.1.0", "950", "aarch64", "CANN/CANN%209.1.0/Ascend-cann-950-ops_9.1.0_linux-aarch64.run"),
        ("nnal", "9.0.0", "910b", "x86_64", "CANN/CANN%209.0.0/Ascend-cann-nnal_9.0.0_linux-x86_64.run"),
        ("docker_runtime", "26.0.0", None, "aarch64", "MindX/MindX%2026.0.0/Ascend-docker-runtime_26.0.0_linux-aarch64.run"),
        ("docker_runtime", "7.2.rc1", None, "x86_64", "MindX/MindX%207.2.RC1/Ascend-docker-runtime_7.2.RC1_linux-x86_64.run"),
        ("toolbox", "26.0.1", None, "x86_64", "MindX/MindX%2026.0.0/Ascend-mindx-toolbox_26.0.1_linux-x86_64.zip"),
        ("toolbox", "26.1.0", None, "x86_64", "MindX/MindX%2026.1.0/Ascend-mindx-toolbox_26.1.0_linux-x86_64.run"),
    ],
)
def test_files_and_addresses(kind, version, chip, arch, path):
    found = artifact(kind, version, chip, arch)
    assert found.url == BASE + path
    assert found.file == path.rpartition("/")[2]
    assert (found.kind, found.version, found.arch) == (kind, version, arch)
    assert found.chip == (chip if kind in ("driver", "firmware", "ops") else "")
    assert (found.member is None) == found.file.endswith(".run")
    assert same_file(found.file, found)


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("arch", ARCHES)
def test_a_sum_stands_for_one_file_only(kind, arch):
    with_sum, without = (
        artifact(kind, "26.0.0" if kind == "docker_runtime" else "9.0.0", "910b", arch),
        artifact(kind, "99.0.0", "910b", arch),
    )
    assert without.sha256 is None
    assert (with_sum.sha256 is not None) == (kind in ("toolkit", "ops", "docker_runtime"))


@pytest.mark.parametrize(
    ("kind", "version", "chip", "arch", "names"),
    [
        (
            "driver",
            "26.0.RC1",
            "910b",
            "x86_64",
            ["Ascend-hdk-910b-npu-driver_26.0.rc1_linux-x86-64.run", "Ascend-hdk-910b-npu-driver_26.0.rc1_linux-x86_64.run"],
        ),
        (
            "driver",
            "26.0.rc1",
            "910b",
            "aarch64",
            ["Ascend-hdk-910b-npu-driver_26.0.rc1_linux-aarch64.run", "ascend-hdk-910B-npu-driver_26.0.RC1_linux-aarch64.run"],
        ),
        (
            "driver",
            "25.0.rc1_sph001",
            "910b",
            "aarch64",
            ["Ascend-hdk-910b-npu-driver_25.0.rc1_sph001_linux.run", "Ascend-hdk-910b-npu-driver_25.0.rc1_sph001_linux-aarch64.run"],
        ),
        (
            "driver",
            "25.5.0",
            "A3",
            "aarch64",
            ["Ascend-hdk-A3-npu-driver_25.5.0_linux-aarch64.run", "Atlas-A3-hdk-npu-driver_25.5.0_linux-aarch64.run"],
        ),
        ("driver", "25.7.rc1", "950", "x86_64", ["Atlas-A5-hdk-npu-driver_25.7.rc1_linux-x86-64.run"]),
        ("driver", "25.3.rc1", "310b", "aarch64", ["Ascend-hdk-310b-npu-driver_25.3.rc1_linux-aarch64.run"]),
        (
            "firmware",
            "26.0.rc1",
            "910b",
            "x86_64",
            ["Ascend-hdk-910b-npu-firmware_7.7.0.2.220.run", "Ascend-hdk-910b-npu-firmware_7.8.0.5.220.run"],
        ),
        ("firmware", "7.7.0.2.220", "910b", "x86_64", ["Ascend-hdk-910b-npu-firmware_7.7.0.2.220.run"]),
        (
            "toolkit",
            "9.2.0-beta.2",
            None,
            "x86_64",
            ["Ascend-cann-toolkit_9.2.0-beta.2_linux-x86_64.run", "Ascend-cann-toolkit_9.2.0_beta.2_linux-x86_64.run"],
        ),
        ("ops", "8.5.0", "A3", "aarch64", ["Ascend-cann-A3-ops_8.5.0_linux-aarch64.run"]),
        ("ops", "8.2.RC1", "A3", "aarch64", ["Atlas-A3-cann-kernels_8.2.RC1_linux-aarch64.run"]),
        ("toolbox", "26.0.1", None, "aarch64", ["Ascend-mindx-toolbox_26.0.1_linux-aarch64.run"]),
    ],
)
def test_the_run_file_inside(kind, version, chip, arch, names):
    pattern = member_pattern(kind, version, chip, arch)
    for name in names:
        assert re.fullmatch(pattern, name), name
        assert not re.fullmatch(pattern, name + ".cms")
        assert not re.fullmatch(pattern, "x" + name)


@pytest.mark.parametrize(
    ("kind", "version", "name"),
    [
        ("driver", "26.0.rc1", "Ascend-hdk-910b-npu-driver_26.0.rc1_linux-x86-64.run"),
        ("driver", "26.0.rc1", "Ascend-hdk-910b-npu-driver_26.0.rc2_linux-aarch64.run"),
        ("driver", "26.0.rc1", "Ascend-hdk-910-npu-driver_26.0.rc1_linux-aarch64.run"),
        ("driver", "26.0.rc1", "Ascend-hdk-910b-npu-driver_26.0.rc1_linux.run"),
        ("driver", "26.0.rc1", "Ascend-hdk-910b-npu-firmware_7.8.0.5.220.run"),
        ("driver", "26.0.rc1", "Ascend-hdk-910b-npu-driver_26x0.rc1_linux-aarch64.run"),
        ("firmware", "26.0.rc1", "Ascend-hdk-910b-npu-driver_26.0.rc1_linux-aarch64.run"),
        ("firmware", "7.7.0.2.220", "Ascend-hdk-910b-npu-firmware_7.8.0.5.220.run"),
        ("toolkit", "9.0.0", "Ascend-cann-toolkit_9.0.0_linux-x86_64.run"),
        ("ops", "9.0.0", "Ascend-cann-A3-ops_9.0.0_linux-aarch64.run"),
        ("ops", "9.0.0", "Ascend-cann-kernels-910b_9.0.0_linux-aarch64.run"),
    ],
)
def test_another_run_file_is_not_taken(kind, version, name):
    assert not re.fullmatch(member_pattern(kind, version, "910b", "aarch64"), name)
    assert not same_file(name, by_hand(kind, version, "910b", "aarch64", "wanted.run"))


@pytest.mark.parametrize(
    ("kind", "version", "chip", "arch", "words"),
    [
        ("driver", "latest", "910b", "aarch64", "no version"),
        ("toolkit", "", None, "aarch64", "no version"),
        ("toolkit", "9.0.x", None, "aarch64", "no version"),
        ("toolkit", 9.0, None, "aarch64", "number 9.0"),
        ("toolkit", None, None, "aarch64", "must be text"),
        ("toolkit", "9.0.0+mine", None, "aarch64", "no package is called"),
        ("nnrt", "9.0.0", None, "aarch64", "driver, firmware, toolkit"),
        (["driver"], "9.0.0", None, "aarch64", "there is no package"),
        ("driver", "26.0.rc1", None, "aarch64", "needs the chip"),
        ("driver", "26.0.rc1", "", "aarch64", "needs the chip"),
        ("ops", "9.0.0", "910c", "aarch64", "'910c'"),
        ("toolkit", "9.0.0", None, "x86-64", "aarch64, x86_64"),
        ("driver", "26.0.rc1", "A3", "aarch64", "Huawei support"),
        ("firmware", "26.0.rc1", "950", "aarch64", "Huawei support"),
        ("driver", "25.0.rc1", "310b", "aarch64", "Huawei support"),
        ("driver", "25.0.rc1_sph001", "910b", "aarch64", "patch 25.0.rc1_sph001"),
        ("firmware", "7.7.0.2.220", "910b", "aarch64", "version of the HDK"),
        ("ops", "8.3.RC2", "950", "aarch64", "8.5.0 or later"),
        ("ops", "8.1.RC1", "310b", "aarch64", "8.5.0 or later"),
    ],
)
def test_what_there_is_not_is_refused_with_advice(kind, version, chip, arch, words):
    with pytest.raises(NpufleetError) as caught:
        artifact(kind, version, chip, arch)
    assert words in str(caught.value) and "What to do: " in str(caught.value)


@pytest.mark.parametrize("chip", ["A3", "950", "310b"])
def test_the_refusal_of_a_download_says_what_to_give(chip):
    with pytest.raises(NpufleetError) as caught:
        artifact("driver", "25.5.0", chip, "aarch64")
    assert "'file' and 'sha256'" in str(caught.value) and chip in str(caught.value)


@pytest.mark.parametrize("chip", CHIPS)
def test_a_file_by_hand_works_for_every_chip(chip):
    found = by_hand("driver", "25.5.0", chip, "aarch64", "My-Driver.zip")
    assert (found.file, found.url, found.sha256, found.chip) == ("My-Driver.zip", "", None, chip)
    assert found.member == member_pattern("driver", "25.5.0", chip, "aarch64")
    assert by_hand("driver", "25.5.0", chip, "aarch64", "x.run").member is None


def test_a_known_file_by_hand_keeps_its_published_sum():
    known = artifact("toolkit", "9.0.0", None, "aarch64")
    assert known.sha256
    assert by_hand("toolkit", "9.0.0", None, "aarch64", known.file).sha256 == known.sha256


@pytest.mark.parametrize("file", ["driver.rpm", "driver", "x.run.sig", 7])
def test_a_file_by_hand_must_be_a_package(file):
    with pytest.raises(NpufleetError, match="is no package"):
        by_hand("driver", "25.5.0", "910b", "aarch64", file)


@pytest.mark.parametrize(
    ("name", "same"),
    [
        ("Ascend-hdk-910b-npu_26.0.rc1_linux-x86-64.zip", True),
        ("/srv/files/Ascend-hdk-910b-npu_26.0.rc1_linux-x86_64.zip", True),
        ("C:\\files\\Ascend-hdk-910b-npu_26.0.RC1_linux-x86-64.zip", True),
        ("Ascend-hdk-910b-npu-driver_26.0.rc1_linux-x86_64.run", True),
        ("Ascend-hdk-910b-npu_26.0.rc1_linux-aarch64.zip", False),
        ("Ascend-hdk-910b-npu_25.5.0_linux-x86-64.zip", False),
        ("Ascend-hdk-910b-npu-firmware_7.8.0.5.220.run", False),
        ("", False),
    ],
)
def test_same_file_of_a_driver(name, same):
    assert same_file(name, artifact("driver", "26.0.rc1", "910b", "x86_64")) is same


@pytest.mark.parametrize("version", ["9.0.0", "9.1.0"])
def test_same_file_of_cann_takes_zip_and_run_whichever_is_published(version):
    wanted = artifact("toolkit", version, None, "x86_64")
    for name in ("Ascend-cann-toolkit_{0}_linux-x86_64.zip", "Ascend-cann-toolkit_{0}_linux-x86-64.run"):
        assert same_file(name.format(version), wanted)
    assert not same_file("Ascend-cann-toolkit_8.5.0_linux-x86_64.zip", wanted)
    assert not same_file("Ascend-cann-nnal_{0}_linux-x86_64.run".format(version), wanted)


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("Ascend-hdk-910b-npu-firmware_7.7.0.2.220.run", "7.7.0.2.220"),
        ("Ascend-hdk-910b-npu_26.0.rc1_linux-x86-64.zip", "26.0.rc1"),
        ("Ascend-hdk-910b-npu-driver_25.0.rc1_sph001_linux.run", "25.0.rc1_sph001"),
        ("Ascend-cann-toolkit_8.3.RC1_linux-x86_64.run", "8.3.RC1"),
        ("driver.run", None),
        ("Ascend_9.0.0_linux-aarch64.rpm", None),
    ],
)
def test_the_version_in_a_name(name, version):
    assert version_in(name) == version


@pytest.mark.parametrize(
    ("url", "mirror", "result"),
    [
        (BASE + "CANN/a.run", "https://mirror.example.com/ascend", "https://mirror.example.com/ascend/CANN/a.run"),
        (BASE + "CANN/a.run", "https://mirror.example.com/ascend/", "https://mirror.example.com/ascend/CANN/a.run"),
        (BASE + "CANN/a.run", "", BASE + "CANN/a.run"),
        (BASE + "CANN/a.run", None, BASE + "CANN/a.run"),
        ("https://www.example.com/a.run", "https://mirror.example.com", "https://www.example.com/a.run"),
        ("", "https://mirror.example.com", ""),
    ],
)
def test_mirrors(url, mirror, result):
    assert with_mirror(url, mirror) == result


@pytest.mark.parametrize(
    ("generation", "chip"), [("A1", "910"), ("A2", "910b"), ("A3", "A3"), ("A5", "950"), ("310P", "310p"), ("310B", "310b")]
)
def test_chips_of_generations(generation, chip):
    assert chip_of(generation) == chip and chip in CHIPS


@pytest.mark.parametrize(("generation", "words"), [(None, "is not known"), ("", "is not known"), ("310", "'310'"), ("A9", "'A9'")])
def test_generations_without_packages(generation, words):
    with pytest.raises(NpufleetError, match=words):
        chip_of(generation)


def test_the_list_to_fetch_names_each_file_once():
    hdk = {"version": "26.0.rc1", "chip": "910b", "arch": "aarch64"}
    files = fetch_list([dict(hdk, name="driver"), dict(hdk, name="firmware"), {"name": "nnal", "version": "9.1.0", "arch": "aarch64"}])
    assert [file["names"] for file in files] == [["driver", "firmware"], ["nnal"]]
    assert files[0]["url"] == HDK + "26.0.RC1/Ascend-hdk-910b-npu_26.0.rc1_linux-aarch64.zip"
    assert files[0]["sha256"] == "c09dbd1b80f3655dbc26c1a3efb8d2742db1c6e03ca064f9248e9a998b25715f" and files[1]["sha256"] is None
    assert all(file["headers"] == {"Referer": REFERER} for file in files)


def test_the_list_to_fetch_takes_what_is_given_by_hand():
    package = {"name": "driver", "version": "25.5.0", "chip": "A3", "arch": "aarch64", "file": "a3.run", "sha256": "0" * 64}
    (file,) = fetch_list([package])
    assert file == {"names": ["driver"], "file": "a3.run", "url": "", "sha256": "0" * 64, "headers": {}}
    (file,) = fetch_list([dict(package, url="https://www.example.com/a3.run")])
    assert (file["url"], file["headers"]) == ("https://www.example.com/a3.run", {})


def test_the_list_to_fetch_uses_a_mirror_without_the_header_of_the_store():
    (file,) = fetch_list([{"name": "toolkit", "version": "9.0.0", "arch": "x86_64"}], "https://mirror.example.com")
    assert file["url"] == "https://mirror.example.com/CANN/CANN%209.0.0/Ascend-cann-toolkit_9.0.0_linux-x86_64.zip"
    assert file["headers"] == {}


@pytest.mark.parametrize("package", [{}, {"name": "driver", "arch": "aarch64"}, {"name": "driver", "version": "1", "arch": ""}])
def test_the_list_to_fetch_says_what_a_package_lacks(package):
    with pytest.raises(NpufleetError, match="a package lacks"):
        fetch_list([package])
