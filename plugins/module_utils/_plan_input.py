# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""What the hosts of an inventory said of themselves and of their engines, as the planner takes it. Pure."""

from __future__ import annotations

import typing as t

Row = t.Dict[str, t.Any]

# Facts that the entry point plan of the role vllm_engine leaves on hosts with NPUs.
HOST, ENGINES, RUNNING, PROBLEM = (
    "vllm_engine_plan_host",
    "vllm_engine_plan_engines",
    "vllm_engine_plan_running",
    "vllm_engine_plan_problem",
)


def plan_input(variables: t.Mapping[str, t.Mapping[str, t.Any]], names: t.Sequence[str]) -> Row:
    """Return ``hosts``, ``engines`` and ``running`` of the filter vllm_plan, and ``waiting``: hosts that cannot be planned yet, and why.

    An engine over several hosts takes those that ask for an engine of its name, in their order, as many at a time as it wants.

    :param variables: variables of all hosts, by name
    :param names: the hosts to plan with, in the order of the inventory
    """
    asked = [name for name in names if HOST in variables[name]]
    waiting = {name: str(variables[name][PROBLEM]) for name in asked if variables[name].get(PROBLEM)}
    ready = [name for name in asked if name not in waiting]
    return {
        "hosts": {name: variables[name][HOST] for name in ready},
        "engines": _engines([(name, row) for name in ready for row in variables[name][ENGINES]]),
        "running": [row for name in ready for row in variables[name][RUNNING]],
        "waiting": waiting,
    }


def _engines(rows: t.Sequence[t.Tuple[str, t.Mapping[str, t.Any]]]) -> t.List[Row]:
    """One engine for each full group of hosts; what is left over is one that the planner refuses by the number of its hosts."""
    by_name: t.Dict[str, t.List[t.Tuple[str, t.Mapping[str, t.Any]]]] = {}
    for host, row in rows:
        by_name.setdefault(str(row["name"]), []).append((host, row))
    engines = []
    for members in by_name.values():
        place = 0
        while place < len(members):
            first = members[place][1]
            size = max(int(first.get("host_count") or 1), 1)
            engines.append(dict(first, hosts=[host for host, _row in members[place : place + size]]))
            place += size
    return engines
