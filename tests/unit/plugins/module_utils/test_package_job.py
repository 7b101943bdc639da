# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
import time

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils import _package_job
from ansible_collections.npufleet.ascend.plugins.module_utils._clock import Clock
from ansible_collections.npufleet.ascend.plugins.module_utils._files import file_mode
from ansible_collections.npufleet.ascend.plugins.module_utils._job import JobStatus
from ansible_collections.npufleet.ascend.plugins.module_utils._package_job import InstallerError, Installers, Run
from ansible_collections.npufleet.ascend.plugins.module_utils._package_record import BEGUN, DONE, FAILED, REMOVED, Record, Records
from ansible_collections.npufleet.ascend.plugins.module_utils._package_state import Installed
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.package_fakes import BOOT, put

GOOD = Installed("25.5.0")


@pytest.fixture()
def records(tmp_path):
    return Records(str(tmp_path / "records"), put(tmp_path, "/boot_id", BOOT))


@pytest.fixture()
def installers(records):
    installers = Installers(records, Clock(time.time, time.sleep))
    yield installers
    for kind in ("driver", "firmware", "toolkit"):
        installers.job(kind).stop()


def installer(tmp_path, text, name="Ascend package's.run"):
    return put(tmp_path, "/" + name, "#!/bin/sh\n" + text + "\n", 0o700)


def a_run(path, *options, kind="driver", **changes):
    return Run(kind, "install", "25.5.0", "25.5.0", [path, *options], 600, "ab" * 32)._replace(**changes)


def end(installers, kind="driver"):
    deadline = time.monotonic() + 20
    while installers.job(kind).status().state == "running":
        assert time.monotonic() < deadline, "it never ends"
        time.sleep(0.02)
    return installers.job(kind).status()


def test_a_real_installer_with_everything_it_needs(tmp_path, installers, records):
    text = 'read -r answer; echo "$answer,$1,$2,$LC_ALL,$HOME,$(umask),$EXTRA"; exit 2'
    run = a_run(installer(tmp_path, text), "--full", "a 'quoted' word", env=[("EXTRA", "it's set")])
    installers.start(run)
    record = records.read("driver")
    assert (record.phase, record.action, record.number, record.attempts) == (BEGUN, "install", "25.5.0", 1)
    assert record.job == installers.job("driver").status().digest
    assert end(installers).rc == 2
    assert "y,--full,a 'quoted' word,C,/root,0022,it's set" in installers.job("driver").log(9)
    assert file_mode(installers.log("driver")) == 0o600
    assert installers.settle("driver", lambda: GOOD) is True
    record = records.read("driver")
    assert (record.phase, record.attempts, record.reboot) == (DONE, 0, True)
    assert installers.settle("driver", lambda: GOOD) is False


def test_the_file_checks_itself_before(tmp_path, installers):
    path = installer(tmp_path, 'echo "called with $*"; [ "$1" != --check ] || exit 1')
    installers.start(a_run(path, "--full", check=True))
    end(installers)
    assert "called with --full" not in installers.job("driver").log(99)
    with pytest.raises(InstallerError, match="was not started, since the file does not pass its own check"):
        installers.settle("driver", lambda: GOOD)


def test_a_good_check_is_followed_by_the_installer(tmp_path, installers):
    installers.start(a_run(installer(tmp_path, 'echo "called with $*"'), "--full", check=True))
    assert end(installers).stage == "2/2 install"
    assert [line for line in installers.job("driver").log(99) if "called" in line] == ["called with --check", "called with --full"]


def test_an_installer_that_prints_for_ever_is_stopped(tmp_path, installers, monkeypatch):
    monkeypatch.setattr(_package_job, "LOG_BYTES", 100000)
    installers.start(a_run(installer(tmp_path, "while :; do echo 'Do you accept? [Y/N]'; done")))
    end(installers)
    with pytest.raises(InstallerError, match="printed more than 0 MB without an end and was stopped"):
        installers.settle("driver", lambda: GOOD)


