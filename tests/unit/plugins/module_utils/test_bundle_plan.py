# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_plan import make_plan, os_packages, part_name, platform_of
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._package_table import CANN_LICENCE

SYSTEMS = {
    "debian-12": {
        "family": "debian",
        "glibc": "2.36",
        "repositories": [
            {"url": {"aarch64": "http://ports", "x86_64": "http://main"}, "suites": ["bookworm"], "components": ["main"], "key": "/k.gpg"}
        ],
    },
    "openeuler-22.03": {
        "family": "rpm",
        "glibc": "2.34",
        "repositories": [{"url": "https://r/$basearch/", "key": "https://r/$basearch/KEY"}],
    },
}
DEBIAN = {"os": "debian", "version": "12", "arch": "aarch64"}
OPENEULER = {"os": "openEuler", "version": "22.03", "arch": "x86_64", "chip": "910b"}


def host(platform, *needs, name="npu-01"):
    return {"name": name, "platform": platform, "needs": list(needs)}


def error(*hosts):
    with pytest.raises(NpufleetError) as caught:
        make_plan(hosts, SYSTEMS)
    return caught.value


def test_a_platform_knows_its_system_from_the_table():
    platform = platform_of(host(OPENEULER), SYSTEMS)
    assert (platform.system, platform.folder, platform.family, platform.glibc) == (
        "openeuler-22.03",
        "openeuler-22.03-x86_64",
        "rpm",
        "2.34",
    )
    assert platform_of(host(dict(OPENEULER, glibc="2.38", family="debian")), SYSTEMS)[6:8] == ("2.38", "debian")
    # Not in the table of repositories, but a system whose package family is known.
    assert platform_of(host(dict(OPENEULER, os="kylin")), SYSTEMS).family == "rpm"


@pytest.mark.parametrize(
    "platform, words",
    [
        ({}, ["os, version, arch missing"]),
        (None, ["not declared"]),
        ({"os": "debian", "arch": "aarch64"}, ["version missing"]),
        (dict(DEBIAN, arch="riscv64"), ["riscv64", "aarch64 or x86_64"]),
    ],
)
def test_a_platform_that_is_not_whole_is_refused(platform, words):
    with pytest.raises(NpufleetError) as caught:
        platform_of(host(platform), SYSTEMS)
    assert all(word in str(caught.value) for word in words) and "npufleet_platform of npu-01" in str(caught.value)


def test_hosts_share_what_they_both_need():
    needs = {"os_packages": {"debian": ["g++"], "rpm": ["gcc-c++"]}, "packages": [{"name": "toolkit", "version": "9.0.0"}]}
    plan = make_plan(
        [host(DEBIAN, needs), host(DEBIAN, {"os_packages": ["bzip2"]}, name="npu-02"), host(OPENEULER, needs, name="npu-03")], SYSTEMS
    )
    debian, openeuler = plan["parts"]
    assert (part_name(debian), debian["kind"], debian["arch"], debian["hosts"]) == (
        "os/debian-12-aarch64",
        "apt",
        "arm64",
        ["npu-01", "npu-02"],
    )
    # python3-apt: Ansible's module apt would fetch it from the network.
    assert debian["packages"] == ["bzip2", "g++", "python3-apt"]
    assert debian["repositories"] == [{"url": "http://ports", "suites": ["bookworm"], "components": ["main"], "key": "/k.gpg"}]
    assert (openeuler["kind"], openeuler["arch"], openeuler["packages"]) == ("dnf", "x86_64", ["gcc-c++"])
    assert openeuler["repositories"] == [{"url": "https://r/x86_64/", "key": "https://r/x86_64/KEY"}]
    assert [(row["file"], row["hosts"]) for row in plan["packages"]] == [
        ("Ascend-cann-toolkit_9.0.0_linux-aarch64.zip", ["npu-01"]),
        ("Ascend-cann-toolkit_9.0.0_linux-x86_64.zip", ["npu-03"]),
    ]


def test_a_huawei_package_carries_sum_source_and_licence():
    (row,) = make_plan([host(OPENEULER, {"packages": [{"name": "toolkit", "version": "9.0.0"}]})], SYSTEMS)["packages"]
    assert row["sha256"].startswith("899d3c9b") and row["url"].endswith("/CANN%209.0.0/Ascend-cann-toolkit_9.0.0_linux-x86_64.zip")
    assert row["licence"] == CANN_LICENCE
    assert row["request"] == {"name": "toolkit", "version": "9.0.0", "arch": "x86_64"}


