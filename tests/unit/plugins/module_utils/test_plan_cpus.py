# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_chips import read_chips
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_cpus import cpus_of, divide, enough
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_values import format_cpus, parse_cpus
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.test_plan_fleet import chip_row


def chips(*near):
    return read_chips({"chips": [chip_row(index, "A2", cpu_affinity=cpus or None) for index, cpus in enumerate(near)]}, {}, "npu")


@pytest.mark.parametrize(
    ("near", "online", "own", "known"),
    [
        (["0-7"], "", ["0-7"], [True]),
        (["0-7", "0-7"], "0-15", ["0-3", "4-7"], [True, True]),
        (["0-8", "0-8"], "", ["0-4", "5-8"], [True, True]),
        # An Atlas 800I A2 lists the nodes of its chips in another order.
        (["144-167", "0-23", "144-167", "0-23"], "0-191", ["144-155", "0-11", "156-167", "12-23"], [True] * 4),
        # Lists that overlap in a part: what belongs to one alone stays its own.
        (["0-7,16-23", "0-7"], "", ["0-3,16-23", "4-7"], [True, True]),
        # CPUs that are off are nobody's.
        (["0-7"], "0-5", ["0-5"], [True]),
        # Nobody tells: slices of what is near no chip.
        (["", ""], "0-9", ["0-4", "5-9"], [False, False]),
        (["0-3", ""], "0-9", ["0-3", "4-9"], [True, False]),
        (["", ""], "", ["", ""], [False, False]),
        ([], "0-3", [], []),
    ],
)
def test_shares(near, online, own, known):
    shares = divide(chips(*near), parse_cpus(online))
    assert [format_cpus(cpus) for cpus in shares.cpus] == own
    assert list(shares.known) == known


def test_shares_do_not_depend_on_health():
    rows = [chip_row(index, "A2", cpu_affinity="0-9") for index in range(2)]
    before = divide(read_chips({"chips": rows}, {}, "npu"), ())
    rows[0]["health"] = "Alarm"
    assert divide(read_chips({"chips": rows}, {}, "npu"), ()) == before


def test_cpus_of_an_engine_leave_out_those_of_others():
    shares = divide(chips("0-7", "8-15"), ())
    assert cpus_of(shares, [0, 1], {3, 9}) == (0, 1, 2, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15)


def test_five_cpus_a_chip():
    assert enough(tuple(range(10)), 2)
    assert not enough(tuple(range(9)), 2)