@pytest.mark.parametrize("stubborn", ["", "trap '' TERM;"])
def test_an_installer_that_never_ends_is_stopped(tmp_path, installers, monkeypatch, stubborn):
    monkeypatch.setattr(_package_job, "GRACE_SECONDS", 1)
    installers.start(a_run(installer(tmp_path, stubborn + "while :; do sleep 0.1; done"), limit=1))
    end(installers)
    with pytest.raises(InstallerError, match="did not end within its time limit and was stopped"):
        installers.settle("driver", lambda: GOOD)


def test_services_that_keep_the_output_open_do_not_hold_the_job(tmp_path, installers):
    installers.start(a_run(installer(tmp_path, "sleep 30 & echo installed")))
    begin = time.monotonic()
    assert end(installers).rc == 0
    assert time.monotonic() - begin < 15


def test_a_running_installer_is_found_and_left_alone(tmp_path, installers, records):
    assert installers.running() is None
    installers.start(a_run(installer(tmp_path, "echo begun; sleep 60")))
    other = Installers(Records(records.folder), Clock(time.time, time.sleep))
    kind, status = other.running()
    assert (kind, status.state) == ("driver", "running")
    assert other.settle("driver", lambda: GOOD) is False
    assert records.read("driver").phase == BEGUN


@pytest.mark.parametrize(
    ("change", "later", "same"),
    [
        ({}, 0, True),
        ({}, 1, False),
        ({"digest": "cd" * 32}, 0, False),
        ({"version": "25.5.1"}, 0, False),
        ({"action": "repair"}, 0, False),
        ({"limit": 1}, 0, False),
    ],
)
def test_a_run_is_told_from_any_other(change, later, same):
    assert (a_run("/x").job(5.0) == a_run("/x")._replace(**change).job(5.0 + later)) is same


class Job:
    """A job that has ended."""

    def __init__(self, rc, digest="d", lines=(), state="finished"):
        self._status = JobStatus(state, rc, digest, "", "", 7.0)
        self._lines = list(lines)
        self.scripts = []

    def status(self):
        return self._status

    def log(self, _limit):
        return self._lines

    def start(self, script, digest):
        self.scripts.append((script, digest))


def settled(installers, records, monkeypatch, job, installed=GOOD, kind="driver", **changes):
    record = Record("25.5.0", "25.5.0", "install", "ab", BEGUN, "d", attempts=1)._replace(**changes)
    boot = changes.pop("boot_id", None)
    records.write(kind, record)
    if boot:
        installers._records.boot_id = "another"
    monkeypatch.setattr(installers, "job", lambda _kind: job)
    result = installers.settle(kind, lambda: installed)
    return result, records.read(kind)


@pytest.mark.parametrize(
    ("rc", "kind", "lines", "reboot"),
    [
        (0, "driver", ["Driver package installed successfully! The new version takes effect immediately."], False),
        (0, "driver", ["\x1b[31mReboot needed for installation/upgrade to take effect!\x1b[0m"], True),
        (2, "driver", [], True),
        (0, "firmware", [], True),
        (2, "firmware", [], True),
        (0, "toolkit", ["Reboot needed"], False),
    ],
)
def test_what_takes_effect_at_a_boot(installers, records, monkeypatch, rc, kind, lines, reboot):
    result, record = settled(installers, records, monkeypatch, Job(rc, lines=lines), kind=kind)
    assert (result, record.phase, record.reboot) == (True, DONE, reboot)


@pytest.mark.parametrize(
    ("rc", "kind", "installed", "words"),
    [
        (1, "driver", GOOD, "install of the Ascend HDK driver 25.5.0 failed with exit code 1"),
        (2, "toolkit", GOOD, "failed with exit code 2"),
        (127, "driver", GOOD, "failed with exit code 127"),
        (0, "driver", Installed(), "ended well, but nothing is installed"),
        (0, "driver", Installed("25.2.0"), "ended well, but 25.2.0 is installed and not 25.5.0"),
        (2, "driver", Installed("25.5.0", "half of it"), "ended well, but the installation is incomplete: half of it"),
    ],
)
def test_an_exit_code_alone_proves_nothing(installers, records, monkeypatch, rc, kind, installed, words):
    lines = ["", "\x1b[31m[ERROR]ERR_NO:0x0091;ERR_DES:x\x1b[0m", "the end"]
    with pytest.raises(InstallerError) as caught:
        settled(installers, records, monkeypatch, Job(rc, lines=lines), installed, kind)
    assert words in caught.value.what and caught.value.what.endswith(": the user or group is missing (0x0091)")
    assert caught.value.where == installers.log(kind)
    assert caught.value.remedy.startswith("Make user and group first; then run again. Last lines:\n[ERROR]")
    assert (records.read(kind).phase, records.read(kind).attempts) == (FAILED, 0)


