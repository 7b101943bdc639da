# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is sent for one request: the range of a file and the faults that change it."""

from __future__ import annotations

import fnmatch
import json
import os
import re
import threading
import typing as t

CHUNK = 64 * 1024
_RANGE = re.compile(r"bytes=(\d*)-(\d*)$")

Fault = t.Dict[str, t.Any]


class Faults:
    """The faults of a JSON file, read again for every request: {"PATTERN": {"cut_after": 1000, "first": 2}}.

    A pattern (shell style) is compared with the path and with the name of the file. ``first``: the fault ends after so many requests for it
    (HEAD does not count). Changing a fault in the file starts its count again.
    """

    def __init__(self, path: t.Optional[str]) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._counts: t.Dict[str, int] = {}

    def take(self, path: str, counts: bool = True) -> Fault:
        """Return the fault for this request, or an empty one.

        :raises ValueError: when the file is no JSON object
        """
        for pattern, fault in self._read().items():
            if fnmatch.fnmatchcase(path, pattern) or fnmatch.fnmatchcase(os.path.basename(path), pattern):
                key = pattern + json.dumps(fault, sort_keys=True)
                with self._lock:
                    seen = self._counts.get(key, 0)
                    self._counts[key] = seen + (1 if counts else 0)
                if seen < int(fault.get("first", seen + 1)):
                    return fault
        return {}

    def _read(self) -> t.Dict[str, Fault]:
        if not self._path or not os.path.exists(self._path):
            return {}
        with open(self._path, encoding="utf-8") as stream:
            return dict(json.load(stream))


class Span(t.NamedTuple):
    """Bytes of a file, the last one excluded."""

    start: int
    stop: int


def requested(header: t.Optional[str], size: int) -> t.Optional[Span]:
    """Return the span of a Range header, None for no or an unknown one.

    :raises ValueError: when the file has no such bytes (status 416)
    """
    match = _RANGE.match(header or "")
    if match is None or match.groups() == ("", ""):
        return None
    first, last = match.groups()
    if not first:
        start, stop = max(0, size - int(last)), size
    else:
        start, stop = int(first), min(size, int(last) + 1 if last else size)
    if start >= size or start >= stop:
        raise ValueError("no bytes {0} in {1}".format(header, size))
    return Span(start, stop)


def chunks(path: str, span: Span, fault: Fault) -> t.Iterator[bytes]:
    """Yield the bytes to send. ``wrong_bytes`` inverts the first byte of each chunk; ``cut_after`` ends early, counted from the span's start."""
    left = span.stop - span.start
    if "cut_after" in fault:
        left = min(left, int(fault["cut_after"]))
    with open(path, "rb") as stream:
        stream.seek(span.start)
        while left > 0:
            chunk = stream.read(min(CHUNK, left))
            if not chunk:
                return
            left -= len(chunk)
            yield bytes([chunk[0] ^ 0xFF]) + chunk[1:] if fault.get("wrong_bytes") else chunk
