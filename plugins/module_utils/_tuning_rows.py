# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""The table of host_tuning: what each knob shows of the host, was found as, shall be, and is now. Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils import _tuning_files as files
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_arguments import ArgumentPlan, iommu_found
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_host import HostState
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_limits import LimitState, shown, with_lines
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_npu import CPUS_PER_NPU, narrow_npus, numa_plan
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_plan import REASONS, Row, Verdict, observed, predicted
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_services import IRQBALANCE, ServicePlan, irqbalance_state
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_spec import KNOBS, Knobs
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_targets import KnobTargets

COLUMNS = ("knob", "found", "wanted", "now", "reason")
LIMITS = ("nofile", "memlock")


class Seen(t.NamedTuple):
    """All that was read: the host, the limits, our files (those that are there), and kernel arguments that the boot loader has."""

    host: HostState
    limits: LimitState
    own: t.Dict[str, files.OwnFile]
    persisted: t.Tuple[str, ...]


class Parts(t.NamedTuple):
    """What was decided about each kind of knob. ``lines`` are those of our limits file, ``base`` is the TuneD profile below ours."""

    targets: t.Dict[str, KnobTargets]
    verdicts: t.Dict[str, Verdict]
    lines: t.List[str]
    arguments: ArgumentPlan
    irqbalance: ServicePlan
    tuned: ServicePlan
    base: str


def make_rows(knobs: Knobs, seen: Seen, parts: Parts) -> t.List[Row]:
    """All rows, in the order of the knobs; ``now`` is what the changes will make of it."""
    rows = {knob: Row(knob, "", plan.wanted or "-", "", *parts.verdicts[knob][:2]) for knob, plan in parts.targets.items()}
    for name, service in ((IRQBALANCE, parts.irqbalance), ("tuned", parts.tuned)):
        rows[name] = Row(name, "", service.wanted or "-", "", service.action, service.reason)
    rows["iommu_passthrough"] = _iommu_row(knobs, parts.arguments)
    rows["numa_plan"] = _numa_row(seen.host)
    for item in LIMITS:
        rows[item] = _limit_row(knobs, seen.limits, item, parts.lines)
    found = shown_values(knobs, seen, parts.targets)
    now = shown_values(knobs, expected(seen, parts), parts.targets)
    return [rows[knob]._replace(found=found[knob], now=now[knob]) for knob in KNOBS]


def shown_values(knobs: Knobs, seen: Seen, targets: t.Mapping[str, KnobTargets]) -> t.Dict[str, str]:
    """What each row shows of the host."""
    host = seen.host
    shares = numa_plan(host.npus)
    sizes = "/".join(str(size) for size in sorted({len(share.own) for share in shares}))
    texts = {knob: observed(plan.targets, host) for knob, plan in targets.items()}
    texts[IRQBALANCE] = irqbalance_state(host, files.BAN_UNIT in seen.own)
    texts["tuned"] = (host.tuned_profile or "no profile") if "tuned" in host.daemons else "not running"
    texts["iommu_passthrough"] = iommu_found(host.cmdline)
    texts["numa_plan"] = "{0} NPUs, {1} CPUs each".format(len(shares), sizes) if shares else "no NPU"
    for item in LIMITS:
        texts[item] = shown(knobs, seen.limits, item)
    return texts


def expected(seen: Seen, parts: Parts) -> Seen:
    """What will be read after the changes, as far as the table shows it. Kernel arguments wait for the reboot."""
    host = predicted(seen.host, parts.verdicts)
    commands = parts.irqbalance.commands + parts.tuned.commands
    stopped = "irqbalance-disable" in commands
    running = not stopped and (IRQBALANCE in host.daemons or "irqbalance-start" in commands)
    enabled = not stopped and (host.irqbalance_enabled or "irqbalance-enable" in commands)
    profile = host.tuned_profile
    if "tuned-ours" in commands:
        profile = files.PROFILE
    elif "tuned-back" in commands:
        profile = parts.base
    daemons = (host.daemons - {IRQBALANCE}) | (frozenset({IRQBALANCE}) if running else frozenset())
    host = host._replace(daemons=daemons, irqbalance_enabled=enabled, tuned_profile=profile)
    own = {path: item for path, item in seen.own.items() if path != files.BAN_UNIT}
    if parts.irqbalance.wanted == "leaves NPUs alone" and parts.irqbalance.action != "skipped":
        own[files.BAN_UNIT] = files.OwnFile(files.BAN_UNIT, "")
    return seen._replace(host=host, limits=with_lines(seen.limits, parts.lines), own=own)


def _iommu_row(knobs: Knobs, arguments: ArgumentPlan) -> Row:
    row = Row("iommu_passthrough", "", "on" if knobs.iommu_passthrough else "-", "", "ok", REASONS["iommu_passthrough"])
    if row.knob in arguments.skips:
        return row._replace(action="skipped", reason=arguments.skips[row.knob])
    if row.knob in arguments.waiting:
        return row._replace(action="set" if arguments.add else "ok", reason="on after the next reboot")
    if knobs.iommu_passthrough:
        return row
    gone = any(word.startswith("iommu") for word in arguments.remove)
    return row._replace(action="undone" if gone else "off", reason="off after the next reboot" if gone else "")


def _numa_row(host: HostState) -> Row:
    row = Row("numa_plan", "", "at least {0} CPUs each".format(CPUS_PER_NPU), "", "ok", "CPUs near each NPU, for engines")
    narrow = ", ".join(npu.name for npu in narrow_npus(host))
    if not host.npus:
        return row._replace(wanted="-", action="skipped", reason="no NPU here")
    if narrow:
        return row._replace(action="partly", reason="too few CPUs near {0}: vllm-ascend will not bind them".format(narrow))
    return row


def _limit_row(knobs: Knobs, limits: LimitState, item: str, lines: t.Sequence[str]) -> Row:
    value = getattr(knobs, item)
    row = Row(item, "", "-" if value is None else str(value), "", "ok", REASONS[item])
    mine = [tuple(line.split()) for line in lines if line.split()[2] == item]
    had = [line for line in limits.own if line[2] == item]
    if value is not None and limits.hindrance:
        return row._replace(action="skipped", reason=limits.hindrance)
    if mine:
        return row if mine == had else row._replace(action="set")
    if had:
        return row._replace(action="undone", reason="back to the value found first")
    return row._replace(action="off", reason="") if value is None else row._replace(action="kept", reason="a higher value is never lowered")


def table_lines(rows: t.Sequence[Row]) -> t.List[str]:
    """The table for a terminal, columns aligned; ``reason`` begins with the action where that is not plain."""
    cells = [COLUMNS] + [
        (row.knob, row.found, row.wanted, row.now, "{0}: {1}".format(row.action, row.reason) if row.reason else row.action) for row in rows
    ]
    widths = [max(len(line[column]) for line in cells) for column in range(len(COLUMNS))]
    return ["  ".join(text.ljust(width) for text, width in zip(line, widths)).rstrip() for line in cells]
