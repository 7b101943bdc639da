# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Which hosts serve an engine together, as the variables of an inventory tell it without a plan. Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._engine_inventory import PREFIX, Variables, instances, options

# What the role vllm_engine does without these variables.
DEFAULTS = {"name": "deepseek", "hosts": 1, "state": "started", "accelerator": "auto"}


class InventoryGroup(t.NamedTuple):
    """An engine on several hosts, the head first. ``planned`` is False where somebody names the hosts in vllm_engine_group."""

    name: str
    hosts: t.Tuple[str, ...]
    planned: bool


def inventory_groups(variables: t.Mapping[str, Variables], names: t.Sequence[str]) -> t.List[InventoryGroup]:
    """Return the engines on several hosts: those of vllm_engine_group, and those that the planner makes of vllm_engine_hosts.

    The planner takes the hosts with NPUs that ask for an engine of one name in their order, as many at a time as the engine wants
    (_plan_input). What is left over is no group, and the planner refuses it.

    :param variables: variables of all hosts, by name
    :param names: all hosts with engines, in the order of the inventory; not only those of this run, which would be grouped otherwise
    """
    found: t.List[InventoryGroup] = []
    asked: t.Dict[str, t.List[t.Tuple[str, t.Dict[str, t.Any]]]] = {}
    for host in names:
        own = variables[host]
        named = own.get(PREFIX + "group") or []
        for instance in instances(own):
            engine = _options(own, instance)
            if len(named) > 1:
                if engine["state"] != "absent":
                    _add(found, InventoryGroup(str(engine["name"]), tuple(named), False))
            elif _on_npus(own, engine):
                asked.setdefault(str(engine["name"]), []).append((host, engine))
    for name, rows in asked.items():
        for part in _parts(rows):
            if len(part) > 1 and any(engine["state"] != "absent" for _host, engine in part):
                _add(found, InventoryGroup(name, tuple(host for host, _engine in part), True))
    return found


def group_rows(groups: t.Iterable[InventoryGroup]) -> t.List[t.Dict[str, t.Any]]:
    """What a plan would say of who belongs together: a row for each part of the groups that the planner makes.

    There is no plan, so the head's name stands for its address, and the chips have no names.
    """
    return [
        {
            "name": group.name,
            "host": host,
            "rank": rank,
            "headless": rank > 0,
            "master_address": group.hosts[0],
            "chips": [{"device": "its chips"}],
        }
        for group in groups
        if group.planned
        for rank, host in enumerate(group.hosts)
    ]


def _add(found: t.List[InventoryGroup], group: InventoryGroup) -> None:
    if group not in found:
        found.append(group)


def _options(own: Variables, instance: Variables) -> t.Dict[str, t.Any]:
    return {key: DEFAULTS[key] if value in (None, "") else value for key, value in options(own, instance, DEFAULTS).items()}


def _on_npus(own: Variables, engine: Variables) -> bool:
    """A host that nobody has looked at counts as one with NPUs, as in playbooks/plan_engines.yml."""
    if engine["accelerator"] != "auto":
        return bool(engine["accelerator"] == "ascend")
    facts = (own.get("ansible_facts") or {}).get("npufleet_npu") or {}
    return bool(facts.get("present", True))


def _parts(rows: t.Sequence[t.Tuple[str, t.Dict[str, t.Any]]]) -> t.Iterator[t.Sequence[t.Tuple[str, t.Dict[str, t.Any]]]]:
    place = 0
    while place < len(rows):
        size = max(int(rows[place][1]["hosts"]), 1)
        part = rows[place : place + size]
        if len(part) == size:
            yield part
        place += size
