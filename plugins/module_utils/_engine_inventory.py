# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""The engines of a host as its variables for the role vllm_engine tell them. Pure."""

from __future__ import annotations

import typing as t

Variables = t.Mapping[str, t.Any]

PREFIX = "vllm_engine_"


def instances(own: Variables) -> t.Sequence[Variables]:
    """What each engine has of its own; a host without instances has one engine, of the variables alone."""
    return own.get(PREFIX + "instances") or [{}]


def options(own: Variables, instance: Variables, keys: t.Iterable[str]) -> t.Dict[str, t.Any]:
    """What the role would take of ``keys``: the value of the instance, else that of the variable, else None."""
    return {key: instance.get(key, own.get(PREFIX + key)) for key in keys}
