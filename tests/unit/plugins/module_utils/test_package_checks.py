# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
import shutil

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils import _package_checks
from ansible_collections.npufleet.ascend.plugins.module_utils._command import CommandResult
from ansible_collections.npufleet.ascend.plugins.module_utils._package_checks import Case, InTheWayError, check_all, setup_of, unknowns
from ansible_collections.npufleet.ascend.plugins.module_utils._package_plan import Target, plan_absent, plan_present
from ansible_collections.npufleet.ascend.plugins.module_utils._package_prerequisites import Problem
from ansible_collections.npufleet.ascend.plugins.module_utils._package_record import Record
from ansible_collections.npufleet.ascend.plugins.module_utils._package_state import Tree, read_state
from ansible_collections.npufleet.ascend.plugins.module_utils._package_table import KINDS
from ansible_collections.npufleet.ascend.plugins.module_utils._package_wanted import read_kinds, read_packages
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.package_fakes import (
    FIRMWARE,
    PATH,
    World,
    link,
    put,
    put_cann,
    put_driver,
    put_firmware,
)

HDK = ("driver=25.5.0", "firmware=25.5.0")


@pytest.fixture()
def world(tmp_path, monkeypatch):
    monkeypatch.setattr(_package_checks, "disk_free", lambda _path: 10**12)
    return World(tmp_path)


def case(world, *packages, host=None, **changes):
    params = world.params(*packages, **changes)
    tree = Tree(params["install_path"], world.root)
    state, records = read_state(KINDS, tree), {kind: Record() for kind in KINDS}
    host = host or world.host()
    if params["state"] == "absent":
        return Case(plan_absent(read_kinds(params), state, records).steps, {}, state, params, tree, host)
    wanted = {one.kind: one for one in read_packages(params, host.machine)}
    targets = [
        Target(one.kind, one.version, FIRMWARE.get(one.version, one.version) if one.kind == "firmware" else one.version)
        for one in wanted.values()
    ]
    return Case(plan_present(targets, state, records, True).steps, wanted, state, params, tree, host)


def told(world, *packages, **changes):
    """What is in the way, as text."""
    return [problem.what for problem in check_all(case(world, *packages, **changes))]


@pytest.mark.parametrize(
    "packages",
    [HDK, ("toolkit=8.5.0", "ops=8.5.0", "nnal=8.5.0"), ("docker_runtime=26.0.0", "toolbox=26.0.1")],
)
def test_nothing_is_in_the_way_of_a_good_host(world, packages):
    assert check_all(case(world, *packages)) == []


def test_everything_is_told_at_once(world):
    put(world.root, "/etc/passwd", "")
    shutil.rmtree(world.root + "/lib/modules")
    host = world.host(uid=1000, machine="aarch64", find=lambda name, _dirs=(): None if name == "lspci" else "/usr/bin/" + name)
    found = check_all(
        case(world, *HDK, host=host._replace(run=lambda argv, **_o: CommandResult(argv, 0, "", "")), accept_licences=False, arch="x86_64")
    )
    words = " | ".join(problem.what for problem in found)
    for part in (
        "only root",
        "nobody has accepted",
        "is for x86_64, and this host is aarch64",
        "lacks lspci",
        "no user HwHiAiUser",
        "headers",
    ):
        assert part in words
    error = InTheWayError(found, "install driver", {"changed": False})
    assert str(error).startswith("{0} things are in the way (install driver):\n1. ".format(len(found)))
    assert str(error).count("What to do: ") == len(found)
    assert error.result == {"changed": False}


def test_one_problem_is_a_plain_sentence():
    assert (
        str(InTheWayError([Problem("it is broken", "Mend it")], "install ops", {}))
        == "it is broken. Where: install ops. What to do: Mend it."
    )


@pytest.mark.parametrize(
    ("packages", "licences"),
    [(HDK, ["HDK software licence"]), (("driver=25.5.0", "toolkit=8.5.0", "ops=8.5.0", "toolbox=26.0.1"), ["HDK", "CANN", "MindCluster"])],
)
def test_each_licence_is_named_once(world, packages, licences):
    found = [problem for problem in check_all(case(world, *packages, accept_licences=False)) if "nobody has accepted" in problem.what]
    assert len(found) == len(licences)
    assert all(any(name in problem.what for problem in found) for name in licences)
    assert all("accept_licences" in problem.remedy and "_accept_licence)" in problem.remedy for problem in found)


