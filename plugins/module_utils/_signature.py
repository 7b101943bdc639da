# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""One row of the failure-signature table: a line of an engine's log, what it means, and what to do."""

from __future__ import annotations

import typing as t

ASCEND = ("ascend",)
CPU = ("cpu",)
BOTH = ("ascend", "cpu")

ERROR = "error"
WARNING = "warning"
HARMLESS = "harmless"


class Signature(t.NamedTuple):
    """A known failure.

    :param id: short name in kebab case, stable: playbooks and tests may refer to it
    :param pattern: regular expression, searched in one log line without its prefix; no nested quantifier
    :param cause: one sentence
    :param remedy: one or two sentences with the concrete variable, option or command
    :param source: where the row is known from: an issue, the FAQ, a source file, or "tried" for what was provoked on a real engine
    :param preventable: True when a check before the start can find it
    :param severity: "error" (the engine dies or cannot work), "warning" (a hint, also a cause of slowness) or "harmless"
    :param engines: the engines whose log can hold it
    """

    id: str
    pattern: str
    cause: str
    remedy: str
    source: str
    preventable: bool
    severity: str = ERROR
    engines: t.Tuple[str, ...] = ASCEND
