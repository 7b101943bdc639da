# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Is a chosen recipe, with what a user lays on it, something that its version of vLLM and its chip take? Pure."""

from __future__ import annotations

import difflib
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._engine_args import ArgumentError, check_args, check_owned, normal_name
from ansible_collections.npufleet.ascend.plugins.module_utils._recipe_catalogue import PLUGIN_VALUES, fields, options
from ansible_collections.npufleet.ascend.plugins.module_utils._recipe_env import problems_of_env
from ansible_collections.npufleet.ascend.plugins.module_utils._recipe_keys import problems_of_additional_config
from ansible_collections.npufleet.ascend.plugins.module_utils._recipe_merge import LAYOUT, Values, expand, overlay, overlay_options
from ansible_collections.npufleet.ascend.plugins.module_utils._recipe_rules import DESCRIPTION, RULES, Case
from ansible_collections.npufleet.ascend.plugins.module_utils._recipe_versions import read_version

# Options whose value is a mapping; as JSON text they could be neither merged nor checked.
MAPPINGS = ("additional-config", "attention-config", "compilation-config", "engram-config", "kv-transfer-config", "speculative-config")


def combined(chosen: t.Mapping[str, t.Any], args: t.Mapping[str, t.Any], env: t.Mapping[str, t.Any]) -> t.Tuple[Values, Values]:
    """Return options and environment of a chosen recipe with those of a user laid on them; null takes one away."""
    return overlay_options(chosen["args"], args), overlay(chosen["env"], env)


def problems(
    chosen: t.Mapping[str, t.Any],
    args: t.Optional[t.Mapping[str, t.Any]] = None,
    env: t.Optional[t.Mapping[str, t.Any]] = None,
    files: t.Optional[t.Iterable[str]] = None,
) -> t.List[str]:
    """Return what is wrong with a chosen recipe once args and env of a user are laid on it; empty when nothing is known against it.

    :param chosen: what ``choose`` returned
    :param files: names in the weights folder; None when nobody looked
    """
    names = None if files is None else frozenset(files)
    try:
        check_owned(args or {})
    except ArgumentError as exc:
        return [str(exc)]
    wanted, variables = combined(chosen, args or {}, env or {})
    version = read_version(chosen["vllm_ascend"])
    found = _check_options(wanted, version.minor, chosen["vllm"])
    usable = expand(wanted)
    found += problems_of_additional_config(usable["additional_config"], version.minor) if "additional_config" in usable else []
    found += problems_of_env(variables, version.minor)
    found += check_rules(case_of(chosen, usable, variables, names, version.minor))
    found += _check_files(chosen["weights"]["files_needed"], names)
    return list(dict.fromkeys(found))


def case_of(chosen: t.Mapping[str, t.Any], wanted: Values, variables: Values, names: t.Optional[t.FrozenSet[str]], minor: str) -> Case:
    """Return what the rules judge."""
    layout, npus = chosen["layout"], chosen["npus"]
    size = wanted.get("tensor_parallel_size", layout["tensor_parallel_size"])
    return Case(
        soc=chosen["soc"],
        minor=minor,
        family=chosen.get("family", "other"),
        quantization=chosen["weights"]["quantization"],
        npus_per_host=npus["per_host"],
        tensor_parallel_size=int(size) if str(size).isdecimal() else 1,
        options={key: value for key, value in wanted.items() if key not in LAYOUT},
        env=variables,
        files=names,
    )


def check_rules(case: Case) -> t.List[str]:
    """Return what the rules have against a case, each with its source."""
    found = []
    for rule in RULES:
        text = rule.check(case)
        if text is not None:
            found.append("{0} ({1})".format(text, rule.source))
    return found


def _check_options(wanted: Values, minor: str, vllm: str) -> t.List[str]:
    known = options(minor)
    found = []
    for key in sorted(wanted):
        try:
            check_args({key: wanted[key]}, known, vllm)
        except ArgumentError as exc:
            found.append(str(exc))
            continue
        found += _check_mapping(key, wanted[key], minor, vllm)
    return found


def _check_mapping(key: str, value: t.Any, minor: str, vllm: str) -> t.List[str]:
    """Keys of options that are mappings; those of additional_config are the plugin's and checked elsewhere."""
    option, _dot, tail = normal_name(key).partition(".")
    if option not in MAPPINGS:
        return []
    value = {tail.partition(".")[0]: value} if tail else value
    if not isinstance(value, t.Mapping):
        return ["the option --{0} is no mapping: write its keys below args.{1}".format(option, key)]
    known = None if option == "additional-config" else fields(minor, option)
    if known is None:
        return []
    return [_unknown_field(option, name, known, vllm) for name in sorted(value, key=str) if name not in known]


def _unknown_field(option: str, name: str, known: t.Iterable[str], vllm: str) -> str:
    near = difflib.get_close_matches(str(name), sorted(known), n=1, cutoff=0.6)
    later = sorted({minor for row in PLUGIN_VALUES if row.option == "{0}.{1}".format(option, name) for minor in row.minors})
    hint = ". Did you mean {0}?".format(near[0]) if near else ": leave it out"
    if later:
        hint = ": it is for vllm-ascend {0} (vllm-ascend #15836). Leave it out".format(", ".join(later))
    return "vLLM {0} knows no key {1} of --{2}{3}".format(vllm, name, option, hint)


def _check_files(needed: t.Iterable[str], names: t.Optional[t.FrozenSet[str]]) -> t.List[str]:
    if names is None:
        return []
    return ["the weights folder has no {0}. Fetch the weights again".format(name) for name in needed if name not in names | {DESCRIPTION}]
