# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import os
import sys

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils import _prerequisites
from ansible_collections.npufleet.ascend.plugins.module_utils._command import CommandError, CommandResult, run
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._host import HostError, OsRelease
from ansible_collections.npufleet.ascend.plugins.module_utils._os_table import FAMILIES
from ansible_collections.npufleet.ascend.plugins.module_utils._prerequisites import (
    PythonChoice,
    PythonRange,
    check_glibc,
    check_missing,
    check_system,
    choose_python,
    family_of,
    glibc_version,
    look_at_python,
    missing_parts,
)

RANGE = PythonRange(11, 15)


def release(name, *like):
    return OsRelease(name, like, "1", "System " + name)


def finder(*tools):
    return lambda name: "/usr/bin/" + name if name in tools else None


@pytest.mark.parametrize(
    ("system", "tools", "family"),
    [
        (release("ubuntu"), ["apt-get"], "debian"),
        (release("openeuler"), ["dnf", "yum"], "rpm"),
        (release("kylin"), ["yum"], "yum"),
        (release("uos"), ["apt-get"], "debian"),
        (release("debian"), [], "debian"),
        (release("linuxmint", "ubuntu", "debian"), ["apt-get"], "debian"),
        (release("unheard", "of"), ["apt-get"], None),
    ],
)
def test_the_package_family_is_that_of_the_tool_which_is_there(system, tools, family):
    assert family_of(system, finder(*tools)) == (FAMILIES[family] if family else None)


def test_a_system_that_nobody_tried_is_refused():
    assert check_system(release("ubuntu"), finder("apt-get")) == FAMILIES["debian"]
    with pytest.raises(NpufleetError) as caught:
        check_system(release("unheard"), finder())
    assert caught.value.what.startswith("System unheard is not among the supported systems: bclinux, ")
    assert caught.value.where == "/etc/os-release (ID=unheard)"
    assert caught.value.remedy == "Set vllm_engine_any_os to true to try all the same"


class Pythons:
    """Interpreters of a host: path -> (version, has venv), or an output, or None for one that does not run."""

    def __init__(self, **found):
        self.found = {"/usr/bin/" + name.replace("_", "."): answer for name, answer in found.items()}

    def find(self, name):
        path = "/usr/bin/" + name
        return path if path in self.found else None

    def run(self, argv, timeout):
        assert argv[1] == "-c"
        answer = self.found.get(argv[0], "missing")
        if answer == "missing":
            raise CommandError("cannot execute")
        if isinstance(answer, tuple):
            answer = json.dumps([list(answer[0]), answer[1]])
        return CommandResult(list(argv), 0 if answer else 1, answer or "", "")


OLD, GOOD, BARE = ((3, 9, 2), True), ((3, 11, 4), True), ((3, 12, 1), False)


@pytest.mark.parametrize(
    ("found", "path"),
    [
        ({"python3": GOOD}, "/usr/bin/python3"),
        ({"python3": OLD, "python3_11": GOOD}, "/usr/bin/python3.11"),
        ({"python3_12": BARE, "python3_11": GOOD}, "/usr/bin/python3.11"),
        ({"python3_12": BARE, "python3": OLD}, "/usr/bin/python3.12"),
        ({"python3_12": None, "python3_11": GOOD}, "/usr/bin/python3.11"),
        ({"python3_12": "pyenv: command not found", "python3_11": GOOD}, "/usr/bin/python3.11"),
        ({"python3_12": "7", "python3_11": GOOD}, "/usr/bin/python3.11"),
        ({"python3_13": ((3, 13, 0), True), "python3_11": GOOD}, "/usr/bin/python3.11"),
    ],
)
def test_the_first_python_that_fits(found, path):
    pythons = Pythons(**found)
    assert choose_python(None, RANGE, pythons.run, pythons.find).path == path


def test_a_wanted_python_is_taken_and_no_other():
    pythons = Pythons(python3_12=((3, 12, 0), True), python3_14=((3, 14, 1), True))
    assert choose_python("/usr/bin/python3.14", RANGE, pythons.run, pythons.find) == PythonChoice("/usr/bin/python3.14", (3, 14, 1), True)


