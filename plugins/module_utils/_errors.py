# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""The one exception family of the collection: what is wrong, where, and what to do."""

from __future__ import annotations

import typing as t


class NpufleetError(Exception):
    """A failure that a person can act on.

    :param what: what is wrong, one sentence without the final full stop
    :param where: the file, host object, argument or command it was found in
    :param remedy: what to do about it, one sentence
    """

    def __init__(self, what: str, where: t.Optional[str] = None, remedy: t.Optional[str] = None) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.remedy = remedy

    def __str__(self) -> str:
        parts = [self.what]
        if self.where:
            parts.append("Where: " + self.where)
        if self.remedy:
            parts.append("What to do: " + self.remedy)
        text = ". ".join(part.rstrip(".") for part in parts)
        return text if text.endswith("?") else text + "."


def refused_by_host(exc: OSError) -> NpufleetError:
    """Put what the kernel refused into the words of this family: a file that may not be written, a full disk."""
    return NpufleetError(
        "the host refused: {0}".format(exc.strerror or exc),
        where=str(exc.filename) if exc.filename else None,
        remedy="Check the permissions and the space there, run as root (become), or choose folders that this user may write to",
    )
