# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The whole of ascend_package on a host below a temporary folder: what is planned is done, and every interruption is made good by the next call."""

from __future__ import annotations

import os

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils import _package_checks, _package_download, _package_task
from ansible_collections.npufleet.ascend.plugins.module_utils._command import CommandResult
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._files import file_mode
from ansible_collections.npufleet.ascend.plugins.module_utils._package_checks import InTheWayError
from ansible_collections.npufleet.ascend.plugins.module_utils._package_fetch import Fetched
from ansible_collections.npufleet.ascend.plugins.module_utils._package_job import InstallerError, Installers
from ansible_collections.npufleet.ascend.plugins.module_utils._package_record import BEGUN, DONE, FAILED, REMOVED, Record, Records
from ansible_collections.npufleet.ascend.plugins.module_utils._package_state import Tree, read_state, small_file
from ansible_collections.npufleet.ascend.plugins.module_utils._package_table import KINDS
from ansible_collections.npufleet.ascend.plugins.module_utils._package_task import PackageTask
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.package_fakes import (
    FIRMWARE,
    PATH,
    World,
    put,
    put_cann,
    put_docker_runtime,
    put_driver,
    put_firmware,
    put_nnal,
    zip_file,
)

OLD = ("driver=25.5.0", "firmware=25.5.0")
NEW = ("driver=26.0.rc1", "firmware=26.0.rc1")
NNAL = "Ascend-cann-nnal_8.5.0_linux-x86_64.run"
RUNTIME = "Ascend-docker-runtime_26.0.0_linux-x86_64.run"


@pytest.fixture()
def world(tmp_path, monkeypatch):
    """A host with two HDKs in its folder, and jobs that take no time."""
    world = World(tmp_path)
    monkeypatch.setattr(_package_checks, "disk_free", lambda _path: 10**12)
    monkeypatch.setattr(Installers, "job", lambda _self, kind: world.job(kind))
    world.add_hdk("25.5.0")
    world.add_hdk("26.0.rc1")
    return world


def run(world, *packages, check=False, host=None, opener=None, **changes):
    task = PackageTask(world.params(*packages, **changes), host or world.host(), world.clock.clock(), opener, boot_id_file=world.boot_id)
    return task.execute(check)


def versions(world, *kinds):
    state = read_state(KINDS, Tree(PATH, world.root))
    return [state[kind].version if state[kind].complete or not state[kind].there else "broken" for kind in kinds]


def actions(result):
    return [row["action"] for row in result["packages"]]


def record(world, kind):
    return Records(world.records, world.boot_id).read(kind)


def phases(world):
    return [record(world, kind).phase for kind in ("driver", "firmware")]


def start(world, hdk):
    """A host where this HDK is installed and recorded."""
    run(world, "driver=" + hdk, "firmware=" + hdk)
    world.reboot()
    world.started.clear()


def test_check_mode_foretells_what_a_run_does_and_touches_nothing(world):
    before = sorted(os.listdir(world.base))
    predicted = run(world, *OLD, check=True)
    assert (predicted["changed"], actions(predicted), predicted["problems"], predicted["needed_files"]) == (True, ["install"] * 2, [], [])
    assert predicted["diff"] == {"before": "driver absent\nfirmware absent\n", "after": "driver 25.5.0\nfirmware 7.8.0.5.220\n"}
    assert sorted(os.listdir(world.base)) == before and world.started == []
    done = run(world, *OLD)
    assert (done["changed"], done["diff"], actions(done), done["pending"]) == (True, predicted["diff"], actions(predicted), False)
    assert [row["installed"] for row in done["packages"]] == [row["wanted"] for row in predicted["packages"]]
    assert (done["reboot_required"], "firmware 7.8.0.5.220 takes effect at the next boot" in done["reboot_reason"]) == (True, True)


