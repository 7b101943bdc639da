# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""The plan: what is wanted against what is installed and remembered. Pure; it is made anew after every installer."""

from __future__ import annotations

import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._ascend_version import compare, parse_version
from ansible_collections.npufleet.ascend.plugins.module_utils._package_flags import EXISTING, FRESH, REMOVE
from ansible_collections.npufleet.ascend.plugins.module_utils._package_record import Record, unfinished
from ansible_collections.npufleet.ascend.plugins.module_utils._package_state import Installed
from ansible_collections.npufleet.ascend.plugins.module_utils._package_table import KINDS

# Driver before firmware on a host without a driver, the other way round where one is there (ascend-deployer 26.0.0): the firmware is flashed
# through the driver, and a new driver may not speak with an old firmware. A broken driver flashes nothing, so it counts as none.
# Operators and nnal need the toolkit; the Docker runtime asks for the driver.
_FRESH_ORDER = ("driver", "firmware", "toolkit", "ops", "nnal", "toolbox", "docker_runtime")
_UPGRADE_ORDER = ("firmware", "driver", *_FRESH_ORDER[2:])
# hiascend: everything else goes before driver and firmware, between which the order does not matter.
_REMOVE_ORDER = tuple(reversed(_FRESH_ORDER))
# From here on CANN has a tree of its own, so what is older is no earlier version of it for its installer.
_NEW_TREE = (8, 5)


class Target(t.NamedTuple):
    """What is wanted of one kind.

    :param version: as asked for; of firmware the version of the HDK
    :param number: what the files will say; '' for a firmware whose number nobody knows yet
    :param source: the file that would tell the number, for the message
    :param chip: of operators
    """

    kind: str
    version: str
    number: str
    source: str = ""
    chip: str = ""


class Step(t.NamedTuple):
    """What happens to one kind. ``action``: none, install, upgrade, downgrade, repair or remove. ``how``: see _package_flags.

    :param want: in words
    :param number: version that the files will say; '' where nobody knows it yet
    """

    kind: str
    action: str
    have: str
    want: str
    reason: str
    how: str
    number: str = ""


class Plan(t.NamedTuple):
    """``rows`` in the order they were asked for, ``steps`` in the order they are done, ``refusals``: what is wrong and what to do."""

    rows: t.List[Step]
    steps: t.List[Step]
    refusals: t.List[t.Tuple[str, str]]

    def before(self) -> str:
        """The diff's left side, one line a package."""
        return "".join("{0} {1}\n".format(row.kind, row.have or "absent") for row in self.rows)

    def after(self) -> str:
        """The diff's right side."""
        return "".join(
            "{0} {1}\n".format(row.kind, (row.want or "absent") if row.action != "none" else row.have or "absent") for row in self.rows
        )


def plan_present(
    targets: t.Sequence[Target],
    state: t.Mapping[str, Installed],
    records: t.Mapping[str, Record],
    allow_downgrade: bool,
    running: str = "",
) -> Plan:
    """Return what brings these packages to their versions.

    :param running: the kind whose installer runs now
    """
    rows = [
        _running(target.kind, state[target.kind], records[target.kind])
        if target.kind == running
        else _row(target, state[target.kind], unfinished(records[target.kind]))
        for target in targets
    ]
    refusals = [_downgrade_refusal(row) for row in rows if row.action == "downgrade" and not allow_downgrade]
    refusals += [_chip_refusal(target, state["ops"]) for target in targets if target.kind == "ops" and _other_chip(target, state["ops"])]
    driver = state.get("driver", Installed())
    flashable = driver.complete and not unfinished(records.get("driver", Record()))
    return Plan(rows, _ordered(rows, _UPGRADE_ORDER if flashable else _FRESH_ORDER), refusals)


def plan_absent(kinds: t.Sequence[str], state: t.Mapping[str, Installed], records: t.Mapping[str, Record], running: str = "") -> Plan:
    """Return what removes these kinds.

    :param running: the kind whose installer or uninstaller runs now
    """
    rows = []
    for kind in kinds:
        installed = state[kind]
        have = _shown(installed)
        if kind == running:
            rows.append(_running(kind, installed, records[kind]))
        elif installed.there:
            rows.append(Step(kind, "remove", have, "", "{0} {1} is installed".format(kind, installed.version or "(incomplete)"), REMOVE))
        else:
            rows.append(Step(kind, "none", "", "", "", REMOVE))
    return Plan(rows, _ordered(rows, _REMOVE_ORDER), [])


def _running(kind: str, installed: Installed, record: Record) -> Step:
    want = "" if record.action == "remove" else record.number or record.version
    return Step(kind, record.action, _shown(installed), want, "its {0} is running".format(record.action), FRESH)


def _row(target: Target, installed: Installed, interrupted: str) -> Step:
    kind, want = target.kind, target.number or "of HDK {0}".format(target.version)
    have = _shown(installed, interrupted)
    fault = interrupted or installed.partial
    if fault:
        return Step(kind, "repair", have, want, "{0}: {1}".format(kind, fault), FRESH, target.number)
    if not installed.version:
        return Step(kind, "install", "", want, "{0} {1} is wanted and not installed".format(kind, want), FRESH, target.number)
    if not target.number:
        reason = "which firmware belongs to HDK {0} is told by {1}, which is not on the host".format(target.version, target.source)
        return Step(kind, "upgrade", have, want, reason, EXISTING)
    order = compare(target.number, installed.version)
    if order == 0:
        return Step(kind, "none", have, want, "", EXISTING, target.number)
    reason = "{0} {1} is installed and {2} is wanted".format(kind, installed.version, want)
    action = "upgrade" if order > 0 else "downgrade"
    return Step(kind, action, have, want, reason, _how(kind, action, installed.version, target.number), target.number)


def _how(kind: str, action: str, have: str, want: str) -> str:
    """Driver and firmware replace any other version with --upgrade. For CANN that is for an older version of the same tree only."""
    if kind in ("toolkit", "ops", "nnal"):
        same_tree = (parse_version(have).train >= _NEW_TREE) == (parse_version(want).train >= _NEW_TREE)
        return EXISTING if action == "upgrade" and same_tree else FRESH
    return EXISTING


def _shown(installed: Installed, interrupted: str = "") -> str:
    if interrupted or installed.partial:
        return "{0} (incomplete)".format(installed.version).strip()
    return installed.version


def _other_chip(target: Target, installed: Installed) -> bool:
    return bool(target.chip and installed.chip and installed.chip.lower() != target.chip.lower())


def _chip_refusal(target: Target, installed: Installed) -> t.Tuple[str, str]:
    what = "operators for {0} are installed and those for {1} are wanted; both in one path do not work".format(installed.chip, target.chip)
    return what, "Correct the chip, or remove the operators first (state: absent)"


def _downgrade_refusal(row: Step) -> t.Tuple[str, str]:
    what = "{0} {1} is installed, which is newer than the {2} that is wanted".format(KINDS[row.kind].title, row.have, row.want)
    return what, "Correct the version, or set allow_downgrade to true"


def _ordered(rows: t.Sequence[Step], order: t.Sequence[str]) -> t.List[Step]:
    return sorted((row for row in rows if row.action != "none"), key=lambda row: order.index(row.kind))
