# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import copy
import datetime

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._recipe_schema import read_recipes

RECIPE = {
    "model": "My-Model",
    "weights": {"names": ["org/My-Model"], "quantization": "bf16"},
    "rows": [
        {
            "soc": "a2",
            "vllm_ascend": ["0.23"],
            "layout": {"tensor_parallel_size": 2},
            "status": "own estimate",
            "source": "tried",
            "date": "2026-11-30",
        }
    ],
}


def changed(path, value):
    """The recipe with one value put at a path; a value of ... takes the key away."""
    recipe = copy.deepcopy(RECIPE)
    place = recipe
    for key in path[:-1]:
        place = place[key]
    if value is ...:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return recipe


def test_defaults_are_filled_in():
    recipe = read_recipes({"mine.yml": {"my-model": RECIPE}})["my-model"]
    assert recipe["family"] == "other" and recipe["args"] == {} and recipe["env"] == {}
    assert recipe["weights"] == {"names": ["org/My-Model"], "quantization": "bf16", "bytes": None, "files_needed": ["config.json"]}
    row = recipe["rows"][0]
    assert (row["hosts"], row["image_tag"], row["doubts"]) == (1, None, [])
    assert row["layout"] == {
        "tensor_parallel_size": 2,
        "data_parallel_size": 1,
        "pipeline_parallel_size": 1,
        "enable_expert_parallel": False,
    }


ROW = ("rows", 0)


@pytest.mark.parametrize(
    ("path", "value", "where", "words"),
    [
        (("modell",), "x", "my-model.modell", "Did you mean model?"),
        (("zzz",), "x", "my-model.zzz", "Use model, family"),
        (("model",), ..., "my-model", "the key model is missing"),
        (("model",), "", "my-model.model", "must be text"),
        (("model",), 7, "my-model.model", "must be text"),
        (("family",), "v33", "my-model.family", "did you mean v3"),
        (("weights",), [], "my-model.weights", "must be a mapping"),
        (("weights", "quantisation"), "w8a8", "my-model.weights.quantisation", "Did you mean quantization?"),
        (("weights", "quantization"), "w8a9", "my-model.weights.quantization", "did you mean w8a8"),
        (("weights", "bytes"), "3 GB", "my-model.weights.bytes", "number of bytes"),
        (("weights", "bytes"), True, "my-model.weights.bytes", "number of bytes"),
        (("weights", "names"), "org/My-Model", "my-model.weights.names", "list of text"),
        (("args",), {"port": 8000}, "my-model.args", "--port is set by the engine itself"),
        (("args",), {"tensor-parallel-size": 2}, "my-model.args", "belongs into layout"),
        (("args",), ["--max-num-seqs", 8], "my-model.args", "mapping of options"),
        (("args",), {1: 2}, "my-model.args", "mapping of options"),
        (("env",), {"OMP_NUM_THREADS": 1}, "my-model.env", "text in quotes"),
        (("env",), "A=1", "my-model.env", "text in quotes"),
        (("rows",), [], "my-model.rows", "at least one row"),
        (ROW, "a2", "my-model.rows[0]", "must be a mapping"),
        ((*ROW, "socs"), "a2", "my-model.rows[0].socs", "Did you mean soc?"),
        ((*ROW, "soc"), "A2", "my-model.rows[0].soc", "one of a2, a3, 310p, a5"),
        ((*ROW, "vllm_ascend"), "0.23", "my-model.rows[0].vllm_ascend", "in quotes"),
        ((*ROW, "vllm_ascend"), [], "my-model.rows[0].vllm_ascend", "in quotes"),
        ((*ROW, "vllm_ascend"), [0.23], "my-model.rows[0].vllm_ascend", "names 0.23"),
        ((*ROW, "vllm_ascend"), ["0.25"], "my-model.rows[0].vllm_ascend", "options are known for 0.23, 0.26, 0.30"),
        ((*ROW, "hosts"), 0, "my-model.rows[0].hosts", "whole number from 1"),
        ((*ROW, "hosts"), True, "my-model.rows[0].hosts", "whole number from 1"),
        ((*ROW, "hosts"), 3, "my-model.rows[0].layout", "2 NPUs cannot be spread evenly over 3 hosts"),
        ((*ROW, "layout", "tensor_parallel"), 2, "my-model.rows[0].layout.tensor_parallel", "Did you mean tensor_parallel_size?"),
        ((*ROW, "layout", "enable_expert_parallel"), 1, "my-model.rows[0].layout.enable_expert_parallel", "true or false"),
        ((*ROW, "image_tag"), 1, "my-model.rows[0].image_tag", "must be text"),
        ((*ROW, "status"), "tested", "my-model.rows[0].status", "one of validated, experimental, own estimate"),
        ((*ROW, "date"), "yesterday", "my-model.rows[0].date", "a day like"),
        ((*ROW, "source"), ..., "my-model.rows[0]", "the key source is missing"),
        ((*ROW, "doubts"), [{"a": "b"}], "my-model.rows[0].doubts", "needs quotes"),
        (("rows",), RECIPE["rows"] * 2, "my-model.rows[0] and rows[1]", "two rows are for a2, vllm-ascend 0.23 and 1 host"),
    ],
)
def test_one_message_names_file_key_and_remedy(path, value, where, words):
    with pytest.raises(NpufleetError) as caught:
        read_recipes({"mine.yml": {"my-model": changed(path, value)}})
    assert caught.value.where == "mine.yml: " + where and caught.value.remedy
    assert words in str(caught.value)


@pytest.mark.parametrize(("layout", "fits"), [(1, False), (2, True), (3, False), (4, True)])
def test_dies_of_an_a3_are_used_in_pairs(layout, fits):
    recipe = changed((*ROW, "soc"), "a3")
    recipe["rows"][0]["layout"] = {"tensor_parallel_size": layout}
    if fits:
        assert read_recipes({"f": {"my-model": recipe}})
    else:
        with pytest.raises(NpufleetError, match="used in pairs"):
            read_recipes({"f": {"my-model": recipe}})


@pytest.mark.parametrize(
    ("documents", "words"),
    [
        ([], "mapping of files"),
        ({"f": {}}, "must map names to recipes"),
        ({"f": None}, "must map names to recipes"),
        ({"f": {"My Model": RECIPE}}, "no name of a recipe"),
        ({"f": {7: RECIPE}}, "no name of a recipe"),
        ({"f": {"my-model": None}}, "must be a mapping"),
        ({"f": {"my-model": RECIPE}, "g": {"my-model": RECIPE}}, "there twice. Where: f and g"),
    ],
)
def test_documents_of_another_shape_are_refused(documents, words):
    with pytest.raises(NpufleetError) as caught:
        read_recipes(documents)
    assert words in str(caught.value)


def test_a_date_of_yaml_is_taken():
    recipe = changed((*ROW, "date"), datetime.date(2026, 11, 30))
    assert read_recipes({"f": {"my-model": recipe}})["my-model"]["rows"][0]["date"] == "2026-11-30"
