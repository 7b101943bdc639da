# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._package_flags import EXISTING, FRESH, REMOVE
from ansible_collections.npufleet.ascend.plugins.module_utils._package_plan import Step
from ansible_collections.npufleet.ascend.plugins.module_utils._package_record import BEGUN, DONE, Record, Records
from ansible_collections.npufleet.ascend.plugins.module_utils._package_runs import Source, Sources, make_run
from ansible_collections.npufleet.ascend.plugins.module_utils._package_state import Installed, Tree, read_state
from ansible_collections.npufleet.ascend.plugins.module_utils._package_table import KINDS
from ansible_collections.npufleet.ascend.plugins.module_utils._package_wanted import read_packages
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.package_fakes import (
    PATH,
    PUT,
    World,
    link,
    put,
    put_driver,
    put_firmware,
)

NNAL = "Ascend-cann-nnal_9.0.0_linux-x86_64.run"


@pytest.fixture()
def world(tmp_path):
    return World(tmp_path)


def sources(world, *packages, **changes):
    params = world.params(*packages, **changes)
    return params, Sources(params, Records(world.records, world.boot_id))


def read(world, *packages, **changes):
    return read_packages(world.params(*packages, **changes), "x86_64")[0]


def test_a_verified_package(world):
    name = world.add_hdk("25.5.0")
    _params, found = sources(world, "driver=25.5.0")
    source = found.package(read(world, "driver=25.5.0"))
    assert (source.path, source.digest, source.size) == (os.path.join(world.packages, name), world.sums[name], len(b"driver 25.5.0"))
    assert (source.fault, source.missing) == (None, False)


def test_a_bare_package(world):
    name = world.add_run(NNAL)
    _params, found = sources(world, "nnal=9.0.0")
    assert found.package(read(world, "nnal=9.0.0")).size == os.path.getsize(os.path.join(world.packages, name))


def test_a_package_that_arrives_is_seen(world):
    _params, found = sources(world, "nnal=9.0.0")
    wanted = read(world, "nnal=9.0.0")
    source = found.package(wanted)
    assert source.missing and source.fault.later and "is not in" in source.fault.what and source.url
    world.add_run(NNAL)
    assert not found.package(wanted).missing


def test_a_package_that_must_not_be_used(world):
    world.add_run(NNAL)
    world.sums.clear()
    _params, found = sources(world, "nnal=9.0.0")
    source = found.package(read(world, "nnal=9.0.0"))
    assert not source.missing and not source.fault.later
    assert "nobody published a SHA-256 sum" in source.fault.what and source.digest == ""


@pytest.mark.parametrize(
    ("kind", "version", "script"),
    [
        ("driver", "25.5.0", PATH + "/driver/script/uninstall.sh"),
        ("firmware", "7.8.0.5.220", PATH + "/firmware/script/uninstall.sh"),
        ("toolkit", "9.0.0", PATH + "/cann-9.0.0/x86_64-linux/script/uninstall.sh"),
        ("nnal", "9.0.0", PATH + "/nnal/nnal_uninstall.sh"),
        ("docker_runtime", "26.0.0", PATH + "/Ascend-Docker-Runtime/script/uninstall.sh"),
    ],
)
def test_the_uninstall_script_that_a_package_left(world, kind, version, script):
    PUT[kind](world.root, version)
    _params, found = sources(world, kind, state="absent")
    installed = read_state([kind], Tree(PATH, world.root))[kind]
    assert found.uninstaller(kind, installed, "x86_64") == Source(script=world.root + script)


@pytest.mark.parametrize(
    ("path", "folder"),
    [("/x86_64-linux/script/kernels_uninstall.sh", "8.3.RC1"), ("/opp_kernel/script/uninstall.sh", "8.3.RC1")],
)
def test_older_trees_have_other_scripts(world, path, folder):
    put(world.root, PATH + "/ascend-toolkit/" + folder + path)
    put(world.root, PATH + "/ascend-toolkit/" + folder + "/opp_kernel/version.info", "version_dir=8.3.RC1\n")
    link(world.root, PATH + "/ascend-toolkit/latest", folder)
    _params, found = sources(world, "ops", state="absent")
    installed = read_state(["ops"], Tree(PATH, world.root))["ops"]
    assert found.uninstaller("ops", installed, "x86_64").script.endswith(folder + path)


