# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""The wanted engines: what a person or a recipe asks for, read into values. What both say, the person decides. Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._engine_args import normal_name
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_binding import asked_binding
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_devices import INNER, METHODS, OUTER
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_layout import MAX_CHIPS, Asked
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_model import UTILIZATION, WIDTHS, Model, read_model
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_ports import Ports, fixed_ports
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_values import (
    PlanError,
    Row,
    items,
    known_keys,
    mapping,
    number,
    one_of,
    text,
    whole,
)

KEYS = (
    "name", "state", "recipe", "model", "config", "weights_bytes", "expert_bytes", "quantization", "soc", "hosts", "host_count", "npus",
    "chips", "layout", "args", "env", "port", "binding", "cpuset", "devices", "distributed", "shm_bytes",
)  # fmt: skip
SIZES = ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size")
LAYOUT_KEYS = (*SIZES, "enable_expert_parallel")
# Options that the place of an engine decides.
PLACED = (
    "data_parallel_size_local", "data_parallel_address", "data_parallel_start_rank", "headless", "nnodes", "node_rank", "master_addr",
    "distributed_executor_backend",
)  # fmt: skip
SOCS = ("a2", "a3", "310p", "a5")
EXABYTE = 10**18


class Wanted(t.NamedTuple):
    """One engine. ``args`` and ``env`` are those of the recipe with those of the person on top; ``ports`` are the person's alone."""

    name: str
    where: str
    present: bool
    soc: t.Optional[str]
    hosts: t.Optional[t.Tuple[str, ...]]
    chips: t.Optional[t.Tuple[int, ...]]
    model_name: str
    model: Model
    asked: Asked
    args: Row
    env: t.Dict[str, str]
    ports: Ports
    binding: t.Optional[str]
    cpuset: t.Optional[str]
    devices: str
    ray: bool
    shm_bytes: t.Optional[int]

    @property
    def bare_metal(self) -> bool:
        return self.devices == "bare_metal"


def read_wanted(row: t.Any, place: int) -> Wanted:
    """Read one element of ``engines``; docs/planning.md describes the keys.

    :param place: its place in the list, for messages
    :raises PlanError: a key without meaning, a value of the wrong type, or two that contradict each other
    """
    row = mapping(row, "engines[{0}]".format(place))
    name = text(row.get("name"), "engines[{0}].name".format(place))
    where = "engines.{0}".format(name[:80])
    known_keys(row, KEYS, where)
    recipe = mapping(row.get("recipe"), where + ".recipe")
    own = _options(row.get("args"), where + ".args")
    args = dict(_options(recipe.get("args"), where + ".recipe.args"), **own)
    own_env = _env(row.get("env"), where + ".env")
    _refuse_selectors(own_env, own, where)
    binding, cpuset = asked_binding(row.get("binding"), row.get("cpuset"), own, own_env, where)
    soc = row.get("soc") if row.get("soc") is not None else recipe.get("soc")
    return Wanted(
        name=name,
        where=where,
        present=one_of(row.get("state") or "present", where + ".state", ("present", "absent")) == "present",
        soc=None if soc is None else one_of(soc, where + ".soc", SOCS),
        hosts=None if row.get("hosts") is None else tuple(text(host, where + ".hosts") for host in items(row["hosts"], where + ".hosts")),
        chips=_chips(row.get("chips"), where + ".chips"),
        model_name=str(row.get("model") or recipe.get("model") or ""),
        model=_model(row, recipe, where),
        asked=_asked(row, recipe, own, args, where),
        args=args,
        env=dict(_env(recipe.get("env"), where + ".recipe.env"), **own_env),
        ports=fixed_ports(_optional(row, "port", where, 1, 65535), own, own_env, where),
        binding=binding,
        cpuset=cpuset,
        devices=one_of(row.get("devices") or "explicit", where + ".devices", METHODS),
        ray=one_of(row.get("distributed") or "native", where + ".distributed", ("native", "ray")) == "ray",
        shm_bytes=_optional(row, "shm_bytes", where, 1, EXABYTE),
    )


def _optional(row: t.Mapping[str, t.Any], key: str, where: str, low: int, high: int) -> t.Optional[int]:
    return None if row.get(key) is None else whole(row[key], "{0}.{1}".format(where, key), low, high)


