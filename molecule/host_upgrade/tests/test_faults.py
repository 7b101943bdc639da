# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Installers that fail in their various ways: one message, nothing else is tried, and the next run puts it right."""

from __future__ import annotations

import pytest

ROOT = "/usr/local/Ascend/"
# What a kind has to lose so that there is something to do, and the layer that does it.
LOST = {
    "driver": ("ascend_driver", ROOT + "driver/version.info"),
    "docker_runtime": ("container_runtime", ROOT + "Ascend-Docker-Runtime/ascend_docker_runtime_install.info"),
    "toolkit": ("cann", ROOT + "cann/set_env.sh"),
    "nnal": ("cann", ROOT + "nnal/atb/set_env.sh"),
}
# kind, fault, what the message says
FAILURES = {
    "an error number is explained": (
        "driver",
        {"exit_code": 1, "err_no": "0x0091", "message": "the user does not exist"},
        ["failed with exit code 1: the user or group is missing (0x0091)", "Make user and group first"],
    ),
    "an installer that lies": ("nnal", {"exit_code": 0}, ["ended well, but the installation is incomplete: its set_env.sh is missing"]),
    "half a driver": ("driver", {"half_installed": True}, ["failed with exit code 1"]),
    "half a runtime, called a success": (
        "docker_runtime",
        {"half_installed": True, "result": 0},
        ["ended well, but the installation is incomplete"],
    ),
    "killed again and again": ("toolkit", {"die": True}, ["was killed 3 times"]),
    "output without an end": ("nnal", {"endless_output": True}, ["printed more than 64 MB without an end and was stopped"]),
}
# Driver and firmware take effect at the next boot, which no test here waits for.
OPTIONS = {"npufleet_reboot": False}


def begun(server, seen):
    """What was started since then, without the checks of the files."""
    return server.acts()[len(seen) :]


def lose(server, kind):
    layer, path = LOST[kind]
    server.sh("rm -f " + path)
    return layer


@pytest.mark.parametrize("case", FAILURES)
def test_a_failure_is_told_once_and_the_next_run_repairs(openeuler, prepare, case):
    kind, fault, said = FAILURES[case]
    layer, seen = lose(openeuler, kind), openeuler.acts()
    openeuler.fault(**{kind: fault})
    failed = prepare(openeuler, layer, **OPTIONS)
    assert failed.returncode != 0
    assert failed.stdout.count("[ERROR]: ") == 1, failed.stdout
    told = " ".join(failed.stdout.split())
    assert all(words in told for words in said), failed.stdout
    assert "/var/lib/npufleet/ascend_package/jobs/{0}/job.log".format(kind) in told
    tried = begun(openeuler, seen)
    assert set(tried) == {(kind, "install")}
    assert int(openeuler.sh("du -sk /var/lib/npufleet/ascend_package/jobs | cut -f1")) < 70 * 1024

    openeuler.fault()
    again = prepare(openeuler, layer, **OPTIONS)
    assert again.returncode == 0, again.stdout
    assert begun(openeuler, seen) == [*tried, (kind, "install")]
    assert openeuler.exists(LOST[kind][1])


def test_one_that_is_killed_once_is_started_again_by_the_same_run(openeuler, prepare):
    layer, seen = lose(openeuler, "nnal"), openeuler.acts()
    openeuler.fault(nnal={"die": True, "first": 1})
    done = prepare(openeuler, layer)
    assert done.returncode == 0, done.stdout
    assert begun(openeuler, seen) == [("nnal", "install")] * 2


def test_a_payload_that_is_damaged_is_never_installed(openeuler, prepare):
    layer, seen = lose(openeuler, "nnal"), openeuler.acts()
    openeuler.fault(nnal={"corrupt": True, "on": ["check"]})
    failed = prepare(openeuler, layer)
    assert failed.returncode != 0
    assert "was not started, since the file does not pass its own check" in " ".join(failed.stdout.split())
    assert begun(openeuler, seen) == []
    assert openeuler.executions()[-1][:2] == ("nnal", "check")

    openeuler.fault()
    assert prepare(openeuler, layer).returncode == 0
    assert begun(openeuler, seen) == [("nnal", "install")]


def test_the_time_limit_leaves_the_installer_alone_and_the_next_run_goes_on(openeuler, prepare):
    layer, seen = lose(openeuler, "nnal"), openeuler.acts()
    openeuler.fault(nnal={"slow": 8})
    failed = prepare(openeuler, layer, cann_wait_timeout=2)
    assert failed.returncode != 0
    assert "the installer of the CANN NNAL still runs after" in failed.stdout
    assert begun(openeuler, seen) == [("nnal", "install")]

    again = prepare(openeuler, layer)
    assert again.returncode == 0, again.stdout
    assert begun(openeuler, seen) == [("nnal", "install")]
    assert openeuler.cann()[2] == "9.0.0"


def test_one_that_hangs_is_replaced_once_somebody_has_killed_it(openeuler, prepare):
    layer, seen = lose(openeuler, "nnal"), openeuler.acts()
    openeuler.fault(nnal={"hang": "ignore_sigterm"})
    failed = prepare(openeuler, layer, cann_wait_timeout=2)
    assert "the installer of the CANN NNAL still runs after" in failed.stdout

    openeuler.fault()
    openeuler.sh("kill -9 {0}".format(openeuler.lines()[-1]["pid"]))
    openeuler.note_killed()
    again = prepare(openeuler, layer)
    assert again.returncode == 0, again.stdout
    assert begun(openeuler, seen) == [("nnal", "install")] * 2
