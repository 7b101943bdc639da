# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""How a model is divided among chips: a layout that was given is checked, else one is chosen, and each says why. Pure.

The choice depends on the model and the kind of chip, never on what is free at the moment: the same engine gets the same layout.
"""

from __future__ import annotations

import itertools
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._plan_model import (
    CHOSEN_RESERVE,
    GIVEN_RESERVE,
    Model,
    Parallel,
    chip_bytes,
    heads_problem,
    room,
)
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_values import PlanError, gib

# Tensor parallel sizes for mixture-of-experts models, best first: vllm-ascend prefers DP 4 x TP 4 over DP 2 x TP 8 on an Atlas 800 A3.
EXPERT_TENSOR = (4, 8, 2, 16, 1)
MAX_CHIPS = 4096


class Kind(t.NamedTuple):
    """One kind of host: what its chips are, how many of them one host has at most, and how many such hosts there are."""

    soc: str
    memory_bytes: int
    per_host: int
    hosts: int

    @property
    def pair(self) -> int:
        """Chips that are given together."""
        return 2 if self.soc == "a3" else 1


class Asked(t.NamedTuple):
    """What was given; None and 0 leave the choice to the planner. ``minimum`` is the smallest number of chips that a recipe names."""

    where: str
    tensor: t.Optional[int] = None
    pipeline: t.Optional[int] = None
    data: t.Optional[int] = None
    expert: t.Optional[bool] = None
    chips: int = 0
    hosts: int = 0
    minimum: int = 0
    utilization: float = 0.92
    giver: str = "given"


class Layout(t.NamedTuple):
    """Sizes, on how many hosts, and why."""

    sizes: Parallel
    hosts: int
    reasons: t.Tuple[str, ...]

    @property
    def per_host(self) -> int:
        return self.sizes.chips // self.hosts

    @property
    def spans(self) -> bool:
        """Whether one copy of the model lies on several hosts."""
        return self.sizes.tensor * self.sizes.pipeline > self.per_host


def make_layout(model: Model, asked: Asked, kind: Kind) -> Layout:
    """Return the layout for one kind of host.

    :raises PlanError: what was given cannot be, or no layout fits
    """
    if (asked.tensor, asked.pipeline, asked.data) != (None, None, None):
        sizes = _given(asked, model)
        layout = Layout(sizes, _hosts(sizes, asked, kind), ("{0}: {1}".format(sizes, asked.giver),))
        return layout._replace(reasons=layout.reasons + _check(layout, model, asked, kind, GIVEN_RESERVE))
    if asked.chips or asked.minimum:
        return _for_chips(model, asked, kind)
    if not model.weights:
        raise PlanError(
            "nothing tells how large the model is",
            asked.where,
            "Give weights_bytes (metadata.total_size of model.safetensors.index.json), npus, a recipe or a layout",
        )
    return _smallest(model, asked, kind)


def keep_layout(model: Model, asked: Asked, kind: Kind, sizes: Parallel, hosts: int) -> Layout:
    """Return the layout of an engine that runs, if it is still what is asked for and still possible.

    :raises PlanError: says what differs
    """
    wanted = _given(asked, model) if (asked.tensor, asked.pipeline, asked.data) != (None, None, None) else sizes
    chips, count, expert = asked.chips or sizes.chips, asked.hosts or hosts, sizes.expert if asked.expert is None else asked.expert
    if (wanted._replace(expert=expert), chips, count) != (sizes, sizes.chips, hosts):
        raise PlanError("another layout is asked for", asked.where)
    layout = Layout(sizes, hosts, ("{0}: as it runs".format(sizes),))
    return layout._replace(reasons=layout.reasons + _check(layout, model, asked, kind, GIVEN_RESERVE))


def _given(asked: Asked, model: Model) -> Parallel:
    """Complete a layout of which one size at least is given: data parallel takes what is left of the chips, else all others are 1."""
    tensor, pipeline, data = asked.tensor, asked.pipeline or 1, asked.data
    if asked.chips and (tensor is None or data is None):
        known = (tensor or 1) * pipeline * (data or 1)
        if asked.chips % known:
            raise PlanError(
                "{0} chips cannot be divided by a layout of {1}".format(asked.chips, known), asked.where, "Change npus or the layout"
            )
        tensor, data = (
            (tensor, asked.chips // known) if data is None and tensor is not None else (asked.chips // known * (tensor or 1), data)
        )
    tensor, data = tensor or 1, data or 1
    expert = bool(asked.expert) if asked.expert is not None else bool(model.experts) and tensor * data > 1
    sizes = Parallel(tensor, pipeline, data, expert)
    if sizes.chips > MAX_CHIPS or (asked.chips and asked.chips != sizes.chips):
        raise PlanError(
            "{0} needs {1} chips and {2} are given".format(sizes, sizes.chips, asked.chips or "at most {0}".format(MAX_CHIPS)),
            asked.where,
            "Change npus or the layout",
        )
    return sizes


def _hosts(sizes: Parallel, asked: Asked, kind: Kind) -> int:
    """The fewest hosts that hold the layout in equal parts, or what was asked for."""
    if asked.hosts:
        return asked.hosts
    for hosts in range(1, sizes.chips + 1):
        per_host, rest = divmod(sizes.chips, hosts)
        whole_copies = sizes.data == 1 or per_host % (sizes.tensor * sizes.pipeline) == 0
        if not rest and per_host <= kind.per_host and per_host % kind.pair == 0 and whole_copies:
            return hosts
    return 1


def _check(layout: Layout, model: Model, asked: Asked, kind: Kind, reserve: float, sure: bool = False) -> t.Tuple[str, ...]:
    """Refuse a layout that cannot be, and return what is to be said about it.

    :param sure: a lower bound of what a chip holds is not enough
    :raises PlanError: says why
    """
    problem = _shape_problem(layout, model, kind) or heads_problem(model, layout.sizes.tensor) or _minimum_problem(layout, model, asked)
    if problem:
        raise PlanError("the layout {0} cannot be: {1}".format(layout.sizes, problem), asked.where, _divisors(model, kind))
    if not model.weights:
        return ("the size of the weights is not known: whether they fit was not checked",)
    need, lower = chip_bytes(model, layout.sizes)
    if lower and sure:
        need, lower = -(-model.weights // (layout.sizes.tensor * layout.sizes.pipeline)), False
    limit = room(kind.memory_bytes, asked.utilization, reserve)
    text = "{0} of weights a chip, {1}{2} of {3} may be weights".format(
        gib(need), "at least; " if lower else "", gib(limit), gib(kind.memory_bytes)
    )
    if need > limit:
        raise PlanError(
            "the weights do not fit with the layout {0}: {1}".format(layout.sizes, text),
            asked.where,
            "Take more chips (tensor_parallel_size), a quantized model, or a higher gpu_memory_utilization than {0}".format(
                asked.utilization
            ),
        )
    words = [text]
    if need > room(kind.memory_bytes, asked.utilization, CHOSEN_RESERVE):
        words.append("little is left for the KV cache: long or many requests may wait")
    return tuple(words)


def _shape_problem(layout: Layout, model: Model, kind: Kind) -> t.Optional[str]:
    sizes, hosts = layout.sizes, layout.hosts
    copy = sizes.tensor * sizes.pipeline
    rules = (
        (sizes.chips % hosts, "its {0} chips are not divisible by {1} hosts".format(sizes.chips, hosts)),
        (layout.per_host > kind.per_host, "it takes {0} chips a host, and a host has {1}".format(layout.per_host, kind.per_host)),
        (layout.per_host % kind.pair, "dies of an A3 are used in pairs, and it takes {0} a host".format(layout.per_host)),
        (sizes.data > 1 and layout.per_host % copy, "a copy of {0} chips would span hosts beside data parallel ones".format(copy)),
        (model.layers and sizes.pipeline > model.layers, "pipeline_parallel_size is more than the {0} layers".format(model.layers)),
        (sizes.expert and model.dense, "the model has no experts for enable_expert_parallel"),
    )
    return next((text for wrong, text in rules if wrong), None)


def _minimum_problem(layout: Layout, model: Model, asked: Asked) -> t.Optional[str]:
    """Where the size of the weights is known, that decides; else the recipe's word stands."""
    if layout.sizes.chips >= asked.minimum or model.weights:
        return None
    return "it has {0} chips, and the recipe names {1} as the fewest".format(layout.sizes.chips, asked.minimum)


