# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Where an engine goes: which hosts, and which of their chips. Pure, but for what a Site remembers."""

from __future__ import annotations

import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._plan_host import MIB, Site
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_layout import Kind, Layout, make_layout
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_values import PlanError, shown
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_wanted import Wanted

Indices = t.Tuple[int, ...]
# How many hosts an error names one by one.
NAMED = 5


class Place(t.NamedTuple):
    """Hosts by rank, the chips on each by index, the layout, and why."""

    sites: t.Tuple[Site, ...]
    chips: t.Tuple[Indices, ...]
    layout: Layout
    reasons: t.Tuple[str, ...]


class Pool:
    """Hosts of one kind: the same generation and the same memory a chip. An engine never mixes kinds."""

    def __init__(self, sites: t.Sequence[Site]) -> None:
        self._sites = list(sites)
        soc = sites[0].host.soc or ""
        self.kind = Kind(soc, sites[0].memory_mb * MIB, max(len(site.usable) for site in sites), len(sites))

    @property
    def sites(self) -> t.List[Site]:
        """The hosts, without the first ones on which nothing is free any more: no engine gives back chips while others are placed."""
        full = next((place for place, site in enumerate(self._sites) if site.open), len(self._sites))
        del self._sites[:full]
        return self._sites


def pools(sites: t.Iterable[Site]) -> t.List[Pool]:
    """Return the hosts that can run an engine, by kind, in the order of the hosts."""
    kinds: t.Dict[t.Tuple[str, int], t.List[Site]] = {}
    for site in sites:
        if site.usable and site.host.soc is not None:
            kinds.setdefault((site.host.soc, site.memory_mb), []).append(site)
    return [Pool(members) for members in kinds.values()]


def place(wanted: Wanted, candidates: t.Sequence[Pool], allowed: t.Sequence[Site], before: t.Collection[str]) -> Place:
    """Return hosts and chips for an engine; nothing is taken yet.

    :param candidates: the hosts where it may run, by kind
    :param allowed: the same with those that cannot run anything, for the message
    :param before: names of the hosts where it runs now, which come first
    :raises PlanError: no layout, or not enough free chips
    """
    refused: t.Optional[PlanError] = None
    layouts: t.List[Layout] = []
    for pool in candidates:
        if wanted.soc not in (None, pool.kind.soc):
            continue
        try:
            layout = make_layout(wanted.model, wanted.asked, pool.kind)
        except PlanError as exc:
            refused = refused or exc
            continue
        found = _find(wanted, pool, layout, before)
        if found is not None:
            return found
        layouts.append(layout)
    if refused is not None and not layouts:
        raise refused
    raise _no_room(wanted, layouts, allowed)


def _find(wanted: Wanted, pool: Pool, layout: Layout, before: t.Collection[str]) -> t.Optional[Place]:
    sites: t.List[Site] = []
    chips: t.List[Indices] = []
    per_host = layout.per_host
    if wanted.chips is not None and len(wanted.chips) != per_host:
        raise PlanError(
            "the layout {0} takes {1} chips a host, and {2} are named".format(layout.sizes, per_host, len(wanted.chips)),
            wanted.where + ".chips",
            "Name as many, or leave the chips to the planner",
        )
    for site in sorted(pool.sites, key=lambda site: site.host.name not in before) if before else pool.sites:
        if len(site.open) >= per_host:
            picked = pick(site, per_host) if wanted.chips is None else _named(site, wanted.chips)
            if picked is not None:
                sites.append(site)
                chips.append(picked)
                if len(sites) == layout.hosts:
                    return Place(tuple(sites), tuple(chips), layout, tuple(_why(site, one) for site, one in zip(sites, chips)))
    return None


def _named(site: Site, numbers: t.Sequence[int]) -> t.Optional[Indices]:
    indices = tuple(site.by_phy[number] for number in numbers if number in site.by_phy)
    return indices if len(indices) == len(numbers) and site.open.issuperset(indices) and whole_pairs(site, indices) else None


def whole_pairs(site: Site, indices: t.Sequence[int]) -> bool:
    """Whether no A3 NPU is torn apart."""
    if site.host.soc != "a3":
        return True
    cards = [site.host.chips[index].card for index in indices]
    return all(cards.count(card) == 2 for card in cards)


