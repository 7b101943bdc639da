# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""What the vLLM below a minor of vllm-ascend accepts: options, keys of options that are mappings, environment variables. Pure.

The lists are generated from the real parsers (_recipe_options.py). The plugin widens some of them; what it adds is here, by hand.
"""

from __future__ import annotations

import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._engine_args import Option
from ansible_collections.npufleet.ascend.plugins.module_utils._recipe_options import ENVIRONMENT, FIELDS, OPTIONS


class PluginValue(t.NamedTuple):
    """A value that vLLM alone refuses and vllm-ascend accepts. The check with the real parser leaves it out."""

    option: str
    value: str
    minors: t.Tuple[str, ...]
    source: str


_NARGS: t.Dict[str, t.Any] = {"s": 0, "S": 0, "+": "+", "?": "?"}
_KINDS = {"i": "int", "f": "float"}

PLUGIN_VALUES = (
    PluginValue(
        "attention-config.indexer_kv_dtype",
        "int8",
        ("0.30",),
        "docs/source/tutorials/models/DeepSeek-V4-Flash.md of vllm-ascend 0.30.0rc2; tried: vLLM 0.30.0 alone refuses the value",
    ),
)

# Values of quantization. "ascend" is the plugin's; compressed-tensors is found by itself. AWQ and GPTQ: vllm-ascend #1233, #6484.
QUANTIZATIONS = ("ascend", "compressed-tensors", "fp8")


def options(minor: str) -> t.Dict[str, Option]:
    """Return --name -> option of the vLLM that belongs to a minor, with the --no- forms."""
    found: t.Dict[str, Option] = {}
    for text in _words(OPTIONS, minor):
        name, _slash, rest = text.partition("/")
        kind, _sign, choices = rest.partition("=")
        flags = ["--" + name] + (["--no-" + name] if kind == "s" else [])
        option = Option(flags, _NARGS.get(kind), choices.split("|") if choices else None, _KINDS.get(kind))
        found.update((flag, option) for flag in flags)
    return found


def fields(minor: str, option: str) -> t.Optional[t.Set[str]]:
    """Return the keys that an option with a mapping takes (``attention-config``), or None when they were not read."""
    prefix = option + " "
    found = {key[len(prefix) :]: words for key, words in FIELDS.items() if key.startswith(prefix)}
    return set(_words(found, minor)) if found else None


def environment(minor: str) -> t.Set[str]:
    """Return the environment variables that the vLLM of a minor knows."""
    return set(_words(ENVIRONMENT, minor))


def _words(table: t.Mapping[str, str], minor: str) -> t.Iterator[str]:
    for minors, words in table.items():
        if minor in minors.split():
            yield from words.split()
