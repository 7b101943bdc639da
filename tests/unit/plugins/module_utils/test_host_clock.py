# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import ctypes
import struct

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils import _host_clock
from ansible_collections.npufleet.ascend.plugins.module_utils._host_clock import adjtimex, bounds, synchronised


def timex(doubt):
    return struct.pack("@iiqqqq", 0, 0, 0, 0, doubt, 0)


@pytest.mark.parametrize(("answer", "expected"), [(timex(15999999), True), (timex(16000000), False), (None, None)])
def test_synchronised_as_timedatectl_means_it(answer, expected):
    assert synchronised(lambda: answer) is expected


def test_the_kernel_is_asked_and_nothing_is_set():
    answer = adjtimex()
    assert answer is not None and struct.unpack_from("@i", answer)[0] == 0
    assert synchronised() in (True, False)


class Libc:
    def __init__(self, _name):
        self.adjtimex = lambda _buffer: -1


def test_a_kernel_that_does_not_tell(monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", Libc)
    assert adjtimex() is None

    def missing(_name):
        raise OSError("no such library")

    monkeypatch.setattr(_host_clock.ctypes, "CDLL", missing)
    assert adjtimex() is None


@pytest.mark.parametrize(
    ("time", "age", "asked", "answered", "expected"),
    [
        # Right on time: it was read between 100 and 101, and says 100.5.
        (100.5, 0.0, 100.0, 101.0, [-0.5, 0.5]),
        # A call of a minute of which the host was busy for 59 s after the reading is as sharp.
        (100.5, 59.0, 100.0, 160.0, [-0.5, 0.5]),
        # An hour ahead.
        (3700.5, 0.0, 100.0, 101.0, [3599.5, 3600.5]),
        # A clock that was set meanwhile never turns the bounds round.
        (100.5, 9.0, 100.0, 101.0, [0.5, 0.5]),
    ],
)
def test_bounds(time, age, asked, answered, expected):
    assert bounds(time, age, asked, answered) == expected