def test_a_second_run_starts_nothing(world):
    run(world, *OLD)
    world.started.clear()
    for folder in (world.packages, None):
        if folder:
            for name in os.listdir(folder):
                os.unlink(os.path.join(folder, name))
        for check in (True, False):
            again = run(world, *OLD, check=check)
            assert (again["changed"], actions(again), again["diff"]["before"]) == (False, ["none"] * 2, again["diff"]["after"])
    assert world.started == []


@pytest.mark.parametrize(
    ("make", "order"),
    [
        (lambda world: None, ["driver", "firmware"]),
        (lambda world: start(world, "25.5.0"), ["firmware", "driver"]),
        (lambda world: put_driver(world.root, "25.5.0", status=""), ["driver", "firmware"]),
    ],
)
def test_driver_and_firmware_go_in_the_order_the_host_needs(world, make, order):
    make(world)
    result = run(world, *NEW)
    assert [kind for kind, _script in world.started] == order
    assert versions(world, "driver", "firmware") == ["26.0.rc1", FIRMWARE["26.0.rc1"]]
    assert result["changed"] and not result["pending"]


@pytest.mark.parametrize(
    ("make", "driver", "firmware"),
    [
        (lambda world: None, "--full --quiet --install-for-all", "--full --quiet"),
        (lambda world: start(world, "25.5.0"), "--upgrade --quiet", "--upgrade --quiet"),
        (lambda world: put_driver(world.root, "25.5.0", tool=False), "--full --quiet --install-for-all", "--full --quiet"),
    ],
)
def test_installers_get_the_options_for_what_is_there(world, make, driver, firmware):
    make(world)
    run(world, *NEW)
    scripts = dict(world.started)
    assert ".run {0} &\n".format(driver) in scripts["driver"]
    assert ".run {0} &\n".format(firmware) in scripts["firmware"]
    assert all("yes y " in script and " --check || exit" in script for script in scripts.values())


def test_a_downgrade_is_refused_and_then_done(world):
    start(world, "26.0.rc1")
    for check in (True, False):
        with pytest.raises(InTheWayError, match=r"newer than the 25\.5\.0"):
            run(world, *OLD, check=check)
    assert world.started == []
    done = run(world, *OLD, allow_downgrade=True)
    assert actions(done) == ["downgrade"] * 2
    assert versions(world, "driver", "firmware") == ["25.5.0", FIRMWARE["25.5.0"]]


@pytest.mark.parametrize("victim", ["driver", "firmware"])
@pytest.mark.parametrize("word", ["killed", "half", "late"])
@pytest.mark.parametrize("first", ["", "25.5.0"])
def test_who_is_killed_at_any_point_is_repaired_by_the_next_call(world, victim, word, first):
    if first:
        start(world, first)
    world.behaviour[victim] = [word]
    # An interrupted play: nobody looks at the job until the next one.
    result = run(world, *NEW)
    assert (result["changed"], result["pending"]) == (True, False)
    assert versions(world, "driver", "firmware") == ["26.0.rc1", FIRMWARE["26.0.rc1"]]
    assert phases(world) == [DONE, DONE]
    assert [kind for kind, _script in world.started].count(victim) == 2
    assert run(world, *NEW)["changed"] is False


@pytest.mark.parametrize("word", ["killed", "half", "late", "slow"])
def test_a_boot_in_the_middle_is_no_failure(world, word):
    world.behaviour["driver"] = [word]

    def dies_with_the_host(_self, _deadline):
        if world.started:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PackageTask, "_wait", dies_with_the_host)
        with pytest.raises(KeyboardInterrupt):
            run(world, *OLD)
    assert record(world, "driver").phase == BEGUN
    world.reboot()
    repaired = run(world, *OLD, check=True)
    assert "was interrupted" in repaired["packages"][0]["reason"] and actions(repaired) == ["repair", "install"]
    result = run(world, *OLD)
    assert versions(world, "driver", "firmware") == ["25.5.0", FIRMWARE["25.5.0"]]
    assert (result["changed"], phases(world)) == (True, [DONE, DONE])


