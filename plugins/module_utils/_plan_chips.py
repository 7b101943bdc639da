# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""The chips of one host from the fact npufleet_npu: which an engine may use, and for the others why not. Pure."""

from __future__ import annotations

import functools
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_values import Row, items, mapping, number
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_values import parse_cpus

# What recipes call the generations of npu_facts. No vllm-ascend image serves the others.
SOCS = {"A2": "a2", "A3": "a3", "310P": "310p", "A5": "a5"}

# An idle chip with HBM uses 2600 to 4200 MB (captures of npu-smi). Where no process table tells, more than this, and more
# than this share of the chip (an idle A5 of 128 GB uses 5400 MB), is taken for a process that nobody sees.
IDLE_MB, IDLE_SHARE = 4200, 0.10

# Chips of one island reach each other over HCCS; SIO joins the two dies of an A3 NPU (legend of npu-smi info -t topo).
FAST_LINKS = frozenset({"HCCS", "HCCS_SW", "SIO", "UB"})


class Chip(t.NamedTuple):
    """One chip of a host. ``problem`` is why no engine may use it, ``busy`` who seems to use it now.

    ``phy`` is N of /dev/davinciN, ``logic`` the index as the runtime counts, ``card`` and ``die`` are the ids of npu-smi.
    ``island`` is the same number for chips that reach each other over fast links, None when nothing is known of links.
    """

    phy: t.Optional[int]
    logic: t.Optional[int]
    card: t.Optional[int]
    die: t.Optional[int]
    soc: t.Optional[str]
    memory_mb: int
    numa: t.Optional[int]
    near: t.Tuple[int, ...]
    island: t.Optional[int]
    problem: t.Optional[str]
    busy: t.Optional[str]

    @property
    def device(self) -> str:
        """Path of its device node, or its ids where that is not known."""
        return "NPU {0} chip {1}".format(self.card, self.die) if self.phy is None else "/dev/davinci{0}".format(self.phy)


def read_chips(npu: t.Mapping[str, t.Any], nodes: t.Mapping[int, t.Tuple[int, ...]], where: str) -> t.List[Chip]:
    """Return the chips of the fact npufleet_npu in the order of their device nodes.

    :param nodes: CPUs of the NUMA nodes, where known
    :raises PlanError: ``chips`` is no list of mappings
    """
    rows = [mapping(row, where + ".chips") for row in items(npu.get("chips"), where + ".chips")]
    islands = _islands(npu, rows)
    chips = [_chip(row, npu, nodes, island) for row, island in zip(rows, islands)]
    chips.sort(key=lambda chip: (chip.phy is None, chip.phy or 0, chip.card or 0, chip.die or 0))
    return _pairs(_twins(chips))


def _chip(
    row: t.Mapping[str, t.Any], npu: t.Mapping[str, t.Any], nodes: t.Mapping[int, t.Tuple[int, ...]], island: t.Optional[int]
) -> Chip:
    generation = row.get("generation") or npu.get("generation")
    numa = number(row.get("numa_node"))
    memory = number(row.get("memory_total_mb")) or 0
    near = _near(row.get("cpu_affinity")) or (nodes.get(numa, ()) if numa is not None else ())
    return Chip(
        phy=number(row.get("phy_id")),
        logic=number(row.get("logic_id")),
        card=number(row.get("npu_id")),
        die=number(row.get("chip_id")),
        soc=SOCS.get(generation) if isinstance(generation, str) else None,
        memory_mb=memory,
        numa=numa,
        near=near,
        island=island,
        problem=_problem(row, generation, memory),
        busy=_busy(row, memory),
    )


def _problem(row: t.Mapping[str, t.Any], generation: t.Any, memory: int) -> t.Optional[str]:
    """Health is good only as OK: npu-smi prints other words, or none, for a chip that is not (npu-smi facts)."""
    if not row.get("responding"):
        return "it does not respond: npu-smi prints zeros for it"
    if row.get("health") != "OK":
        return "its health is {0}{1}".format(str(row.get("health"))[:40], _codes(row.get("errors")))
    if not isinstance(generation, str) or generation not in SOCS:
        return "no image of vllm-ascend serves its generation ({0})".format(str(generation or "unknown")[:40])
    if number(row.get("phy_id")) is None:
        return "which /dev/davinciN it has is not known"
    if not row.get("device_node"):
        return "/dev/davinci{0} does not exist".format(row["phy_id"])
    return None if memory else "the size of its memory is not known"


def _codes(errors: t.Any) -> str:
    codes = errors.get("codes") if isinstance(errors, dict) else None
    return " (error {0})".format(", ".join(str(code)[:20] for code in codes[:4])) if isinstance(codes, list) and codes else ""


