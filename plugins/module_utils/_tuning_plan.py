# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""What host_tuning has to do: wanted against found, for each kernel file and each knob, and the rows of the table. Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_host import HostState
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_record import Entry, Record
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_targets import KnobTargets
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_values import (
    Target,
    inside,
    joined,
    normal,
    summary,
    without,
    written,
)

# Why a knob is turned, in the few words that fit the table; docs/host-tuning.md has the sources.
REASONS = {
    "hugepages": "asked for; vLLM on Ascend does not need them",
    "shmmax_bytes": "one segment as large as the guide asks",
    "shmall_pages": "room for one segment of shmmax, in pages",
    "transparent_hugepage": "fewer page faults while weights load (MindIE-Turbo)",
    "swappiness": "keep the engine out of swap (vllm-ascend)",
    "numa_balancing": "engines bind their CPUs themselves (vllm-ascend)",
    "sched_migration_cost_ns": "how long a task counts as cache-hot (vllm-ascend)",
    "cpu_governor": "no waiting for a higher clock (vllm-ascend)",
    "irqbalance": "it moves the interrupts that engines pin (vllm-ascend)",
    "npu_irq_affinity": "interrupts near the NPU (vllm-ascend)",
    "npu_work_queue_affinity": "tasks are sent from near the NPU (openEuler)",
    "reserved_ports": "no connection takes what HCCL listens on (CANN)",
    "iommu_passthrough": "no translation of the driver's DMA",
    "nofile": "a socket for each request",
    "memlock": "RDMA registers memory",
    "tuned": "TuneD would set other values again",
}


class Row(t.NamedTuple):
    """One line of the table. ``action`` is ok, set, kept, partly, skipped, undone or off."""

    knob: str
    found: str
    wanted: str
    now: str
    action: str
    reason: str


class Write(t.NamedTuple):
    """One value for one kernel file; ``key`` and ``knob`` are for the record, and ``before``: what was found, of ports those of others."""

    knob: str
    key: str
    path: str
    form: str
    value: str
    before: str
    undo: bool


class Verdict(t.NamedTuple):
    """About one knob: what happens to it, the values to write, and the targets that shall hold over a reboot."""

    action: str
    reason: str
    writes: t.List[Write]
    lasting: t.List[Target]


def observed(targets: t.Iterable[Target], host: HostState) -> str:
    """The values of a knob in a few words."""
    pairs = [(target.unit, normal(target.form, host.values[target.path])) for target in targets if target.path in host.values]
    return summary(pairs) or "-"


def judge(knob: str, plan: KnobTargets, host: HostState, record: Record) -> Verdict:
    """Compare one knob. What the record knows of it and what is not wanted any more is put back."""
    applies = bool(plan.wanted) and not plan.skip
    writes: t.List[Write] = []
    lasting: t.List[Target] = []
    kept = False
    for target in plan.targets if applies else ():
        found = normal(target.form, host.values[target.path])
        if target.wanted is None:
            continue
        entry = record.values.get(target.key)
        goal = _goal(target, found, entry)
        bends = bool(target.within) or target.form == "ports"
        kept = kept or (goal != target.wanted and not bends)
        if goal == target.wanted or bends:
            lasting.append(target)
        if goal != found:
            before = _others(entry, found) if target.form == "ports" else found
            writes.append(Write(knob, target.key, target.path, target.form, goal, before, False))
    undo = _undo(knob, plan, host, record, {target.key for target in plan.targets if applies and target.wanted is not None})
    return Verdict(*_words(knob, plan, writes, undo, kept), writes + undo, lasting)


def _goal(target: Target, found: str, entry: t.Optional[Entry]) -> str:
    """The value to end up with. A floor never goes below what was found first, nor below what somebody else set since."""
    wanted = str(target.wanted)
    if target.form == "ports":
        return joined(_others(entry, found), wanted)
    if target.within:
        return found if inside(found, target.within) else wanted
    if not target.floor or not found.isdigit():
        return wanted
    base = entry.before if entry and entry.set == found else found
    return str(max(int(wanted), int(base))) if base.isdigit() else wanted


def _others(entry: t.Optional[Entry], found: str) -> str:
    """What is there and was not added by us."""
    return without(found, without(entry.set, entry.before)) if entry else found


def _original(entry: Entry, found: str) -> str:
    """The value without us. Ports that others added since stay."""
    return _others(entry, found) if entry.form == "ports" else entry.before


def _undo(knob: str, plan: KnobTargets, host: HostState, record: Record, wanted: t.Set[str]) -> t.List[Write]:
    paths = {target.key: target.path for target in plan.targets}
    writes = []
    for key, entry in record.values.items():
        path = paths.get(key, entry.path)
        if entry.knob == knob and key not in wanted and path in host.values and path not in host.readonly:
            found = normal(entry.form, host.values[path])
            goal = _original(entry, found)
            if found != goal:
                writes.append(Write(knob, key, path, entry.form, goal, found, True))
    return writes


def _words(knob: str, plan: KnobTargets, writes: t.Sequence[Write], undo: t.Sequence[Write], kept: bool) -> t.Tuple[str, str]:
    if plan.wanted and plan.skip:
        return "skipped", plan.skip
    if writes:
        return "set", REASONS[knob]
    if undo:
        return "undone", "back to the value found first"
    if kept:
        return "kept", "a higher value is never lowered"
    return ("ok", REASONS[knob]) if plan.wanted else ("off", "")


def recorded(record: Record, verdicts: t.Mapping[str, Verdict]) -> Record:
    """The record as it has to be before the writes: values found first are kept, those that are new are added."""
    values = dict(record.values)
    for verdict in verdicts.values():
        for write in verdict.writes:
            if not write.undo:
                # Ports of others may have changed since; anything else keeps the value found first.
                before = values[write.key].before if write.key in values and write.form != "ports" else write.before
                values[write.key] = Entry(write.knob, write.path, write.form, before, write.value)
    return record._replace(values=values)


def finished(record: Record, plans: t.Mapping[str, KnobTargets], verdicts: t.Mapping[str, Verdict], host: HostState) -> Record:
    """The record after the writes: without what was put back, and without files that are gone."""
    values = {}
    for key, entry in record.values.items():
        plan, verdict = plans[entry.knob], verdicts[entry.knob]
        paths = {target.key: target.path for target in plan.targets}
        path = paths.get(key, entry.path)
        wanted = verdict.action != "skipped" and any(target.key == key and target.wanted is not None for target in plan.targets)
        if path in host.values:
            found = normal(entry.form, host.values[path])
            if wanted or found != _original(entry, found):
                values[key] = entry
    return record._replace(values=values)


def predicted(host: HostState, verdicts: t.Mapping[str, Verdict]) -> HostState:
    """The host as it will be when every write does what it should."""
    values = dict(host.values)
    for verdict in verdicts.values():
        for write in verdict.writes:
            values[write.path] = written(write.form, write.value)
    return host._replace(values=values)
