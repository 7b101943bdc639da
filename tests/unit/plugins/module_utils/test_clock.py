# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from ansible_collections.npufleet.ascend.plugins.module_utils._clock import Clock


def test_time_is_what_somebody_else_says():
    naps = []
    now, sleep = Clock(lambda: 5.0, naps.append)
    assert now() == 5.0
    sleep(2.0)
    assert naps == [2.0]
