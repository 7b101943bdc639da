# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Take the prefixes off a log line of vLLM: colours, time stamps of Docker and journald, process names, levels.

The formats were read from logs of vLLM 0.7 to 0.32 and vllm-ascend.
"""

from __future__ import annotations

import re
import typing as t

# Patterns need not see more of a line; some lines hold a whole configuration.
MAX_LINE = 4000

_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_STAMP = re.compile(
    r"(?:\d{4}-\d\d-\d\dT[\d:.,]+(?:Z|[+-]\d\d:?\d\d)|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d) "  # docker logs --timestamps
    r"(?:\S+ [^\s\[\]]+\[\d+\]: )?"  # journalctl adds the host and the process
)
_PROCESS = re.compile(r"\(([^()]{0,80}\bpid=\d+[^()]{0,120})\) ?|\[(rank\d+)\]: ?")
_HEADER = re.compile(
    r"(DEBUG|INFO|WARNING|ERROR|CRITICAL) \d\d-\d\d \d\d:\d\d:\d\d (\[?[^\]\s]+:\d+\]) ?"  # vLLM
    r"|\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[,.\d]*\] (DEBUG|INFO|WARNING|ERROR|CRITICAL) (\S+:\d+): ?"  # plugins
)
# uvicorn pads the level to ten characters; other tools write "ERROR: " with one blank
_UVICORN = re.compile(r"(INFO:     |DEBUG:    |ERROR:    |WARNING:  |CRITICAL: )")
_C10 = re.compile(r"\[([IWEF])\d{3,4} [\d:.]+ [^\]\s]+:\d+\] ?")
_REPEATED = re.compile(r" \[repeated \d+x across cluster\].*")

_C10_LEVELS = {"I": "INFO", "W": "WARNING", "E": "ERROR", "F": "CRITICAL"}


class LogLine(t.NamedTuple):
    """One log line in parts.

    :param source: the process that wrote it, such as ``Worker_TP0 pid=7``; empty when unknown
    :param level: DEBUG, INFO, WARNING, ERROR, CRITICAL, or empty for plain output
    :param header: level and source location; equal headers hold one message of several lines together
    :param text: the rest, with its indentation, at most MAX_LINE characters
    """

    source: str
    level: str
    header: str
    text: str


def parse_line(line: str) -> LogLine:
    """Split ``line`` into its parts. Never fails: what is not known as a prefix is text."""
    text = visible(line)
    text = _without(_STAMP, text)
    sources = []
    found = _PROCESS.match(text)
    while found:
        sources.append(found.group(1) or found.group(2))
        text = text[found.end() :]
        found = _PROCESS.match(text)
    level, header, text = _split_header(text)
    return LogLine(" ".join(sources), level, header, _REPEATED.sub("", text)[:MAX_LINE])


def strip_prefix(line: str) -> str:
    """Return the text of a log line without colours, time stamps, process names and level; indentation stays."""
    return parse_line(line).text


def visible(line: str) -> str:
    """What a terminal shows at the end: without colours, and of a progress bar its last state."""
    text = _ANSI.sub("", line).rstrip()
    return text.rsplit("\r", 1)[-1]


def _without(prefix: t.Pattern[str], text: str) -> str:
    found = prefix.match(text)
    return text[found.end() :] if found else text


def _split_header(text: str) -> t.Tuple[str, str, str]:
    """Return level, header and the rest."""
    found = _HEADER.match(text)
    if found:
        level = found.group(1) or found.group(3)
        return level, "{0} {1}".format(level, found.group(2) or found.group(4)), text[found.end() :]
    found = _UVICORN.match(text)
    if found:
        level = found.group(1).rstrip(": ")
        return level, level, text[found.end() :]
    found = _C10.match(text)
    if found:
        level = _C10_LEVELS[found.group(1)]
        return level, level, text[found.end() :]
    return "", "", text