def test_a_removal_asks_for_no_licence(world):
    put_driver(world.root, "25.5.0")
    assert told(world, "driver", state="absent", accept_licences=False) == []


@pytest.mark.parametrize(
    ("path", "mode", "words"),
    [
        (PATH, 0o755, ""),
        (PATH, 0o750, ""),
        (PATH, 0o775, "/usr/local/Ascend has the mode 0775: others may write to it"),
        (PATH, 0o757, "others may write to it"),
        ("/usr/local", 0o750, "/usr/local has the mode 0750: others cannot get through it"),
        ("/usr", 0o777, "/usr has the mode 0777: others may write to it"),
        ("/", 0o700, "/ has the mode 0700: others cannot get through it"),
    ],
)
def test_the_install_path_and_all_above_it(world, path, mode, words):
    full = world.root + path
    os.chmod(full, mode)
    found = told(world, "toolkit=8.5.0")
    os.chmod(full, 0o755)
    assert [words in what for what in found] == ([True] if words else [])


def test_an_install_path_that_is_not_there_yet(world):
    assert told(world, "toolkit=8.5.0", install_path="/opt/Ascend") == []


def test_an_install_path_that_is_a_file(world):
    put(world.root, "/opt/Ascend")
    assert told(world, "toolkit=8.5.0", install_path="/opt/Ascend") == ["/opt/Ascend is no folder"]


def test_an_install_path_of_somebody_else(world):
    host = world.host(owner=(os.geteuid() + 1, os.getegid()))
    assert "/usr/local/Ascend does not belong to root" in told(world, "toolkit=8.5.0", host=host)


def test_the_docker_runtime_is_more_particular(world):
    shutil.rmtree(world.root + PATH)
    os.makedirs(world.root + "/data/Ascend")
    link(world.root, PATH, world.root + "/data/Ascend")
    assert told(world, "toolkit=8.5.0") == []
    assert told(world, "docker_runtime=26.0.0") == ["/usr/local/Ascend is a symbolic link, which the Docker runtime refuses"]
    os.unlink(world.root + PATH)
    other_group = world.host(owner=(os.geteuid(), os.getegid() + 1))
    assert told(world, "docker_runtime=26.0.0", host=other_group)
    assert told(world, "toolkit=8.5.0", host=other_group) == []


def test_a_removal_needs_no_open_parents(world):
    put_driver(world.root, "25.5.0")
    os.chmod(world.root + "/usr/local", 0o700)
    assert told(world, "driver", state="absent") == []
    os.chmod(world.root + "/usr/local", 0o777)
    assert told(world, "driver", state="absent") == ["/usr/local has the mode 0777: others may write to it"]


@pytest.mark.parametrize(("mode", "refused"), [(0o700, False), (0o755, False), (0o775, True), (0o707, True)])
def test_the_own_folder_is_private(world, mode, refused):
    os.mkdir(world.records)
    os.chmod(world.records, mode)
    assert told(world, "toolkit=8.5.0") == (["others may write to {0}".format(world.records)] if refused else [])


def test_the_own_folder_of_somebody_else(world):
    os.mkdir(world.records)
    found = told(world, "toolkit=8.5.0", host=world.host(owner=(os.geteuid() + 1, 0)))
    assert "others may write to {0}".format(world.records) in found


@pytest.mark.parametrize(
    ("packages", "free", "words"),
    [
        (("toolkit=8.5.0",), 10 << 30, ""),
        (("toolkit=8.5.0",), 9 << 30, "toolkit needs 10.0 GiB below /usr/local/Ascend, and 9.0 GiB are free"),
        (("toolkit=8.5.0", "ops=8.5.0"), 14 << 30, "toolkit, ops needs 15.0 GiB"),
    ],
)
def test_disk_of_all_packages_together(world, monkeypatch, packages, free, words):
    monkeypatch.setattr(_package_checks, "disk_free", lambda _path: free)
    assert [words in what for what in told(world, *packages)] == ([True] if words else [])


