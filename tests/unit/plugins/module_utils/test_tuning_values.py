# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_values import (
    cpus_mask,
    format_cpus,
    inside,
    joined,
    mask_cpus,
    normal,
    parse_cpus,
    summary,
    without,
    written,
)


@pytest.mark.parametrize(
    ("text", "cpus"),
    [("", ()), ("3", (3,)), ("0-2,8", (0, 1, 2, 8)), (" 8, 0-1\n", (0, 1, 8)), ("1,1-2", (1, 2)), ("5-4", ())],
)
def test_parse_cpus(text, cpus):
    assert parse_cpus(text) == cpus


@pytest.mark.parametrize("text", ["a", "1-", "-1", "1,,2", "0x3", "1234567"])
def test_what_is_no_list_is_refused(text):
    with pytest.raises(NpufleetError, match="is no list of CPUs"):
        parse_cpus(text)


@pytest.mark.parametrize(("cpus", "text"), [((), ""), ((0, 1, 2, 8), "0-2,8"), ((2, 1), "1-2"), ((5,), "5")])
def test_format_cpus(cpus, text):
    assert format_cpus(cpus) == text


@pytest.mark.parametrize(
    ("mask", "cpus"),
    [("ff", tuple(range(8))), ("ff,00000000", tuple(range(32, 40))), ("1,00000001\n", (0, 32)), ("0", ()), ("", ())],
)
def test_mask_cpus(mask, cpus):
    assert mask_cpus(mask) == cpus


@pytest.mark.parametrize(("cpus", "mask"), [((0,), "00000001"), (tuple(range(32, 40)), "000000ff,00000000"), ((), "00000000")])
def test_cpus_mask(cpus, mask):
    assert cpus_mask(cpus) == mask


@pytest.mark.parametrize(
    ("form", "raw", "value"),
    [
        ("text", " performance\n", "performance"),
        ("number", "0060\n", "60"),
        ("number", "18446744073692774399\n", "18446744073692774399"),
        ("number", "none", "none"),
        ("choice", "always [madvise] never\n", "madvise"),
        ("choice", "always\n", "always"),
        ("cpus", "0,1,2\n", "0-2"),
        ("cpus", "all", "all"),
        ("ports", "9148,8080\n", "8080,9148"),
        ("ports", "\n", ""),
        ("mask", "0f\n", "0-3"),
        ("mask", "xyz", "xyz"),
    ],
)
def test_normal(form, raw, value):
    assert normal(form, raw) == value


@pytest.mark.parametrize(("form", "value", "text"), [("mask", "0-3", "0000000f"), ("number", "4", "4"), ("choice", "never", "never")])
def test_written(form, value, text):
    assert written(form, value) == text


@pytest.mark.parametrize(
    ("found", "within", "is_inside"),
    [("8", "8-15", True), ("8-15", "8-15", True), ("7-8", "8-15", False), ("", "8-15", False), ("all", "8-15", False)],
)
def test_inside(found, within, is_inside):
    assert inside(found, within) is is_inside


@pytest.mark.parametrize(
    ("one", "other", "both", "rest"),
    [
        ("", "60000-60015", "60000-60015", ""),
        ("8080,60010-60020", "60000-60015", "8080,60000-60020", "8080,60016-60020"),
        ("60000-60015", "60000-60015", "60000-60015", ""),
        ("1-3", "2", "1-3", "1,3"),
    ],
)
def test_lists_together_and_without_each_other(one, other, both, rest):
    assert (joined(one, other), without(one, other)) == (both, rest)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([], ""),
        ([("", "0")], "0"),
        ([("", "a"), ("", "b"), ("", "a")], "a x2 + b"),
        ([("2M", "512"), ("2M", "512"), ("1G", "0")], "2M: 512 x2; 1G: 0"),
    ],
)
def test_summary(values, text):
    assert summary(values) == text
