# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._package_flags import EXISTING, FRESH, REMOVE
from ansible_collections.npufleet.ascend.plugins.module_utils._package_plan import Target, plan_absent, plan_present
from ansible_collections.npufleet.ascend.plugins.module_utils._package_record import BEGUN, DONE, FAILED, Record
from ansible_collections.npufleet.ascend.plugins.module_utils._package_state import Installed
from ansible_collections.npufleet.ascend.plugins.module_utils._package_table import KINDS

ALL = ["docker_runtime", "toolbox", "nnal", "ops", "toolkit", "firmware", "driver"]


def state(**installed):
    full = {kind: Installed() for kind in KINDS}
    full.update({kind: found if isinstance(found, Installed) else Installed(found) for kind, found in installed.items()})
    return full


def records(**known):
    return dict({kind: Record() for kind in KINDS}, **known)


def target(kind, number, version="", chip=""):
    return Target(kind, version or number, number, "the archive", chip)


def present(targets, installed=None, known=None, downgrade=False, running=""):
    return plan_present(targets, installed or state(), known or records(), downgrade, running)


@pytest.mark.parametrize(
    ("installed", "record", "wanted", "action", "how", "reason"),
    [
        (Installed(), Record(), "25.5.0", "install", FRESH, "driver 25.5.0 is wanted and not installed"),
        (Installed("25.5.0"), Record(), "25.5.0", "none", EXISTING, ""),
        (Installed("26.0.RC1"), Record(), "26.0.rc1", "none", EXISTING, ""),
        (Installed("25.2.0"), Record(), "25.5.0", "upgrade", EXISTING, "driver 25.2.0 is installed and 25.5.0 is wanted"),
        (Installed("26.0.rc1"), Record(), "25.5.0", "downgrade", EXISTING, "driver 26.0.rc1 is installed and 25.5.0 is wanted"),
        (Installed("25.5.0", "half of it"), Record(), "25.5.0", "repair", FRESH, "driver: half of it"),
        (Installed("", "half of it"), Record(), "25.5.0", "repair", FRESH, "driver: half of it"),
        (Installed("25.5.0"), Record(phase=BEGUN, action="upgrade", version="25.5.0"), "25.5.0", "repair", FRESH, "was interrupted"),
        (Installed(), Record(phase=FAILED, action="install", version="25.5.0"), "25.5.0", "repair", FRESH, "failed"),
        (Installed("25.5.0"), Record(phase=DONE, version="25.2.0"), "25.5.0", "none", EXISTING, ""),
    ],
)
def test_one_package(installed, record, wanted, action, how, reason):
    plan = present([target("driver", wanted)], state(driver=installed), records(driver=record), downgrade=True)
    (row,) = plan.rows
    assert (row.action, row.how) == (action, how)
    assert reason in row.reason if reason else row.reason == ""
    assert plan.steps == ([row] if action != "none" else [])


@pytest.mark.parametrize(
    ("driver", "record", "order"),
    [
        (Installed(), Record(), ["driver", "firmware"]),
        (Installed("25.2.0"), Record(), ["firmware", "driver"]),
        (Installed("25.2.0", "broken"), Record(), ["driver", "firmware"]),
        (Installed("25.2.0"), Record(phase=BEGUN), ["driver", "firmware"]),
    ],
)
def test_firmware_goes_first_where_a_driver_can_flash_it(driver, record, order):
    rest = ["toolkit", "ops", "nnal", "toolbox", "docker_runtime"]
    targets = [target(kind, "25.5.0" if kind == "driver" else "9.0.0.1") for kind in ALL]
    plan = present(targets, state(driver=driver), records(driver=record))
    assert [step.kind for step in plan.steps] == order + rest
    assert [row.kind for row in plan.rows] == ALL


