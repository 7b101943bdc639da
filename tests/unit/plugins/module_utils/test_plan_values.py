# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_values import (
    PlanError,
    gib,
    items,
    known_keys,
    mapping,
    number,
    one_of,
    shown,
    text,
    whole,
)


@pytest.mark.parametrize(
    ("value", "found"), [(0, 0), (7, 7), ("7", 7), ("007", 7), (-1, None), (True, None), ("", None), ("7.0", None), (1.0, None)]
)
def test_whole_numbers_from_0(value, found):
    assert number(value) == found


@pytest.mark.parametrize(
    ("read", "value", "found"),
    [
        (mapping, None, {}),
        (mapping, {"a": 1}, {"a": 1}),
        (items, None, []),
        (items, (1, 2), [1, 2]),
        (text, "x", "x"),
    ],
)
def test_what_is_of_the_type_is_returned(read, value, found):
    assert read(value, "here") == found


@pytest.mark.parametrize(
    ("read", "value", "words"),
    [
        (mapping, [1], "a mapping was expected and a value of type list found. Where: here"),
        (mapping, {1: 2}, "a mapping was expected"),
        (items, "abc", "a list was expected and 'abc' found"),
        (items, {"a": 1}, "a list was expected"),
        (text, " ", "a text was expected"),
        (text, 3, "a text was expected and 3 found"),
    ],
)
def test_anything_else_is_refused_with_the_place(read, value, words):
    with pytest.raises(PlanError, match=words):
        read(value, "here")


def test_limits_of_a_number():
    assert whole("5", "here", 1, 5) == 5
    for value in (0, 6, None, "x"):
        with pytest.raises(PlanError, match=r"Where: here\. What to do: Give one from 1 to 5"):
            whole(value, "here", 1, 5)


def test_choices():
    assert one_of("a", "here", ("a", "b")) == "a"
    for value in ("c", None, ["a"]):
        with pytest.raises(PlanError, match="Give one of a, b"):
            one_of(value, "here", ("a", "b"))


def test_unknown_keys_are_refused_with_the_nearest():
    known_keys({"address": 1}, ("address", "cpus"), "here")
    with pytest.raises(PlanError, match=r"'adress' has no meaning here. Where: here. What to do: Did you mean address\?"):
        known_keys({"adress": 1}, ("address", "cpus"), "here")
    with pytest.raises(PlanError, match="Known are address, cpus"):
        known_keys({"zzz": 1}, ("address", "cpus"), "here")


def test_numbers_for_people():
    assert shown([8, 0, 1, 2, 2]) == "0-2, 8"
    assert shown([]) == ""
    assert gib(3 * 1024**3) == "3.0 GiB"
