# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Which container engines the Ascend Docker Runtime supports, as data, and comparing their versions."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError

Version = t.Tuple[int, ...]


class Supported(t.NamedTuple):
    """Lowest and highest version of an engine that the vendor names; older ones are refused, newer ones only warned of."""

    lowest: str
    highest: str
    source: str


_GUIDE = "MindCluster 26.0.0, Ascend Docker Runtime, supported software"
ADR_ENGINES = {
    "docker": Supported("18.09", "28.5.1", _GUIDE),
    "containerd": Supported("1.4", "2.1.4", _GUIDE),
}
# `dockerd --validate` came with 23.0 (release notes of Docker Engine 23.0).
VALIDATE_SINCE = (23, 0)


def version_numbers(text: str) -> Version:
    """Return the numbers that a version begins with: (20, 10, 24) of '20.10.24+dfsg1'; () where there are none."""
    found = re.match(r"v?(\d+(?:\.\d+)*)", text)
    return tuple(int(number) for number in found.group(1).split(".")) if found else ()


def adr_doubts(engine: str, version: str) -> t.List[str]:
    """Return what to say of this engine together with the Ascend Docker Runtime.

    :raises NpufleetError: the engine is one that it never supported, or older than it supports
    """
    supported = ADR_ENGINES.get(engine)
    if supported is None:
        raise NpufleetError(
            "the Ascend Docker Runtime does not support {0}".format(engine),
            where="runtimes",
            remedy="Give containers their devices and mounts, or use {0}".format(" or ".join(sorted(ADR_ENGINES))),
        )
    numbers = version_numbers(version)
    if not numbers:
        return []
    span = "{0} to {1} ({2})".format(supported.lowest, supported.highest, supported.source)
    if numbers < version_numbers(supported.lowest):
        raise NpufleetError(
            "{0} {1} is too old for the Ascend Docker Runtime, which supports {2}".format(engine, version, span),
            where="runtimes",
            remedy="Install a newer {0}, or give containers their devices and mounts".format(engine),
        )
    if numbers[: len(version_numbers(supported.highest))] > version_numbers(supported.highest):
        return ["{0} {1} is newer than what the Ascend Docker Runtime is known to support: {2}".format(engine, version, span)]
    return []