def _busy(row: t.Mapping[str, t.Any], memory: int) -> t.Optional[str]:
    processes, used = row.get("processes"), number(row.get("memory_used_mb"))
    if isinstance(processes, list) and processes:
        first = processes[0] if isinstance(processes[0], dict) else {}
        more = " and {0} more".format(len(processes) - 1) if len(processes) > 1 else ""
        return "process {0} ({1}){2} uses it".format(first.get("pid"), str(first.get("name") or "name not visible")[:40], more)
    if processes is None and used is not None and used > max(IDLE_MB, IDLE_SHARE * memory):
        return "{0} MB of its memory are in use, by a process that npu-smi does not list".format(used)
    return None


@functools.lru_cache(maxsize=4096)
def _cpus(cpus: str) -> t.Tuple[int, ...]:
    try:
        return parse_cpus(cpus)
    except NpufleetError:
        return ()


def _near(cpus: t.Any) -> t.Tuple[int, ...]:
    return _cpus(str(cpus)) if isinstance(cpus, str) else ()


def _twins(chips: t.List[Chip]) -> t.List[Chip]:
    """Two chips with one device node cannot be told apart."""
    count: t.Dict[t.Optional[int], int] = {}
    for chip in chips:
        count[chip.phy] = count.get(chip.phy, 0) + 1
    return [
        chip._replace(problem="the facts give its device node to several chips")
        if chip.phy is not None and count[chip.phy] > 1 and chip.problem is None
        else chip
        for chip in chips
    ]


def _pairs(chips: t.List[Chip]) -> t.List[Chip]:
    """The two dies of an A3 NPU are used together or not at all (vllm-ascend: always pairs, at least two)."""
    cards: t.Dict[t.Optional[int], t.List[Chip]] = {}
    for chip in chips:
        if chip.soc == "a3":
            cards.setdefault(chip.card, []).append(chip)
    return [_with_other(chip, cards[chip.card]) if chip.soc == "a3" else chip for chip in chips]


def _with_other(chip: Chip, dies: t.Sequence[Chip]) -> Chip:
    others = [die for die in dies if die is not chip]
    if len(others) != 1 or chip.card is None:
        return chip._replace(problem=chip.problem or "the facts do not list exactly two dies of its NPU")
    problem, busy = others[0].problem, others[0].busy
    return chip._replace(
        problem=chip.problem
        or (problem and "dies of an A3 are used in pairs, and of the other one, {0}, {1}".format(others[0].device, problem)),
        busy=chip.busy or (busy and "dies of an A3 are used in pairs, and of the other one, {0}, {1}".format(others[0].device, busy)),
    )


def hold(chips: t.Sequence[Chip], reserved: t.Mapping[int, str]) -> t.List[Chip]:
    """Return the chips with those marked that somebody reserved, by the number of their device node; pairs stay pairs."""
    held = [chip._replace(problem=chip.problem or reserved.get(chip.phy)) if chip.phy is not None else chip for chip in chips]
    return _pairs(held)


def _islands(npu: t.Mapping[str, t.Any], rows: t.Sequence[t.Mapping[str, t.Any]]) -> t.List[t.Optional[int]]:
    """Return for each chip the smallest id of its island, as the link matrix counts them."""
    topology = npu.get("topology")
    if not isinstance(topology, dict) or not isinstance(topology.get("links"), dict):
        return [None] * len(rows)
    key = _counted(topology, rows)
    if key is None:
        return [None] * len(rows)
    root: t.Dict[int, int] = {}
    for pair, link in topology["links"].items():
        ends = _ends(str(pair)) if isinstance(link, str) and link in FAST_LINKS else None
        if ends is not None:
            first, second = _root(root, ends[0]), _root(root, ends[1])
            if first != second:
                root[max(first, second)] = min(first, second)
    ids = [number(row.get(key)) for row in rows]
    return [None if one is None else _root(root, one) for one in ids]


@functools.lru_cache(maxsize=4096)
def _ends(pair: str) -> t.Optional[t.Tuple[int, int]]:
    """The two devices of a key of ``links``, as in ``0-1``."""
    first, _dash, second = pair.partition("-")
    ends = number(first), number(second)
    return None if ends[0] is None or ends[1] is None else (ends[0], ends[1])


def _root(root: t.Dict[int, int], one: int) -> int:
    while root.get(one, one) != one:
        one = root[one]
    return one


def _counted(topology: Row, rows: t.Sequence[t.Mapping[str, t.Any]]) -> t.Optional[str]:
    """Return which id the matrix counts. No source says what follows "NPU": the id that fits is taken, else none."""
    if topology.get("label") == "Phy-ID":
        return "phy_id"
    devices = topology.get("devices")
    listed = {number(one) for one in devices} if isinstance(devices, list) else set()
    return next((key for key in ("npu_id", "logic_id") if listed and {number(row.get(key)) for row in rows} == listed), None)
