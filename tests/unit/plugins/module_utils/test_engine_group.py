# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_group import plan_group

NAMES = ["npu-01", "npu-02", "npu-03"]


def part(action="keep", **changes):
    fields = {"action": action, "pid": 42, "ready_seconds": 9.0, "restarted": False, "differences": []}
    return dict(fields, **changes)


NONE_YET = part("create", pid=0, ready_seconds=None)
GONE = part("start", pid=0)
CAME_BACK = part(restarted=True)
DIFFERS = part("replace", differences=["argv: a -> b", "env: c -> d"])
KEPT = part(differences=["argv: a -> b"])
STARTING = part(ready_seconds=None)
ALONE = "npu-02: it died and was started again, and the others do not know it"


@pytest.mark.parametrize(
    ("parts", "reasons", "serves"),
    [
        ([part(), part(), part()], [], True),
        ([STARTING, STARTING, STARTING], [], False),
        ([CAME_BACK, CAME_BACK, CAME_BACK], [], True),
        ([NONE_YET] * 3, ["npu-01: there is none yet", "npu-02: there is none yet", "npu-03: there is none yet"], False),
        ([part(), GONE, part()], ["npu-02: it does not run"], True),
        ([GONE, part(), part()], ["npu-01: it does not run"], False),
        ([STARTING, GONE, STARTING], ["npu-02: it does not run"], False),
        ([part(), CAME_BACK, part()], [ALONE], True),
        ([part(), CAME_BACK, GONE], [ALONE, "npu-03: it does not run"], True),
        ([part(), DIFFERS, CAME_BACK], ["npu-02: argv: a -> b", "npu-02: env: c -> d", ALONE.replace("02", "03")], True),
        ([part(), KEPT, part()], ["npu-02: argv: a -> b"], True),
    ],
)
def test_one_part_that_is_not_as_it_should_means_all(parts, reasons, serves):
    plans = {replace: plan_group(NAMES, parts, False, replace) for replace in (None, True, False)}
    assert {replace: plan["reasons"] for replace, plan in plans.items()} == dict.fromkeys(plans, reasons)
    due = bool(reasons)
    common = {"reasons": reasons, "waits": not due and not serves}
    assert plans[True] == dict(common, launch=due, asks=False, kept=False)
    assert plans[None] == dict(common, launch=due, asks=due and serves, kept=False)
    assert plans[False] == dict(common, launch=due and not serves, asks=False, kept=due and serves)


@pytest.mark.parametrize("replace", [None, True, False])
def test_a_restart_that_was_asked_for_is_its_own_consent(replace):
    plan = plan_group(NAMES, [part()] * 3, True, replace)
    assert plan == {"launch": True, "asks": False, "kept": False, "waits": False, "reasons": ["a restart was asked for"]}
    assert plan_group(NAMES, [part(), GONE, part()], True, replace)["reasons"] == ["npu-02: it does not run"]