def test_a_failure_that_nobody_explains(installers, records, monkeypatch):
    with pytest.raises(InstallerError) as caught:
        settled(installers, records, monkeypatch, Job(1))
    assert caught.value.what.endswith("exit code 1") and "/var/log/ascend_seclog" in caught.value.remedy


@pytest.mark.parametrize("rc", [None, 137, 143])
@pytest.mark.parametrize(
    ("attempts", "boot", "gives_up"), [(1, None, False), (2, None, False), (3, None, True), (3, "earlier", False), (9, "earlier", False)]
)
def test_who_was_killed_is_started_again_but_not_for_ever(installers, records, monkeypatch, rc, attempts, boot, gives_up):
    if gives_up:
        with pytest.raises(InstallerError, match="was killed 3 times"):
            settled(installers, records, monkeypatch, Job(rc), attempts=attempts)
        assert records.read("driver").phase == FAILED
    else:
        result, record = settled(installers, records, monkeypatch, Job(rc), attempts=attempts, boot_id=boot or "")
        assert (result, record.phase) == (False, BEGUN)


@pytest.mark.parametrize("job", [Job(None, state="none", digest=""), Job(0, digest="another"), Job(None, state="running")])
def test_a_job_that_is_not_the_one_that_was_begun_says_nothing(installers, records, monkeypatch, job):
    result, record = settled(installers, records, monkeypatch, job)
    assert (result, record.phase) == (False, BEGUN)


@pytest.mark.parametrize(
    ("installed", "phase", "kind", "reboot"),
    [
        (Installed(), REMOVED, "driver", True),
        (Installed(), REMOVED, "firmware", True),
        (Installed(), REMOVED, "toolkit", False),
        (Installed("9.0.0"), DONE, "toolkit", False),
    ],
)
def test_a_removal(installers, records, monkeypatch, installed, phase, kind, reboot):
    result, record = settled(installers, records, monkeypatch, Job(0), installed, kind, action="remove")
    assert (result, record.phase, record.reboot) == (True, phase, reboot)


def test_a_removal_that_removed_nothing(installers, records, monkeypatch):
    with pytest.raises(InstallerError, match=r"remove of the CANN toolkit 25\.5\.0 ended well, but toolkit 25\.5\.0 is still there"):
        settled(installers, records, monkeypatch, Job(0), GOOD, "toolkit", action="remove")


@pytest.mark.parametrize(
    ("old", "attempts", "reboot"),
    [
        (Record(), 1, False),
        (Record(phase=BEGUN, attempts=1), 2, False),
        (Record(phase=FAILED, attempts=1), 1, False),
        (Record(phase=DONE, reboot=True), 1, True),
    ],
)
def test_attempts_are_counted_and_a_due_boot_stays_due(installers, records, monkeypatch, old, attempts, reboot):
    job = Job(0)
    monkeypatch.setattr(installers, "job", lambda _kind: job)
    records.write("driver", old)
    installers.start(a_run("/x"))
    assert (records.read("driver").attempts, records.read("driver").reboot) == (attempts, reboot)
    assert job.scripts[0][1] == records.read("driver").job


def test_what_was_before_the_boot_does_not_count(installers, records, monkeypatch):
    monkeypatch.setattr(installers, "job", lambda _kind: Job(0))
    records.write("driver", Record(phase=BEGUN, attempts=2, reboot=True))
    installers._records.boot_id = "another"
    installers.start(a_run("/x"))
    assert (records.read("driver").attempts, records.read("driver").reboot) == (1, False)


def test_a_reason_for_stopping_that_nobody_knows(installers, records, monkeypatch):
    put(os.path.dirname(installers.log("driver")), "/stopped", "strange\n")
    with pytest.raises(InstallerError, match="did not end and was stopped"):
        settled(installers, records, monkeypatch, Job(0))
