# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Read the values that a plan is made from. Whatever comes in: a value of the wanted type goes out, or a PlanError that says where."""

from __future__ import annotations

import difflib
import re
import typing as t
from collections import abc

from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_values import format_cpus

Row = t.Dict[str, t.Any]

_DIGITS = re.compile(r"[0-9]{1,18}\Z")


class PlanError(NpufleetError):
    """A plan that cannot be made."""


def mapping(value: t.Any, where: str) -> t.Mapping[str, t.Any]:
    """Return a mapping whose keys are texts; null is an empty one.

    :raises PlanError: it is something else
    """
    if value is None:
        return {}
    if not isinstance(value, abc.Mapping) or not all(isinstance(key, str) for key in value):
        raise PlanError("a mapping was expected and {0} found".format(_kind(value)), where, "Write it as names with values")
    return value


def items(value: t.Any, where: str) -> t.List[t.Any]:
    """Return a list; null is an empty one.

    :raises PlanError: it is something else
    """
    if value is None:
        return []
    if isinstance(value, (str, bytes, abc.Mapping)) or not isinstance(value, abc.Sequence):
        raise PlanError("a list was expected and {0} found".format(_kind(value)), where, "Write it as a list")
    return list(value)


def text(value: t.Any, where: str) -> str:
    """Return a text that is not empty.

    :raises PlanError: it is something else
    """
    if not isinstance(value, str) or not value.strip():
        raise PlanError("a text was expected and {0} found".format(_kind(value)), where, "Give a text that is not empty")
    return value


def number(value: t.Any) -> t.Optional[int]:
    """Return a whole number from 0, written as a number or in digits; None for everything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str) and _DIGITS.match(value):
        return int(value)
    return value if isinstance(value, int) and value >= 0 else None


def whole(value: t.Any, where: str, low: int, high: int) -> int:
    """Return a whole number from ``low`` to ``high``.

    :raises PlanError: it is something else
    """
    found = number(value)
    if found is None or not low <= found <= high:
        raise PlanError(
            "a whole number was expected and {0} found".format(_kind(value)), where, "Give one from {0} to {1}".format(low, high)
        )
    return found


def one_of(value: t.Any, where: str, choices: t.Sequence[str]) -> str:
    """Return one of ``choices``.

    :raises PlanError: names them
    """
    if not isinstance(value, str) or value not in choices:
        raise PlanError("{0} is none of the choices".format(_kind(value)), where, "Give one of {0}".format(", ".join(choices)))
    return value


def known_keys(row: t.Mapping[str, t.Any], known: t.Sequence[str], where: str) -> None:
    """Refuse a key that has no meaning here.

    :raises PlanError: names the nearest that has one
    """
    for key in row:
        if key not in known:
            near = difflib.get_close_matches(key, known, 1)
            remedy = "Did you mean {0}?".format(near[0]) if near else "Known are {0}".format(", ".join(known))
            raise PlanError("{0!r} has no meaning here".format(key[:80]), where, remedy)


def _kind(value: t.Any) -> str:
    return (
        repr(value)[:80] if isinstance(value, (str, int, float, bool)) or value is None else "a value of type " + value.__class__.__name__
    )


def shown(numbers: t.Iterable[int]) -> str:
    """The shortest list of numbers for people: 0, 1, 2, 8 is ``0-2, 8``."""
    return format_cpus(numbers).replace(",", ", ")


def gib(size: float) -> str:
    """A size in bytes for people."""
    return "{0:.1f} GiB".format(size / 1024**3)
