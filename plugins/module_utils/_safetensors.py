# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""The safetensors file format: write a header, read and check one. No tensor data is ever loaded.

A file is the header length (8 bytes, little endian), the header (JSON), and the tensor data without gaps. The errors name
what the safetensors library would say, because that is the line people find in the log of an engine:
``Error while deserializing header: HeaderTooLarge`` and ``MetadataIncompleteBuffer`` (vllm-ascend #955, DeepSeek-V3 #557).
Newer versions spell the names out: ``header too large``, ``incomplete metadata, file not fully covered``.
"""

from __future__ import annotations

import json
import os
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError

# The library's own limit for the header, in bytes.
MAX_HEADER_BYTES = 100000000
# Data starts on a multiple of this, so that a memory map of the file is aligned for every data type.
ALIGNMENT = 8
# Bits of one element. A data type that is missing here is newer than this table: its offsets are checked, its size is not.
DTYPE_BITS = {
    "BOOL": 8, "U8": 8, "I8": 8, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8,
    "U16": 16, "I16": 16, "F16": 16, "BF16": 16, "U32": 32, "I32": 32, "F32": 32, "U64": 64, "I64": 64, "F64": 64, "C64": 64,
    "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6,
}  # fmt: skip

FETCH_AGAIN = "fetch this file again and compare its size and SHA-256 with the publisher's list"


class SafetensorsError(NpufleetError):
    """A file is not a complete safetensors file. ``where`` is its path."""


class TensorInfo(t.NamedTuple):
    """One tensor of a header; ``start`` and ``end`` are byte offsets into the data part."""

    name: str
    dtype: str
    shape: t.Tuple[int, ...]
    start: int
    end: int


class Header(t.NamedTuple):
    """What the header of one file promises; the file is as long as it says."""

    tensors: t.List[TensorInfo]
    metadata: t.Dict[str, t.Any]
    data_start: int
    data_bytes: int


def element_count(shape: t.Iterable[int]) -> int:
    """Return the number of elements of a tensor; a scalar has one."""
    count = 1
    for size in shape:
        count *= size
    return count


def pack_header(tensors: t.Iterable[t.Tuple[str, str, t.Sequence[int]]], metadata: t.Mapping[str, str]) -> bytes:
    """Return the header bytes for tensors (name, dtype, shape), laid out in the given order.

    The same input gives the same bytes: keys keep their order, the padding is spaces up to ALIGNMENT.
    """
    header: t.Dict[str, t.Any] = {"__metadata__": dict(metadata)}
    offset = 0
    for name, dtype, shape in tensors:
        end = offset + element_count(shape) * DTYPE_BITS[dtype] // 8
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [offset, end]}
        offset = end
    raw = json.dumps(header, separators=(",", ":")).encode("ascii")
    raw += b" " * (-len(raw) % ALIGNMENT)
    return len(raw).to_bytes(8, "little") + raw


def read_header(path: str) -> Header:
    """Return the header of the file, after checking it against itself and against the length of the file.

    :raises SafetensorsError: unreadable, empty, a Git LFS pointer, a web page, truncated, too long, or inconsistent
    """
    try:
        with open(path, "rb") as stream:
            file_bytes = os.fstat(stream.fileno()).st_size
            head = stream.read(64)
            length = _header_length(path, head, file_bytes)
            stream.seek(8)
            raw = stream.read(length)
    except OSError as exc:
        raise SafetensorsError(
            "cannot read the weights file: {0}".format(exc.strerror or exc), where=path, remedy="check that it exists and is readable"
        ) from exc
    tensors, metadata = _parse(path, raw)
    data_bytes = file_bytes - 8 - length
    expected = tensors[-1].end if tensors else 0
    if data_bytes != expected:
        fault = "truncated" if data_bytes < expected else "too long"
        raise SafetensorsError(
            "the weights file is {0}: it holds {1} bytes of tensor data where its header promises {2}"
            " (safetensors says MetadataIncompleteBuffer)".format(fault, data_bytes, expected),
            where=path,
            remedy=FETCH_AGAIN,
        )
    return Header(tensors, metadata, 8 + length, data_bytes)


def _header_length(path: str, head: bytes, file_bytes: int) -> int:
    """Return the length of the header, or explain why the first bytes are none of safetensors."""
    what = None
    length = int.from_bytes(head[:8], "little")
    if not head:
        what = "the weights file is empty"
    elif head.startswith(b"version https://git-lfs"):
        raise SafetensorsError(
            "the weights file is a Git LFS pointer, not the weights (safetensors says HeaderTooLarge)",
            where=path,
            remedy="run 'git lfs pull' in the clone, or download the file itself",
        )
    elif len(head) < 8:
        what = "the weights file is shorter than the 8 bytes of its header length (safetensors says HeaderTooSmall)"
    elif length > MAX_HEADER_BYTES:
        kind = "is a web page, not the weights" if head.lstrip().startswith(b"<") else "does not start with a header length"
        what = "the weights file {0} (safetensors says HeaderTooLarge)".format(kind)
    elif 8 + length > file_bytes:
        what = "the weights file is truncated within its header: {0} bytes of {1} (safetensors says InvalidHeaderLength)".format(
            file_bytes, 8 + length
        )
    if what is not None:
        raise SafetensorsError(what, where=path, remedy=FETCH_AGAIN)
    return length


def _parse(path: str, raw: bytes) -> t.Tuple[t.List[TensorInfo], t.Dict[str, t.Any]]:
    """Return the tensors by offset, gapless and each as long as its shape says, and the metadata."""
    try:
        document = json.loads(raw.decode("utf-8"))
        # null and {} both occur in published files (safetensors #823)
        metadata = (document.pop("__metadata__", None) or {}) if isinstance(document, dict) else None
        if not isinstance(metadata, dict):
            raise ValueError("it is not an object")
        tensors = sorted((_tensor(name, entry) for name, entry in document.items()), key=lambda info: (info.start, info.end))
        end = 0
        for info in tensors:
            if info.start != end:
                raise ValueError("data_offsets of {0!r} leave a gap or overlap".format(info.name))
            end = info.end
    except (ValueError, RecursionError) as exc:
        raise SafetensorsError(
            "the header of the weights file is damaged: {0} (safetensors says InvalidHeaderDeserialization or InvalidOffset)".format(exc),
            where=path,
            remedy=FETCH_AGAIN,
        ) from exc
    return tensors, metadata


def _is_size(value: t.Any) -> bool:
    """True for a whole number from 0; JSON's true is an int for Python."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _tensor(name: str, entry: t.Any) -> TensorInfo:
    try:
        dtype, shape, (start, end) = entry["dtype"], entry["shape"], entry["data_offsets"]
        numbers = [*shape, start, end] if isinstance(shape, list) else [None]
    except (TypeError, KeyError, ValueError):
        raise ValueError("{0!r} lacks dtype, shape or data_offsets".format(name)) from None
    if not isinstance(dtype, str) or not dtype or any(not _is_size(number) for number in numbers):
        raise ValueError("{0!r} has a dtype, shape or data_offsets of the wrong type".format(name))
    bits = element_count(shape) * DTYPE_BITS.get(dtype, 0)
    if end < start or (dtype in DTYPE_BITS and (end - start) * 8 != bits):
        raise ValueError("data_offsets of {0!r} do not fit {1} {2}".format(name, dtype, shape))
    return TensorInfo(name, dtype, tuple(shape), start, end)
