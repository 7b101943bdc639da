# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.npufleet.ascend.plugins.filter import compatibility_problems, compatibility_unknowns

FILTERS = dict(compatibility_problems.FilterModule().filters(), **compatibility_unknowns.FilterModule().filters())


@pytest.mark.parametrize(
    ("setup", "problems", "unknowns"),
    [
        ({}, 0, 0),
        ({"cann": "9.1.0", "hdk": "26.0.rc1", "chip": "910b"}, 0, 0),
        ({"cann": "9.1.0", "hdk": "25.0.1", "chip": None}, 1, 0),
        ({"cann": "9.1.0", "hdk": "27.0.0"}, 0, 1),
    ],
)
def test_each_filter_returns_its_list(setup, problems, unknowns):
    assert (len(FILTERS["compatibility_problems"](setup)), len(FILTERS["compatibility_unknowns"](setup))) == (problems, unknowns)


@pytest.mark.parametrize("name", sorted(FILTERS))
@pytest.mark.parametrize("value", [None, "9.1.0", ["9.1.0"], {"driver": "26.0.rc1"}])
def test_other_input_is_refused(name, value):
    with pytest.raises(AnsibleFilterError, match=name + ": "):
        FILTERS[name](value)