def test_driver_and_firmware_are_asked_for_one_by_one_though_they_share_a_file():
    needs = {"packages": [{"name": "driver", "version": "25.5.0"}, {"name": "firmware", "version": "25.5.0"}]}
    rows = make_plan([host(OPENEULER, needs)], SYSTEMS)["packages"]
    assert [row["request"]["name"] for row in rows] == ["driver", "firmware"]
    assert {row["file"] for row in rows} == {"Ascend-hdk-910b-npu_25.5.0_linux-x86-64.zip"}
    assert rows[0]["request"]["chip"] == "910b"


def test_a_package_by_hand_keeps_what_was_given():
    package = {
        "name": "driver",
        "version": "26.1.0",
        "chip": "A3",
        "file": "a3.run",
        "url": "https://mirror.example.com/a3.run",
        "sha256": "ab" * 32,
    }
    (row,) = make_plan([host(OPENEULER, {"packages": [package]})], SYSTEMS)["packages"]
    assert (row["file"], row["url"], row["sha256"], row["chip"]) == ("a3.run", package["url"], package["sha256"], "A3")
    assert row["request"] == dict(package, arch="x86_64")


GIVEN = {"name": "toolkit", "version": "9.0.0"}
FILE = "Ascend-cann-toolkit_9.0.0_linux-x86_64.zip"


@pytest.mark.parametrize(
    "package, sums_of_role, sums, expected",
    [
        (dict(GIVEN, sha256="AB" * 32), {}, {}, "ab" * 32),
        (GIVEN, {FILE: "cd" * 32}, {}, "cd" * 32),
        (GIVEN, {}, {FILE: "EF" * 32}, "ef" * 32),
        (GIVEN, {FILE: "cd" * 32}, {FILE: "ef" * 32}, "cd" * 32),
        (dict(GIVEN, sha256="ab" * 32), {FILE: "cd" * 32}, {FILE: "ef" * 32}, "ab" * 32),
        (dict(GIVEN, file="own/mine.run"), {}, {"mine.run": "12" * 32}, "12" * 32),
        (dict(GIVEN, file="mine.run"), {}, {"other.run": "12" * 32}, None),
    ],
)
def test_the_sum_of_a_package_is_that_of_whoever_is_nearest(package, sums_of_role, sums, expected):
    needs = {"packages": [package], "checksums": sums_of_role}
    (row,) = make_plan([host(OPENEULER, needs, {"checksums": {FILE: "0" * 64}})], SYSTEMS, sums)["packages"]
    assert row["sha256"] == expected and (row["request"].get("sha256") or "").lower() == (expected or "")


def test_without_a_given_sum_the_published_one_counts():
    (row,) = make_plan([host(OPENEULER, {"packages": [{"name": "toolkit", "version": "8.5.0"}]})], SYSTEMS, {"x": "0" * 64})["packages"]
    assert row["sha256"].startswith("5637d98e") and "sha256" not in row["request"]


@pytest.mark.parametrize("file", ["/srv/mine.run", "../mine.run", "a/../../mine.run"])
def test_a_file_outside_of_the_packages_is_refused(file):
    caught = error(host(OPENEULER, {"packages": [dict(GIVEN, file=file)]}))
    assert "does not lie in the folder of the packages" in caught.what and caught.where == "file of toolkit"


@pytest.mark.parametrize(
    "needs, what, where",
    [
        ({"packages": [{"name": "toolkit", "version": "latest"}]}, "no version of the CANN toolkit", "npufleet_platform of npu-01"),
        ({"packages": [{"name": "driver", "version": "25.5.0", "chip": "A3"}]}, "no public download", "npufleet_platform of npu-01"),
        ({"wheels": [{"requirements": ["x"]}]}, "depend on python, which", "npufleet_platform of npu-01"),
        ({"os_packages": ["kernel-devel-{kernel}"]}, "the kernel of npu-01 is not declared", "npufleet_platform of npu-01"),
    ],
)
def test_needs_that_cannot_be_met_are_refused(needs, what, where):
    caught = error(host(OPENEULER, needs))
    assert what in caught.what and caught.where == where and caught.remedy


