# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Recipes as they are written, ours and a user's: the schema, and one clear message for what does not fit. Pure.

A document maps names of recipes to recipes:

    my-model-w8a8:
      model: My-Model
      family: dense                    # which rules apply; other when none does
      weights: {names: [org/My-Model-W8A8], quantization: w8a8, bytes: 8000000000, files_needed: [config.json]}
      args: {max_model_len: 8192}      # for all rows
      rows:
        - soc: a2
          vllm_ascend: ["0.23"]
          layout: {tensor_parallel_size: 1}
          status: own estimate
          source: tried on our hosts
          date: "2026-11-30"
"""

from __future__ import annotations

import difflib
import re
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._engine_args import ArgumentError, check_owned, normal_name
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._recipe_merge import LAYOUT
from ansible_collections.npufleet.ascend.plugins.module_utils._recipe_versions import MINORS, SOCS

STATUSES = ("validated", "experimental", "own estimate")
QUANTIZATIONS = ("bf16", "w8a8", "w4a8", "fp8")
FAMILIES = ("v2-lite", "v3", "v3.2", "v4", "v4.1", "ocr-2", "dense", "other")
_NAME = re.compile(r"[a-z0-9]+(?:[.-][a-z0-9]+)*")
_DATE = re.compile(r"20[0-9]{2}-[0-9]{2}-[0-9]{2}")
_LARGEST = 1024

Recipe = t.Dict[str, t.Any]
Check = t.Callable[[t.Any], t.Optional[str]]


class Field(t.NamedTuple):
    """One key: whether it must be there, what it is when it is not, and what is wrong with a value (None when nothing is)."""

    required: bool
    default: t.Any
    check: Check


def _text(value: t.Any) -> t.Optional[str]:
    return None if isinstance(value, str) and value.strip() else "must be text"


def _one_of(words: t.Sequence[str]) -> Check:
    def check(value: t.Any) -> t.Optional[str]:
        if isinstance(value, str) and value in words:
            return None
        near = difflib.get_close_matches(str(value), words, n=1, cutoff=0.6)
        return "must be one of {0}, not {1!r}{2}".format(", ".join(words), value, "; did you mean {0}?".format(near[0]) if near else "")

    return check


def _texts(value: t.Any) -> t.Optional[str]:
    return (
        None
        if isinstance(value, list) and all(_text(item) is None for item in value)
        else "must be a list of text; what has ': ' or ' #' in it needs quotes"
    )


def _minors(value: t.Any) -> t.Optional[str]:
    if not isinstance(value, list) or not value:
        return 'must be a list of minor versions in quotes, such as ["0.23"]'
    strange = [item for item in value if item not in MINORS]
    return "names {0!r}; options are known for {1} (in quotes)".format(strange[0], ", ".join(MINORS)) if strange else None


def _count(value: t.Any) -> t.Optional[str]:
    fits = isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _LARGEST
    return None if fits else "must be a whole number from 1 to {0}".format(_LARGEST)


def _bytes(value: t.Any) -> t.Optional[str]:
    fits = value is None or (isinstance(value, int) and not isinstance(value, bool) and value > 0)
    return None if fits else "must be a number of bytes, or null when it is not known"


def _switch(value: t.Any) -> t.Optional[str]:
    return None if isinstance(value, bool) else "must be true or false"


def _date(value: t.Any) -> t.Optional[str]:
    return None if _DATE.fullmatch(str(value)) else 'must be a day like "2026-11-30"'


def _mapping(value: t.Any) -> t.Optional[str]:
    return None if isinstance(value, t.Mapping) else "must be a mapping"


def _options(value: t.Any) -> t.Optional[str]:
    if not isinstance(value, t.Mapping) or not all(isinstance(key, str) for key in value):
        return "must be a mapping of options of vllm serve"
    try:
        check_owned(value)
    except ArgumentError as exc:
        return str(exc)
    for key in value:
        if normal_name(key).replace("-", "_") in LAYOUT:
            return "has {0}, which belongs into layout".format(key)
    return None


def _env(value: t.Any) -> t.Optional[str]:
    fits = isinstance(value, t.Mapping) and all(
        isinstance(key, str) and (item is None or isinstance(item, str)) for key, item in value.items()
    )
    return None if fits else "must map names of environment variables to text in quotes"


def _rows(value: t.Any) -> t.Optional[str]:
    return None if isinstance(value, list) and value else "must be a list with at least one row"


RECIPE: t.Dict[str, Field] = {
    "model": Field(True, None, _text),
    "family": Field(False, "other", _one_of(FAMILIES)),
    "weights": Field(True, None, _mapping),
    "args": Field(False, {}, _options),
    "env": Field(False, {}, _env),
    "rows": Field(True, None, _rows),
}
WEIGHTS: t.Dict[str, Field] = {
    "names": Field(True, None, _texts),
    "quantization": Field(True, None, _one_of(QUANTIZATIONS)),
    "bytes": Field(False, None, _bytes),
    "files_needed": Field(False, ["config.json"], _texts),
}
ROW: t.Dict[str, Field] = {
    "soc": Field(True, None, _one_of(tuple(SOCS))),
    "vllm_ascend": Field(True, None, _minors),
    "hosts": Field(False, 1, _count),
    "layout": Field(True, None, _mapping),
    "args": Field(False, {}, _options),
    "env": Field(False, {}, _env),
    "image_tag": Field(False, None, lambda value: None if value is None else _text(value)),
    "status": Field(True, None, _one_of(STATUSES)),
    "source": Field(True, None, _text),
    "date": Field(True, None, _date),
    "doubts": Field(False, [], _texts),
}
LAYOUT_FIELDS: t.Dict[str, Field] = {
    "tensor_parallel_size": Field(False, 1, _count),
    "data_parallel_size": Field(False, 1, _count),
    "pipeline_parallel_size": Field(False, 1, _count),
    "enable_expert_parallel": Field(False, False, _switch),
}


def read_recipes(documents: t.Any) -> t.Dict[str, Recipe]:
    """Return the recipes of documents, with defaults filled in.

    :param documents: where each was read (file or variable) -> mapping of names to recipes
    :raises NpufleetError: names the file and the key, and what to write there
    """
    if not isinstance(documents, t.Mapping):
        raise NpufleetError("recipes must be a mapping of files to their content", remedy="Give {file: content}")
    recipes: t.Dict[str, Recipe] = {}
    origin: t.Dict[str, str] = {}
    for where in documents:
        document = documents[where]
        if not isinstance(document, t.Mapping) or not document:
            raise NpufleetError("a file of recipes must map names to recipes", str(where), "See docs/recipes.md for the schema")
        for name, value in document.items():
            if name in origin:
                raise NpufleetError(
                    "the recipe {0} is there twice".format(name), "{0} and {1}".format(origin[name], where), "Give yours another name"
                )
            recipes[name] = _read_recipe(name, value, str(where))
            origin[name] = str(where)
    return recipes


def _read_recipe(name: t.Any, value: t.Any, where: str) -> Recipe:
    place = "{0}: {1}".format(where, name)
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise NpufleetError("{0!r} is no name of a recipe".format(name), where, "Use lower case letters, digits, dots and hyphens")
    recipe = _read(value, RECIPE, place)
    recipe["weights"] = _read(recipe["weights"], WEIGHTS, place + ".weights")
    rows = [_read_row(row, "{0}.rows[{1}]".format(place, number)) for number, row in enumerate(recipe["rows"])]
    seen: t.Dict[t.Tuple[str, str, int], int] = {}
    for number, row in enumerate(rows):
        for minor in row["vllm_ascend"]:
            key = (row["soc"], minor, row["hosts"])
            if key in seen:
                raise NpufleetError(
                    "two rows are for {0}, vllm-ascend {1} and {2} host(s)".format(*key),
                    "{0}.rows[{1}] and rows[{2}]".format(place, seen[key], number),
                    "Keep one of them",
                )
            seen[key] = number
    recipe["rows"] = rows
    return recipe


def _read_row(value: t.Any, place: str) -> t.Dict[str, t.Any]:
    row = _read(value, ROW, place)
    row["date"] = str(row["date"])
    layout = row["layout"] = _read(row["layout"], LAYOUT_FIELDS, place + ".layout")
    world = layout["tensor_parallel_size"] * layout["data_parallel_size"] * layout["pipeline_parallel_size"]
    if world % row["hosts"]:
        raise NpufleetError(
            "a layout of {0} NPUs cannot be spread evenly over {1} hosts".format(world, row["hosts"]),
            place + ".layout",
            "Change one of them",
        )
    if row["soc"] == "a3" and world // row["hosts"] % 2:
        raise NpufleetError(
            "the dies of an A3 are used in pairs, and this takes {0} of a host".format(world // row["hosts"]),
            place + ".layout",
            "Double tensor_parallel_size or data_parallel_size",
        )
    return row


def _read(value: t.Any, fields: t.Mapping[str, Field], place: str) -> t.Dict[str, t.Any]:
    if not isinstance(value, t.Mapping):
        raise NpufleetError("this must be a mapping", place, "Write the keys {0} below it".format(", ".join(fields)))
    for key in value:
        if key not in fields:
            near = difflib.get_close_matches(str(key), list(fields), n=1, cutoff=0.6)
            remedy = "Did you mean {0}?".format(near[0]) if near else "Use {0}".format(", ".join(fields))
            raise NpufleetError("there is no key {0}".format(key), "{0}.{1}".format(place, key), remedy)
    result: t.Dict[str, t.Any] = {}
    for key, field in fields.items():
        if key not in value and field.required:
            raise NpufleetError("the key {0} is missing".format(key), place, "Add it; see docs/recipes.md for the schema")
        result[key] = value.get(key, field.default)
        wrong = field.check(result[key])
        if wrong:
            raise NpufleetError("{0} {1}".format(key, wrong), "{0}.{1}".format(place, key), "Correct it there")
    return result