@pytest.mark.parametrize(
    ("text", "mode", "words"),
    [
        ("{}", 0o600, ""),
        ("", 0o600, ""),
        ('{"a": 1}', 0o644, ""),
        ("{}", 0o664, "is a link, or others may write to it"),
        ("{", 0o600, "is no JSON object"),
        ("[]", 0o600, "is no JSON object"),
    ],
)
def test_the_file_that_the_docker_runtime_edits(world, text, mode, words):
    put(world.root, "/etc/docker/daemon.json", text, mode)
    assert [words in what for what in told(world, "docker_runtime=26.0.0")] == ([True] if words else [])
    assert told(world, "toolkit=8.5.0") == []


def test_a_daemon_json_that_is_a_link(world):
    put(world.root, "/etc/other.json", "{}", 0o600)
    link(world.root, "/etc/docker/daemon.json", "../other.json")
    assert told(world, "docker_runtime=26.0.0") == ["/etc/docker/daemon.json is a link, or others may write to it"]


def add_npu(world, device, bus="0000:01:00.0"):
    for name, value in {"vendor": "0x19e5", "device": device, "class": "0x120000"}.items():
        put(world.root, "/sys/bus/pci/devices/{0}/{1}".format(bus, name), value + "\n")


@pytest.mark.parametrize(
    ("device", "words"),
    [
        ("0xd802", []),
        ("0xd500", ["driver is for the chip 910b, and this host has 310p", "firmware is for the chip 910b, and this host has 310p"]),
        ("0xd999", []),
    ],
)
def test_the_chip_of_the_host(world, device, words):
    add_npu(world, device)
    assert told(world, *HDK) == words
    assert told(world, "toolkit=8.5.0", "ops=8.5.0") == []


@pytest.mark.parametrize(
    ("number", "chip", "version", "refused"),
    [
        ("1.11.0.0.1", "910b", "25.5.0", True),
        ("7.11", "910b", "25.5.0", True),
        ("1.11.0.0.1", "910b", "23.0.rc1", False),
        ("1.11.0.0.1", "310p", "25.5.0", False),
        ("7.1.0.11.220", "910b", "25.5.0", False),
        ("11.1.0.1", "910b", "25.5.0", False),
    ],
)
def test_a_firmware_that_needs_a_step_in_between(world, number, chip, version, refused):
    put_firmware(world.root, number)
    found = told(world, "driver=" + version, chip=chip)
    assert ["too old to be upgraded" in what for what in found] == ([True] if refused else [])


def hold_npu(world, pid=77):
    os.makedirs("{0}/proc/{1}/fd".format(world.root, pid))
    link(world.root, "/proc/{0}/fd/3".format(pid), world.root + "/dev/davinci0")
    put(world.root, "/proc/{0}/comm".format(pid), "vllm\n")


@pytest.mark.parametrize(("packages", "refused"), [(HDK, True), (("firmware=25.5.0",), True), (("toolkit=8.5.0",), False)])
def test_npus_in_use(world, packages, refused):
    put_driver(world.root, "25.2.0")
    hold_npu(world)
    assert told(world, *packages) == (
        ["the NPUs are in use by process 77 (vllm) with {0}/dev/davinci0".format(world.root)] if refused else []
    )


def test_npus_in_use_at_a_removal(world):
    put_driver(world.root, "25.5.0")
    hold_npu(world)
    assert "in use by process 77" in told(world, "driver", state="absent")[0]


def test_containers_that_have_an_npu_are_named_once(world):
    put_driver(world.root, "25.5.0")
    hold_npu(world)
    put(world.root, "/proc/77/cgroup", "0::/docker-{0}.scope".format("a" * 64))

    def docker(argv, timeout):
        if argv[1] == "ps":
            return CommandResult(argv, 0, "a" * 64 + "\n" + "b" * 64 + "\n", "")
        line = '{0} /{1} [{{"PathOnHost":"/dev/davinci0"}}] []\n'
        return CommandResult(argv, 0, line.format("a" * 64, "engine") + line.format("b" * 64, "idle"), "")

    host = world.host(run=docker, find=lambda name, _dirs=(): "/usr/bin/" + name)
    (what,) = told(world, "firmware=25.5.0", host=host)
    assert what == "the NPUs are in use by process 77 (vllm in the container engine) with {0}/dev/davinci0; the container idle".format(
        world.root
    )


