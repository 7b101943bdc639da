# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Which CPUs belong to which NPU, and what follows for its interrupts and its kernel work queue. Pure: from what was read of the host."""

from __future__ import annotations

import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_host import IRQ_NAMES, HostState, Npu, irq_path
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_values import Target, format_cpus

# Fewer make the CPU binding of vllm-ascend give up: two for interrupts, one each for the main, ACL and release threads.
CPUS_PER_NPU = 5


class Share(t.NamedTuple):
    """The CPUs of one NPU: ``near`` are all that are near it, ``own`` is its part of them."""

    npu: Npu
    near: t.Tuple[int, ...]
    own: t.Tuple[int, ...]


def numa_plan(npus: t.Sequence[Npu]) -> t.List[Share]:
    """Divide the CPUs near several NPUs evenly, in the order of their bus ids; an NPU whose CPUs nobody told has none."""
    together: t.Dict[t.Tuple[int, ...], t.List[Npu]] = {}
    for npu in npus:
        together.setdefault(npu.cpus, []).append(npu)
    shares = []
    for npu in npus:
        group = together[npu.cpus]
        size, rest = divmod(len(npu.cpus), len(group))
        place = group.index(npu)
        first = place * size + min(place, rest)
        shares.append(Share(npu, npu.cpus, npu.cpus[first : first + size + (1 if place < rest else 0)]))
    return shares


def plan_rows(host: HostState) -> t.List[t.Dict[str, t.Any]]:
    """The plan as the module returns it, for a role that starts engines."""
    return [
        {
            "device": share.npu.device,
            "bus_id": share.npu.bus_id or None,
            "numa_node": share.npu.node,
            "near_cpus": format_cpus(share.near),
            "cpus": format_cpus(share.own),
        }
        for share in numa_plan(host.npus)
    ]


def narrow_npus(host: HostState) -> t.List[Npu]:
    """NPUs with fewer CPUs than the CPU binding of vllm-ascend needs."""
    return [share.npu for share in numa_plan(host.npus) if len(share.own) < CPUS_PER_NPU]


def irq_cpus(share: Share, name: str) -> str:
    """CPUs of an interrupt: the first and the second of the NPU's own, as vllm-ascend chooses them; all near ones where they are few."""
    if len(share.own) < CPUS_PER_NPU:
        return format_cpus(share.near)
    return str(share.own[IRQ_NAMES.index(name)])


def irq_targets(host: HostState, wanted: bool) -> t.List[Target]:
    """Affinity of the interrupts of all NPUs. Any CPUs near the NPU are good, so what an engine pinned there is left alone."""
    shares = {share.npu.bus_id: share for share in numa_plan(host.npus)}
    targets = []
    for irq in host.irqs:
        share = shares[irq.bus_id]
        if share.near and irq_path(irq) in host.values:
            targets.append(
                Target(
                    "npu_irq_affinity",
                    "irq:{0}:{1}:{2}".format(irq.bus_id, irq.name, irq.place),
                    irq_path(irq),
                    irq_cpus(share, irq.name) if wanted else None,
                    "cpus",
                    within=format_cpus(share.near),
                )
            )
    return targets


def queue_path(device: int) -> str:
    """The mask of the work queue that sends the tasks of an NPU; there since driver 24.1.0 (openEuler llm_solution)."""
    return "/sys/devices/virtual/workqueue/dev{0}_sq_send_wq/cpumask".format(device)


def queue_targets(host: HostState, wanted: bool) -> t.List[Target]:
    """Masks of the work queues of all NPUs whose device number is known; it is read, and never guessed from the order on the PCI bus."""
    targets = []
    for share in numa_plan(host.npus):
        device = share.npu.device
        if device is not None and share.near and queue_path(device) in host.values:
            path, near = queue_path(device), format_cpus(share.near)
            targets.append(Target("npu_work_queue_affinity", path, path, near if wanted else None, "mask", within=near))
    return targets
