# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._package_state import (
    MOST_BYTES,
    Tree,
    install_record,
    key_values,
    read_state,
    same_version,
    small_file,
)
from ansible_collections.npufleet.ascend.plugins.module_utils._package_table import KINDS
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.package_fakes import (
    PATH,
    link,
    put,
    put_cann,
    put_docker_runtime,
    put_driver,
    put_firmware,
    put_nnal,
    put_toolbox,
)


def read(root, kind, path=PATH):
    return read_state([kind], Tree(path, str(root)))[kind]


def test_an_empty_host_has_nothing(tmp_path):
    state = read_state(KINDS, Tree(PATH, str(tmp_path)))
    assert sorted(state) == sorted(KINDS)
    assert [kind for kind, found in state.items() if found.there or found.complete] == []


def cann_without_link(root):
    put_cann(root, "9.0.0", active=False)


def cann_dangling(root):
    put_cann(root, "9.0.0")
    link(root, PATH + "/cann", "cann-8.5.0")


def cann_without_script(root):
    put_cann(root, "9.0.0")
    os.unlink(str(root) + PATH + "/cann-9.0.0/set_env.sh")


def cann_two(root):
    put_cann(root, "9.0.0", active=False)
    put_cann(root, "8.5.0")


def cann_old(root):
    put(root, PATH + "/ascend-toolkit/8.3.RC1/x86_64-linux/ascend_toolkit_install.info", "version=8.3.RC1\n")
    put(root, PATH + "/ascend-toolkit/set_env.sh")
    link(root, PATH + "/ascend-toolkit/latest", "8.3.RC1")


def cann_old_beside_new(root):
    put_cann(root, "9.0.0")
    cann_old(root)
    link(root, PATH + "/ascend-toolkit/latest", "../cann-9.0.0")


def cann_old_without_link(root):
    put(root, PATH + "/ascend-toolkit/8.3.RC1/x86_64-linux/ascend_toolkit_install.info", "version=8.3.RC1\n")


def cann_no_version(root):
    put(root, PATH + "/cann-9.0.0/x86_64-linux/ascend_toolkit_install.info", "package_name=x\n")
    put(root, PATH + "/cann-9.0.0/set_env.sh")
    link(root, PATH + "/cann", "cann-9.0.0")


def cann_linked_arch(root):
    put_cann(root, "9.0.0")
    link(root, PATH + "/cann-9.0.0/amd64-linux", "x86_64-linux")


def kernels(root):
    cann_old(root)
    put(root, PATH + "/ascend-toolkit/8.3.RC1/opp_kernel/version.info", "Version=8.3.T5.0.B028\nversion_dir=8.3.RC1.alpha001\n")


def kernels_with_record(root):
    cann_old(root)
    text = "package_name=Ascend-cann-kernels-310p\nversion=8.3.RC1\n"
    put(root, PATH + "/ascend-toolkit/8.3.RC1/x86_64-linux/ascend_kernels_install.info", text)


def kernels_a3(root):
    kernels_with_record(root)
    text = "package_name=Atlas-A3-cann-kernels\nversion=8.3.RC1\n"
    put(root, PATH + "/ascend-toolkit/8.3.RC1/x86_64-linux/ascend_kernels_install.info", text)


def nnal_without_link(root):
    put_nnal(root, "9.0.0")
    os.unlink(str(root) + PATH + "/nnal/atb/latest")


def nnal_plain_folder(root):
    put(root, PATH + "/nnal/atb/latest/version.info", "Ascend-cann-atb : 8.2.RC1\nAscend-cann-atb Version : 8.2.RC1.B030\n")
    put(root, PATH + "/nnal/atb/set_env.sh")


def nnal_nameless(root):
    put(root, PATH + "/nnal/atb/latest/x")
    put(root, PATH + "/nnal/atb/set_env.sh")


