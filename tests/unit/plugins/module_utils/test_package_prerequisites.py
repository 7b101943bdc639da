# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._package_prerequisites import (
    PREBUILT,
    TOOLS,
    check_kernel,
    check_secure_boot,
    check_tools,
    check_user,
)
from ansible_collections.npufleet.ascend.plugins.module_utils._package_state import Tree
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.package_fakes import KERNEL, PATH, World, put

EFI = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"


@pytest.fixture()
def world(tmp_path):
    return World(tmp_path)


def host_without(world, *names, system=None, kernel=KERNEL, tools=("dnf",)):
    if system:
        put(world.root, "/etc/os-release", "ID={0}\nVERSION_ID={1}\n".format(*system))
    managers = {"apt-get", "dnf", "yum"}
    return world.host(
        kernel=kernel, find=lambda name, _dirs=(): None if name in names or (name in managers and name not in tools) else "/usr/bin/" + name
    )


def test_a_host_with_every_tool(world):
    assert check_tools(host_without(world)) == []


@pytest.mark.parametrize(
    ("system", "manager", "missing", "words", "command"),
    [
        (("ubuntu", "22.04"), "apt-get", ["lspci", "ifconfig"], "lspci, ifconfig", "apt-get install -y pciutils net-tools"),
        (("openeuler", "22.03"), "dnf", ["lspci", "rev", "chattr", "lsattr"], "rev", "dnf install -y util-linux e2fsprogs pciutils"),
        (("uos", "20"), "apt-get", ["rev"], "rev", "apt-get install -y bsdextrautils"),
        (("kylin", "V10"), "yum", ["chkconfig", "update-rc.d"], "chkconfig,update-rc.d", "yum install -y chkconfig"),
        (("alpine", "3"), "none", ["lspci"], "lspci", "Install pciutils with the package manager of this system"),
    ],
)
def test_missing_tools_come_with_the_command(world, system, manager, missing, words, command):
    (problem,) = check_tools(host_without(world, *missing, system=system, tools=(manager,)))
    assert words in problem.what and command in problem.remedy and problem.later


def test_one_of_two_tools_is_enough(world):
    assert check_tools(host_without(world, "chkconfig")) == check_tools(host_without(world, "update-rc.d")) == []


def test_every_tool_has_its_packages():
    assert all(debian and rpm for debian, rpm in TOOLS.values())
    assert len(TOOLS) == 21


def test_a_kernel_that_modules_can_be_built_for(world):
    assert check_kernel(host_without(world)) == []


@pytest.mark.parametrize(
    ("system", "manager", "missing", "headers", "words", "command"),
    [
        (("openeuler", "22.03"), "dnf", [], False, "/build", "dnf install -y kernel-devel-{0} kernel-headers-{0}"),
        (("ubuntu", "22.04"), "apt-get", [], False, "/build", "apt-get install -y linux-headers-{0}"),
        (("ubuntu", "22.04"), "apt-get", ["gcc"], False, "gcc, the headers", "apt-get install -y gcc linux-headers-{0}"),
        (("openeuler", "22.03"), "dnf", ["make", "dkms"], True, "lacks make, dkms", "dnf install -y make dkms"),
        (("kylin", "V11"), "dnf", ["dkms", "gcc"], True, "lacks gcc", "dnf install -y gcc"),
    ],
)
def test_what_compiling_needs(world, system, manager, missing, headers, words, command):
    if not headers:
        os.rmdir(world.root + "/lib/modules/{0}/build".format(KERNEL))
    (problem,) = check_kernel(host_without(world, *missing, system=system, tools=(manager,)))
    assert words in problem.what and problem.later
    assert command.format(KERNEL) in problem.remedy
    assert ("no longer offered" in problem.remedy) is not headers


def test_a_system_without_dkms_needs_none(world):
    assert check_kernel(host_without(world, "dkms", system=("kylin", "V11"))) == []


@pytest.mark.parametrize("row", PREBUILT)
def test_a_stock_kernel_with_prebuilt_modules_needs_nothing(world, row):
    name, version, kernel = row
    assert check_kernel(host_without(world, "gcc", "make", "dkms", system=(name, version), kernel=kernel)) == []
    assert check_kernel(host_without(world, "gcc", system=(name, version), kernel=kernel + "-other"))


@pytest.mark.parametrize(
    ("variable", "lockdown", "words"),
    [
        (None, None, ""),
        (b"\6\0\0\0\1", None, "secure boot is on"),
        (b"\6\0\0\0\0", None, ""),
        (b"", None, ""),
        (None, "[none] integrity confidentiality", ""),
        (None, "none [integrity] confidentiality", "kernel lockdown is on (integrity)"),
        (b"\6\0\0\0\0", "none integrity [confidentiality]", "kernel lockdown is on (confidentiality)"),
    ],
)
def test_a_kernel_that_refuses_unsigned_modules(world, variable, lockdown, words):
    if variable is not None:
        put(world.root, EFI)
        with open(world.root + EFI, "wb") as stream:
            stream.write(variable)
    if lockdown:
        put(world.root, "/sys/kernel/security/lockdown", lockdown)
    found = check_secure_boot(world.host(), accepted=False)
    assert [words in problem.what for problem in found] == ([True] if words else [])
    assert all("secure_boot_ok" in problem.remedy and not problem.later for problem in found)
    assert check_secure_boot(world.host(), accepted=True) == []


def test_a_variable_that_cannot_be_read_is_none(world):
    os.makedirs(world.root + EFI)
    assert check_secure_boot(world.host(), accepted=False) == []


@pytest.mark.parametrize(
    ("passwd", "group", "words"),
    [
        ("u:x:5:6::/:/bin/sh\n", "g:x:6:\n", ""),
        ("u:x:5:7::/:/bin/sh\n", "g:x:6:a,u\n", ""),
        ("u:x:5:7::/:/bin/sh\n", "g:x:6:\n", "the user u is not in the group g"),
        ("", "g:x:6:\n", "the host has no user u"),
        ("u:x:5:6::/:/bin/sh\n", "", "the host has no group g"),
        ("broken\n", "\n", "the host has no group g and no user u"),
    ],
)
def test_the_owner_of_the_npus(world, passwd, group, words):
    put(world.root, "/etc/passwd", passwd)
    put(world.root, "/etc/group", group)
    found = check_user(world.host(), Tree(PATH, world.root), "u", "g", explicit=False)
    assert [words in problem.what for problem in found] == ([True] if words else [])
    assert all(problem.later and "Run as root: " in problem.remedy for problem in found)


def test_users_of_a_host_without_these_files(world):
    os.unlink(world.root + "/etc/passwd")
    assert check_user(world.host(), Tree(PATH, world.root), "u", "g", explicit=False)


@pytest.mark.parametrize(
    ("explicit", "words"), [(True, "the last installation was for old:olds, and u:g is wanted"), (False, "no group olds")]
)
def test_the_user_of_the_last_installation_stays(world, explicit, words):
    put(world.root, "/etc/ascend_install.info", "UserName=old\nUserGroup=olds\n")
    (problem,) = check_user(world.host(), Tree(PATH, world.root), "u", "g", explicit)
    assert words in problem.what
    assert problem.later is not explicit


def test_root_is_always_there(world):
    put(world.root, "/etc/passwd", "")
    assert check_user(world.host(), Tree(PATH, world.root), "root", "root", explicit=True) == []
