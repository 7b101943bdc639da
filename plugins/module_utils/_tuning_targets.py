# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""The kernel files of each knob on this host, with their wanted values, or why the knob does not apply. Pure."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_host import (
    MIGRATION_COSTS,
    NUMA_BALANCING,
    RESERVED_PORTS,
    SHMALL,
    SHMMAX,
    SWAPPINESS,
    THP,
    HostState,
)
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_npu import irq_targets, queue_targets
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_spec import HugePages, Knobs, size_text
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_values import Target, normal

POOL = re.compile(r"/(?:node(\d+)/)?hugepages/hugepages-(\d+)kB/nr_hugepages$")
GIB = 1024**3


class KnobTargets(t.NamedTuple):
    """Files of one knob, the wanted value for the table, and why it does not apply ('' where it does)."""

    targets: t.List[Target]
    wanted: str
    skip: str = ""


def file_targets(knobs: Knobs, host: HostState) -> t.Dict[str, KnobTargets]:
    """All knobs that are files of the kernel.

    :raises NpufleetError: huge pages that would take more than their share of the free memory
    """
    found = {
        "hugepages": _hugepages(knobs, host),
        "shmmax_bytes": _one(host, "shmmax_bytes", SHMMAX, knobs.shmmax_bytes, "number", floor=True),
        "shmall_pages": _one(host, "shmall_pages", SHMALL, shmall_pages(knobs, host.page_size), "number", floor=True),
        "transparent_hugepage": _one(host, "transparent_hugepage", THP, knobs.transparent_hugepage, "choice"),
        "swappiness": _one(host, "swappiness", SWAPPINESS, knobs.swappiness, "number"),
        "numa_balancing": _one(host, "numa_balancing", NUMA_BALANCING, knobs.numa_balancing, "number"),
        "sched_migration_cost_ns": _one(
            host,
            "sched_migration_cost_ns",
            next((path for path in MIGRATION_COSTS if path in host.values), MIGRATION_COSTS[0]),
            knobs.sched_migration_cost_ns,
            "number",
            missing="this kernel has neither the sysctl nor the file of debugfs",
        ),
        "cpu_governor": _governor(knobs, host),
        "npu_irq_affinity": _irqs(knobs, host),
        "npu_work_queue_affinity": _queues(knobs, host),
        "reserved_ports": _ports(knobs, host),
    }
    if host.kind == "container":
        # The limits of System V shared memory belong to the IPC namespace; everything else is the host's.
        shared = "a container shares this with its host ({0})".format(host.kind_source)
        for name in set(found) - {"shmmax_bytes", "shmall_pages"}:
            if found[name].wanted:
                found[name] = found[name]._replace(skip=shared)
    return found