@pytest.mark.parametrize("point", ["record", "stage", "path"])
def test_a_play_that_dies_before_the_installer_runs(world, monkeypatch, point):
    def die(*_args, **_options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        if point == "record":
            patch.setattr(world.job("driver"), "start", die)
        elif point == "stage":
            patch.setattr(_package_task, "make_run", die)
        else:
            patch.setattr(_package_task, "make_folders", die)
        with pytest.raises(KeyboardInterrupt):
            run(world, *OLD)
    assert record(world, "driver").phase == (BEGUN if point == "record" else "")
    assert run(world, *OLD)["changed"] is True
    assert versions(world, "driver", "firmware") == ["25.5.0", FIRMWARE["25.5.0"]]


def test_the_end_of_the_same_call_at_another_time_is_no_result(world, monkeypatch):
    """Installed, removed by hand, and then a play that dies after it wrote down that the same installer begins."""

    def die(*_args, **_options):
        raise KeyboardInterrupt

    world.add_run(NNAL)
    put_cann(world.root, "8.5.0")
    run(world, "nnal=8.5.0")
    world.remove("nnal")
    world.clock.sleep(1)
    with monkeypatch.context() as patch:
        patch.setattr(world.job("nnal"), "start", die)
        with pytest.raises(KeyboardInterrupt):
            run(world, "nnal=8.5.0")
    assert record(world, "nnal").phase == BEGUN
    assert run(world, "nnal=8.5.0")["changed"] is True
    assert versions(world, "nnal") == ["8.5.0"]


def test_an_installer_that_ended_while_nobody_looked(world):
    world.behaviour["firmware"] = ["slow"]
    put_driver(world.root, "25.5.0")
    pending = run(world, *OLD, wait_slice=0)
    assert (pending["pending"], pending["changed"]) == (True, True)
    world.jobs["firmware"].end("good")
    world.started.clear()
    done = run(world, *OLD)
    assert (done["changed"], done["pending"], world.started, record(world, "firmware").phase) == (True, False, [], DONE)
    assert done["reboot_required"]


def test_check_mode_sees_a_good_end_that_nobody_wrote_down(world):
    world.behaviour["firmware"] = ["slow"]
    put_driver(world.root, "25.5.0")
    run(world, *OLD, wait_slice=0)
    world.jobs["firmware"].end("good")
    foretold = run(world, *OLD, check=True)
    assert (foretold["changed"], actions(foretold), record(world, "firmware").phase) == (False, ["none", "none"], BEGUN)
    assert (foretold["unrecorded"], foretold["reboot_required"]) == (["firmware"], True)
    assert foretold["reboot_reason"] == "firmware 7.8.0.5.220 takes effect at the next boot"
    world.behaviour["firmware"] = ["slow"]
    run(world, *NEW, wait_slice=0)
    world.jobs["firmware"].end("rc1")
    assert actions(run(world, *NEW, check=True))[1] == "repair"


def test_what_nobody_wrote_down_before_a_boot_needs_no_other(world):
    world.behaviour["firmware"] = ["slow"]
    put_driver(world.root, "25.5.0")
    run(world, *OLD, wait_slice=0)
    world.jobs["firmware"].end("good")
    world.reboot()
    foretold = run(world, *OLD, check=True)
    assert (foretold["unrecorded"], foretold["reboot_required"]) == (["firmware"], False)
    done = run(world, *OLD)
    assert (done["unrecorded"], done["reboot_required"], record(world, "firmware").phase) == ([], False, DONE)


def test_check_mode_sees_a_removal_that_nobody_wrote_down(world):
    run(world, *OLD)
    world.reboot()
    world.behaviour["driver"] = ["slow"]
    run(world, "driver", state="absent", wait_slice=0)
    world.jobs["driver"].end("good")
    foretold = run(world, "driver", state="absent", check=True)
    assert (foretold["changed"], foretold["unrecorded"], foretold["reboot_required"]) == (False, ["driver"], True)
    assert foretold["reboot_reason"] == "driver was removed since the last boot"


def test_paths_are_checked_before_anything_else(world):
    with pytest.raises(NpufleetError, match="the installers refuse '/opt/a b'"):
        run(world, *OLD, install_path="/opt/a b")


def test_a_slash_at_the_end_means_nothing(world):
    run(world, *OLD, install_path="//usr/local//Ascend/")
    assert all("--install-path" not in script for _kind, script in world.started)


def test_an_installer_that_failed_while_nobody_looked_is_told_and_tried_again(world):
    world.behaviour["driver"] = ["slow"]
    run(world, *OLD, wait_slice=0)
    world.jobs["driver"].end("rc1")
    with pytest.raises(InstallerError, match="failed with exit code 1"):
        run(world, *OLD)
    assert record(world, "driver").phase == FAILED
    repaired = run(world, *OLD)
    assert actions(repaired)[0] == "repair" and phases(world) == [DONE, DONE]


def test_an_old_failure_of_another_version_does_not_stop_this_one(world):
    world.behaviour["driver"] = ["slow"]
    run(world, *NEW, wait_slice=0)
    world.jobs["driver"].end("rc1")
    run(world, *OLD)
    assert versions(world, "driver", "firmware") == ["25.5.0", FIRMWARE["25.5.0"]]


@pytest.mark.parametrize("word", ["rc1", "lie"])
def test_a_failure_stops_at_once(world, word):
    world.behaviour["driver"] = [word]
    with pytest.raises(InstallerError):
        run(world, *OLD)
    assert [kind for kind, _script in world.started] == ["driver"]
    assert record(world, "driver").phase == FAILED


def test_exit_code_2_is_success(world):
    world.behaviour["driver"] = ["rc2"]
    assert run(world, *OLD)["reboot_required"] is True
    assert phases(world) == [DONE, DONE]


def test_a_running_installer_is_watched_in_slices(world):
    world.behaviour["driver"] = ["slow"]
    pending = run(world, *OLD, wait_slice=3)
    assert (pending["pending"], pending["changed"], pending["seconds"]) == (True, True, 3.0)
    assert pending["progress"] == "install driver 25.5.0: working"
    assert actions(pending) == ["install", "install"]
    assert (pending["reboot_required"], pending["reboot_reason"]) == (False, "")
    again = run(world, *OLD, wait_slice=3)
    assert (again["pending"], again["seconds"], actions(again)) == (True, 6.0, ["install", "install"])
    assert "its install is running" in again["packages"][0]["reason"]
    foretold = run(world, *OLD, check=True)
    assert (foretold["pending"], foretold["changed"]) == (False, True)
    world.jobs["driver"].end("good")
    done = run(world, *OLD, wait_slice=3)
    assert (done["pending"], [kind for kind, _script in world.started]) == (False, ["driver", "firmware"])


def test_another_version_waits_for_the_installer_that_runs(world):
    world.behaviour["driver"] = ["slow"]
    run(world, *NEW, wait_slice=0)
    waiting = run(world, *OLD, wait_slice=2)
    assert waiting["pending"] and waiting["progress"].startswith("install driver 26.0.rc1")
    world.jobs["driver"].end("good")
    done = run(world, *OLD, allow_downgrade=True)
    assert versions(world, "driver", "firmware") == ["25.5.0", FIRMWARE["25.5.0"]]
    assert done["diff"]["before"] == "driver 26.0.rc1\nfirmware absent\n"


@pytest.mark.parametrize("registers", [True, False])
def test_the_docker_runtime_registers_itself_only_where_it_may(world, registers):
    world.add_run(RUNTIME)
    run(world, "docker_runtime=26.0.0", register_runtime=registers)
    own = os.path.join(world.records, "unregistered_runtime.json")
    assert ("--config-file-path=" + own in world.started[0][1]) is not registers
    assert os.path.exists(own) is not registers


def test_packages_of_another_call_wait_too_and_settle_nothing(world):
    world.add_run(RUNTIME)
    world.behaviour["driver"] = ["slow"]
    run(world, *OLD, wait_slice=0)
    assert run(world, "docker_runtime=26.0.0", wait_slice=1)["pending"]
    world.jobs["driver"].end("rc1")
    assert run(world, "docker_runtime=26.0.0")["packages"][0]["installed"] == "26.0.0"
    assert record(world, "driver").phase == BEGUN


def test_an_installer_that_takes_too_long_is_left_alone(world):
    world.behaviour["driver"] = ["slow"]
    with pytest.raises(NpufleetError, match="still runs after 6 s; it is left alone") as caught:
        run(world, *OLD, wait_timeout=5, wait_slice=100)
    assert caught.value.where.endswith("jobs/driver/job.log")
    world.jobs["driver"].end("good")
    assert run(world, *OLD)["pending"] is False


def test_everything_in_the_way_is_told_before_anything_is_touched(world):
    put(world.root, "/etc/passwd", "")
    name = "Ascend-hdk-910b-npu_25.5.0_linux-x86-64.zip"
    before = sorted(os.listdir(world.base))
    world.sums[name] = "0" * 64
    with pytest.raises(InTheWayError) as caught:
        run(world, *OLD, accept_licences=False)
    text = str(caught.value)
    for part in ("nobody has accepted", "no user HwHiAiUser", "should be " + "0" * 64):
        assert part in text
    assert text.count("should be") == 1
    assert caught.value.result["packages"] and caught.value.result["changed"] is False
    assert sorted(os.listdir(world.base)) == sorted([*before, "records"]) and os.listdir(world.records) == ["sums.json"]
    assert world.started == []


def test_what_an_earlier_task_puts_right_does_not_stop_check_mode(world):
    put(world.root, "/etc/passwd", "")
    for name in os.listdir(world.packages):
        os.unlink(os.path.join(world.packages, name))
    foretold = run(world, *OLD, check=True)
    assert len(foretold["problems"]) == 2 and any("no user" in text for text in foretold["problems"])
    assert foretold["needed_files"] == ["Ascend-hdk-910b-npu_25.5.0_linux-x86-64.zip"]
    assert foretold["diff"]["after"] == "driver 25.5.0\nfirmware of HDK 25.5.0\n"
    with pytest.raises(InTheWayError, match="is not in"):
        run(world, *OLD)
    with pytest.raises(InTheWayError, match="nobody has accepted"):
        run(world, *OLD, check=True, accept_licences=False)


@pytest.mark.parametrize("check", [True, False])
def test_a_file_that_could_not_be_used_is_refused_before_it_is_fetched(world, check):
    fetched = []
    options = {"download": True, "check": check, "opener": lambda *_args, **_more: fetched.append(1)}
    with pytest.raises(InTheWayError, match=r"nobody published a SHA-256 sum of Ascend-hdk-910b-npu_25\.9\.9_linux-x86-64\.zip") as caught:
        run(world, "driver=25.9.9", "firmware=25.9.9", **options)
    assert str(caught.value).count("nobody published") == 1 and "ascend_package_unverified_ok" in str(caught.value)
    assert fetched == [] and world.started == []


def test_a_sum_for_the_other_spelling_of_the_name_counts_before_the_file_is_there(world):
    world.sums["Ascend-hdk-910b-npu_25.9.9_linux-x86_64.zip"] = "0" * 64
    foretold = run(world, "driver=25.9.9", check=True, download=True)
    assert foretold["needed_files"] == ["Ascend-hdk-910b-npu_25.9.9_linux-x86-64.zip"]
    world.sums.clear()
    assert run(world, "driver=25.9.9", check=True, download=True, unverified_ok=True)["changed"]


def test_what_no_source_says_is_a_doubt_and_no_problem(world):
    put(world.root, "/etc/os-release", "ID=strange\nVERSION_ID=1\n")
    assert run(world, *OLD, check=True)["doubts"]
    run(world, *OLD)
    assert run(world, *OLD, check=True)["doubts"] == []


def test_a_disk_without_room_for_a_copy(world, monkeypatch):
    monkeypatch.setattr(_package_task, "disk_free", lambda _path: 5)
    with pytest.raises(InTheWayError, match=r"unpacking Ascend-hdk-910b-npu_25\.5\.0_linux-x86-64\.zip needs 0\.0 GiB"):
        run(world, *OLD)


def test_a_wrong_chip_of_operators_stops_even_where_the_version_is_right(world):
    put_cann(world.root, "8.5.0")
    put_cann(world.root, "8.5.0", "ops", chip="310p")
    with pytest.raises(InTheWayError, match="operators for 310p are installed and those for 910b are wanted"):
        run(world, "ops=8.5.0")


class FakeFetch:
    """Brings the HDK in two calls."""

    calls: list = []

    def __init__(self, url, path, sha256, clock, opener):
        self._path = path
        FakeFetch.calls.append((url, sha256))

    def go_on(self, deadline):
        if len(FakeFetch.calls) < 2:
            return Fetched(False, 10**6, 2 * 10**6, seconds=4.0)
        World.add_hdk(FakeFetch.world, "25.5.0")
        return Fetched(True, 1, 1, "sum")


def test_missing_files_are_downloaded_before_the_first_installer(world, monkeypatch):
    FakeFetch.calls, FakeFetch.world = [], world
    monkeypatch.setattr(_package_download, "Fetch", FakeFetch)
    for name in os.listdir(world.packages):
        os.unlink(os.path.join(world.packages, name))
    foretold = run(world, *OLD, check=True, download=True)
    assert (foretold["problems"], len(foretold["needed_files"]), FakeFetch.calls) == ([], 1, [])
    pending = run(world, *OLD, download=True, mirror="https://mirror.example.com")
    assert (pending["pending"], pending["changed"], pending["seconds"], world.started) == (True, True, 4.0, [])
    assert pending["progress"] == "file 1 of 1, Ascend-hdk-910b-npu_25.5.0_linux-x86-64.zip: 1 of 2 MB"
    done = run(world, *OLD, download=True, mirror="https://mirror.example.com")
    assert (done["pending"], done["needed_files"], phases(world)) == (False, [], [DONE, DONE])
    assert FakeFetch.calls[0][0].startswith("https://mirror.example.com/Ascend%20HDK/")
    # Only the archive tells the number of its firmware.
    assert record(world, "firmware").number == FIRMWARE["25.5.0"]


def test_an_archive_is_looked_into_as_soon_as_it_was_downloaded(world, monkeypatch):
    """The installer of one package must not run when another one turns out to be missing in what came."""
    name = world.add_hdk("25.5.0")
    came = {"Ascend-hdk-910b-npu-driver_25.5.0_linux-x86-64.run": b"driver"}
    world.sums[name] = zip_file(world.base + "/came.zip", came)
    os.unlink(os.path.join(world.packages, name))

    def fetch(_files, *_options):
        os.rename(world.base + "/came.zip", os.path.join(world.packages, name))
        return _package_download.Download(None, "", {})

    monkeypatch.setattr(_package_download, "download", fetch)
    with pytest.raises(InTheWayError) as caught:
        run(world, *OLD, download=True)
    assert "does not hold the package that is wanted" in str(caught.value)
    assert world.started == []


def test_the_whole_of_cann_in_one_call(world):
    packages = ("nnal=8.5.0", "ops=8.5.0", "toolkit=8.5.0")
    world.add_run(NNAL)
    world.add_run("Ascend-cann-toolkit_8.5.0_linux-x86_64.run")
    world.add_run("Ascend-cann-910b-ops_8.5.0_linux-x86_64.run")
    result = run(world, *packages)
    assert [kind for kind, _script in world.started] == ["toolkit", "ops", "nnal"]
    assert versions(world, "toolkit", "ops", "nnal") == ["8.5.0"] * 3
    assert "ASCEND_TOOLKIT_HOME={0}/cann-8.5.0 ".format(PATH) in dict(world.started)["nnal"]
    assert (result["reboot_required"], result["packages"][0]["running"]) == (False, None)
    assert not os.path.exists(world.records + "/unpacked")


@pytest.mark.parametrize("mode", [None, 0o750, 0o755])
def test_the_install_path_is_open_before_the_first_installer(world, mode):
    world.add_run(RUNTIME)
    if mode is None:
        os.rmdir(world.root + PATH)
    else:
        os.chmod(world.root + PATH, mode)
    run(world, "docker_runtime=26.0.0")
    assert file_mode(world.root + PATH) == 0o755


def removable(world):
    put_driver(world.root, "25.5.0")
    put_firmware(world.root, "7.8.0.5.220")
    put_cann(world.root, "8.5.0")
    put_cann(world.root, "8.5.0", "ops")
    put_nnal(world.root, "8.5.0")
    put_docker_runtime(world.root, "26.0.0")


REMOVABLE = ("driver", "firmware", "toolkit", "ops", "nnal", "docker_runtime")


def test_everything_is_removed_in_the_other_order(world):
    removable(world)
    put(world.root, "/etc/docker/daemon.json", "{}", 0o600)
    foretold = run(world, *REMOVABLE, check=True, state="absent", accept_licences=False)
    assert (foretold["changed"], set(actions(foretold))) == (True, {"remove"})
    done = run(world, *REMOVABLE, state="absent", accept_licences=False)
    assert [kind for kind, _script in world.started] == ["docker_runtime", "nnal", "ops", "toolkit", "firmware", "driver"]
    assert (done["changed"], done["diff"]) == (True, foretold["diff"])
    assert [row["installed"] for row in done["packages"]] == [None] * 6
    assert done["reboot_reason"] == "driver was removed since the last boot; firmware was removed since the last boot"
    assert phases(world) == [REMOVED, REMOVED]
    again = run(world, *REMOVABLE, state="absent")
    assert (again["changed"], again["reboot_required"]) == (False, True)
    world.reboot()
    assert run(world, *REMOVABLE, state="absent")["reboot_required"] is False
    assert [row["wanted"] for row in again["packages"]] == [None] * 6


def test_the_users_of_a_host_stay(world):
    removable(world)
    before = small_file(world.root + "/etc/passwd")
    home = put(world.root, "/home/HwHiAiUser/file")
    run(world, "driver", "firmware", state="absent")
    assert os.path.exists(home) and small_file(world.root + "/etc/passwd") == before


@pytest.mark.parametrize("word", ["killed", "late"])
def test_a_removal_that_is_killed_goes_on(world, word):
    removable(world)
    world.behaviour["nnal"] = [word]
    run(world, "nnal", state="absent")
    assert versions(world, "nnal") == [""]
    assert run(world, "nnal", state="absent")["changed"] is False


def test_an_old_failed_installation_does_not_stop_a_removal(world):
    removable(world)
    world.behaviour["driver"] = ["slow"]
    run(world, "driver=26.0.rc1", wait_slice=0)
    world.jobs["driver"].end("rc1")
    assert run(world, "driver", state="absent")["changed"] is True
    assert versions(world, "driver") == [""]


def test_a_removal_that_removes_nothing_is_told(world):
    removable(world)
    world.behaviour["nnal"] = ["lie"]
    with pytest.raises(InstallerError, match="still there"):
        run(world, "nnal", state="absent")


@pytest.mark.parametrize("daemon_json", [True, False])
def test_the_docker_runtime_goes_even_where_its_uninstaller_does_nothing(world, daemon_json):
    removable(world)
    if daemon_json:
        put(world.root, "/etc/docker/daemon.json", "{}", 0o600)
    world.behaviour["docker_runtime"] = ["lie"]
    if daemon_json:
        with pytest.raises(InstallerError, match="still there"):
            run(world, "docker_runtime", state="absent")
    else:
        assert run(world, "docker_runtime", state="absent")["packages"][0]["installed"] is None


def test_a_failed_uninstaller_of_the_docker_runtime_removes_nothing(world):
    removable(world)
    world.behaviour["docker_runtime"] = ["rc1"]
    with pytest.raises(InstallerError):
        run(world, "docker_runtime", state="absent")
    assert versions(world, "docker_runtime") == ["26.0.0"]


def test_several_versions_of_cann_go_one_after_the_other(world):
    put_cann(world.root, "9.0.0", active=False)
    put_cann(world.root, "8.5.0")
    real = world.remove

    def remove(kind):
        real(kind)
        os.unlink(world.root + PATH + "/cann")
        if os.path.exists(world.root + PATH + "/cann-9.0.0/x86_64-linux/ascend_toolkit_install.info") and len(world.started) < 2:
            os.symlink("cann-9.0.0", world.root + PATH + "/cann")

    world.remove = remove
    assert run(world, "toolkit", state="absent")["changed"] is True
    assert (versions(world, "toolkit"), len(world.started)) == ([""], 2)


def npu_smi(version):
    table = (
        "+---+\n| npu-smi {0}  Version: {0} |\n+---+\n| NPU Name | Health | Power(W) Temp(C) Hugepages-Usage(page) |\n"
        "| Chip | Bus-Id | AICore(%) Memory-Usage(MB) HBM-Usage(MB) |\n+===+\n"
        "| 0 910B3 | OK | 91.2 41 0 / 0 |\n| 0 | 0000:C1:00.0 | 0 0 / 0 3161 / 65536 |\n+===+\n"
    )
    return table.format(version)


@pytest.mark.parametrize(("running", "required"), [("25.5.0", False), ("25.2.0", True)])
def test_one_npu_smi_tells_which_driver_runs(world, running, required):
    put_driver(world.root, "25.5.0")
    calls = []

    def answer(argv, **_options):
        calls.append(argv)
        return CommandResult(argv, 0, npu_smi(running), "")

    host = world.host(run=answer, find=lambda name, _dirs=(): None if name == "docker" else "/usr/bin/" + name)
    result = run(world, "driver=25.5.0", host=host)
    assert (result["changed"], result["packages"][0]["running"], result["reboot_required"]) == (False, running, required)
    assert calls == [["/usr/bin/npu-smi", "info"]]
    put_cann(world.root, "8.5.0")
    run(world, "toolkit=8.5.0", host=host)
    assert len(calls) == 1


def test_a_firmware_that_somebody_else_installed_is_known_after_one_look(world):
    put_driver(world.root, "25.5.0")
    put_firmware(world.root, "7.8.0.5.220")
    assert run(world, *OLD)["changed"] is False
    assert record(world, "firmware") == Record("25.5.0", "7.8.0.5.220", "none", phase=DONE, boot_id=record(world, "firmware").boot_id)
    for name in os.listdir(world.packages):
        os.unlink(os.path.join(world.packages, name))
    assert run(world, *OLD)["changed"] is False


def test_two_tasks_on_one_host(world):
    with Records(world.records).locked():
        waiting = run(world, *OLD, wait_slice=3)
    assert (waiting["pending"], waiting["progress"], world.started) == (True, "another task works on the packages of this host", [])
    assert run(world, *OLD)["pending"] is False


def test_what_another_task_has_just_done_is_not_done_again(world, monkeypatch):
    real = PackageTask._start
    seen = []

    def late(self, plan, state):
        if not seen:
            seen.append(1)
            put_driver(world.root, "25.5.0")
            Records(world.records, world.boot_id).write("driver", Record("25.5.0", "25.5.0", "install", phase=DONE))
        return real(self, plan, state)

    monkeypatch.setattr(PackageTask, "_start", late)
    run(world, *OLD)
    assert [kind for kind, _script in world.started] == ["firmware"]


def test_nothing_wanted_is_nothing_done(world):
    assert run(world)["changed"] is False
    assert run(world, state="absent")["packages"] == []
