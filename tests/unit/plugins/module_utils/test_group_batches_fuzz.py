# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from ansible_collections.npufleet.ascend.plugins.module_utils._group_batches import make_batches
from ansible_collections.npufleet.ascend.plugins.module_utils._group_inventory import InventoryGroup
from hypothesis import given
from hypothesis import strategies as st


@st.composite
def fleets(draw):
    names = ["h{0}".format(number) for number in range(draw(st.integers(0, 12)))]
    members = st.lists(st.sampled_from(names), min_size=1, max_size=4, unique=True) if names else st.nothing()
    groups = [InventoryGroup("q", hosts, True) for hosts in draw(st.lists(members, max_size=5))] if names else []
    one = st.one_of(st.integers(0, 15), st.integers(0, 100).map("{0}%".format))
    return groups, names, draw(st.one_of(one, st.lists(one, max_size=3)))


@given(fleets())
def test_any_fleet(fleet):
    groups, names, serial = fleet
    batches = make_batches(groups, names, serial)
    parts = batches.batches()
    assert sorted(batches.order) == sorted(names) and [host for part in parts for host in part] == batches.order
    assert all(batches.sizes) and sum(batches.sizes) == len(names)
    for one in groups:
        assert sum(bool(set(one.hosts) & set(part)) for part in parts) == 1, "a group is torn apart"
    firsts = [names.index(unit[0]) for unit in batches.units]
    assert firsts == sorted(firsts), "units stand where their first host stands"
    assert all(unit == sorted(unit, key=names.index) for unit in batches.units)
    for part in parts:
        if len(part) > 1 and serial == 1:
            assert part in batches.units, "hosts that belong together, and no others"
