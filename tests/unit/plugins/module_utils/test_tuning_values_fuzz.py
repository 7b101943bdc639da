# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_values import cpus_mask, format_cpus, mask_cpus, parse_cpus
from hypothesis import given
from hypothesis import strategies as st


@given(st.sets(st.integers(0, 700)))
def test_lists_and_masks_hold_the_same_cpus(cpus):
    assert parse_cpus(format_cpus(cpus)) == tuple(sorted(cpus))
    assert mask_cpus(cpus_mask(cpus)) == tuple(sorted(cpus))
