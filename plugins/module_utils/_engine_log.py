# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Say why an engine died, from the lines of its log: the first real error and the row of the failure-signature table."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._log_error import find_root
from ansible_collections.npufleet.ascend.plugins.module_utils._log_line import MAX_LINE, strip_prefix, visible
from ansible_collections.npufleet.ascend.plugins.module_utils._signature import ERROR, HARMLESS, WARNING, Signature
from ansible_collections.npufleet.ascend.plugins.module_utils._signature_table import first_match

MAX_ERROR = 600
MAX_PROGRESS = 100

_SEVERITIES = (ERROR, WARNING, HARMLESS)
# Lines that repeat the whole configuration would fit rows by what they quote.
_ECHO = re.compile(r"^(?:non-default args:|Initializing a V\d LLM engine)")
_LETTER = re.compile(r"[^\W_]")


def first_error(lines: t.Iterable[str]) -> t.Optional[str]:
    """Return the first real error of the log in one line of at most MAX_ERROR characters, or None when there is none.

    That is the root exception of the first traceback and not a wrapper such as "Engine core initialization failed"; failing that an
    error of the command line, the loader or the kernel; failing that the first line of level ERROR; and only then a wrapper.
    """
    root = find_root(lines)
    return None if root is None else _cut(root, MAX_ERROR)


def match(lines: t.Iterable[str], engine: t.Optional[str] = None) -> t.List[Signature]:
    """Return the rows of the table that occur in the log: errors first, then warnings, then harmless ones.

    Within a severity they stand in the order of their first line. In one line only the first, most specific row counts.

    :param engine: "ascend" or "cpu" leaves out the rows of the other engine
    """
    found: t.Dict[str, Signature] = {}
    for line in lines:
        text = strip_prefix(line)
        row = None if _ECHO.match(text) else first_match(text, engine)
        if row is not None:
            found.setdefault(row.id, row)
    return sorted(found.values(), key=lambda row: _SEVERITIES.index(row.severity))


def explain(lines: t.Iterable[str], engine: t.Optional[str] = None, tail: int = 30) -> t.Dict[str, t.Any]:
    """Return what a person needs to see of the log of a dead engine.

    ``first_error``: str or None. ``signature``: id, cause, remedy and source of the row that explains it, or None: the row that fits the
    first error itself, else the first error row of the log. ``other_signatures``: the other rows, with their severity. ``tail``: the last
    lines that are not empty, without colours.

    :param tail: number of last lines
    """
    kept = list(lines)
    root = find_root(kept)
    rows = match(kept, engine)
    best = _best_row(root, rows, engine)
    ends = [line for line in (_shown(item) for item in kept) if line.strip()]
    return {
        "first_error": None if root is None else _cut(root, MAX_ERROR),
        "signature": None if best is None else _described(best),
        "other_signatures": [dict(_described(row), severity=row.severity) for row in rows if best is None or row.id != best.id],
        "tail": ends[-tail:] if tail > 0 else [],
    }


def last_meaningful(lines: t.Sequence[str]) -> str:
    """Return the last line that says something, without its prefix, in at most MAX_PROGRESS characters; "" when there is none."""
    for line in reversed(lines):
        text = strip_prefix(line).strip()
        if _LETTER.search(text):
            return _cut(text, MAX_PROGRESS)
    return ""


def redact(lines: t.Iterable[str], secrets: t.Iterable[str]) -> t.List[str]:
    """Return the lines with every occurrence of every secret replaced by ``***``. Empty secrets are left out."""
    # The longest first: a secret may be part of another one.
    ordered = sorted({secret for secret in secrets if secret}, key=len, reverse=True)
    result = []
    for line in lines:
        for secret in ordered:
            line = line.replace(secret, "***")
        result.append(line)
    return result


def _best_row(root: t.Optional[str], rows: t.List[Signature], engine: t.Optional[str]) -> t.Optional[Signature]:
    direct = None if root is None else first_match(root, engine)
    if direct is not None and direct.severity == ERROR:
        return direct
    return next((row for row in rows if row.severity == ERROR), None)


def _described(row: Signature) -> t.Dict[str, t.Any]:
    return {"id": row.id, "cause": row.cause, "remedy": row.remedy, "source": row.source}


def _shown(line: str) -> str:
    """The line as a terminal shows it, prefixes kept."""
    return visible(line)[:MAX_LINE]


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 3].rstrip() + "..."
