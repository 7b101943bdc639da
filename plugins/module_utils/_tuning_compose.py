# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""The whole plan of host_tuning: rows, values, files, commands and record, from what is wanted and what was read. Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils import _tuning_files as files
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_arguments import argument_plan
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_host import HostState
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_limits import wanted_lines
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_plan import Row, Write, finished, judge, recorded
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_record import Record
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_rows import Parts, Seen, make_rows
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_services import irqbalance_plan, may_ban, tuned_base, tuned_plan
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_spec import KNOBS, Knobs
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_targets import file_targets
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_values import Target

# Commands that follow a change of files and leave no trace by which a later run could see that they were done.
FOLLOW_UPS = ("daemon-reload", "irqbalance-restart", "update-grub", "tuned-ours")
BAN_FILES = {files.BAN_ENV, files.BAN_UNIT, files.BAN_SCRIPT}


class Plan(t.NamedTuple):
    """``record`` is written before the first change, ``after`` is the one behind the last; ``lasting`` shall hold over a reboot."""

    rows: t.List[Row]
    writes: t.List[Write]
    files: t.List[files.OwnFile]
    deletions: t.List[str]
    commands: t.List[str]
    record: Record
    after: Record
    parts: Parts
    lasting: t.List[Target]


def make_plan(knobs: Knobs, seen: Seen, record: Record) -> Plan:
    """Compare everything. With the default Knobs, everything is put back.

    :raises NpufleetError: values that this host must not be given
    """
    host = seen.host
    targets = file_targets(knobs, host)
    lines = wanted_lines(knobs, seen.limits)
    verdicts = {knob: judge(knob, plan, host, record) for knob, plan in targets.items()}
    lasting = [target for knob in targets for target in verdicts[knob].lasting]
    pages = [target for target in lasting if target.knob == "hugepages"]
    arguments = argument_plan(knobs, host, pages, record.arguments, seen.persisted)
    base = tuned_base(host, record)
    wanted = _own_files(knobs, host, record, lasting, lines, arguments.ours, base)
    changed = [item for item in wanted if seen.own.get(item.path) != item]
    deletions = sorted(set(seen.own) - {item.path for item in wanted})
    touched = {item.path for item in changed} | set(deletions)
    has_profile = any(item.path in files.TUNED_FILES for item in wanted)
    irqbalance = irqbalance_plan(knobs, host, record, bool(touched & BAN_FILES))
    tuned = tuned_plan(host, irqbalance.record, has_profile, bool(touched & set(files.TUNED_FILES)))
    parts = Parts(targets, verdicts, lines, arguments, irqbalance, tuned, base)
    commands = _commands(host, touched, parts, record)
    after = recorded(tuned.record, verdicts)._replace(arguments=arguments.ours, pending=())
    return Plan(
        rows=make_rows(knobs, seen, parts),
        writes=[write for verdict in verdicts.values() for write in verdict.writes],
        files=changed,
        deletions=deletions,
        commands=commands,
        record=_before(after, record, commands),
        after=after,
        parts=parts,
        lasting=lasting,
    )


def _own_files(
    knobs: Knobs,
    host: HostState,
    record: Record,
    lasting: t.Sequence[Target],
    lines: t.Sequence[str],
    words: t.Sequence[str],
    base: str,
) -> t.List[files.OwnFile]:
    wanted = files.boot_files(lasting, host, knobs.npu_irq_affinity and host.kind != "container") + files.limits_file(lines)
    if host.boot_tool and host.boot_tool.endswith("update-grub"):
        wanted += files.grub_file(words)
    if may_ban(knobs, host, record):
        wanted += files.ban_files(host.irqbalance_options)
    if "tuned" in host.daemons or record.tuned is not None:
        wanted += files.tuned_file(lasting, host, base)
    return wanted


def _before(after: Record, record: Record, commands: t.Sequence[str]) -> Record:
    """The record before the first change: it knows what is about to be ours and still what is about to be put back."""
    return after._replace(
        arguments=tuple(dict.fromkeys((*record.arguments, *after.arguments))),
        services=dict(record.services, **after.services),
        tuned=after.tuned if after.tuned is not None else record.tuned,
        tuned_auto=after.tuned_auto or record.tuned_auto,
        pending=tuple(name for name in commands if name in FOLLOW_UPS),
    )


def final_record(plan: Plan, host: HostState) -> Record:
    """The record after all changes, the host read again: only what is left to be put back one day."""
    return finished(plan.after, plan.parts.targets, plan.parts.verdicts, host)


def _commands(host: HostState, touched: t.Set[str], parts: Parts, record: Record) -> t.List[str]:
    """Names, in their order. "tuned-back" comes before everything: TuneD puts its own values back, and then ours go over them."""
    names = list(parts.tuned.commands)
    if host.systemd and any(path.startswith(files.UNITS) for path in touched):
        names.append("daemon-reload")
    if files.GRUB in touched:
        names.append("update-grub")
    if host.boot_tool and host.boot_tool.endswith("grubby"):
        names += ["grubby-remove"] if parts.arguments.remove else []
        names += ["grubby-add"] if parts.arguments.add else []
    names += parts.irqbalance.commands
    return names + [name for name in record.pending if name not in names and _still(name, host, parts)]


def _still(name: str, host: HostState, parts: Parts) -> bool:
    """Whether a command that an earlier run did not get to is still of use."""
    if name == "tuned-ours":
        return parts.tuned.action in ("ok", "set")
    if name == "update-grub":
        return bool(host.boot_tool and host.boot_tool.endswith(name))
    return host.systemd


def render(rows: t.Mapping[str, str], own: t.Mapping[str, files.OwnFile], words: t.Iterable[str], record: Record) -> str:
    """Everything that this module changes, as text: one side of the diff, and what decides ``changed``."""
    lines = ["{0}: {1}".format(knob, rows[knob]) for knob in KNOBS]
    lines.append("kernel arguments of the next boot: {0}".format(" ".join(sorted(words)) or "-"))
    lines.append("values to put back one day: {0}".format(", ".join(sorted(record.values)) or "-"))
    lines += ["unfinished: {0}".format(", ".join(record.pending))] if record.pending else []
    for path in sorted(own):
        item = own[path]
        lines += ["", "{0} {1}".format(path, "-> " + item.text if item.mode == 0 else "({0:04o})".format(item.mode))]
        lines += ["    " + line for line in item.text.splitlines()] if item.mode else []
    return "\n".join(lines) + "\n"
