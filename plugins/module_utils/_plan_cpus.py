# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Which CPUs belong to which chip of a host. Pure.

The shares depend on the hardware alone, never on the engines, so adding or removing an engine changes the CPUs of no other.
"""

from __future__ import annotations

import functools
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._plan_chips import Chip
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_npu import CPUS_PER_NPU

Cpus = t.Tuple[int, ...]


class Shares(t.NamedTuple):
    """CPUs of each chip, in the order of the chips; ``known`` says whether they are near it or only a slice of all."""

    cpus: t.Tuple[Cpus, ...]
    known: t.Tuple[bool, ...]


def divide(chips: t.Sequence[Chip], online: Cpus) -> Shares:
    """Divide the CPUs of the host among all its chips, healthy or not. No CPU belongs to two.

    CPUs near several chips are divided evenly among these. Chips whose near CPUs nobody tells get slices of the CPUs that are near no
    chip, as the binding of vllm-ascend slices what it may use where it finds no affinity.

    :param online: CPUs of the host; empty when they are not known
    """
    return _divide(tuple(chip.near for chip in chips), online)


@functools.lru_cache(maxsize=256)
def _divide(chips: t.Tuple[Cpus, ...], online: Cpus) -> Shares:
    """Hosts of one kind have the same answer."""
    allowed = set(online)
    near: t.Dict[int, t.List[int]] = {}
    for index, cpus_near in enumerate(chips):
        for cpu in cpus_near:
            if not allowed or cpu in allowed:
                near.setdefault(cpu, []).append(index)
    classes: t.Dict[Cpus, t.List[int]] = {}
    for cpu, indices in near.items():
        classes.setdefault(tuple(indices), []).append(cpu)
    own: t.List[t.List[int]] = [[] for _chip in chips]
    for members, cpus in classes.items():
        _slice(own, members, cpus)
    known = tuple(bool(cpus) for cpus in own)
    _slice(own, [index for index, is_known in enumerate(known) if not is_known], [cpu for cpu in online if cpu not in near])
    return Shares(tuple(tuple(sorted(cpus)) for cpus in own), known)


def _slice(own: t.List[t.List[int]], members: t.Sequence[int], cpus: t.List[int]) -> None:
    """Give each member its part of the CPUs, neighbours together; the first members get what does not divide."""
    if not members:
        return
    size, rest = divmod(len(cpus), len(members))
    ordered = sorted(cpus)
    first = 0
    for place, member in enumerate(members):
        last = first + size + (1 if place < rest else 0)
        own[member].extend(ordered[first:last])
        first = last


def cpus_of(shares: Shares, indices: t.Sequence[int], taken: t.AbstractSet[int]) -> Cpus:
    """Return the CPUs of some chips without those that an engine has already."""
    return tuple(sorted(cpu for index in indices for cpu in shares.cpus[index] if cpu not in taken))


def enough(cpus: Cpus, chips: int) -> bool:
    """Two CPUs for interrupts and one each for the main, ACL and release threads of every chip (vllm-ascend, cpu_binding.py)."""
    return len(cpus) >= CPUS_PER_NPU * chips