def _options(value: t.Any, where: str) -> Row:
    return {normal_name(key).replace("-", "_"): one for key, one in mapping(value, where).items()}


def _env(value: t.Any, where: str) -> t.Dict[str, str]:
    return {key: str(one) for key, one in mapping(value, where).items()}


def _refuse_selectors(env: t.Mapping[str, str], args: t.Mapping[str, t.Any], where: str) -> None:
    """The planner selects chips and places; a second selection inside the first one fails (vllm-ascend #13399)."""
    for name in (OUTER, INNER):
        if name in env:
            raise PlanError("{0} would select chips a second time".format(name), where + ".env", "Remove it and name the chips in chips")
    for name in PLACED:
        if args.get(name) is not None:
            raise PlanError(
                "the option {0} is the planner's".format(name), where + ".args", "Remove it; use hosts, host_count, distributed"
            )


def _chips(value: t.Any, where: str) -> t.Optional[t.Tuple[int, ...]]:
    chips = [whole(chip, where, 0, 10**6) for chip in items(value, where)]
    if len(set(chips)) != len(chips):
        raise PlanError("a chip is named twice", where, "Give every number of a /dev/davinciN once")
    return tuple(sorted(chips)) or None


def _model(row: t.Mapping[str, t.Any], recipe: t.Mapping[str, t.Any], where: str) -> Model:
    weights = mapping(recipe.get("weights"), where + ".recipe.weights")
    size = row.get("weights_bytes") if row.get("weights_bytes") is not None else weights.get("bytes")
    quantization = row.get("quantization") or weights.get("quantization")
    if quantization is not None:
        one_of(quantization, where + ".quantization", sorted(WIDTHS))
    return read_model(
        mapping(row.get("config"), where + ".config"),
        0 if size is None else whole(size, where + ".weights_bytes", 1, EXABYTE),
        quantization,
        _optional(row, "expert_bytes", where, 0, EXABYTE),
    )


def _asked(row: t.Mapping[str, t.Any], recipe: t.Mapping[str, t.Any], own: Row, args: Row, where: str) -> Asked:
    npus = mapping(recipe.get("npus"), where + ".recipe.npus")
    layout = dict(mapping(recipe.get("layout"), where + ".recipe.layout"))
    mine = {key: value for key, value in mapping(row.get("layout"), where + ".layout").items() if value is not None}
    known_keys(mine, LAYOUT_KEYS, where + ".layout")
    for key in LAYOUT_KEYS:
        if own.get(key) is not None and str(mine.setdefault(key, own[key])) != str(own[key]):
            raise PlanError("layout and args name two values of {0}".format(key), where, "Give it once")
    giver = "given" if mine else "of the recipe {0}".format(str(recipe.get("name"))[:80])
    layout = dict({key: args.get(key) for key in LAYOUT_KEYS}, **{key: value for key, value in layout.items() if value is not None})
    layout.update(mine)
    sizes = [None if layout.get(key) is None else whole(layout[key], where + ".layout." + key, 1, MAX_CHIPS) for key in SIZES]
    expert = layout.get("enable_expert_parallel")
    hosts = row.get("host_count") if row.get("host_count") is not None else npus.get("hosts")
    count = 0 if hosts is None else whole(hosts, where + ".host_count", 1, MAX_CHIPS)
    named = len(items(row.get("chips"), where + ".chips")) * max(1, count)
    return Asked(
        where=where,
        tensor=sizes[0],
        pipeline=sizes[1],
        data=sizes[2],
        expert=None if expert is None else bool(expert),
        chips=_optional(row, "npus", where, 1, MAX_CHIPS) or named,
        hosts=count,
        minimum=0 if npus.get("minimum") is None else whole(npus["minimum"], where + ".recipe.npus.minimum", 0, MAX_CHIPS),
        utilization=_share(args.get("gpu_memory_utilization"), where),
        giver=giver,
    )


def _share(value: t.Any, where: str) -> float:
    if value is None:
        return UTILIZATION
    try:
        share = -1.0 if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        share = -1.0
    if not 0 < share <= 1 or number(share) is not None:
        raise PlanError("gpu_memory_utilization is no share", where + ".args.gpu_memory_utilization", "Give a number above 0, at most 1")
    return share
