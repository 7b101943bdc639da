# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import re

from ansible_collections.npufleet.ascend.plugins.module_utils._ascend_version import compare, parse_version
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from hypothesis import given
from hypothesis import strategies as st

NUMBERS = st.lists(st.integers(0, 999), min_size=1, max_size=5).map(lambda parts: ".".join(map(str, parts)))
WORDS = st.tuples(st.sampled_from(["rc", "RC", "beta", "alpha", "sph", "post", "dev"]), st.integers(0, 99)).map(
    lambda word: "{0}{1}".format(*word)
)
SEPARATED = st.tuples(st.sampled_from([".", "-", "_"]), WORDS).map("".join)
MORE = st.one_of(SEPARATED, st.integers(0, 99).map(".{0}".format), st.integers(0, 99).map(".b{0}".format))
# Only the first word may follow the numbers without a separator.
TAILS = st.tuples(st.one_of(st.just(""), WORDS), st.lists(MORE, max_size=3).map("".join)).map("".join)
VERSIONS = st.tuples(NUMBERS, TAILS).map("".join)


@given(VERSIONS)
def test_what_is_written_is_read(text):
    version = parse_version(text)
    assert parse_version(str(version)) == version == parse_version("v" + text.upper())
    assert str(parse_version(str(version))) == str(version)
    assert re.fullmatch(r"[0-9a-z._-]+", str(version))


@given(VERSIONS, VERSIONS, VERSIONS)
def test_the_order_is_total(first, second, third):
    assert compare(first, second) == -compare(second, first)
    assert (compare(first, second) == 0) == (parse_version(first) == parse_version(second))
    ordered = sorted(map(parse_version, (first, second, third)))
    assert ordered[0] <= ordered[1] <= ordered[2] and ordered[0] <= ordered[2]


@given(NUMBERS, st.integers(0, 99))
def test_a_candidate_comes_before_its_release_and_a_patch_after_what_it_patches(numbers, number):
    candidate = "{0}.rc{1}".format(numbers, number)
    assert compare(candidate, numbers) == -1
    assert compare(candidate + "_sph001", candidate) == 1
    assert compare(candidate + "_sph001", numbers) == -1
    assert compare(numbers + ".post1", numbers) == 1


@given(st.one_of(st.text(max_size=80), st.text(alphabet="0123456789.rcbetasph_-+v", max_size=80), st.floats(), st.none(), st.integers()))
def test_nothing_but_one_exception_is_raised(value):
    try:
        version = parse_version(value)
    except NpufleetError as exc:
        assert str(exc)
    else:
        assert parse_version(str(version)) == version