def _divisors(model: Model, kind: Kind) -> str:
    sizes = [str(size) for size in range(1, kind.per_host + 1) if heads_problem(model, size) is None]
    return "Possible on one host of {0} chips are tensor_parallel_size {1}".format(kind.per_host, ", ".join(sizes) or "none")


def _for_chips(model: Model, asked: Asked, kind: Kind, reserves: t.Sequence[float] = (CHOSEN_RESERVE, GIVEN_RESERVE)) -> Layout:
    """The number of chips is given: the first way to divide the model among them that fits, with less room to spare if it must be."""
    chips = asked.chips or -(-asked.minimum // kind.pair) * kind.pair
    hosts = _hosts(Parallel(1, 1, chips, False), asked, kind)
    why = "{0}: {1}".format(_chips(chips), "given" if asked.chips else "the fewest that the recipe names")
    ways = list(_ways(model, asked, chips // hosts, hosts)) if chips % hosts == 0 else []
    error = PlanError("no layout divides {0} among {1} host(s)".format(_chips(chips), hosts), asked.where, _divisors(model, kind))
    for reserve in reserves:
        for sizes, reason in ways:
            layout = Layout(sizes, hosts, (why, reason))
            try:
                return layout._replace(reasons=layout.reasons + _check(layout, model, asked, kind, reserve, True))
            except PlanError as exc:
                error = exc if sizes == ways[0][0] else error
    raise error


def _chips(count: int) -> str:
    return "1 chip" if count == 1 else "{0} chips".format(count)


def _ways(model: Model, asked: Asked, per_host: int, hosts: int) -> t.Iterator[t.Tuple[Parallel, str]]:
    """Ways to divide a model among chips, best first, with the reason.

    Tensor parallel sizes are powers of two: other sizes of a model, such as that of its feed-forward layers, are rarely divisible by
    others, and nobody tells them here.
    """
    if bool(model.experts) if asked.expert is None else asked.expert:
        for tensor in EXPERT_TENSOR:
            data = per_host // tensor * hosts
            if per_host % tensor == 0:
                yield Parallel(tensor, 1, data, tensor * data > 1), "experts are spread over all chips, TP 4 before others (vllm-ascend)"
        return
    if per_host * hosts == 1:
        yield Parallel(1, 1, 1, False), "one chip holds the model"
        return
    powers = [1 << power for power in range(per_host.bit_length()) if per_host % (1 << power) == 0]
    for tensor in reversed(powers):
        copies = per_host // tensor
        if hosts == 1:
            yield Parallel(tensor, 1, copies, False), "one copy over as many chips as the heads allow: quick answers, most KV cache"
        if hosts > 1 or copies > 1:
            yield (
                Parallel(tensor, copies * hosts, 1, False),
                "PP where TP ends: between hosts, where links are slower, or where heads do not divide",
            )


def _smallest(model: Model, asked: Asked, kind: Kind) -> Layout:
    """The fewest chips on which the weights fit: first on one host, then on whole hosts."""
    most = kind.per_host // kind.pair * kind.pair
    alone = [
        (chips, 1) for chips in sorted({1 << power for power in range(most.bit_length())} | {most}) if chips and chips % kind.pair == 0
    ]
    for chips, hosts in itertools.chain(alone, ((most * hosts, hosts) for hosts in range(2, kind.hosts + 1))):
        if asked.hosts in (0, hosts) and chips <= MAX_CHIPS and _may_fit(model, asked, kind, chips):
            try:
                layout = _for_chips(model, asked._replace(chips=chips, hosts=hosts), kind, (CHOSEN_RESERVE,))
            except PlanError:
                continue
            return layout._replace(reasons=("{0}: the fewest on which the weights fit".format(_chips(chips)), *layout.reasons[1:]))
    raise PlanError(
        "weights of {0} fit on none of the {1} host(s) with up to {2} chips of {3}".format(
            gib(model.weights), kind.hosts, kind.per_host, gib(kind.memory_bytes)
        ),
        asked.where,
        "Add hosts, take a quantized model, or give a layout",
    )


def _may_fit(model: Model, asked: Asked, kind: Kind, chips: int) -> bool:
    """A cheap bound before the ways are tried: even spread over all chips the weights need this much."""
    return -(-model.weights // chips) <= room(kind.memory_bytes, asked.utilization, CHOSEN_RESERVE)