def shmall_pages(knobs: Knobs, page_size: int) -> t.Optional[int]:
    """shmall is pages where shmmax is bytes (proc_sys_kernel(5)); without a value of its own it is what holds one shmmax."""
    if knobs.shmall_pages is None and knobs.shmmax_bytes is not None:
        return -(-knobs.shmmax_bytes // page_size)
    return knobs.shmall_pages


def _one(
    host: HostState, knob: str, path: str, wanted: t.Any, form: str, floor: bool = False, missing: str = "this kernel does not have it"
) -> KnobTargets:
    text = None if wanted is None else str(wanted)
    if path not in host.values:
        return KnobTargets([], text or "", missing)
    return KnobTargets([Target(knob, path, path, text, form, floor)], text or "", _readonly(host, [path]))


def _readonly(host: HostState, paths: t.Iterable[str]) -> str:
    return "read-only here" if host.readonly.intersection(paths) else ""


def _governor(knobs: Knobs, host: HostState) -> KnobTargets:
    wanted = knobs.cpu_governor
    paths = [path for path in host.values if path.endswith("/scaling_governor")]
    if not paths:
        where = "a virtual machine" if host.kind == "virtual" else "firmware without a governor"
        return KnobTargets([], wanted or "", "no cpufreq here: {0}".format(where))
    offered = {word for path, text in host.values.items() if path.endswith("_available_governors") for word in text.split()}
    skip = _readonly(host, paths)
    if wanted and offered and wanted not in offered:
        skip = "this kernel offers {0}".format(", ".join(sorted(offered)))
    return KnobTargets([Target("cpu_governor", path, path, wanted) for path in paths], wanted or "", skip)


def _irqs(knobs: Knobs, host: HostState) -> KnobTargets:
    targets = irq_targets(host, knobs.npu_irq_affinity)
    skip = _readonly(host, [target.path for target in targets])
    if not targets:
        skip = "no interrupts of an NPU: the driver is not loaded" if host.npus else "no NPU here"
    return KnobTargets(targets, "on CPUs near the NPU" if knobs.npu_irq_affinity else "", skip)


def _queues(knobs: Knobs, host: HostState) -> KnobTargets:
    targets = queue_targets(host, knobs.npu_work_queue_affinity)
    skip = _readonly(host, [target.path for target in targets])
    if not host.npus:
        skip = "no NPU here"
    elif not targets:
        there = any("_sq_send_wq" in path for path in host.values)
        skip = "the device numbers are not known: gather npu_facts" if there else "no such work queue: driver before 24.1.0, or not loaded"
    return KnobTargets(targets, "on CPUs near the NPU" if knobs.npu_work_queue_affinity else "", skip)


def _ports(knobs: Knobs, host: HostState) -> KnobTargets:
    plan = _one(host, "reserved_ports", RESERVED_PORTS, knobs.reserved_ports or None, "ports")
    return plan if host.npus else plan._replace(skip="no NPU here")


def _hugepages(knobs: Knobs, host: HostState) -> KnobTargets:
    pools = {}
    for path in host.values:
        match = POOL.search(path)
        if match and bool(match.group(1)) == bool(host.nodes):
            pools[int(match.group(2)), int(match.group(1)) if match.group(1) else None] = path
    counts, problems = _counts(knobs, host, pools)
    if not problems and host.kind != "container":
        _check_share(knobs, host, pools, counts)
    targets = [
        Target(
            "hugepages", path, path, str(counts[pool]) if pool in counts and not problems else None, "number", True, unit=size_text(pool[0])
        )
        for pool, path in sorted(pools.items(), key=lambda item: (item[0][0], item[0][1] or 0))
    ]
    wanted = "; ".join(_wanted_pages(item, host.default_kb) for item in knobs.hugepages)
    skip = "; ".join(problems) or _readonly(host, pools.values())
    return KnobTargets(targets, wanted, skip or ("" if pools else "this kernel has no huge pages"))


Pool = t.Tuple[int, t.Optional[int]]


def _counts(knobs: Knobs, host: HostState, pools: t.Mapping[Pool, str]) -> t.Tuple[t.Dict[Pool, int], t.List[str]]:
    """Pages of each pool, and what this kernel does not have."""
    counts: t.Dict[Pool, int] = {}
    problems = []
    sizes = sorted({size for size, _node in pools})
    for item in knobs.hugepages:
        size = item.size_kb or host.default_kb or 0
        nodes = sorted((node for found, node in pools if found == size), key=lambda node: node or 0)
        if not nodes:
            problems.append(
                "this kernel has pages of {0} and not of {1}".format(", ".join(map(size_text, sizes)) or "no size", size_text(size))
            )
        elif item.node is not None and item.node not in nodes:
            problems.append("there is no NUMA node {0} with memory".format(item.node))
        else:
            for node, count in _spread(item, nodes):
                counts[size, node] = counts.get((size, node), 0) + count
    return counts, problems


def _spread(item: HugePages, nodes: t.Sequence[t.Optional[int]]) -> t.List[t.Tuple[t.Optional[int], int]]:
    if item.node is not None:
        return [(item.node, item.pages)]
    each, rest = divmod(item.pages, len(nodes))
    return [(node, each + (1 if place < rest else 0)) for place, node in enumerate(nodes)]


def _check_share(knobs: Knobs, host: HostState, pools: t.Mapping[Pool, str], counts: t.Mapping[Pool, int]) -> None:
    free = {node.number: node.free_bytes for node in host.nodes}
    more: t.Dict[t.Optional[int], int] = {}
    for (size, node), count in counts.items():
        found = normal("number", host.values[pools[size, node]])
        more[node] = more.get(node, 0) + max(0, count - (int(found) if found.isdigit() else 0)) * size * 1024
    for node, needed in more.items():
        available = host.memory_bytes if node is None else free.get(node, 0)
        if needed > available * knobs.hugepages_share:
            raise NpufleetError(
                "huge pages of {0:.1f} GiB more would take over {1:.0%} of the {2:.1f} GiB that are free".format(
                    needed / GIB, knobs.hugepages_share, available / GIB
                ),
                where="knobs.hugepages" + ("" if node is None else ", NUMA node {0}".format(node)),
                remedy="Ask for fewer pages, free memory, or raise hugepages_share",
            )


def _wanted_pages(item: HugePages, default_kb: t.Optional[int]) -> str:
    size = item.size_kb or default_kb
    where = "" if item.node is None else " on node {0}".format(item.node)
    return "{0}: {1}{2}".format(size_text(size) if size else "default size", item.pages, where)
