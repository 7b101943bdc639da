# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every row of every recipe for NPUs, against the lists from the real parsers. scripts/check_recipes.py asks the parsers themselves."""

from __future__ import annotations

import importlib.util
import pathlib

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_checks import on_capture_grid
from ansible_collections.npufleet.ascend.plugins.module_utils._recipe_check import problems
from ansible_collections.npufleet.ascend.plugins.module_utils._recipe_choice import choose
from ansible_collections.npufleet.ascend.plugins.module_utils._recipe_merge import command_line
from ansible_collections.npufleet.ascend.plugins.module_utils._recipe_profiles import PROFILES
from ansible_collections.npufleet.ascend.plugins.module_utils._recipe_schema import read_recipes

ROOT = pathlib.Path(__file__).resolve().parents[2]


def script(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / (name + ".py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CHECK = script("check_recipes")
RECIPES = read_recipes(CHECK.documents())
ROWS = [(name, row, minor) for name, recipe in RECIPES.items() for row in recipe["rows"] for minor in row["vllm_ascend"]]
IDS = ["{0}-{1}x{2}-{3}".format(name, row["soc"], row["hosts"], minor) for name, row, minor in ROWS]
BY_ID = dict(zip(IDS, ROWS))


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("key", IDS)
def test_each_row_can_be_chosen_and_nothing_is_wrong_with_it(key, profile):
    name, row, minor = BY_ID[key]
    chosen = choose(RECIPES, name, row["soc"], minor, profile, row["hosts"])
    assert problems(chosen, {}, {}, chosen["weights"]["files_needed"]) == []
    assert chosen["npus"]["per_host"] * chosen["npus"]["hosts"] == chosen["npus"]["minimum"]
    assert chosen["npus"]["per_host"] <= (8 if row["soc"] in ("a2", "a5") else 16)
    assert on_capture_grid(chosen["args"].get("max_num_seqs", 8))
    assert all(isinstance(value, str) for value in chosen["env"].values())
    assert command_line(chosen)


@pytest.mark.parametrize("key", IDS)
def test_each_row_tells_how_far_to_trust_it(key):
    name, row, _minor = BY_ID[key]
    weights = RECIPES[name]["weights"]
    assert len(row["source"]) > 20 and ("vllm-ascend" in row["source"] or row["source"].startswith("derived from"))
    if row["status"] == "own estimate":
        assert row["doubts"], "an estimate says what it rests on"
    if not weights["names"]:
        assert row["status"] == "own estimate" and any("weights" in doubt for doubt in row["doubts"])
    assert ("quant_model_description.json" in weights["files_needed"]) == (weights["quantization"] in ("w8a8", "w4a8"))


def test_no_row_has_a_cut_off_sentence():
    texts = [text for _name, row, _minor in ROWS for text in [row["source"], *row["doubts"]]]
    assert [text for text in texts if text.count("(") != text.count(")")] == []


@pytest.mark.parametrize(
    ("name", "soc", "minor", "hosts"),
    [
        *(
            (name, "a3", minor, 1)
            for name in ("deepseek-r1-w8a8", "deepseek-v3.1-w8a8", "deepseek-v3.2-w8a8")
            for minor in ("0.23", "0.26", "0.30")
        ),
        *(
            (name, "a2", minor, 2)
            for name in ("deepseek-r1-0528-w8a8", "deepseek-v3-w8a8", "deepseek-v3.2-exp-w8a8")
            for minor in ("0.23", "0.30")
        ),
        ("deepseek-v3.2-w8a8", "a3", "0.23", 2),
        ("deepseek-v3.1-terminus-w4a8", "a3", "0.23", 1),
        ("deepseek-v3.1-w4a4c8", "a5", "0.23", 1),
        ("deepseek-v3.1-bf16", "a3", "0.23", 2),
        ("deepseek-v4-flash-w8a8", "a2", "0.23", 1),
        ("deepseek-v4-flash-0731-w8a8", "a3", "0.26", 1),
        ("deepseek-v4-flash", "a5", "0.23", 1),
        ("deepseek-v4-pro-w4a8", "a2", "0.30", 4),
        ("deepseek-v4-pro-0813-w4a8", "a3", "0.26", 2),
        ("deepseek-v4.1-flash-w8a8", "a3", "0.30", 1),
        ("deepseek-v4.1-flash-w8a8", "a2", "0.30", 4),
        ("deepseek-ocr-2", "a2", "0.23", 1),
        ("deepseek-v2-lite", "a2", "0.23", 1),
        *(
            ("deepseek-r1-distill-" + size, soc, "0.23", 1)
            for size in ("qwen-1.5b", "qwen-7b", "qwen-14b", "qwen-32b", "llama-8b", "llama-70b")
            for soc in ("a2", "a3")
        ),
        *(("deepseek-r1-distill-" + size, "310p", "0.23", 1) for size in ("qwen-1.5b", "llama-8b", "qwen-32b")),
    ],
)
def test_the_models_that_are_documented_have_a_row(name, soc, minor, hosts):
    assert choose(RECIPES, name, soc, minor, hosts=hosts)["name"] == name


@pytest.mark.parametrize(
    ("name", "soc", "minor", "hosts", "words"),
    [
        ("deepseek-r1-w8a8", "a3", "0.23", 1, "--data-parallel-size 4 --enable-expert-parallel --gpu-memory-utilization 0.92"),
        ("deepseek-r1-w8a8", "a3", "0.23", 1, '--speculative-config {"method":"mtp","num_speculative_tokens":3} --tensor-parallel-size 4'),
        ("deepseek-v3.1-w8a8", "a3", "0.30", 1, '--additional-config {"scheduler_config":{"enable_balance_scheduling":true}}'),
        ("deepseek-v3.1-w8a8", "a3", "0.30", 1, "--no-enable-prefix-caching"),
        ("deepseek-v4-flash-w8a8", "a2", "0.30", 1, '--attention-config {"indexer_kv_dtype":"int8"}'),
        ("deepseek-v4-flash-w8a8", "a2", "0.23", 1, "--safetensors-load-strategy prefetch"),
        ("deepseek-v4-flash-dspark-w4a8", "a2", "0.30", 1, "--no-disable-hybrid-kv-cache-manager"),
        ("deepseek-r1-distill-llama-8b", "310p", "0.23", 1, "--dtype float16"),
    ],
)
def test_command_lines_are_those_of_the_sources(name, soc, minor, hosts, words):
    assert words in " ".join(command_line(choose(RECIPES, name, soc, minor, hosts=hosts)))


@pytest.mark.parametrize(("minor", "there"), [("0.23", False), ("0.26", False), ("0.30", True)])
def test_the_type_of_the_indexer_is_given_only_where_it_exists(minor, there):
    chosen = choose(RECIPES, "deepseek-v4-flash-w8a8", "a2", minor)
    assert ("attention_config" in chosen["args"]) is there
    assert ("async_scheduling" in chosen["args"]) is (minor == "0.23")


def test_the_real_parsers_are_asked_about_every_row_host_and_profile():
    lines = list(CHECK.lines())
    hosts = sum((2 if row["hosts"] > 1 else 1) * len(PROFILES) for _name, row, _minor in ROWS)
    assert len([line for line in lines if line.expected]) == hosts
    refused = [line for line in lines if not line.expected]
    assert refused and all("indexer_kv_dtype" in " ".join(line.words) for line in refused)
    assert not any("indexer_kv_dtype" in " ".join(line.words) for line in lines if line.expected)
