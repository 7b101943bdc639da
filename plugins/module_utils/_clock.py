# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Time as an argument, so that no test waits for a real clock."""

from __future__ import annotations

import typing as t


class Clock(t.NamedTuple):
    """Seconds since the epoch, and a way to wait; tests bring their own."""

    now: t.Callable[[], float]
    sleep: t.Callable[[float], None]
