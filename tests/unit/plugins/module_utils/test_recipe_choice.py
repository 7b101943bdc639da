# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import copy

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._recipe_choice import choose
from ansible_collections.npufleet.ascend.plugins.module_utils._recipe_schema import read_recipes


def row(soc, minors, hosts=1, **changes):
    layout = {"tensor_parallel_size": 4, "data_parallel_size": 4, "enable_expert_parallel": True}
    plain = {
        "soc": soc,
        "vllm_ascend": minors,
        "hosts": hosts,
        "layout": layout,
        "status": "validated",
        "source": "a page",
        "date": "2026-09-21",
    }
    return dict(plain, **changes)


WEIGHTS = {"names": ["org/Big-W8A8"], "quantization": "w8a8", "bytes": 7, "files_needed": ["config.json", "quant_model_description.json"]}
RECIPES = read_recipes(
    {
        "test": {
            "big-w8a8": {
                "model": "Big",
                "family": "v3",
                "weights": WEIGHTS,
                "args": {"max-num-seqs": 16, "seed": None, "additional_config": {"enable_cpu_binding": True, "enable_mlapo": True}},
                "env": {"A": "1", "B": "2"},
                "rows": [
                    row("a3", ["0.23"], doubts=["not sure"], args={"additional_config": {"enable_mlapo": None}}, env={"B": None, "C": "3"}),
                    row("a2", ["0.23", "0.26"], hosts=2),
                    row("a2", ["0.23"], hosts=4),
                    row("a3", ["0.30"], image_tag="big-a3"),
                ],
            },
            "big-fp8": {"model": "Big", "family": "v3", "weights": dict(WEIGHTS, quantization="fp8"), "rows": [row("a5", ["0.23"])]},
            "small": {
                "model": "Small",
                "family": "dense",
                "weights": {"names": [], "quantization": "bf16"},
                "rows": [row("310p", ["0.23"], layout={"tensor_parallel_size": 1})],
            },
        }
    }
)


def test_the_row_is_laid_on_the_recipe():
    assert choose(RECIPES, "big-w8a8", "a3", "0.23.0.post1") == {
        "name": "big-w8a8",
        "model": "Big",
        "family": "v3",
        "soc": "a3",
        "vllm_ascend": "0.23.0.post1",
        "vllm": "0.23.0",
        "profile": "balanced",
        "status": "validated",
        "source": "a page (2026-09-21)",
        "doubts": ["not sure", "that the tag v0.23.0.post1-a3 exists is inferred from how the project names the images of its git tags"],
        "image": {"repository": "quay.io/ascend/vllm-ascend", "tag": "v0.23.0.post1-a3"},
        "weights": WEIGHTS,
        "npus": {"minimum": 16, "per_host": 16, "hosts": 1},
        "layout": {
            "tensor_parallel_size": 4,
            "data_parallel_size": 4,
            "pipeline_parallel_size": 1,
            "enable_expert_parallel": True,
        },
        "args": {"max_num_seqs": 16, "additional_config": {"enable_cpu_binding": True}},
        "env": {"A": "1", "C": "3"},
    }


def test_choosing_leaves_the_recipes_as_they_are():
    before = copy.deepcopy(RECIPES)
    chosen = choose(RECIPES, "big-w8a8", "A3", "0.23", "throughput")
    chosen["weights"]["names"].append("x")
    chosen["layout"]["tensor_parallel_size"] = 1
    chosen["args"]["additional_config"]["x"] = 1
    assert before == RECIPES


def test_hosts_divide_the_npus():
    assert choose(RECIPES, "big-w8a8", "a2", "0.23", hosts=4)["npus"] == {"minimum": 16, "per_host": 4, "hosts": 4}


@pytest.mark.parametrize(
    ("name", "soc", "version", "hosts", "tag"),
    [
        ("big-w8a8", "a2", "0.26", 2, "v0.26.0rc1"),
        ("big-w8a8", "a3", "0.30", 1, "big-a3"),
        ("small", "310P", "0.23.0", 1, "v0.23.0-310p"),
        ("big-fp8", "A5", "v0.23.0", 1, "v0.23.0-a5"),
    ],
)
def test_images_have_the_suffix_of_the_chip(name, soc, version, hosts, tag):
    assert choose(RECIPES, name, soc, version, hosts=hosts)["image"]["tag"] == tag