def pick(site: Site, count: int) -> t.Optional[Indices]:
    """Return free chips of a host: linked ones that lie together, of the smallest group that has enough, and whole cards before parts.

    None when fewer are free.
    """
    chips = site.host.chips
    if len(site.open) < count or count < 1:
        return None
    for keys in (("island", "numa"), ("island",)):
        groups: t.Dict[t.Tuple[t.Any, ...], t.List[int]] = {}
        for index in site.open:
            groups.setdefault(tuple(getattr(chips[index], key) for key in keys), []).append(index)
        fitting = [sorted(group) for group in groups.values() if len(group) >= count]
        for group in sorted(fitting, key=lambda group: (len(group), group)):
            picked = _cards(site, group, count)
            if picked is not None:
                return picked
    return _cards(site, sorted(site.open), count)


def _cards(site: Site, group: t.Sequence[int], count: int) -> t.Optional[Indices]:
    """Take whole cards, and only then a part of one; a card that is used already before an untouched one. An A3 NPU is never divided."""
    cards: t.Dict[t.Any, t.List[int]] = {}
    for index in group:
        chip = site.host.chips[index]
        cards.setdefault(index if chip.card is None else (chip.card,), []).append(index)
    groups = sorted(cards.values(), key=lambda card: (-len(card), site.host.chips[card[0]].numa or 0, card[0]))
    if site.host.soc == "a3":
        groups = [card for card in groups if len(card) == 2]
    picked: t.List[int] = []
    for card in groups:
        if len(picked) + len(card) <= count:
            picked += card
    rest = [index for card in sorted(groups, key=len) for index in card if index not in picked]
    if site.host.soc != "a3":
        picked += rest[: count - len(picked)]
    return tuple(sorted(picked)) if len(picked) == count else None


def _why(site: Site, indices: Indices) -> str:
    chips = [site.host.chips[index] for index in indices]
    islands, nodes = {chip.island for chip in chips}, {chip.numa for chip in chips}
    text = "host {0}: chips {1}".format(site.host.name, shown(chip.phy for chip in chips if chip.phy is not None))
    if len(chips) > 1:
        text += (
            ", links not known"
            if None in islands
            else ", linked"
            if len(islands) == 1
            else ", of {0} groups without fast links".format(len(islands))
        )
    return text + (" on NUMA node {0}".format(shown(node for node in nodes if node is not None)) if None not in nodes else "")


def _no_room(wanted: Wanted, layouts: t.Sequence[Layout], allowed: t.Sequence[Site]) -> PlanError:
    """Say for the first hosts how many chips are free, and of the others why they are not."""
    counts = (layouts[0].per_host, layouts[0].hosts) if layouts else ()
    need = "{0} free chips on each of {1} host(s)".format(*counts) if counts else "{0} chips".format(wanted.soc or "usable")
    lines = [_state(site, wanted) for site in allowed[:NAMED]]
    if len(allowed) > NAMED:
        lines.append("and {0} more hosts".format(len(allowed) - NAMED))
    named = " (/dev/davinci{0})".format(shown(wanted.chips)) if wanted.chips else ""
    return PlanError(
        "engine {0} needs {1}{2}, and they are not there".format(wanted.name, need, named),
        "; ".join(lines) or "hosts",
        "Add hosts, repair or free chips, take fewer of them, or remove an engine",
    )


def _state(site: Site, wanted: Wanted) -> str:
    host = site.host
    if host.problem is not None:
        return "{0}: {1}".format(host.name, host.problem)
    if wanted.soc not in (None, host.soc) and host.soc is not None:
        return "{0}: has {1} chips, the recipe is for {2}".format(host.name, host.soc, wanted.soc)
    faults: t.Dict[str, t.List[str]] = {}
    for index, chip in enumerate(host.chips):
        fault = site.fault(index)
        if fault is not None:
            faults.setdefault(fault, []).append(chip.device)
    told = ["{0}: {1}".format(", ".join(devices), fault) for fault, devices in list(faults.items())[:4]]
    return "{0}: {1} of {2} chips are free{3}".format(
        host.name, len(site.open), len(host.chips), " ({0})".format("; ".join(told)) if told else ""
    )
