# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Profiles: a table of documented knobs that are moved towards latency or throughput on top of a recipe. Pure.

The direction of each knob is documented, see its source; how far it is moved is our own estimate, and nothing was measured on an NPU.
"""

from __future__ import annotations

import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._recipe_merge import Values, overlay
from ansible_collections.npufleet.ascend.plugins.module_utils._recipe_rules import CAPTURE_CEILING

PROFILES = ("latency", "balanced", "throughput")


class Knob(t.NamedTuple):
    """One knob of a profile: what is done with it, why, and where that is known from."""

    profile: str
    option: str
    action: str
    why: str
    source: str


_TUNING = "https://docs.vllm.ai/en/stable/configuration/optimization/, chunked prefill"
_FAQ = "FAQ of vllm-ascend 0.23.0.post1: time per token rises with concurrency"
_BALANCE = "docs/source/tutorials/models/DeepSeek-R1.md of vllm-ascend 0.23.0.post1 and 0.30.0rc2"

# Small chunks of prefill disturb running decodes least; from there on upward it is a trade.
LATENCY_TOKENS = 2048
# The largest that a tutorial for one engine uses (V3.1 on 950).
THROUGHPUT_TOKENS = 16384

KNOBS = (
    Knob("latency", "max_num_seqs", "halved, on the grid", "Fewer requests at a time, so that each gets its tokens sooner", _FAQ),
    Knob("latency", "max_num_batched_tokens", "at most 2048", "Short chunks of prefill hold up running decodes less", _TUNING),
    Knob("latency", "enable_chunked_prefill", "true", "Long prompts do not stop running decodes", _TUNING),
    Knob("latency", "balance scheduling", "off", "It costs time to the first token", _BALANCE),
    Knob("throughput", "max_num_seqs", "doubled, within the capture ceiling", "Larger decode batches", _FAQ),
    Knob("throughput", "max_num_batched_tokens", "doubled, at most 16384", "More prefill in one step; takes more memory", _TUNING),
    Knob("throughput", "enable_chunked_prefill", "true", "Prefill fills up decode steps", _TUNING),
    Knob("throughput", "balance scheduling", "on, V3 and R1 with data parallelism", "Raises output tokens per second", _BALANCE),
)


class Applied(t.NamedTuple):
    """Options and environment after a profile, and the names of what it changed."""

    args: Values
    env: Values
    changed: t.List[str]


def check_profile(profile: str) -> None:
    """:raises NpufleetError: when there is no such profile"""
    if profile not in PROFILES:
        raise NpufleetError("there is no profile {0}".format(profile), where="profile", remedy="Use one of " + ", ".join(PROFILES))


def apply_profile(profile: str, minor: str, family: str, layout: t.Mapping[str, t.Any], args: Values, env: Values) -> Applied:
    """Return options and environment of a recipe with a profile on top; balanced is the recipe as it was documented."""
    if profile == "balanced":
        return Applied(args, env, [])
    changes: Values = {}
    _set(changes, "max_num_seqs", args, _sequences(profile, args))
    _set(changes, "max_num_batched_tokens", args, _tokens(profile, args))
    if "max_num_batched_tokens" in args:
        _set(changes, "enable_chunked_prefill", args, True)
    balance = profile == "throughput" and family == "v3" and layout["data_parallel_size"] > 1
    more_args, more_env = _balance(balance, minor, args, env) if balance or profile == "latency" else ({}, {})
    changed = sorted(changes) + (["balance scheduling"] if more_args or more_env else [])
    return Applied(overlay(overlay(args, changes), more_args), overlay(env, more_env), changed)


def _set(changes: Values, name: str, args: Values, value: t.Any) -> None:
    if value is not None and args.get(name) != value:
        changes[name] = value


def _sequences(profile: str, args: Values) -> t.Optional[int]:
    number = args.get("max_num_seqs")
    if not isinstance(number, int):
        return None
    if profile == "latency":
        return _on_grid(max(number // 2, 1))
    if args.get("compilation_config", {}).get("cudagraph_capture_sizes"):
        return None  # The sizes were chosen for this number.
    tokens = 1 + int(args.get("speculative_config", {}).get("num_speculative_tokens", 0))
    return max(_on_grid(min(number * 2, CAPTURE_CEILING // tokens)), number)


def _on_grid(number: int) -> int:
    """The largest of 1, 2, 4 and the multiples of 8 that is not more."""
    return number // 8 * 8 if number >= 8 else 4 if number >= 4 else 2 if number >= 2 else 1


def _tokens(profile: str, args: Values) -> t.Optional[int]:
    number = args.get("max_num_batched_tokens")
    if not isinstance(number, int):
        return None
    return min(number, LATENCY_TOKENS) if profile == "latency" else max(min(number * 2, THROUGHPUT_TOKENS), number)


def _balance(wanted: bool, minor: str, args: Values, env: Values) -> t.Tuple[Values, Values]:
    """What switches balance scheduling on or off: an environment variable until 0.26, a key in 0.30."""
    top = args.get("additional_config", {})
    below = top.get("scheduler_config", {}).get("enable_balance_scheduling")
    variable = env.get("VLLM_ASCEND_BALANCE_SCHEDULING")
    is_on = variable == "1" or top.get("enable_balance_scheduling") is True or below is True
    if wanted == is_on:
        return {}, {}
    if not wanted:
        off: Values = {"enable_balance_scheduling": None} if "enable_balance_scheduling" in top else {}
        off.update({"scheduler_config": {"enable_balance_scheduling": None}} if below is not None else {})
        return ({"additional_config": off} if off else {}), ({"VLLM_ASCEND_BALANCE_SCHEDULING": None} if variable else {})
    if minor == "0.30":
        return {"additional_config": {"scheduler_config": {"enable_balance_scheduling": True}}}, {}
    return {}, {"VLLM_ASCEND_BALANCE_SCHEDULING": "1"}
