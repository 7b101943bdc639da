# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""irqbalance and TuneD, the two services that would set other values again: what to do with them. Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_files import PROFILE
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_host import HostState
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_plan import REASONS
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_record import Record
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_spec import Knobs

IRQBALANCE = "irqbalance"


class ServicePlan(t.NamedTuple):
    """About one service: action and reason for the table, the wanted words there, names of commands, and the record after it."""

    action: str
    reason: str
    wanted: str
    commands: t.Tuple[str, ...]
    record: Record


def irqbalance_state(host: HostState, banned: bool) -> str:
    """``running, enabled``, ``stopped`` and so on, for the table."""
    words = [word for word, true in (("running", IRQBALANCE in host.daemons), ("enabled", host.irqbalance_enabled)) if true]
    return ", ".join(words or ["stopped"]) + (", leaves NPUs alone" if banned and words else "")


def may_ban(knobs: Knobs, host: HostState, record: Record) -> bool:
    """Whether irqbalance runs, or ran before we stopped it, and shall leave the interrupts of NPUs alone."""
    runs = IRQBALANCE in host.daemons or host.irqbalance_enabled or record.services.get(IRQBALANCE, {}).get("running", False)
    return knobs.irqbalance == "ban_npu" and not _skip(host) and runs


def irqbalance_plan(knobs: Knobs, host: HostState, record: Record, files_change: bool) -> ServicePlan:
    """Stop it, let it run without the NPUs, or put back what was found."""
    wanted = {"keep": "", "stopped": "stopped", "ban_npu": "leaves NPUs alone"}[knobs.irqbalance]
    entry = record.services.get(IRQBALANCE)
    if wanted and _skip(host):
        return ServicePlan("skipped", _skip(host), wanted, (), record)
    runs, enabled = IRQBALANCE in host.daemons, host.irqbalance_enabled
    if knobs.irqbalance == "stopped":
        if not runs and not enabled:
            return ServicePlan("ok", REASONS[IRQBALANCE], wanted, (), record)
        noted = entry or {"running": runs, "enabled": enabled}
        kept = record._replace(services=dict(record.services, **{IRQBALANCE: noted}))
        return ServicePlan("set", REASONS[IRQBALANCE], wanted, ("irqbalance-disable",), kept)
    left = record._replace(services={name: item for name, item in record.services.items() if name != IRQBALANCE})
    back = _back(entry, runs, enabled)
    restart = ("irqbalance-restart",) if files_change and runs else ()
    if wanted:
        if not (runs or enabled or back):
            return ServicePlan("skipped", "irqbalance does not run here", wanted, (), left)
        return ServicePlan("set" if back or files_change else "ok", REASONS[IRQBALANCE], wanted, back + restart, left)
    if back or files_change:
        return ServicePlan("undone", "back to what was found first", wanted, back + restart, left)
    return ServicePlan("off", "", wanted, (), left)


def _back(entry: t.Optional[t.Mapping[str, bool]], runs: bool, enabled: bool) -> t.Tuple[str, ...]:
    if entry is None:
        return ()
    commands = ("irqbalance-enable",) if entry.get("enabled") and not enabled else ()
    return commands + (("irqbalance-start",) if entry.get("running") and not runs else ())


def _skip(host: HostState) -> str:
    if host.kind == "container":
        return "a container shares this with its host ({0})".format(host.kind_source)
    if not host.systemd:
        return "systemd is not PID 1"
    return "" if host.npus else "no NPU here"


def tuned_base(host: HostState, record: Record) -> str:
    """The profile below ours: the one that was active before."""
    if record.tuned is not None:
        return record.tuned
    return "" if host.tuned_profile == PROFILE else host.tuned_profile


def tuned_plan(host: HostState, record: Record, has_file: bool, file_changes: bool) -> ServicePlan:
    """Activate our profile where TuneD runs, or the one before.

    :param has_file: whether there are values for a profile
    """
    runs = "tuned" in host.daemons
    if has_file and runs:
        changes = host.tuned_profile != PROFILE or file_changes
        auto = record.tuned_auto if record.tuned is not None else host.tuned_auto
        noted = record._replace(tuned=tuned_base(host, record), tuned_auto=auto)
        return ServicePlan("set" if changes else "ok", REASONS["tuned"], PROFILE, ("tuned-ours",) if changes else (), noted)
    if record.tuned is None:
        return ServicePlan("off", "" if runs else "TuneD does not run", "", (), record)
    if has_file:
        return ServicePlan("skipped", "TuneD does not run", PROFILE, (), record)
    left = record._replace(tuned=None, tuned_auto=False)
    if host.tuned_profile != PROFILE:
        return ServicePlan("undone", "another profile is active already", "", (), left)
    return ServicePlan("undone", "back to the profile found first", "", ("tuned-back",), left)
