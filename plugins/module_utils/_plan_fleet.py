# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""The plan of a fleet: facts of hosts and wanted engines in, one row for each engine and host out, with the reasons, or one error. Pure.

Engines that run stay where they are. Then come those that name their chips, then the others in the order of the list.
"""

from __future__ import annotations

import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._plan_binding import Binding, additional_config, bind, binding_options
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_chips import Chip
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_devices import INNER, inner_selection, select
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_host import Site, read_site
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_layout import Layout
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_members import check_ray, member, ray_node, sizes_of
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_network import check_group, network_env, shm_size
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_place import Place, Pool, place, pools
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_ports import NPU_PORTS, give, needed, port_env
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_record import Record, hold_records, keep, read_record
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_summary import host_summary
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_values import PlanError, Row, items, mapping, text
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_wanted import Wanted, read_wanted
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_values import format_cpus

Records = t.List[Record]


def make_plan(hosts: t.Any, engines: t.Any, running: t.Any = None) -> Row:
    """Return ``{"engines": [...], "hosts": {...}}``; docs/planning.md describes both.

    :param hosts: facts by name of host
    :param engines: what is wanted
    :param running: rows of the plans that were carried out, one for each engine and host
    :raises PlanError, NpufleetError: the input is wrong, or what is wanted cannot be
    """
    sites = {text(name, "hosts"): read_site(name, row) for name, row in mapping(hosts, "hosts").items()}
    wanted = [read_wanted(row, place_of) for place_of, row in enumerate(items(engines, "engines"))]
    owners = _owners(wanted, sites)
    records = [read_record(row, place_of) for place_of, row in enumerate(items(running, "running"))]
    running_of, others = _match(records, owners)
    hold_records(others, sites)
    planner = _Planner(sites, wanted)
    planner.keep(running_of)
    planner.place()
    return {"engines": planner.rows(), "hosts": {name: host_summary(site) for name, site in sites.items()}}


def _owners(wanted: t.Sequence[Wanted], sites: t.Mapping[str, Site]) -> t.Dict[t.Tuple[str, t.Optional[str]], int]:
    """Return which engine of the list a name on a host means (None: on any host). Two engines of one name never meet on a host."""
    owners: t.Dict[t.Tuple[str, t.Optional[str]], int] = {}
    names: t.Dict[str, int] = {}
    for place_of, one in enumerate(wanted):
        for host in one.hosts if one.hosts is not None else (None,):
            if host is not None and host not in sites:
                raise PlanError(
                    "there are no facts of host {0}".format(host),
                    one.where + ".hosts",
                    "Name hosts of the inventory, and gather their facts",
                )
            if owners.setdefault((one.name, host), place_of) != place_of or (
                one.name in names and None in (host, wanted[names[one.name]].hosts)
            ):
                raise PlanError("two engines have the name {0}".format(one.name), one.where, "Name them apart, or give each its own hosts")
        names.setdefault(one.name, place_of)
    return owners


def _match(records: t.Sequence[Record], owners: t.Mapping[t.Tuple[str, t.Optional[str]], int]) -> t.Tuple[t.Dict[int, Records], Records]:
    """Return the records of each wanted engine by rank, and those of engines that are not in the list."""
    matched: t.Dict[int, Records] = {}
    others = []
    for record in sorted(records, key=lambda record: record.rank):
        owner = owners.get((record.name, record.host), owners.get((record.name, None)))
        if owner is None:
            others.append(record)
        else:
            matched.setdefault(owner, []).append(record)
    return matched, others


class _Planner:
    """Places engines one after the other; each sees what those before it have taken."""

    def __init__(self, sites: t.Mapping[str, Site], wanted: t.Sequence[Wanted]) -> None:
        self.sites = sites
        self.wanted = wanted
        self.done: t.Dict[int, t.List[Row]] = {}
        self.moved: t.Dict[int, t.Tuple[str, ...]] = {}
        self.before: t.Dict[int, t.List[str]] = {}
        self.claimed = {one.ports["serving"] for one in wanted if "serving" in one.ports}
        self._pools: t.Optional[t.List[Pool]] = None

    def keep(self, records: t.Mapping[int, Records]) -> None:
        """Let engines stay that run where they may. Chips of all of them are taken before anything else of one is decided."""
        places: t.Dict[int, Place] = {}
        gone: Records = []
        for index, rows in records.items():
            if not self.wanted[index].present:
                gone += rows
                continue
            try:
                places[index] = keep(self.wanted[index], rows, self.sites)
                self._take(index, places[index])
            except PlanError as exc:
                gone += rows
                self.before[index] = [row.host for row in rows]
                self.moved[index] = ("it does not stay where it ran: {0}".format(exc.what),)
        for record in gone:
            if record.host in self.sites:
                self.sites[record.host].release(record.chips)
        for index, kept in places.items():
            self._finish(index, kept, records[index])

    def place(self) -> None:
        """Find places for the engines that have none."""
        everywhere = list(self.sites.values())
        left = [index for index, one in enumerate(self.wanted) if one.present and index not in self.done]
        for index in sorted(left, key=lambda index: self.wanted[index].chips is None):
            one = self.wanted[index]
            allowed = everywhere if one.hosts is None else [self.sites[name] for name in one.hosts]
            found = place(one, self._candidates(one, allowed), allowed, self.before.get(index, ()))
            self._take(index, found)
            self._finish(index, found, [])

    def _candidates(self, one: Wanted, allowed: t.Sequence[Site]) -> t.Sequence[Pool]:
        if one.hosts is not None:
            return pools(allowed)
        if self._pools is None:
            self._pools = pools(self.sites.values())
        return self._pools

    def _take(self, index: int, found: Place) -> None:
        for site, chips in zip(found.sites, found.chips):
            site.take(self.wanted[index].name, chips)

    def _finish(self, index: int, found: Place, records: Records) -> None:
        one = self.wanted[index]
        layout = found.layout
        if layout.hosts > 1:
            check_group([site.host for site in found.sites], one.where)
        check_ray(layout, one.ray, one.where)
        apart = found.sites[0].host.soc in ("a3", "a5") and not all(site.whole(chips) for site, chips in zip(found.sites, found.chips))
        kinds = needed(layout.hosts, layout.spans, one.ray, layout.sizes.chips, apart and NPU_PORTS not in one.env)
        recorded = {kind: port for record in reversed(records) for kind, port in record.ports.items()}
        ports = give(found.sites, kinds, one.ports, recorded, self.claimed, one.name, one.where)
        self.done[index] = [
            _row(one, found, rank, ports, records[rank] if records else None, self.moved.get(index, ())) for rank in range(layout.hosts)
        ]

    def rows(self) -> t.List[Row]:
        """Return the rows in the order of the list, members by rank."""
        return [row for index in sorted(self.done) for row in self.done[index]]


def _bind(one: Wanted, site: Site, chips: t.Sequence[int], record: t.Optional[Record]) -> Binding:
    """What a running engine has stays, unless somebody asks for something else or it is not possible any more."""
    if record is not None and record.binding is not None and one.cpuset is None and one.binding in (None, record.binding):
        try:
            cpuset = record.cpuset if record.binding in ("cpuset", "numactl") else None
            return bind(site, chips, record.binding, cpuset, one.bare_metal, one.where, "as it runs")
        except PlanError:
            pass
    return bind(site, chips, one.binding, one.cpuset, one.bare_metal, one.where)


def _row(one: Wanted, found: Place, rank: int, ports: Row, record: t.Optional[Record], moved: t.Tuple[str, ...]) -> Row:
    site, indices, layout = found.sites[rank], found.chips[rank], found.layout
    host = site.host
    chips = [host.chips[index] for index in indices]
    binding = _bind(one, site, indices, record)
    site.cpus.update({cpu: one.name for cpu in binding.cpus or ()})
    devices = select(one.devices, chips, host.chips, host.control_nodes, one.where)
    head = found.sites[0].host.address
    role = member(layout, rank, head, ports, one.ray)
    shm, shm_reason = shm_size(chips[0].soc or "", one.model_name, one.ray, one.shm_bytes, host.memory_bytes)
    return {
        "name": one.name,
        "host": host.name,
        "chips": [_chip(chip) for chip in chips],
        "devices": devices.nodes,
        "control_devices": devices.control,
        "layout": sizes_of(layout),
        "args": dict(role.args, **_options(one, host.arch, binding, layout)),
        "env": dict(network_env(host, layout.hosts, layout.sizes.chips, one.env), **port_env(ports), **_selection(one, chips, devices.env)),
        "cpuset": binding.cpuset,
        "binding": binding.method,
        "command_prefix": _prefix(binding),
        "ports": role.ports,
        "shm_bytes": shm,
        "role": role.role,
        "rank": rank,
        "headless": role.headless,
        "master_address": head if layout.hosts > 1 else None,
        "ray": ray_node(layout, head, host.address, ports) if one.ray else None,
        "reasons": [*moved, *layout.reasons, found.reasons[rank], *binding.reasons, shm_reason],
    }


def _options(one: Wanted, arch: t.Optional[str], binding: Binding, layout: Layout) -> Row:
    """Options beside those of the role: the plugin's binding on or off, and experts that a recipe spreads and the layout does not."""
    options = binding_options(binding.method, arch, additional_config(one.args, one.where))
    if one.args.get("enable_expert_parallel") and not layout.sizes.expert:
        options["enable_expert_parallel"] = False
    return options


def _selection(one: Wanted, chips: t.Sequence[Chip], env: t.Mapping[str, str]) -> t.Dict[str, str]:
    """A recipe that selects chips from inside gets places that count from the chips of the container."""
    selection = dict(env)
    if INNER in one.env and INNER not in selection:
        numbers = [chip.phy for chip in chips if chip.phy is not None]
        selection[INNER] = inner_selection(numbers, numbers)
    return selection


def _chip(chip: Chip) -> Row:
    return {"logic_id": chip.logic, "phy_id": chip.phy, "device": chip.device, "card": chip.card, "chip": chip.die, "numa": chip.numa}


def _prefix(binding: Binding) -> t.List[str]:
    """Memory comes from the node of the CPU that asks; a hard limit would fail loading weights larger than a node."""
    if binding.method != "numactl" or binding.cpus is None:
        return []
    return ["numactl", "--physcpubind=" + format_cpus(binding.cpus), "--localalloc"]