def test_without_a_script_the_package_removes_itself(world):
    name = world.add_hdk("25.5.0")
    put_firmware(world.root, "7.8.0.5.220", "25.5.0")
    os.unlink(world.root + PATH + "/firmware/script/uninstall.sh")
    _params, found = sources(world, "firmware", state="absent")
    installed = read_state(["firmware"], Tree(PATH, world.root))["firmware"]
    source = found.uninstaller("firmware", installed, "x86_64")
    assert (source.script, source.path) == ("", os.path.join(world.packages, name))


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"name": "toolbox"}, "has left no uninstall script, and the file Ascend-mindx-toolbox_26.0.1_linux-x86_64.zip is not in"),
        ({"name": "toolbox", "version": "not one"}, "has left no uninstall script"),
    ],
)
def test_without_a_script_and_a_package_nothing_can_be_removed(world, entry, words):
    PUT["toolbox"](world.root, "26.0.1")
    _params, found = sources(world, packages=[entry], state="absent", download=True)
    source = found.uninstaller("toolbox", read_state(["toolbox"], Tree(PATH, world.root))["toolbox"], "x86_64")
    assert words in source.fault.what and source.fault.remedy and source.url == ""


FIRMWARE_FILE = {"name": "firmware", "version": "25.5.0", "file": "Ascend-hdk-910b-npu-firmware_7.8.0.5.220.run"}


@pytest.mark.parametrize(
    ("record", "installed", "archive", "entry", "number"),
    [
        (Record(), Installed(), False, {}, ""),
        (Record(), Installed(), True, {}, "7.8.0.5.220"),
        (Record("25.5.0", "7.0.0.0.1", phase=DONE), Installed(), True, {}, "7.0.0.0.1"),
        (Record("25.2.0", "7.0.0.0.1", phase=DONE), Installed(), True, {}, "7.8.0.5.220"),
        (Record(), Installed("7.1.1.1.1", hdk="25.5.0"), False, {}, "7.1.1.1.1"),
        (Record(), Installed("7.1.1.1.1", hdk="25.2.0"), False, {}, ""),
        (Record(), Installed("7.1.1.1.1"), True, {}, "7.8.0.5.220"),
        (Record(), Installed(), False, FIRMWARE_FILE, "7.8.0.5.220"),
        (Record(), Installed(), False, {"version": "7.7.0.0.1", "file": "any.zip"}, "7.7.0.0.1"),
    ],
)
def test_which_number_a_firmware_has(world, record, installed, archive, entry, number):
    if archive:
        world.add_hdk("25.5.0")
    Records(world.records, world.boot_id).write("firmware", record)
    entry = dict({"name": "firmware", "version": "25.5.0"}, **entry)
    _params, found = sources(world, packages=[entry])
    target = found.target(read(world, packages=[entry]), installed, keep=False)
    assert target.number == number
    assert target.source


def test_the_number_of_a_firmware_under_a_name_of_its_own(world):
    world.add_run("mine.run")
    entry = {"name": "firmware", "version": "25.5.0", "file": "mine.run"}
    _params, found = sources(world, packages=[entry])
    assert found.target(read(world, packages=[entry]), Installed(), keep=True).number == ""


@pytest.mark.parametrize(
    ("keep", "installed", "record", "kept"),
    [
        (True, "7.8.0.5.220", Record(), True),
        (False, "7.8.0.5.220", Record(), False),
        (True, "7.1.1.1.1", Record(), False),
        (True, "7.8.0.5.220", Record(phase=BEGUN), False),
    ],
)
def test_a_number_that_was_looked_up_is_remembered(world, keep, installed, record, kept):
    world.add_hdk("25.5.0")
    records = Records(world.records, world.boot_id)
    records.write("firmware", record)
    _params, found = sources(world, "firmware=25.5.0")
    found.target(read(world, "firmware=25.5.0"), Installed(installed), keep)
    after = records.read("firmware")
    assert (after.number == "7.8.0.5.220" and after.phase == DONE and not after.reboot) is kept


