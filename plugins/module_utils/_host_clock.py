# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""The clock of this host: its time, how old that reading is, and whether something keeps it right."""

from __future__ import annotations

import ctypes
import struct
import typing as t

Row = t.Dict[str, t.Any]
Adjtimex = t.Callable[[], t.Optional[bytes]]

# struct timex of 64-bit Linux begins with modes and padding (8 bytes), offset and freq (8 each); then maxerror, in microseconds.
MAXERROR_AT, TIMEX_BYTES = 24, 512
# What systemd and timedatectl call synchronised: the kernel doubts its time by less than this (systemd, ntp_synced()).
UNSYNCHRONISED_US = 16000000


def adjtimex() -> t.Optional[bytes]:
    """Return struct timex as the kernel fills it without changing anything, or None where it cannot be asked."""
    buffer = ctypes.create_string_buffer(TIMEX_BYTES)
    try:
        return buffer.raw if ctypes.CDLL(None).adjtimex(buffer) >= 0 else None
    except (OSError, AttributeError):
        return None


def synchronised(ask: Adjtimex = adjtimex) -> t.Optional[bool]:
    """Whether a time service keeps the clock; None where the kernel does not tell (containers)."""
    answer = ask()
    if answer is None:
        return None
    (doubt,) = struct.unpack_from("@q", answer, MAXERROR_AT)
    return bool(doubt < UNSYNCHRONISED_US)


def bounds(time: float, age: float, asked: float, answered: float) -> t.List[float]:
    """How far a clock is ahead of the one that asked, in seconds: at least the first, at most the second value.

    It was read after ``asked``, and ``age`` seconds before its host had finished, which was before ``answered``: both on the clock that
    asked. So what lies between is the way there and back, and not what the host did meanwhile.
    """
    latest = max(answered - age, asked)
    return [round(time - latest, 3), round(time - asked, 3)]
