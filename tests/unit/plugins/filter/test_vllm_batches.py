# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.npufleet.ascend.plugins.filter.vllm_batches import FilterModule

vllm_batches = FilterModule().filters()["vllm_batches"]
NPUS = {"ansible_facts": {"npufleet_npu": {"present": True}}, "vllm_engine_hosts": 2, "vllm_engine_name": "q"}
VARIABLES = {name: dict(NPUS) for name in ("a", "b")}


def test_a_group_of_the_planner():
    assert vllm_batches(VARIABLES, ["a", "b"], ["a", "b"]) == {
        "order": ["a", "b"],
        "sizes": [2],
        "batches": [["a", "b"]],
        "rows": [
            {"name": "q", "host": "a", "rank": 0, "headless": False, "master_address": "a", "chips": [{"device": "its chips"}]},
            {"name": "q", "host": "b", "rank": 1, "headless": True, "master_address": "a", "chips": [{"device": "its chips"}]},
        ],
        "problems": [],
        "together": None,
    }


def test_half_of_it():
    (problem,) = vllm_batches(VARIABLES, ["a", "b"], ["b"])["problems"]
    assert "a failed or is not in this run" in problem


def test_single_hosts_all_at_once():
    single = {name: {"vllm_engine_name": "q"} for name in ("a", "b")}
    assert "all 2 hosts" in vllm_batches(single, ["a", "b"], ["a", "b"], serial=2)["together"]
    assert vllm_batches(single, ["a", "b"], ["a", "b"], serial="50%")["together"] is None


def test_a_wrong_number_is_told():
    with pytest.raises(AnsibleFilterError, match=r"'two' is neither a number of hosts nor a percentage\. Where: npufleet_upgrade_serial"):
        vllm_batches(VARIABLES, ["a", "b"], ["a", "b"], serial="two")