def nnal_without_script(root):
    put_nnal(root, "9.0.0")
    os.unlink(str(root) + PATH + "/nnal/atb/set_env.sh")


def runtime_without_program(root):
    put_docker_runtime(root, "26.0.0")
    os.unlink(str(root) + PATH + "/Ascend-Docker-Runtime/ascend-docker-runtime")


def runtime_without_record(root):
    put_docker_runtime(root, "26.0.0")
    os.unlink(str(root) + PATH + "/Ascend-Docker-Runtime/ascend_docker_runtime_install.info")


def toolbox_other_name(root):
    put(root, PATH + "/toolbox/6.0.RC1/ascend_tool_box_install.info", "version=6.0.RC1\n")
    link(root, PATH + "/toolbox/latest", "6.0.RC1")


def toolbox_without_link(root):
    put_toolbox(root, "26.0.1")
    os.unlink(str(root) + PATH + "/toolbox/latest")


def toolbox_without_version(root):
    put(root, PATH + "/toolbox/latest/ascend_toolbox_install.info", "arch=x86_64\n")


def unreadable(root):
    put_driver(root, "a version!")


def driver_begun(root):
    put(root, "/etc/ascend_install.info", "Driver_Install_Path_Param=/usr/local/Ascend\nDriver_Install_Status=complete\n")


@pytest.mark.parametrize(
    ("kind", "make", "version", "partial"),
    [
        ("driver", lambda root: put_driver(root, "25.5.0"), "25.5.0", ""),
        ("driver", lambda root: put_driver(root, "25.5.0", status=""), "25.5.0", "its installer never came to its end"),
        ("driver", lambda root: put_driver(root, "25.5.0", status="failed"), "25.5.0", "its installer never came to its end"),
        ("driver", lambda root: put_driver(root, "25.5.0", tool=False), "25.5.0", "upgrade-tool is missing"),
        ("driver", driver_begun, "", "its version.info is missing"),
        ("driver", unreadable, "", "says that its version is 'a version!'"),
        ("firmware", lambda root: put_firmware(root, "7.8.0.5.220", "25.5.0"), "7.8.0.5.220", ""),
        ("toolkit", lambda root: put_cann(root, "9.0.0"), "9.0.0", ""),
        ("toolkit", cann_two, "8.5.0", ""),
        ("toolkit", cann_linked_arch, "9.0.0", ""),
        ("toolkit", cann_without_link, "9.0.0", "the link cann is missing"),
        ("toolkit", cann_dangling, "9.0.0", "the link cann is missing"),
        ("toolkit", cann_without_script, "9.0.0", "its set_env.sh is missing"),
        ("toolkit", cann_no_version, "", "ascend_toolkit_install.info names no version"),
        ("toolkit", cann_old, "8.3.RC1", ""),
        ("toolkit", cann_old_beside_new, "9.0.0", ""),
        ("toolkit", cann_old_without_link, "8.3.RC1", "the link latest is missing"),
        ("ops", lambda root: put_cann(root, "9.0.0", "ops"), "9.0.0", ""),
        ("ops", kernels, "8.3.RC1.alpha001", ""),
        ("ops", kernels_with_record, "8.3.RC1", ""),
        ("ops", cann_old, "", ""),
        ("nnal", lambda root: put_nnal(root, "9.0.0"), "9.0.0", ""),
        ("nnal", nnal_without_link, "", "the link latest of nnal/atb is missing"),
        ("nnal", nnal_plain_folder, "8.2.RC1", ""),
        ("nnal", nnal_nameless, "", "nothing names its version"),
        ("nnal", nnal_without_script, "9.0.0", "its set_env.sh is missing"),
        ("docker_runtime", lambda root: put_docker_runtime(root, "26.0.0"), "26.0.0", ""),
        ("docker_runtime", runtime_without_program, "26.0.0", "its program is missing"),
        ("docker_runtime", runtime_without_record, "", "its install record is missing"),
        ("toolbox", lambda root: put_toolbox(root, "26.0.1"), "26.0.1", ""),
        ("toolbox", toolbox_other_name, "6.0.RC1", ""),
        ("toolbox", toolbox_without_link, "", "the link latest of toolbox is missing"),
        ("toolbox", toolbox_without_version, "", "names no version"),
    ],
)
def test_what_is_installed(tmp_path, kind, make, version, partial):
    make(tmp_path)
    found = read(tmp_path, kind)
    assert (found.version, found.partial if not partial else partial in found.partial) == (version, True if partial else "")
    assert found.there is bool(version or partial)
    assert found.complete is (bool(version) and not partial)