def test_a_system_without_a_repository_is_refused_with_the_key_to_give():
    caught = error(host(dict(OPENEULER, os="uos", version="20"), {"os_packages": ["gcc"]}))
    assert "uos-20" in caught.what and "debian-12, openeuler-22.03" in caught.what and "offline_bundle_repositories" not in caught.remedy
    assert "offline_bundle_systems" in caught.remedy


@pytest.mark.parametrize(
    "repository, words",
    [
        ({"url": "http://d", "suites": ["s"]}, "has no signing key"),
        ({"url": "http://d", "key": "/k"}, "has no suites"),
    ],
)
def test_a_repository_that_nobody_signed_or_without_suites_is_refused(repository, words):
    systems = {"debian-12": {"family": "debian", "repositories": [repository]}}
    with pytest.raises(NpufleetError, match=words) as caught:
        make_plan([host(DEBIAN, {"os_packages": ["a"]})], systems)
    assert caught.value.where == "offline_bundle_systems"


def test_a_repository_of_your_own_may_be_trusted():
    systems = {"oe-1": {"family": "rpm", "repositories": [{"url": "file:///srv", "trusted": True, "key": "ignored"}]}}
    (part,) = make_plan([host({"os": "oe", "version": "1", "arch": "aarch64"}, {"os_packages": ["a"]})], systems)["parts"]
    assert part["repositories"] == [{"url": "file:///srv", "key": None}]


def test_a_family_that_is_not_known_is_asked_for():
    caught = error(host(dict(OPENEULER, os="plan9"), {"os_packages": {"debian": ["g++"]}}))
    assert "plan9" in caught.what and "family: rpm" in caught.remedy


@pytest.mark.parametrize(
    "kernel, expected",
    [
        ({"kernel": "5.10.0-216.aarch64"}, ["gcc", "kernel-devel-5.10.0-216.aarch64"]),
        ({"kernel": ["1", "2"]}, ["gcc", "kernel-devel-1", "kernel-devel-2"]),
        ({"kernel": None}, ["gcc"]),
        ({"kernel": ""}, ["gcc"]),
    ],
)
def test_headers_follow_the_declared_kernels(kernel, expected):
    one = host(dict(OPENEULER, **kernel), {"os_packages": ["kernel-devel-{kernel}"]}, {"os_packages": ["gcc"]})
    assert os_packages(one, platform_of(one, SYSTEMS)) == expected


def test_no_needs_give_no_parts():
    empty = host(DEBIAN, {}, None, {"os_packages": {}, "wheels": None})
    assert make_plan([empty, empty], SYSTEMS) == {"packages": [], "parts": []}


def test_wheels_of_one_interpreter_and_c_library_are_one_part():
    platform = dict(OPENEULER, python="3.11")
    first, second = {"requirements": ["a"]}, {"requirements": ["b"], "no_deps": True}
    plan = make_plan([host(platform, {"wheels": [first]}), host(platform, {"wheels": [first, second]}, name="npu-02")], SYSTEMS)
    (part,) = plan["parts"]
    assert part == {
        "kind": "wheels",
        "folder": "wheels/cp311-glibc2.34-x86_64",
        "python": "3.11",
        "glibc": "2.34",
        "arch": "x86_64",
        "sets": [first, second],
        "hosts": ["npu-01", "npu-02"],
    }


def test_images_are_one_file_for_each_architecture():
    needs = {"images": ["quay.io/ascend/vllm-ascend:v0.23.0"]}
    parts = make_plan([host(DEBIAN, needs), host(OPENEULER, needs, name="npu-02")], SYSTEMS)["parts"]
    assert [(part["file"], part["arch"]) for part in parts] == [
        ("quay.io_ascend_vllm-ascend_v0.23.0-aarch64.tar", "arm64"),
        ("quay.io_ascend_vllm-ascend_v0.23.0-x86_64.tar", "amd64"),
    ]


def test_a_host_without_an_engine_needs_no_image():
    plan = make_plan([host(DEBIAN, {"os_packages": ["numactl"], "images": [""]})], SYSTEMS)
    assert [part["kind"] for part in plan["parts"]] == ["apt"]