def test_a_downgrade_needs_to_be_allowed():
    installed = state(driver="26.0.rc1", firmware="8.0.0.1.220")
    targets = [target("driver", "25.5.0"), target("firmware", "7.8.0.5.220", "25.5.0")]
    refused = [what for what, remedy in present(targets, installed).refusals if "allow_downgrade" in remedy]
    assert refused == [
        "Ascend HDK driver 26.0.rc1 is installed, which is newer than the 25.5.0 that is wanted",
        "Ascend HDK firmware 8.0.0.1.220 is installed, which is newer than the 7.8.0.5.220 that is wanted",
    ]
    assert present(targets, installed, downgrade=True).refusals == []


@pytest.mark.parametrize(
    ("have", "want", "how"),
    [("8.5.0", "9.0.0", EXISTING), ("8.2.RC1", "8.3.RC1", EXISTING), ("8.3.RC1", "8.5.0", FRESH), ("9.0.0", "8.5.0", FRESH)],
)
def test_cann_is_upgraded_only_within_its_tree(have, want, how):
    for kind in ("toolkit", "ops", "nnal"):
        (step,) = present([target(kind, want)], state(**{kind: have}), downgrade=True).steps
        assert step.how == how
    (step,) = present([target("docker_runtime", want)], state(docker_runtime=have), downgrade=True).steps
    assert step.how == EXISTING


@pytest.mark.parametrize(
    ("installed", "wanted", "refused"), [("910b", "910b", 0), ("A3", "a3", 0), ("", "910b", 0), ("310p", "910b", 1), ("310p", "", 0)]
)
def test_operators_of_two_chips_do_not_share_a_path(installed, wanted, refused):
    plan = present([target("ops", "9.0.0", chip=wanted)], state(ops=Installed("9.0.0", chip=installed)))
    assert len(plan.refusals) == refused
    assert all("310p" in what and "910b" in what and "state: absent" in remedy for what, remedy in plan.refusals)


def test_a_firmware_whose_number_nobody_knows():
    unknown = Target("firmware", "25.5.0", "", "hdk.zip")
    (row,) = present([unknown], state(firmware="7.0.0.1.2")).rows
    assert (row.action, row.want) == ("upgrade", "of HDK 25.5.0")
    assert "hdk.zip" in row.reason
    assert present([unknown]).rows[0].action == "install"


def test_an_installer_that_runs():
    record = Record("25.5.0", "25.5.0", "upgrade", phase=BEGUN)
    (row,) = present([target("driver", "26.0.rc1")], state(driver=Installed("", "x")), records(driver=record), running="driver").rows
    assert (row.action, row.want, row.reason) == ("upgrade", "25.5.0", "its upgrade is running")
    gone = record._replace(action="remove")
    (row,) = plan_absent(["driver"], state(), records(driver=gone), "driver").rows
    assert (row.action, row.want) == ("remove", "")


def test_removal_goes_the_other_way_round():
    installed = state(**{kind: "9.0.0.1" for kind in KINDS})
    plan = plan_absent(list(KINDS), installed, records())
    assert [step.kind for step in plan.steps] == ALL
    assert {step.how for step in plan.steps} == {REMOVE}
    partial = plan_absent(["driver", "ops"], state(driver=Installed("", "broken")), records())
    assert [(row.kind, row.action, row.reason) for row in partial.rows] == [
        ("driver", "remove", "driver (incomplete) is installed"),
        ("ops", "none", ""),
    ]


def test_the_two_sides_of_the_diff():
    installed = state(driver="25.2.0", ops=Installed("9.0.0", "broken"), nnal="9.0.0")
    plan = present([target(kind, "9.0.0") for kind in ("driver", "ops", "nnal", "toolbox")], installed, downgrade=True)
    assert plan.before() == "driver 25.2.0\nops 9.0.0 (incomplete)\nnnal 9.0.0\ntoolbox absent\n"
    assert plan.after() == "driver 9.0.0\nops 9.0.0\nnnal 9.0.0\ntoolbox 9.0.0\n"
    gone = plan_absent(["driver", "toolbox"], installed, records())
    assert (gone.before(), gone.after()) == ("driver 25.2.0\ntoolbox absent\n", "driver absent\ntoolbox absent\n")
    same = present([target("driver", "26.0.rc1")], state(driver="26.0.RC1"))
    assert same.before() == same.after()
