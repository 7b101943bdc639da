# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""What an engine on several hosts goes back to: the same step for all of its parts, by what each host has kept of its own. Pure.

A host alone cannot tell: where a run was interrupted some parts may have their new spec already, and others their old one.
"""

from __future__ import annotations

import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._engine_history import Entry, parse_entries, parse_launch
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError

Texts = t.Tuple[t.Optional[str], t.Optional[str]]
# Starts that are further apart belong to two launches; where there were two within less, half of what lay between them. Own choice: the clocks
# of the hosts differ, and Ansible starts parts in waves.
TOGETHER_SECONDS = 60.0


def plan_back(name: str, hosts: t.Sequence[str], kept: t.Sequence[Texts]) -> t.Dict[str, t.Any]:
    """Return where a group goes back to.

    :param name: name of the engine
    :param hosts: the hosts of the group, in the order of ``kept``
    :param kept: the texts of history.json and launch.json of each host, None where there is no such file
    :returns: ``target``, the options of each part to go back to, in the order of ``hosts``; they are those with which it last answered where
        it has no earlier ones, and ``earlier`` is False then. ``answered``, the options with which it last answered; empty where some part
        never did. ``problem``, why it cannot go back, empty where it can.
    """
    entries = [parse_entries(history) for history, _launch in kept]
    never = [host for host, rows in zip(hosts, entries) if not rows]
    if never:
        return {"target": [], "answered": [], "earlier": False, "problem": _never(name, never)}
    answered = [rows[-1]["options"] for rows in entries]
    steps = [_step(rows, parse_launch(launch)) for rows, (_history, launch) in zip(entries, kept)]
    chosen, lacking = _choose(entries, steps)
    target = [rows[-1] if row is None else row for rows, row in zip(entries, chosen)]
    earlier = None in steps or any(row is not rows[-1] for rows, row in zip(entries, target)) or any(steps)
    result = {"target": [row["options"] for row in target], "answered": answered, "earlier": earlier, "problem": ""}
    if earlier and lacking:
        names = [host for host, row in zip(hosts, chosen) if row is None]
        return dict(result, target=[], problem=_lacking(name, hosts, names))
    return _checked(name, result)


def _step(rows: t.Sequence[Entry], digest: t.Optional[str]) -> t.Optional[int]:
    """How many specs before the last that answered is the one in place; None where it never answered."""
    known = [row["digest"] for row in rows]
    return known[::-1].index(digest) if digest in known else None


def _choose(entries: t.Sequence[t.Sequence[Entry]], steps: t.Sequence[t.Optional[int]]) -> t.Tuple[t.List[t.Optional[Entry]], bool]:
    """Return the spec of each part to go back to, None where it has none, and whether that matters."""
    if None in steps:
        # A spec is in place that never answered: what did answer is the one before it.
        return [rows[-1] for rows in entries], False
    # Where a run was interrupted some parts are on their way back already. What they left is what the others leave, too.
    leaving = [rows for rows, step in zip(entries, steps) if step] or list(entries)
    began = max(_since(rows[-1]) for rows in leaving) - _apart(entries)
    chosen = [next((row for row in reversed(rows) if _since(row) < began), None) for rows in entries]
    # One that has arrived has forgotten what it came from.
    return chosen, not any(steps) and None in chosen


def _since(row: Entry) -> float:
    value = row.get("since")
    return float(value) if isinstance(value, (int, float)) else 0.0


def _apart(entries: t.Sequence[t.Sequence[Entry]]) -> float:
    gaps = [_since(after) - _since(before) for rows in entries for before, after in zip(rows, rows[1:])]
    return min([TOGETHER_SECONDS, *(gap / 2 for gap in gaps if gap > 0)])


def _checked(name: str, result: t.Dict[str, t.Any]) -> t.Dict[str, t.Any]:
    """A spec of another number of hosts, by the row of its plan, is not one for this group."""
    parts = result["target"]
    layouts = [(options.get("plan") or {}).get("layout") or {} for options in parts]
    counts = {int(layout["hosts"]) for layout in layouts if layout.get("hosts")}
    if counts <= {len(parts)}:
        return result
    what = "the engine {0} was on {1} hosts before, and is on {2} now".format(name, "/".join(map(str, sorted(counts))), len(parts))
    error = NpufleetError(what, "vllm_engine_hosts", "Go back in the inventory, and run site.yml with vllm_engine_replace=true")
    return dict(result, target=[], earlier=False, problem=str(error))


def _never(name: str, hosts: t.Sequence[str]) -> str:
    what = "the engine {0} has never answered on {1}, so there is nothing to go back to".format(name, ", ".join(hosts))
    return str(
        NpufleetError(what, "engines/{0}/history.json below vllm_engine_home".format(name), "Run upgrade.yml with options that work")
    )


def _lacking(name: str, hosts: t.Sequence[str], lacking: t.Sequence[str]) -> str:
    what = "the engine {0} goes back on all of {1} or on none, and {2} has no earlier spec that answered; nothing was changed"
    where = "engines/{0}/history.json below vllm_engine_home".format(name)
    remedy = "Put the options of before into the inventory, and run upgrade.yml"
    return str(NpufleetError(what.format(name, ", ".join(hosts), ", ".join(lacking)), where, remedy))
