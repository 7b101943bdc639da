# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import re

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._export_npu_table import RESOURCES
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_chips import SOCS


def test_every_generation_that_is_planned_has_a_name():
    assert set(RESOURCES) == set(SOCS.values())


@pytest.mark.parametrize("soc", sorted(RESOURCES))
def test_row(soc):
    row = RESOURCES[soc]
    assert re.match(r"huawei\.com/(Ascend\d+P?|npu)\Z", row.name)
    assert "mind-cluster" in row.source
