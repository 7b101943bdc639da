# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Which row of a recipe fits a chip, a version and a number of hosts, and what it says. Pure.

What does not exist is answered with what does.
"""

from __future__ import annotations

import difflib
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._ascend_version import parse_version
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._npu_table import IMAGE_SUFFIXES
from ansible_collections.npufleet.ascend.plugins.module_utils._recipe_check import case_of, check_rules
from ansible_collections.npufleet.ascend.plugins.module_utils._recipe_merge import expand, overlay, overlay_options
from ansible_collections.npufleet.ascend.plugins.module_utils._recipe_profiles import apply_profile, check_profile
from ansible_collections.npufleet.ascend.plugins.module_utils._recipe_schema import Recipe
from ansible_collections.npufleet.ascend.plugins.module_utils._recipe_versions import (
    RELEASES,
    REPOSITORY,
    SOCS,
    Version,
    read_version,
    soc_of,
)

Row = t.Dict[str, t.Any]
Chosen = t.Dict[str, t.Any]

ESTIMATE = "own estimate"
# As many names as a message can hold and a person reads.
_NAMED = 8
_TAG_DOUBT = "that the tag {0} exists is inferred from how the project names the images of its git tags"
_SUFFIX_DOUBT = "the suffix -a5 is that of the images built since 0.23; documents of August 2026 said -950dt"


def choose(
    recipes: t.Mapping[str, Recipe], name: str, soc: str, vllm_ascend: t.Optional[str], profile: str = "balanced", hosts: int = 1
) -> Chosen:
    """Return the row of a recipe for a chip, a version of vllm-ascend and a number of hosts, with a profile on top.

    :param recipes: what ``read_recipes`` returned
    :param soc: a2, a3, 310p or a5, or what npu_facts calls the generation
    :param vllm_ascend: 0.23.0.post1, or 0.23 for the release that the recipes were read in; None for the newest final release that has a
        row, else the newest of all
    :raises NpufleetError: when there is no such recipe or row; names those that are there
    """
    check_profile(profile)
    token = soc_of(soc)
    recipe = _find_recipe(recipes, name, token)
    version = read_version(vllm_ascend or _preferred(recipe, token, hosts))
    row = _find_row(recipes, name, recipe, token, version, hosts)
    return _with_profile(_chosen(name, recipe, row, version), profile, version)


def _find_recipe(recipes: t.Mapping[str, Recipe], name: str, soc: str) -> Recipe:
    if name in recipes:
        return recipes[name]
    near = difflib.get_close_matches(str(name), sorted(recipes), n=3, cutoff=0.6)
    family = [known for known in sorted(recipes) if known.startswith(str(name))]
    what = "there is no recipe {0}".format(name)
    if "fp8" in str(name) and soc != "a5":
        what += "; FP8 weights need an Ascend 950 (vllm-ascend #1526, #14466)"
    remedy = "Did you mean {0}?".format(" or ".join((family or near)[:_NAMED])) if family or near else "Use " + ", ".join(sorted(recipes))
    raise NpufleetError(what, where="recipe", remedy=remedy)


def _preferred(recipe: Recipe, soc: str, hosts: int) -> str:
    """The release for somebody who names none; without any row that of a complaint, which is the newest final one."""
    minors = {minor for row in recipe["rows"] if row["soc"] == soc and row["hosts"] == hosts for minor in row["vllm_ascend"]}
    newest_first = sorted(RELEASES, key=lambda release: (release.final, parse_version(release.version)), reverse=True)
    return next((release for release in newest_first if release.minor in minors), newest_first[0]).version


def _find_row(recipes: t.Mapping[str, Recipe], name: str, recipe: Recipe, soc: str, version: Version, hosts: int) -> Row:
    of_soc = [row for row in recipe["rows"] if row["soc"] == soc]
    if not of_soc:
        raise _no_soc(recipes, name, recipe, soc)
    of_minor = [row for row in of_soc if version.minor in row["vllm_ascend"]]
    if not of_minor:
        minors = sorted({minor for row in of_soc for minor in row["vllm_ascend"]})
        raise NpufleetError(
            "the recipe {0} has no row for vllm-ascend {1} on {2}".format(name, version.text, SOCS[soc]),
            where="vllm_ascend",
            remedy="Use vllm-ascend {0}; flags change between minor versions (vllm-ascend #15836)".format(" or ".join(minors)),
        )
    found: t.Optional[Row] = next((row for row in of_minor if row["hosts"] == hosts), None)
    if found is not None:
        return found
    raise NpufleetError(
        "the recipe {0} has no row for {1} host(s) of {2} with vllm-ascend {3}".format(name, hosts, SOCS[soc], version.text),
        where="hosts",
        remedy="Use {0} host(s), with {1} NPUs each".format(
            " or ".join(str(row["hosts"]) for row in of_minor), " or ".join(str(_world(row) // row["hosts"]) for row in of_minor)
        ),
    )


def _no_soc(recipes: t.Mapping[str, Recipe], name: str, recipe: Recipe, soc: str) -> NpufleetError:
    """Say what the rules have against the pair, and which recipes of the same model or at all the chip has."""
    # Judged as if the first row were for this chip; only rules that speak of the pair itself count.
    own = recipe["rows"][0]
    minor = own["vllm_ascend"][0]
    probe = _chosen(name, recipe, dict(own, soc=soc, image_tag="-"), read_version(minor))
    reasons = check_rules(case_of(probe, {}, {}, None, minor)._replace(options={"max_model_len": 1}))
    reasons = [text for text in reasons if text.startswith(("FP8", "no DeepSeek"))]
    exist = sorted({row["soc"] for row in recipe["rows"]})
    others = [other for other in sorted(recipes) if other != name and any(row["soc"] == soc for row in recipes[other]["rows"])]
    same = [other for other in others if recipes[other]["model"] == recipe["model"]]
    remedy = "Use it on {0}".format(" or ".join(exist))
    if same or others:
        remedy += ", or here one of {0}".format(", ".join((same or others)[:_NAMED]))
    what = "the recipe {0} has no row for {1}".format(name, SOCS[soc])
    return NpufleetError("; ".join([what, *reasons]), where="soc", remedy=remedy)


def _world(row: Row) -> int:
    layout = row["layout"]
    return int(layout["tensor_parallel_size"] * layout["data_parallel_size"] * layout["pipeline_parallel_size"])


def _chosen(name: str, recipe: Recipe, row: Row, version: Version) -> Chosen:
    world, weights = _world(row), recipe["weights"]
    tag, doubts = _image(row, version)
    return {
        "name": name,
        "model": recipe["model"],
        "family": recipe["family"],
        "soc": row["soc"],
        "vllm_ascend": version.text,
        "vllm": version.vllm,
        "profile": "balanced",
        "status": row["status"],
        "source": "{0} ({1})".format(row["source"], row["date"]),
        "doubts": [*row["doubts"], *version.doubts, *doubts],
        "image": {"repository": REPOSITORY, "tag": tag},
        "weights": dict(weights, names=list(weights["names"]), files_needed=list(weights["files_needed"])),
        "npus": {"minimum": world, "per_host": world // row["hosts"], "hosts": row["hosts"]},
        "layout": dict(row["layout"]),
        "args": overlay_options(overlay_options({}, recipe["args"]), row["args"]),
        "env": overlay(overlay({}, recipe["env"]), row["env"]),
    }


def _image(row: Row, version: Version) -> t.Tuple[str, t.List[str]]:
    """The tag, and what is in doubt about it: some models have images of their own."""
    if row["image_tag"]:
        return str(row["image_tag"]), []
    tag = "v" + version.text + IMAGE_SUFFIXES[row["soc"].upper()]
    return tag, ([_TAG_DOUBT.format(tag)] if "post" in version.text else []) + ([_SUFFIX_DOUBT] if row["soc"] == "a5" else [])


def _with_profile(chosen: Chosen, profile: str, version: Version) -> Chosen:
    applied = apply_profile(profile, version.minor, chosen["family"], chosen["layout"], expand(chosen["args"]), chosen["env"])
    if not applied.changed:
        return dict(chosen, profile=profile)
    doubt = "the profile {0} changed {1}: the directions are documented, the amounts are our own estimate".format(
        profile, ", ".join(applied.changed)
    )
    return dict(chosen, profile=profile, status=ESTIMATE, doubts=[*chosen["doubts"], doubt], args=applied.args, env=applied.env)
