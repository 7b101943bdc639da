# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""In which order and how many at a time hosts are upgraded: hosts that serve an engine together are never torn apart. Pure."""

from __future__ import annotations

import itertools
import re
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._group_inventory import InventoryGroup

VARIABLE = "npufleet_upgrade_serial"
# One value, or one for each batch, the last for all further ones; as Ansible's own "serial".
Serial = t.Union[int, str, t.Sequence[t.Union[int, str]]]


class Batches(t.NamedTuple):
    """The hosts in order, and how many of them are in each batch. ``units`` are what is upgraded at once: a host, or hosts that go together."""

    order: t.List[str]
    sizes: t.List[int]
    units: t.List[t.List[str]]

    def batches(self) -> t.List[t.List[str]]:
        """The hosts of each batch."""
        ends = list(itertools.accumulate(self.sizes))
        return [self.order[end - size : end] for end, size in zip(ends, self.sizes)]


def torn(groups: t.Iterable[InventoryGroup], names: t.Sequence[str]) -> t.List[str]:
    """Say which engines would be upgraded in part, as some of their hosts are not among ``names``."""
    words = []
    for group in groups:
        missing = [host for host in group.hosts if host not in names]
        if missing and len(missing) < len(group.hosts):
            what = "the engine {0} runs on {1} together, and {2} failed or is not in this run; nothing was changed"
            remedy = "Correct that host, and run with all of them (no --limit), or with none of them"
            error = NpufleetError(what.format(group.name, ", ".join(group.hosts), ", ".join(missing)), "the hosts of this run", remedy)
            words.append(str(error))
    return words


def make_batches(groups: t.Iterable[InventoryGroup], names: t.Sequence[str], serial: Serial = 1) -> Batches:
    """Return the batches. Units stand where their first host stands, and a batch takes units as long as it has no more hosts than asked for.

    :param groups: engines on several hosts, each either with all its hosts among ``names`` or with none
    :param names: the hosts of this run, in the order of the inventory
    :param serial: hosts at a time; a unit that is larger is a batch of its own
    :raises NpufleetError: ``serial`` is no number, percentage or list of them
    """
    units = _units(groups, names)
    limits = _limits(serial, len(names))
    sizes: t.List[int] = []
    number, full = -1, True
    for unit in units:
        if full or sizes[-1] + len(unit) > limits[min(number, len(limits) - 1)]:
            number += 1
            sizes.append(0)
        sizes[-1] += len(unit)
        full = sizes[-1] >= limits[min(number, len(limits) - 1)]
    return Batches([host for unit in units for host in unit], sizes, units)


def _units(groups: t.Iterable[InventoryGroup], names: t.Sequence[str]) -> t.List[t.List[str]]:
    """Hosts that are connected by engines that they share, in the order of ``names``."""
    unit_of = {host: {host} for host in names}
    for group in groups:
        members = [host for host in group.hosts if host in unit_of]
        joined = {host for member in members for host in unit_of[member]}
        for host in joined:
            unit_of[host] = joined
    units: t.List[t.List[str]] = []
    seen: t.Set[str] = set()
    for host in names:
        if host not in seen:
            units.append([other for other in names if other in unit_of[host]])
            seen |= unit_of[host]
    return units


def _limits(serial: Serial, count: int) -> t.List[int]:
    values = list(serial) if isinstance(serial, (list, tuple)) else [serial]
    return [_limit(value, count) for value in values] or [1]


def _limit(value: t.Any, count: int) -> int:
    """A number of hosts. As in Ansible a percentage is rounded down and at least 1, and 0 means all hosts."""
    match = re.match(r"^(\d+)(%?)$", str(value).strip())
    if not match:
        raise NpufleetError(
            "{0!r} is neither a number of hosts nor a percentage".format(value),
            VARIABLE,
            "Use for instance 2, 25%, or a list such as [1, 25%]",
        )
    number = int(match.group(1))
    if match.group(2):
        return max(number * count // 100, 1)
    return number or max(count, 1)


def all_at_once(batches: Batches, everyone: t.Sequence[str]) -> t.Optional[str]:
    """Say it where the first batch has all engines of the inventory, and so none would serve meanwhile; None where that is not so.

    One engine alone is not meant: whether it may be interrupted is asked when it is known whether it changes.
    """
    if len(batches.sizes) != 1 or len(batches.units) < 2 or set(batches.order) != set(everyone):
        return None
    what = "all {0} hosts with engines would be replaced at the same time, and clients would get 503 meanwhile".format(len(everyone))
    return str(NpufleetError(what, VARIABLE, "Leave it out, or set it below the number of hosts"))
