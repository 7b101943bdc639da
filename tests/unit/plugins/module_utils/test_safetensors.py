# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._safetensors import SafetensorsError, TensorInfo, pack_header, read_header


def pack(header, data=b"", length=None):
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    return (len(raw) if length is None else length).to_bytes(8, "little") + raw + data


def entry(dtype="F32", shape=(1,), start=0, end=4):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [start, end]}


@pytest.fixture
def weights(tmp_path):
    def write(content):
        path = tmp_path / "w.safetensors"
        path.write_bytes(content)
        return str(path)

    return write


def test_what_is_written_is_read(weights):
    header = pack_header([("a", "BF16", (2, 3)), ("b", "F32", ()), ("c", "U8", (0, 4)), ("d", "F4", (4,))], {"format": "pt"})
    read = read_header(weights(header + bytes(18)))
    assert read.tensors == [
        TensorInfo("a", "BF16", (2, 3), 0, 12),
        TensorInfo("b", "F32", (), 12, 16),
        TensorInfo("c", "U8", (0, 4), 16, 16),
        TensorInfo("d", "F4", (4,), 16, 18),
    ]
    assert (read.metadata, read.data_start, read.data_bytes) == ({"format": "pt"}, len(header), 18)


@pytest.mark.parametrize("name", ["a", "ab", "abc", "abcdefgh", "\u00e9"])
def test_data_starts_on_a_multiple_of_eight(name):
    header = pack_header([(name, "I8", (1,))], {})
    assert len(header) % 8 == 0
    assert int.from_bytes(header[:8], "little") == len(header) - 8


@pytest.mark.parametrize("metadata", [None, {}, {"format": "pt"}])
def test_metadata_may_be_null_or_empty(weights, metadata):
    assert read_header(weights(pack({"__metadata__": metadata, "a": entry()}, bytes(4)))).metadata == (metadata or {})


def test_tensors_may_come_in_any_order_and_with_an_unknown_dtype(weights):
    header = {"b": entry("F7_NEW", (3,), 4, 9), "a": entry()}
    assert [info.name for info in read_header(weights(pack(header, bytes(9)))).tensors] == ["a", "b"]


def test_a_header_length_that_looks_like_text_is_no_web_page(weights):
    # 60 is "<" and 32 is a blank
    for length in (60, 32 + 256):
        raw = json.dumps({"a": entry()}).encode().ljust(length)
        assert len(read_header(weights(pack(raw, bytes(4)))).tensors) == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the weights file is empty"),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n",
            "Git LFS pointer, not the weights (safetensors says HeaderTooLarge)",
        ),
        (b"\n<!DOCTYPE html><html></html>", "web page, not the weights (safetensors says HeaderTooLarge)"),
        (b"abc", "shorter than the 8 bytes of its header length (safetensors says HeaderTooSmall)"),
        (b"\xff" * 40, "does not start with a header length (safetensors says HeaderTooLarge)"),
        (pack(b"{}", length=1000), "truncated within its header: 10 bytes of 1008 (safetensors says InvalidHeaderLength)"),
        (
            pack({"a": entry()}, bytes(3)),
            "truncated: it holds 3 bytes of tensor data where its header promises 4 (safetensors says MetadataIncompleteBuffer)",
        ),
        (pack({"a": entry()}, bytes(5)), "too long: it holds 5 bytes"),
        (pack({}, bytes(1)), "too long: it holds 1 bytes"),
        (bytes(8), "is damaged: Expecting value"),
        (pack(b"\xff\xfe"), "is damaged: 'utf-8' codec"),
        (pack(b"[" * 100000), "is damaged"),
        (pack([]), "is damaged: it is not an object"),
        (pack({"__metadata__": [1]}), "is damaged: it is not an object"),
        (pack({"a": 1}), "'a' lacks dtype, shape or data_offsets"),
        (pack({"a": {"dtype": "F32"}}), "'a' lacks dtype, shape or data_offsets"),
        (pack({"a": {"dtype": "F32", "shape": [1], "data_offsets": [1]}}), "'a' lacks dtype, shape or data_offsets"),
        (pack({"a": dict(entry(), shape="12")}), "'a' has a dtype, shape or data_offsets of the wrong type"),
        (pack({"a": entry(shape=(-1,))}), "of the wrong type"),
        (pack({"a": entry(shape=(True,))}), "of the wrong type"),
        (pack({"a": entry(dtype=3)}), "of the wrong type"),
        (pack({"a": entry(dtype="")}), "of the wrong type"),
        (pack({"a": entry(start="0")}), "of the wrong type"),
        (pack({"a": entry(shape=(2,))}, bytes(4)), "data_offsets of 'a' do not fit F32 [2]"),
        (pack({"a": entry("NEW", (2,), 4, 0)}, bytes(4)), "data_offsets of 'a' do not fit NEW [2]"),
        (pack({"a": entry(), "b": entry(start=8, end=12)}, bytes(12)), "data_offsets of 'b' leave a gap or overlap"),
        (pack({"a": entry(), "b": entry()}, bytes(4)), "data_offsets of 'b' leave a gap or overlap"),
    ],
)
def test_a_bad_file_is_named_with_fault_and_remedy(weights, content, message):
    path = weights(content)
    with pytest.raises(SafetensorsError) as caught:
        read_header(path)
    assert message in str(caught.value)
    assert caught.value.where == path
    assert caught.value.remedy


def test_an_unreadable_file_is_named(tmp_path):
    for path, message in ((tmp_path / "none", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(SafetensorsError, match=message):
            read_header(str(path))