def test_doubts_of_version_and_chip_are_visible():
    doubts = choose(RECIPES, "big-fp8", "a5", "0.23.0")["doubts"]
    assert any("documentation of 0.23.0.post1" in doubt for doubt in doubts) and any("-950dt" in doubt for doubt in doubts)
    assert choose(RECIPES, "big-w8a8", "a2", "0.26", hosts=2)["doubts"] == []


def test_a_profile_is_applied_and_makes_it_an_estimate():
    chosen = choose(RECIPES, "big-w8a8", "a3", "0.30", "latency")
    assert chosen["args"]["max_num_seqs"] == 8 and chosen["status"] == "own estimate" and chosen["profile"] == "latency"
    assert "the profile latency changed max_num_seqs" in chosen["doubts"][-1]


def test_a_profile_that_changes_nothing_leaves_the_status():
    chosen = choose(RECIPES, "small", "310p", "0.23", "latency")
    assert chosen["status"] == "validated" and chosen["profile"] == "latency"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("big", "a2", "0.23"), "no recipe big. Where: recipe. What to do: Did you mean big-fp8 or big-w8a8?"),
        (("bih-w8a8", "a2", "0.23"), "Did you mean big-w8a8?"),
        (("zzz", "a2", "0.23"), "Use big-fp8, big-w8a8, small"),
        (("other-fp8", "a2", "0.23"), "FP8 weights need an Ascend 950"),
        (
            ("big-w8a8", "a2", "0.30"),
            "no row for vllm-ascend 0.30.0rc2 on Atlas A2 (910B). Where: vllm_ascend. What to do: Use vllm-ascend 0.23 or 0.26",
        ),
        (("big-w8a8", "a2", "0.23"), "no row for 1 host(s)"),
        (("big-w8a8", "a2", "0.23"), "Use 2 or 4 host(s), with 8 or 4 NPUs each"),
        (("big-fp8", "a2", "0.23"), "FP8 weights need an Ascend 950: on a2"),
        (("big-fp8", "a2", "0.23"), "Use it on a5, or here one of big-w8a8"),
        (("big-w8a8", "310p", "0.23"), "no DeepSeek model with MLA runs on a 310P"),
        (("big-w8a8", "310p", "0.23"), "Use it on a2 or a3, or here one of small"),
        (("small", "a2", "0.23"), "has no row for Atlas A2 (910B). Where: soc. What to do: Use it on 310p, or here one of big-w8a8"),
        (("big-w8a8", "A1", "0.23"), "first-generation Ascend 910"),
        (("big-w8a8", "a2", "0.18.0"), "no recipes for vllm-ascend 0.18.0"),
        (("big-w8a8", "a2", "0.23", "fast"), "no profile fast"),
    ],
)
def test_what_does_not_exist_is_answered_with_what_does(arguments, words):
    with pytest.raises(NpufleetError) as caught:
        choose(RECIPES, *arguments)
    assert words in str(caught.value)


def test_without_another_recipe_for_the_chip_none_is_named():
    with pytest.raises(NpufleetError) as caught:
        choose({"small": RECIPES["small"]}, "small", "a2", "0.23")
    assert caught.value.remedy == "Use it on 310p"


@pytest.mark.parametrize(
    ("soc", "hosts", "version"),
    [("a3", 1, "0.23.0.post1"), ("a2", 2, "0.23.0.post1"), ("a2", 4, "0.23.0.post1")],
)
def test_without_a_version_the_newest_final_release_with_a_row_is_taken(soc, hosts, version):
    assert choose(RECIPES, "big-w8a8", soc, None, hosts=hosts)["vllm_ascend"] == version


def test_without_a_final_release_the_newest_candidate_is_taken():
    recipes = copy.deepcopy(RECIPES)
    recipes["big-w8a8"]["rows"] = [dict(recipes["big-w8a8"]["rows"][0], vllm_ascend=["0.26", "0.30"])]
    assert choose(recipes, "big-w8a8", "a3", None)["vllm_ascend"] == "0.30.0rc2"


def test_without_any_row_the_message_is_that_of_the_newest_final_release():
    with pytest.raises(NpufleetError, match=r"no row for 3 host.* with vllm-ascend 0\.23\.0\.post1"):
        choose(RECIPES, "big-w8a8", "a2", None, hosts=3)