@pytest.mark.parametrize(
    ("found", "wanted", "what", "where"),
    [
        ({}, None, "no usable Python 3.11 to 3.14: found none", "PATH"),
        (
            {"python3": OLD, "python3_14": ((3, 15, 0), True), "python3_12": ((2, 12, 0), True)},
            None,
            "no usable Python 3.11 to 3.14: found /usr/bin/python3.12 (2.12.0), /usr/bin/python3.14 (3.15.0), /usr/bin/python3 (3.9.2)",
            "PATH",
        ),
        ({"python3": GOOD}, "/opt/none", "no usable Python 3.11 to 3.14: found none", "/opt/none"),
    ],
)
def test_no_python_that_fits_says_what_was_found(found, wanted, what, where):
    pythons = Pythons(**found)
    with pytest.raises(HostError) as caught:
        choose_python(wanted, RANGE, pythons.run, pythons.find)
    assert (caught.value.what, caught.value.where) == (what, where)
    assert "vllm_engine_python" in caught.value.remedy


def test_this_very_interpreter_answers():
    assert look_at_python(sys.executable, run)[:2] == (sys.executable, sys.version_info[:3])


def fails(_name):
    raise OSError("cannot open shared object file")


@pytest.mark.parametrize(
    ("has_venv", "tools", "load", "missing"),
    [
        (True, ["g++"], str, []),
        (False, ["g++"], str, ["venv"]),
        (True, ["gcc"], str, ["compiler"]),
        (True, ["g++"], fails, ["numa"]),
        (False, [], fails, ["venv", "compiler", "numa"]),
    ],
)
def test_what_the_host_lacks(has_venv, tools, load, missing):
    assert missing_parts(PythonChoice("/usr/bin/python3", (3, 12, 0), has_venv), finder(*tools), load) == missing


@pytest.mark.parametrize(
    ("missing", "family", "what", "remedy"),
    [
        (
            ["venv", "compiler", "numa"],
            "debian",
            "the host lacks Python's venv module, a C++ compiler (g++), libnuma",
            "Run as root: apt-get install -y python3-venv g++ libnuma1 (or set vllm_engine_install_prerequisites to true)",
        ),
        (
            ["compiler"],
            "rpm",
            "the host lacks a C++ compiler (g++)",
            "Run as root: dnf install -y gcc-c++ (or set vllm_engine_install_prerequisites to true)",
        ),
        (
            ["numa"],
            None,
            "the host lacks libnuma",
            "Run as root: the package manager of this system (or set vllm_engine_install_prerequisites to true)",
        ),
    ],
)
def test_one_message_with_the_command_for_all_that_is_missing(missing, family, what, remedy):
    check_missing([], FAMILIES.get(family))
    with pytest.raises(NpufleetError) as caught:
        check_missing(missing, FAMILIES.get(family))
    assert (caught.value.what, caught.value.where, caught.value.remedy) == (what, "host packages", remedy)


@pytest.mark.parametrize("glibc", ["glibc 2.31", "glibc 2.36", "glibc 3.0", "", "musl", "glibc x.y"])
def test_a_c_library_that_is_new_enough_or_unknown(glibc):
    check_glibc(glibc)


@pytest.mark.parametrize("glibc", ["glibc 2.17", "glibc 2.28", "glibc 2.30.9"])
def test_a_c_library_that_is_too_old(glibc):
    with pytest.raises(NpufleetError) as caught:
        check_glibc(glibc)
    assert caught.value.what == "the C library is {0} and the wheels of vLLM need 2.31".format(glibc)
    assert caught.value.remedy == "Use a newer release of the OS, or a container"


@pytest.mark.parametrize(("answer", "version"), [("glibc 2.36", "glibc 2.36"), (None, ""), (ValueError(), ""), (OSError(), "")])
def test_the_version_of_the_c_library(monkeypatch, answer, version):
    def confstr(_name):
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(os, "confstr", confstr)
    assert glibc_version() == version


def test_the_needs_are_those_of_the_documentation():
    assert (_prerequisites.DISK_BYTES, _prerequisites.MEMORY_BYTES) == (6 << 30, 4 << 30)
