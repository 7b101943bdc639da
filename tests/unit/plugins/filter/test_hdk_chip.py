# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.npufleet.ascend.plugins.filter.hdk_chip import FilterModule

hdk_chip = FilterModule().filters()["hdk_chip"]


@pytest.mark.parametrize("value", [{"generation": "A2", "product": "Atlas 800I A2"}, "A2"])
def test_the_fact_and_a_generation_both_work(value):
    assert hdk_chip(value) == "910b"


@pytest.mark.parametrize(
    ("value", "words"),
    [({}, "not known"), ({"generation": None}, "not known"), (None, "not known"), ("310", "no packages"), (7, "no packages")],
)
def test_other_input_is_refused(value, words):
    with pytest.raises(AnsibleFilterError, match="hdk_chip: .*" + words):
        hdk_chip(value)
