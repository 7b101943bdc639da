# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""A host as the planner sees it: what the facts say of it, and what the plan has given away so far."""

from __future__ import annotations

import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._plan_chips import Chip, hold, read_chips
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_cpus import Cpus, Shares, divide
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_values import (
    PlanError,
    Row,
    items,
    known_keys,
    mapping,
    number,
    text,
    whole,
)
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_values import parse_cpus

KEYS = ("npu", "address", "interface", "arch", "cpus", "numa_nodes", "memory_mb", "reserved_chips", "reserved_ports")
MIB = 1024**2


class Host(t.NamedTuple):
    """What the facts say. ``problem`` is why no engine can run there; ``arch`` is None when nobody tells it."""

    name: str
    chips: t.Tuple[Chip, ...]
    soc: t.Optional[str]
    address: t.Optional[str]
    interface: t.Optional[str]
    arch: t.Optional[str]
    cpus: Cpus
    memory_bytes: t.Optional[int]
    control_nodes: t.Tuple[str, ...]
    problem: t.Optional[str]
    shares: Shares

    @property
    def where(self) -> str:
        return "hosts.{0}".format(self.name)


class Site:
    """A host with what engines of the plan hold there: chips by index, CPUs and ports, each with the name of its engine."""

    def __init__(self, host: Host, ports: t.Mapping[int, str]) -> None:
        self.host = host
        self.chips: t.Dict[int, str] = {}
        self.cpus: t.Dict[int, str] = {}
        self.ports: t.Dict[int, str] = dict(ports)
        self.usable = tuple(index for index, chip in enumerate(host.chips) if chip.problem is None) if host.problem is None else ()
        self.open = {index for index in self.usable if host.chips[index].busy is None}
        self.memory_mb = min((host.chips[index].memory_mb for index in self.usable), default=0)
        self.by_phy = {host.chips[index].phy: index for index in self.usable}

    def take(self, name: str, chips: t.Iterable[int]) -> None:
        """Give chips to an engine."""
        for index in chips:
            self.chips[index] = name
            self.open.discard(index)

    def release(self, numbers: t.Iterable[int]) -> None:
        """Give back what an engine held that goes away: the processes on its chips are its own."""
        for one in numbers:
            index = self.by_phy.get(one)
            if index is not None and index not in self.chips:
                self.open.add(index)

    def whole(self, chips: t.Collection[int]) -> bool:
        """Whether these are all chips of the host, the broken ones included: nobody can come beside an engine that has them."""
        return len(chips) == len(self.host.chips)

    def fault(self, index: int) -> t.Optional[str]:
        """Why a chip is not free, or None."""
        chip = self.host.chips[index]
        if chip.problem is not None or index not in self.chips:
            return chip.problem or chip.busy
        return "engine {0} has it".format(self.chips[index])


def read_site(name: str, row: t.Any) -> Site:
    """Read one element of ``hosts``; docs/planning.md describes the keys.

    :raises PlanError: a key that has no meaning, or a value of the wrong type
    """
    where = "hosts.{0}".format(name)
    row = mapping(row, where)
    known_keys(row, KEYS, where)
    npu = mapping(row.get("npu"), where + ".npu")
    nodes = _nodes(row.get("numa_nodes"), where + ".numa_nodes")
    chips = hold(read_chips(npu, nodes, where + ".npu"), _reserved(row.get("reserved_chips"), where + ".reserved_chips"))
    online = _online(row.get("cpus"), where + ".cpus")
    socs = {chip.soc for chip in chips if chip.problem is None}
    host = Host(
        name=name,
        chips=tuple(chips),
        soc=next(iter(socs)) if len(socs) == 1 else None,
        address=_text(row, "address", where),
        interface=_text(row, "interface", where),
        arch=_text(row, "arch", where),
        cpus=online,
        memory_bytes=None if row.get("memory_mb") is None else whole(row["memory_mb"], where + ".memory_mb", 0, 10**9) * MIB,
        control_nodes=tuple(str(node) for node in items(npu.get("control_nodes"), where + ".npu.control_nodes")),
        problem=_problem(npu, chips),
        shares=divide(chips, online),
    )
    ports = [whole(port, where + ".reserved_ports", 1, 65535) for port in items(row.get("reserved_ports"), where + ".reserved_ports")]
    return Site(host, {port: "something else on the host" for port in ports})


def _problem(npu: t.Mapping[str, t.Any], chips: t.Sequence[Chip]) -> t.Optional[str]:
    if not npu.get("available"):
        return str(npu.get("message") or "no facts of its NPUs: run npu_facts there")[:400]
    if not chips:
        return "the facts list no chip"
    return "its NPUs are of different generations" if len({chip.soc for chip in chips if chip.problem is None}) > 1 else None


def _text(row: t.Mapping[str, t.Any], key: str, where: str) -> t.Optional[str]:
    return None if row.get(key) is None else text(row[key], "{0}.{1}".format(where, key))


def _online(value: t.Any, where: str) -> Cpus:
    """A list such as 0-191, or how many there are, as the facts of Ansible count them."""
    count = number(value)
    if count is not None:
        return tuple(range(whole(value, where, 1, 65536)))
    return () if value is None else _cpus(value, where)


def _cpus(value: t.Any, where: str) -> Cpus:
    cpus = parse_cpus(text(value, where))
    if len(cpus) > 65536:
        raise PlanError("a host with {0} CPUs is not believed".format(len(cpus)), where, "Write it as in /sys/devices/system/cpu/online")
    return cpus


def _nodes(value: t.Any, where: str) -> t.Dict[int, Cpus]:
    nodes = {}
    for key, cpus in value.items() if isinstance(value, dict) else mapping(value, where).items():
        nodes[whole(key, where, 0, 65535)] = _cpus(cpus, "{0}.{1}".format(where, str(key)[:20]))
    return nodes


def _reserved(value: t.Any, where: str) -> t.Dict[int, str]:
    """Numbers of device nodes, alone or as ``{chip: 3, reason: a training job}``."""
    held = {}
    for one in items(value, where):
        row: Row = dict(mapping(one, where)) if isinstance(one, dict) else {"chip": one}
        known_keys(row, ("chip", "reason"), where)
        reason = text(row["reason"], where + ".reason") if row.get("reason") is not None else "nobody says for what"
        held[whole(row.get("chip"), where, 0, 10**6)] = "it is reserved: " + reason
    return held
