# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.filter.vllm_group_plan import FilterModule

vllm_group_plan = FilterModule().filters()["vllm_group_plan"]
PART = {"action": "keep", "pid": 42, "ready_seconds": 9.0, "restarted": False, "differences": []}


@pytest.mark.parametrize(("replace", "launch"), [(None, True), (True, True), ("true", True), (False, False), ("no", False)])
def test_words_of_an_inventory_are_understood(replace, launch):
    parts = (dict(PART, action=action) for action in ("keep", "start"))
    plan = vllm_group_plan(iter(["npu-01", "npu-02"]), parts, "false", replace)
    assert (plan["launch"], plan["reasons"]) == (launch, ["npu-02: it does not run"])


def test_a_restart():
    assert vllm_group_plan(["npu-01"], [PART], restart=True)["launch"] is True
    assert vllm_group_plan(["npu-01"], [PART])["launch"] is False


@pytest.mark.parametrize("replace", [None, ""])
def test_nobody_said(replace):
    assert vllm_group_plan(["npu-01", "npu-02"], [PART, dict(PART, action="start")], replace=replace)["asks"] is True