@pytest.mark.parametrize(
    ("make", "chip"),
    [
        (lambda root: put_cann(root, "9.0.0", "ops", "910b"), "910b"),
        (lambda root: put_cann(root, "9.0.0", "ops", "A3"), "A3"),
        (kernels_with_record, "310p"),
        (kernels_a3, "A3"),
        (kernels, ""),
    ],
)
def test_the_chip_of_operators(tmp_path, make, chip):
    make(tmp_path)
    assert read(tmp_path, "ops").chip == chip


def test_driver_and_firmware_are_where_their_installer_says(tmp_path):
    put_driver(tmp_path, "25.5.0", "/opt/Ascend")
    put_firmware(tmp_path, "7.8.0.5.220", "25.5.0", "/opt/Ascend")
    record = (tmp_path / "etc" / "ascend_install.info").read_text()
    put(tmp_path, "/etc/ascend_install.info", record + "Firmware_Install_Path_Param=/opt/Ascend\n")
    assert read(tmp_path, "driver").complete
    assert read(tmp_path, "driver").folder == str(tmp_path) + "/opt/Ascend/driver"
    assert read(tmp_path, "firmware")[:1] + read(tmp_path, "firmware")[3:4] == ("7.8.0.5.220", "25.5.0")
    put(tmp_path, "/etc/ascend_install.info", "Driver_Install_Path_Param=relative\nFirmware_Install_Path_Param=relative\n")
    assert read(tmp_path, "driver", "/opt/Ascend").version == "25.5.0"
    assert read(tmp_path, "firmware", "/opt/Ascend").version == "7.8.0.5.220"


def test_a_path_with_signs_of_a_pattern(tmp_path):
    root = tmp_path / "a[b]*"
    put_cann(root, "9.0.0")
    assert read(root, "toolkit").complete


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("", {}),
        ("Version=1\n", {"version": "1"}),
        (" Key : value : more \n", {"key": "value : more"}),
        ("path=/a:b\n", {"path": "/a:b"}),
        ('a="quoted"\n', {"a": "quoted"}),
        ("a=1\na=2\n", {"a": "2"}),
        ("=x\n:y\nnothing\nempty=\n", {}),
        ("k" * 81 + "=1", {}),
        (" " * 200000 + "\n", {}),
        ("a=" + " " * 200000, {}),
    ],
)
def test_key_values(text, values):
    assert key_values(text) == values


def test_only_the_beginning_of_a_file_is_read(tmp_path):
    (tmp_path / "big").write_bytes(b"x" * (MOST_BYTES + 10))
    assert len(small_file(str(tmp_path / "big"))) == MOST_BYTES
    assert small_file(str(tmp_path / "none")) == ""
    assert small_file(str(tmp_path)) == ""


def test_the_record_of_the_installers(tmp_path):
    put_driver(tmp_path, "25.5.0")
    assert install_record(Tree(PATH, str(tmp_path)))["username"] == "HwHiAiUser"


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("26.0.RC1", "26.0.rc1", True),
        ("v26.0.0", "26.0.0", True),
        ("25.5.0", "25.5.1", False),
        ("strange", "Strange ", True),
        ("strange", "25.5.0", False),
    ],
)
def test_same_version(left, right, same):
    assert same_version(left, right) is same
