# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Options of a recipe: laying one mapping over another, reading dotted names, and the command line of a deployment. Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._engine_args import normal_name, to_argv

Values = t.Dict[str, t.Any]

# Options that the layout of a recipe owns.
LAYOUT = ("tensor_parallel_size", "data_parallel_size", "pipeline_parallel_size", "enable_expert_parallel")


def overlay(base: t.Mapping[str, t.Any], over: t.Mapping[str, t.Any]) -> Values:
    """Return base with over laid on it: mappings are merged key by key, null takes a key away, anything else replaces."""
    merged: Values = dict(base)
    for key, value in over.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, t.Mapping):
            below = merged.get(key)
            merged[key] = overlay(below if isinstance(below, t.Mapping) else {}, value)
        else:
            merged[key] = value
    return merged


def overlay_options(base: t.Mapping[str, t.Any], over: t.Mapping[str, t.Any]) -> Values:
    """The same for options of ``vllm serve``, where ``--max-num-seqs`` and ``max_num_seqs`` are one key."""
    return overlay(_underscored(base), _underscored(over))


def _underscored(options: t.Mapping[str, t.Any]) -> Values:
    result: Values = {}
    for key, value in options.items():
        head, dot, tail = normal_name(str(key)).partition(".")
        result[head.replace("-", "_") + dot + tail] = value
    return result


def expand(options: t.Mapping[str, t.Any]) -> Values:
    """Return options with dotted names as mappings: ``attention_config.backend: x`` -> ``attention_config: {backend: x}``."""
    result: Values = {}
    for key, value in _underscored(options).items():
        head, *path = key.split(".")
        for part in reversed(path):
            value = {part: value}
        result = overlay(result, {head: value}) if value is not None else result
    return result


def layout_options(layout: t.Mapping[str, t.Any]) -> Values:
    """Return the options that a layout stands for; sizes of one and a switch that is off are left out."""
    return {name: layout[name] for name in LAYOUT if layout.get(name) not in (None, False, 1) or layout.get(name) is True}


def command_line(chosen: t.Mapping[str, t.Any], rank: int = 0, address: str = "192.0.2.1", port: int = 13389) -> t.List[str]:
    """Return what follows ``vllm serve MODEL`` on one host of a chosen recipe.

    Addresses and ports are those of the planner; here they stand for them, so that the whole line can be given to the parser.

    :param rank: the number of the host; 0 serves the API
    """
    hosts, layout = chosen["npus"]["hosts"], chosen["layout"]
    options = dict(chosen["args"], **layout_options(layout))
    if hosts > 1:
        local = max(layout["data_parallel_size"] // hosts, 1)
        options.update(data_parallel_size_local=local, data_parallel_address=address, data_parallel_rpc_port=port)
        if rank:
            options.update(headless=True, data_parallel_start_rank=rank * local)
    return to_argv(options)
