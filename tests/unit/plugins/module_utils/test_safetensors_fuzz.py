# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import contextlib
import json
import os
import tempfile

from ansible_collections.npufleet.ascend.plugins.module_utils._safetensors import SafetensorsError, pack_header, read_header
from hypothesis import given, settings
from hypothesis import strategies as st

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)
ENTRY = st.fixed_dictionaries({"dtype": JSON, "shape": JSON, "data_offsets": JSON})
SHAPE = st.lists(st.integers(0, 4), max_size=3)
TENSORS = st.dictionaries(st.text("abc.", min_size=1, max_size=8), st.tuples(st.sampled_from(["F32", "BF16", "I8"]), SHAPE), max_size=5)


def read(content):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "w")
        with open(path, "wb") as stream:
            stream.write(content)
        return read_header(path)


def only_our_error(content):
    with contextlib.suppress(SafetensorsError):
        read(content)
        return False
    return True


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=200))
def test_bytes_are_read_or_refused(content):
    only_our_error(content)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.text(max_size=4), JSON | ENTRY, max_size=3), st.binary(max_size=8))
def test_json_is_read_or_refused(header, data):
    raw = json.dumps(header).encode()
    only_our_error(len(raw).to_bytes(8, "little") + raw + data)


@settings(max_examples=60, deadline=None)
@given(TENSORS, st.data())
def test_every_truncation_is_noticed(tensors, data):
    header = pack_header([(name, dtype, shape) for name, (dtype, shape) in tensors.items()], {})
    size = 0
    for dtype, shape in tensors.values():
        count = {"F32": 4, "BF16": 2, "I8": 1}[dtype]
        for length in shape:
            count *= length
        size += count
    content = header + bytes(size)
    assert [info.name for info in sorted(read(content).tensors)] == sorted(tensors)
    assert only_our_error(content[: data.draw(st.integers(0, len(content) - 1))])
