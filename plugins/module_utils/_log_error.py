# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Find the first real error in the log of a vLLM engine.

vLLM runs in several processes. The one that fails prints its traceback, and then each process above it prints another one that only
says that something failed. The lines of several workers are mixed, so every process is read by itself.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._log_line import LogLine, parse_line
from ansible_collections.npufleet.ascend.plugins.module_utils._log_traceback import Raised, read_message, read_tracebacks
from ansible_collections.npufleet.ascend.plugins.module_utils._signature import ERROR
from ansible_collections.npufleet.ascend.plugins.module_utils._signature_table import first_match

# What a process says about the failure of another one, or when it is told to stop.
WRAPPER = re.compile(
    r"Engine core initialization failed|Engine process failed to start|EngineCore (?:failed to start|encountered (?:an issue|a fatal error))"
    r"|WorkerProc (?:failed to start|initialization failed|hit an exception)|Worker failed with error|Error raised in subprocess"
    r"|EngineDeadError|EngineGenerateError|RayTaskError|ProcessRaisedException|ChildFailedError|BrokenProcessPool"
    r"|Error executing method|Exception in worker \S+ while processing method|died unexpectedly|AsyncLLM output_handler failed"
    r"|Main process exited, code=exited|^\S+: Failed with result"
    r"|^(?:CancelledError|KeyboardInterrupt|SystemExit|GeneratorExit|EOFError|BrokenPipeError|ConnectionResetError|ContextTerminated)\b"
)
# Lines that are errors by themselves, with or without a level.
_HARD_LINE = re.compile(
    r"^\S+(?: [\w-]+)?: error: "  # argparse
    r"|: error while loading shared libraries: |: version [`']GLIBC"
    r"|^(?:docker: )?Error response from daemon: |^OCI runtime \S+ failed|^exec: |^exec \S+: "
    r"|^(?:\S*sh|env)(?: line \d+|: line \d+|: \d+)?: .+: (?:command )?not found|^\S+: command not found$"
    r"|^Fatal Python error: |^terminate called |^(?:Killed|Aborted|Bus error|Segmentation fault|Illegal instruction)\b"
    r"|^!+ Segfault encountered|Out of memory: Killed process|killed by the OOM killer|Main process exited, code=(?:killed|dumped)"
)
_BARE_EXCEPTION = re.compile(r"^(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception): \S")
_CANN_ERROR = re.compile(r"^\[ERROR\] (?:HCCL|RUNTIME|ASCENDCL|GE|DRV)\(|^E[A-Z]\d{4}: |\(E[A-Z]\d{4}\): ")
_ERROR_LEVELS = ("ERROR", "CRITICAL")

Numbered = t.Tuple[int, LogLine]


def find_root(lines: t.Iterable[str]) -> t.Optional[str]:
    """Return the whole text of the first real error, joined to one line, or None when the log holds no error."""
    numbered = [(index, parse_line(line)) for index, line in enumerate(lines)]
    read = [read_tracebacks(group, WRAPPER) for group in _by_process(numbered)]
    raised = [item for roots, _rest in read for item in roots]
    others = [rest for _roots, rest in read]
    for candidates in (
        [item for item in raised if not WRAPPER.search(item.text)] + _messages_where(others, _is_hard),
        _messages_where(others, _is_plain_error),
        raised + _messages_where(others, _is_wrapper),
    ):
        if candidates:
            return min(candidates).text
    return None


def _by_process(numbered: t.Sequence[Numbered]) -> t.List[t.List[Numbered]]:
    groups: t.Dict[str, t.List[Numbered]] = {}
    for item in numbered:
        groups.setdefault(item[1].source, []).append(item)
    return list(groups.values())


def _messages_where(groups: t.Sequence[t.Sequence[Numbered]], wanted: t.Callable[[LogLine], bool]) -> t.List[Raised]:
    """The first wanted message of each process."""
    result = []
    for group in groups:
        first = next((pos for pos, (_index, line) in enumerate(group) if wanted(line)), None)
        if first is not None:
            result.append(read_message(group, first, group[first][1].text.strip())[0])
    return result


def _is_hard(line: LogLine) -> bool:
    return line.level in ("", *_ERROR_LEVELS) and _HARD_LINE.search(line.text) is not None


def _is_plain_error(line: LogLine) -> bool:
    """A line of level ERROR, a CANN error or a lone exception: neither a wrapper, nor a frame, nor known as unimportant."""
    if not line.text.strip() or line.text[0].isspace() or line.text.startswith("Traceback (") or WRAPPER.search(line.text):
        return False
    if line.level not in _ERROR_LEVELS and (line.level or not (_BARE_EXCEPTION.search(line.text) or _CANN_ERROR.search(line.text))):
        return False
    row = first_match(line.text)
    return row is None or row.severity == ERROR


def _is_wrapper(line: LogLine) -> bool:
    return line.level in ("", *_ERROR_LEVELS) and WRAPPER.search(line.text) is not None
