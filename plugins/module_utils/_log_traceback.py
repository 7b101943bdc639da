# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Read the Python tracebacks in the log lines of one process, with their chains and messages of several lines."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._log_line import LogLine

# A message may go on for pages; the cause stands in the first lines.
MAX_MESSAGE_LINES = 12

# CANN writes "TraceBack", which is not Python's.
_START = "Traceback (most recent call last):"
_CHAINED = (
    "During handling of the above exception, another exception occurred:",
    "The above exception was the direct cause of the following exception:",
)
_SURVIVED = ("Exception ignored in", "--- Logging error ---")
_EXCEPTION = re.compile(
    r"^(?:[A-Za-z_]\w*\.)*(?:(?P<name>[A-Z]\w*)|(?<=\.)(?P<lower>[a-z]\w*)): ?(?P<message>.*)$"
    r"|^(?:[A-Za-z_]\w*\.)*(?P<bare>(?:[A-Z]\w*)?(?:Error|Exception|Exit|Interrupt|Warning|Terminated|Empty|Timeout|Cancelled))$"
)
# Exceptions of a failed look-up: what is raised while one is handled says more.
_LOOKUP = re.compile(
    r"^(?:KeyError|IndexError|AttributeError|LookupError|StopIteration|JSONDecodeError|HFValidationError|gaierror|EntryNotFoundError"
    r"|LocalEntryNotFoundError)\b"
)
# Lines without a level that go on with the message: indented ones and those of CANN.
_CONTINUATION = re.compile(r"^(?:\s|\[ERROR\] \d|\[Error\]|\[PID: |E[A-Z]\d{4}\b|\S+\(E[A-Z]\d{4}\))")
_NOISE = re.compile(
    r"^(?:For further information visit |[=-]{8,}$|\[ERROR\] \d|\[type=|Solution:? ?|TraceBack \(most recent call last\)|Possible Cause:"
    r"|Rectify the fault)"
)
_PYDANTIC_TAIL = re.compile(r" \[type=\w+, input_value=.*")
_EXPECTS_MORE = re.compile(r"[:,]\s*$|validation errors? for \w+$")


class Raised(t.NamedTuple):
    """An error: the number of its line in the whole log, and its text in one line."""

    number: int
    text: str


Numbered = t.Tuple[int, LogLine]


def read_tracebacks(lines: t.Sequence[Numbered], wrapper: t.Pattern[str]) -> t.Tuple[t.List[Raised], t.List[Numbered]]:
    """Return the root exception of each traceback or chain of tracebacks, and the lines that belong to none.

    Tracebacks of level WARNING and below and those of destructors were survived, so they are left out.

    :param lines: numbered lines of one process
    :param wrapper: exceptions that only say that another process failed
    """
    roots, rest = [], []
    pos = 0
    while pos < len(lines):
        chain, after = _read_chain(lines, pos) if _starts(lines, pos) else ([], pos)
        if not chain:
            rest.append(lines[pos])
            pos += 1
            continue
        if not _survived(lines, pos):
            roots.append(_root(chain, wrapper))
        pos = after
    return roots, rest


def read_message(lines: t.Sequence[Numbered], pos: int, head: str) -> t.Tuple[Raised, int]:
    """Return the message that begins with ``head`` in line ``pos``, with the lines that go on with it, and the position after it."""
    number, first = lines[pos]
    parts = [head]
    pos += 1
    while pos < len(lines) and len(parts) < MAX_MESSAGE_LINES and _continues(first, parts, lines[pos][1]):
        text = lines[pos][1].text.strip()
        if text and not _NOISE.match(text):
            parts.append(text)
        pos += 1
    return Raised(number, _joined(parts)), pos


def _starts(lines: t.Sequence[Numbered], pos: int) -> bool:
    return pos < len(lines) and lines[pos][1].text.startswith(_START)


def _survived(lines: t.Sequence[Numbered], pos: int) -> bool:
    before = lines[pos - 1][1].text if pos else ""
    return lines[pos][1].level in ("DEBUG", "INFO", "WARNING") or before.startswith(_SURVIVED)


def _read_chain(lines: t.Sequence[Numbered], pos: int) -> t.Tuple[t.List[Raised], int]:
    """Read tracebacks that are joined by one of the two sentences of Python. ``pos`` is at the first line of the first one."""
    chain = []
    while True:
        raised, pos = _read_one(lines, pos)
        if raised is not None:
            chain.append(raised)
        following = _skip_blank(lines, pos)
        if following >= len(lines) or lines[following][1].text.strip() not in _CHAINED:
            return chain, pos
        following = _skip_blank(lines, following + 1)
        if not _starts(lines, following):
            return chain, following
        pos = following


def _skip_blank(lines: t.Sequence[Numbered], pos: int) -> int:
    while pos < len(lines) and not lines[pos][1].text.strip():
        pos += 1
    return pos


def _read_one(lines: t.Sequence[Numbered], start: int) -> t.Tuple[t.Optional[Raised], int]:
    """Return the exception of the traceback at ``start`` and the position after its message.

    Frames are indented. Other lines between them are output of other processes.
    """
    pos = start + 1
    while pos < len(lines) and not _starts(lines, pos):
        found = _EXCEPTION.match(lines[pos][1].text)
        if found:
            name = found.group("name") or found.group("lower") or found.group("bare")
            return read_message(lines, pos, "{0}: {1}".format(name, found.group("message") or "").rstrip())
        pos += 1
    return None, pos


def _continues(first: LogLine, parts: t.List[str], line: LogLine) -> bool:
    """Whether ``line`` belongs to the message that began in ``first``."""
    text = line.text.strip()
    if line.header != first.header or text.startswith(_START) or text in _CHAINED:
        return False
    expected = _EXPECTS_MORE.search(parts[-1]) is not None
    if not text:
        return expected
    return bool(first.header) or expected or _CONTINUATION.match(line.text) is not None


def _joined(parts: t.List[str]) -> str:
    text = ""
    for part in parts:
        part = _PYDANTIC_TAIL.sub("", part)
        if part.startswith("Value error, "):
            part = part[len("Value error, ") :]
        text += part if not text else (" " if text.endswith((":", ",")) else "; ") + part
    return text.rstrip(" :,")


def _root(chain: t.List[Raised], wrapper: t.Pattern[str]) -> Raised:
    """The first exception of the chain, or a later one when the first is a mere look-up or a wrapper."""
    root = chain[0]
    for later in chain[1:]:
        if (_LOOKUP.match(root.text) and not wrapper.search(later.text)) or wrapper.search(root.text):
            root = Raised(root.number, later.text)
    return root
