# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.group_fakes import Group
from hypothesis import given, settings
from hypothesis import strategies as st


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(0, 6)), min_size=1, max_size=6), st.floats(0, 20))
def test_any_story(tmp_path_factory, story, skew):
    """Whatever was launched and interrupted: the target is one that answered as a whole, and the way back has an end."""
    group = Group(tmp_path_factory.mktemp("story") / "home")
    group.launch("a0", "b0", skew=skew)
    together = {("a0", "b0")}
    for head, member, until in story:
        specs = ("a{0}".format(head), "b{0}".format(member))
        # Between the notes of two parts of one task nobody interrupts; a run that goes on would note the other.
        group.launch(*specs, until=until if until < 5 else 6, skew=skew)
        together |= {specs} if until >= 5 else set()
    for _number in range(4):
        plan = group.plan()
        if plan["problem"]:
            assert "no earlier spec" in plan["problem"]
            return
        target, earlier = group.target()
        assert target in together
        if not earlier:
            return
        group.launch(*target, skew=skew)
    pytest.fail("it goes back for ever")
