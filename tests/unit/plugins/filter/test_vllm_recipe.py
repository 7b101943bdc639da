# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.npufleet.ascend.plugins.filter.vllm_recipe import FilterModule

vllm_recipe = FilterModule().filters()["vllm_recipe"]

DOCUMENTS = {
    "mine.yml": {
        "my-model": {
            "model": "My-Model",
            "weights": {"names": ["org/My-Model"], "quantization": "w8a8", "files_needed": ["config.json"]},
            "args": {"quantization": "ascend", "max_num_seqs": 16},
            "env": {"HCCL_BUFFSIZE": "200"},
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
    }
}


def test_own_options_are_in_the_result():
    chosen = vllm_recipe(DOCUMENTS, "my-model", "A2", "0.23", args={"max_num_seqs": 8}, env={"HCCL_BUFFSIZE": None})
    assert chosen["args"] == {"quantization": "ascend", "max_num_seqs": 8} and chosen["env"] == {}
    assert chosen["problems"] == [] and chosen["image"]["tag"] == "v0.23.0.post1"


def test_problems_are_part_of_the_result():
    chosen = vllm_recipe(DOCUMENTS, "my-model", soc="a2", vllm_ascend="0.23", args={"max_num_seqs": 9}, files=["config.json"])
    assert len(chosen["problems"]) == 2


@pytest.mark.parametrize(
    ("documents", "name", "words"),
    [
        (DOCUMENTS, "my-modell", "Did you mean my-model"),
        ({"mine.yml": {"m": {"modell": 1}}}, "m", "mine.yml: m.modell"),
        (None, "m", "mapping of files"),
    ],
)
def test_errors_are_those_of_the_filter(documents, name, words):
    with pytest.raises(AnsibleFilterError) as caught:
        vllm_recipe(documents, name, "a2", "0.23")
    assert str(caught.value).startswith("vllm_recipe: ") and words in str(caught.value)


def test_the_message_can_be_had_as_a_problem():
    (problem,) = vllm_recipe(DOCUMENTS, "my-modell", "a2", "0.23", raises=False)["problems"]
    assert "Did you mean my-model" in problem