def test_another_installer(world):
    put(world.root, "/proc/78/cmdline", "/bin/bash\0/srv/Ascend-cann-toolkit_8.5.0_linux-x86_64.run\0--install\0")
    assert told(world, "toolkit=8.5.0") == ["another installer runs: process 78 (Ascend-cann-toolkit_8.5.0_linux-x86_64.run)"]


@pytest.mark.parametrize(
    ("packages", "toolkit", "words"),
    [
        (("ops=8.5.0", "nnal=8.5.0"), False, ["ops and nnal cannot be installed without the CANN toolkit, which is not there"]),
        (("ops=8.5.0", "toolkit=8.5.0"), False, []),
        (("nnal=8.5.0",), True, []),
        (("firmware=25.5.0",), False, ["firmware cannot be installed without the driver, which is not there"]),
    ],
)
def test_some_need_another_first(world, packages, toolkit, words):
    if toolkit:
        put_cann(world.root, "8.5.0")
    assert told(world, *packages) == words


def test_the_user_is_checked_as_the_installer_is_told(world):
    put(world.root, "/etc/passwd", "npu:x:5:6::/:/bin/sh\n")
    put(world.root, "/etc/group", "npus:x:6:\n")
    assert told(world, "driver=25.5.0", user="npu", group="npus") == []
    put_driver(world.root, "25.2.0")
    # An upgrade keeps the user of the last installation and is not told another one.
    assert told(world, "driver=25.5.0", user="npu", group="npus") == [
        "the host has no group HwHiAiUser and no user HwHiAiUser, which own the NPUs"
    ]
    os.unlink(world.root + PATH + "/driver/version.info")
    assert "the last installation was for HwHiAiUser:HwHiAiUser" in told(world, "driver=25.5.0", user="npu", group="npus")[0]


def test_secure_boot_concerns_the_driver_only(world):
    put(world.root, "/sys/kernel/security/lockdown", "none [integrity] confidentiality")
    put_driver(world.root, "25.2.0")
    assert told(world, "toolkit=8.5.0") == told(world, "firmware=25.5.0") == told(world, "driver=25.5.0", secure_boot_ok=True) == []
    assert len(told(world, "driver=25.5.0")) == 1


@pytest.mark.parametrize(
    ("packages", "changes", "words"),
    [
        (("driver=25.0.rc1.1",), {"vllm_ascend": "0.23.0"}, "does not allow HDK 25.0.rc1.1"),
        (("toolkit=9.1.0",), {"hdk": "25.0.rc1.1"}, "CANN 9.1.0 does not allow HDK 25.0.rc1.1"),
        (("driver=25.5.0",), {"vllm_ascend": "0.13.0"}, ""),
    ],
)
def test_versions_that_do_not_go_together(world, packages, changes, words):
    found = told(world, *packages, **changes)
    assert any(words in what for what in found) if words else found == []


@pytest.mark.parametrize(
    ("packages", "changes", "expected"),
    [
        (("driver=25.5.0",), {"hdk": "25.2.0"}, {"hdk": "25.5.0", "chip": "910b", "cann": None, "in_container": True, "glibc": None}),
        (("toolkit=8.5.0",), {"hdk": "25.2.0", "chip": None}, {"hdk": "25.2.0", "cann": "8.5.0", "chip": None, "in_container": False}),
        (("ops=8.5.0",), {"python_version": "3.11"}, {"hdk": "25.3.rc1", "cann": "8.5.0", "python": "3.11", "chip": "910b"}),
        (("docker_runtime=26.0.0",), {"vllm_ascend": "0.23.0"}, {"vllm_ascend": "0.23.0", "hdk": "25.3.rc1", "os_id": "openeuler"}),
    ],
)
def test_the_versions_that_meet(world, packages, changes, expected):
    put_driver(world.root, "25.3.rc1")
    setup = setup_of(case(world, *packages, **changes))
    assert {key: getattr(setup, key) for key in expected} == expected
    assert setup.os_version == "22.03 (LTS-SP4)" and setup.arch == "x86_64"
    assert setup_of(case(world, *packages, host=world.host(machine="riscv64"), arch="x86_64", **changes)).arch is None


def test_what_is_not_known_is_no_problem(world):
    put(world.root, "/etc/os-release", "ID=strange\nVERSION_ID=1\n")
    one = case(world, "driver=25.5.0")
    assert any("not known" in what for what in unknowns(one))
    assert check_all(one) == []
