# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Engines that run already: rows of an earlier plan, and whether they can stay where they are. Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._plan_binding import BINDINGS
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_host import MIB, Site
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_layout import MAX_CHIPS, Kind, keep_layout
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_model import Parallel
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_place import Place, whole_pairs
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_ports import Ports, read_ports, span
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_values import PlanError, items, mapping, one_of, text, whole
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_wanted import LAYOUT_KEYS, Wanted
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_values import parse_cpus


class Record(t.NamedTuple):
    """One row of an earlier plan that was carried out."""

    name: str
    host: str
    chips: t.Tuple[int, ...]
    sizes: t.Optional[Parallel]
    cpuset: t.Optional[str]
    binding: t.Optional[str]
    ports: Ports
    rank: int


def read_record(row: t.Any, place: int) -> Record:
    """Read a row of ``running``: a row of a plan, of which name, host, chips, layout, cpuset, binding, ports and rank are used.

    :raises PlanError: a value of the wrong type
    """
    where = "running[{0}]".format(place)
    row = mapping(row, where)
    layout = mapping(row.get("layout"), where + ".layout")
    sizes = None
    if layout:
        numbers = [whole(layout.get(key) or 1, "{0}.layout.{1}".format(where, key), 1, MAX_CHIPS) for key in LAYOUT_KEYS[:3]]
        sizes = Parallel(numbers[0], numbers[1], numbers[2], bool(layout.get("enable_expert_parallel")))
    cpuset = None if row.get("cpuset") is None else text(row["cpuset"], where + ".cpuset")
    parse_cpus(cpuset or "")
    return Record(
        name=text(row.get("name"), where + ".name"),
        host=text(row.get("host"), where + ".host"),
        chips=tuple(sorted({_number(chip, where + ".chips") for chip in items(row.get("chips"), where + ".chips")})),
        sizes=sizes,
        cpuset=cpuset,
        binding=None if row.get("binding") is None else one_of(row["binding"], where + ".binding", BINDINGS),
        ports=read_ports(row.get("ports"), where + ".ports"),
        rank=whole(row.get("rank") or 0, where + ".rank", 0, MAX_CHIPS),
    )


def _number(chip: t.Any, where: str) -> int:
    return whole(chip.get("phy_id") if isinstance(chip, dict) else chip, where, 0, 10**6)


def keep(wanted: Wanted, records: t.Sequence[Record], sites: t.Mapping[str, Site]) -> Place:
    """Return the place where the engine runs.

    :param records: its rows, by rank
    :raises PlanError: it cannot stay, and why
    """
    places = []
    for record in records:
        site = sites.get(record.host)
        if site is None or site.host.problem is not None:
            raise PlanError(
                "host {0} is gone".format(record.host) if site is None else "host {0}: {1}".format(record.host, site.host.problem)
            )
        places.append((site, _chips(wanted, record, site)))
    chosen = [site.host.chips[index] for site, indices in places for index in indices]
    sizes, counts = records[0].sizes, {len(indices) for _site, indices in places}
    if sizes is None or len(counts) != 1 or len({site.host.name for site, _indices in places}) != len(places):
        raise PlanError("its record is not complete")
    soc = chosen[0].soc or ""
    if {chip.soc for chip in chosen} != {soc} or wanted.soc not in (None, soc):
        raise PlanError("its chips are of another generation")
    memory = min(chip.memory_mb for chip in chosen) * MIB
    layout = keep_layout(wanted.model, wanted.asked, Kind(soc, memory, max(counts), len(places)), sizes, len(places))
    if layout.per_host not in counts:
        raise PlanError("its record has {0} chips a host, and its layout {1}".format(counts.pop(), layout.per_host))
    stays = tuple("host {0}: stays where it runs".format(record.host) for record in records)
    return Place(tuple(site for site, _indices in places), tuple(indices for _site, indices in places), layout, stays)


def _chips(wanted: Wanted, record: Record, site: Site) -> t.Tuple[int, ...]:
    if wanted.chips is not None and wanted.chips != record.chips:
        raise PlanError("other chips are asked for")
    indices = []
    for number in record.chips:
        index = site.by_phy.get(number)
        if index is None:
            faults = [chip.problem for chip in site.host.chips if chip.phy == number and chip.problem]
            raise PlanError("/dev/davinci{0} cannot be used: {1}".format(number, faults[0] if faults else "it is gone"))
        if index in site.chips:
            raise PlanError("engine {0} has /dev/davinci{1}".format(site.chips[index], number))
        indices.append(index)
    if not indices or not whole_pairs(site, indices):
        raise PlanError("its record names {0}".format("one die of an A3 without the other" if indices else "no chips"))
    return tuple(sorted(indices))


def hold_records(records: t.Iterable[Record], sites: t.Mapping[str, Site]) -> None:
    """Leave chips, CPUs and ports to engines that run and of which nobody says what shall become of them."""
    for record in records:
        site = sites.get(record.host)
        if site is not None:
            holder = record.name + " (it runs, and is not in the list)"
            site.take(holder, [site.by_phy[number] for number in record.chips if number in site.by_phy])
            site.cpus.update({cpu: holder for cpu in parse_cpus(record.cpuset or "")})
            site.ports.update({port: "engine " + holder for value in record.ports.values() for port in span(value)})