def test_operators_carry_their_chip(world):
    _params, found = sources(world, "ops=9.0.0")
    assert found.target(read(world, "ops=9.0.0"), Installed(), keep=False).chip == "910b"
    assert found.target(read(world, "driver=25.5.0"), Installed(), keep=False).chip == ""


def step(kind, action="install", how=FRESH, have="", want="9.0.0"):
    return Step(kind, action, have, want, "", how, want)


def test_words_are_no_version_to_expect(world):
    """A firmware whose number nobody knows: what its installer leaves is not compared with a sentence."""
    world.add_hdk("25.5.0")
    params, found = sources(world, "firmware=25.5.0")
    unknown = step("firmware", want="of HDK 25.5.0")._replace(number="")
    assert make_run(unknown, found.package(read(world, "firmware=25.5.0")), params, found, "").number == ""


def test_the_call_of_an_installer(world):
    name = world.add_hdk("25.5.0")
    params, found = sources(world, "driver=25.5.0", wait_timeout=10)
    source = found.package(read(world, "driver=25.5.0"))
    run = make_run(step("driver", how=EXISTING, want="25.5.0"), source, params, found, "")
    path = "{0}/unpacked/{1}/Ascend-hdk-910b-npu-driver_25.5.0_linux-x86-64.run".format(world.records, world.sums[name][:16])
    assert run.argv == [path, "--upgrade", "--quiet"]
    assert run.number == "25.5.0"
    assert os.access(path, os.X_OK)
    assert (run.limit, run.digest, run.check, run.env) == (KINDS["driver"].time_limit, world.sums[name], True, [])
    assert make_run(step("driver"), source, dict(params, wait_timeout=99999), found, "").limit == 99999
    found.done("")
    found.done(world.sums[name])
    assert not os.path.exists(path)


def test_nnal_is_told_where_the_toolkit_is(world):
    world.add_run(NNAL)
    params, found = sources(world, "nnal=9.0.0")
    run = make_run(step("nnal"), found.package(read(world, "nnal=9.0.0")), params, found, PATH + "/cann-9.0.0")
    assert run.env == [("ASCEND_TOOLKIT_HOME", PATH + "/cann-9.0.0"), ("ASCEND_HOME_PATH", PATH + "/cann-9.0.0")]


@pytest.mark.parametrize(("version", "check"), [("26.0.0", True), ("26.1.0", False)])
def test_the_docker_runtime_checks_itself_only_where_it_can(world, version, check):
    world.add_run("Ascend-docker-runtime_{0}_linux-x86_64.run".format(version))
    params, found = sources(world, "docker_runtime=" + version)
    run = make_run(step("docker_runtime"), found.package(read(world, "docker_runtime=" + version)), params, found, "")
    assert run.check is check and run.argv[1:] == ["--install", "--install-scene=docker"]


def test_the_call_of_an_uninstaller(world):
    params, found = sources(world, "driver", state="absent")
    removal = step("driver", "remove", REMOVE, "25.5.0 (incomplete)", "")
    run = make_run(removal, Source(script="/x/uninstall.sh"), params, found, "")
    assert (run.argv, run.number, run.digest, run.check) == (["/x/uninstall.sh", "--quiet"], "25.5.0", "", False)
    world.add_hdk("25.5.0")
    put_driver(world.root, "25.5.0")
    source = found.package(read(world, "driver=25.5.0"))
    run = make_run(removal, source, params, found, "")
    assert (run.argv[1:], run.number, run.check) == (["--uninstall"], "25.5.0", False)


def test_nothing_stays_unpacked(world):
    put(world.records, "/unpacked/x/y.run")
    sources(world)[1].tidy()
    assert not os.path.exists(world.records + "/unpacked")
