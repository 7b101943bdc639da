# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_layout import Asked, Kind, keep_layout, make_layout
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_model import Model, Parallel, read_model
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_values import PlanError
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.test_plan_fleet import GB, LLAMA_70B, QWEN_32B, R1

GIB = 1 << 30
A2 = Kind("a2", 64 * GIB, 8, 4)
A2_32 = Kind("a2", 32 * GIB, 8, 4)
A3 = Kind("a3", 64 * GIB, 16, 2)
DT = Kind("a5", 96 * GIB, 8, 1)
QWEN_7B = {"num_attention_heads": 28, "num_key_value_heads": 4, "num_hidden_layers": 28}
LLAMA_8B = {"num_attention_heads": 32, "num_key_value_heads": 8, "num_hidden_layers": 32}
EXPERTS = read_model(R1, 690 * GB, "w8a8", None)


def sizes(layout):
    return (*layout.sizes[:3], layout.hosts)


@pytest.mark.parametrize(
    ("config", "size", "kind", "found"),
    [
        # The sizes that the documents and recipes of vllm-ascend give for the distill models on 64 GB and 32 GB.
        (QWEN_7B, 3.5, A2, (1, 1, 1, 1)),
        (QWEN_7B, 15, A2, (1, 1, 1, 1)),
        (QWEN_7B, 15, A2_32, (1, 1, 1, 1)),
        (QWEN_32B, 29.5, A2, (1, 1, 1, 1)),
        (QWEN_32B, 29.5, A2_32, (2, 1, 1, 1)),
        (QWEN_32B, 65.5, A2, (2, 1, 1, 1)),
        (QWEN_32B, 65.5, A2_32, (4, 1, 1, 1)),
        (LLAMA_8B, 16, A2, (1, 1, 1, 1)),
        (LLAMA_70B, 141, A2, (4, 1, 1, 1)),
        # An A3 gives two dies at least.
        (QWEN_7B, 15, A3, (2, 1, 1, 1)),
        # 28 heads: 4 is the most; then PP.
        (QWEN_7B, 300, A2, (4, 2, 1, 1)),
        # A model that one host does not hold.
        (dict(LLAMA_70B, num_attention_heads=128), 810, A2, (8, 2, 1, 2)),
        # Seven chips are no power of two.
        (dict(QWEN_7B, num_hidden_layers=80), 300, Kind("a2", 64 * GIB, 7, 1), (1, 7, 1, 1)),
    ],
)
def test_the_smallest_that_fits(config, size, kind, found):
    layout = make_layout(read_model(config, int(size * GB), None, None), Asked("here"), kind)
    assert sizes(layout) == found
    assert layout.reasons[0].endswith("the fewest on which the weights fit")


@pytest.mark.parametrize(
    ("kind", "found"),
    [(A3, (4, 1, 4, 1)), (A2, (4, 1, 4, 2)), (Kind("a5", 128 * GIB, 8, 1), (4, 1, 2, 1))],
)
def test_deepseek_r1_is_divided_as_its_documents_do(kind, found):
    layout = make_layout(EXPERTS, Asked("here"), kind)
    assert sizes(layout) == found
    assert layout.sizes.expert


@pytest.mark.parametrize(
    ("asked", "kind", "found"),
    [
        (Asked("here", chips=16), A3, (4, 1, 4, 1)),
        (Asked("here", chips=32), A3, (4, 1, 8, 2)),
        (Asked("here", chips=32, hosts=4), A2, (4, 1, 8, 4)),
        (Asked("here", tensor=16, data=2), A3, (16, 1, 2, 2)),
        (Asked("here", tensor=8), A3, None),
        (Asked("here", tensor=8, chips=16), A3, (8, 1, 2, 1)),
        (Asked("here", data=2, chips=16), A3, (8, 1, 2, 1)),
        (Asked("here", pipeline=2, chips=16), A3, (8, 2, 1, 1)),
        (Asked("here", minimum=16), A3, (4, 1, 4, 1)),
    ],
)
def test_what_was_given_is_completed(asked, kind, found):
    if found is None:
        with pytest.raises(PlanError, match=r"the weights do not fit with the layout TP 8 with EP: 80.3 GiB of weights a chip"):
            make_layout(EXPERTS, asked, kind)
    else:
        assert sizes(make_layout(EXPERTS, asked, kind)) == found


@pytest.mark.parametrize(
    ("model", "asked", "kind", "found"),
    [
        (Model(heads=64, kv_heads=8, layers=80), Asked("here", chips=8), A2, (8, 1, 1, 1)),
        (Model(heads=28, kv_heads=4, layers=28), Asked("here", chips=8), A2, (4, 1, 2, 1)),
        (Model(heads=40, kv_heads=8, layers=64), Asked("here", chips=6), A2, (2, 1, 3, 1)),
        (Model(), Asked("here", chips=16), A2, (8, 2, 1, 2)),
        (Model(), Asked("here", minimum=1), A3, (2, 1, 1, 1)),
        (Model(), Asked("here", chips=8, expert=True), A2, (4, 1, 2, 1)),
    ],
)
def test_a_number_of_chips_is_divided(model, asked, kind, found):
    layout = make_layout(model, asked, kind)
    assert sizes(layout) == found
    assert layout.reasons[-1] == "the size of the weights is not known: whether they fit was not checked"


@pytest.mark.parametrize(
    ("model", "asked", "kind", "words"),
    [
        (
            Model(heads=40),
            Asked("here", tensor=3),
            A2,
            r"40 attention heads are not divisible .*Where: here.*tensor_parallel_size 1, 2, 4, 5, 8",
        ),
        (Model(layers=4), Asked("here", pipeline=5), A2, "pipeline_parallel_size is more than the 4 layers"),
        (Model(heads=8, dense=True), Asked("here", tensor=2, expert=True), A2, "the model has no experts"),
        (Model(), Asked("here", tensor=1), A3, "dies of an A3 are used in pairs, and it takes 1 a host"),
        (Model(), Asked("here", tensor=16, hosts=1), A2, "it takes 16 chips a host, and a host has 8"),
        (Model(), Asked("here", tensor=3, hosts=2), A2, "its 3 chips are not divisible by 2 hosts"),
        (Model(), Asked("here", tensor=16, data=2, hosts=4), A2, "a copy of 16 chips would span hosts beside data parallel ones"),
        (Model(), Asked("here", tensor=2, chips=5), A2, "5 chips cannot be divided by a layout of 2"),
        (Model(), Asked("here", tensor=2, data=2, chips=8), A2, "needs 4 chips and 8 are given"),
        (Model(), Asked("here", tensor=4096, data=2), A2, "needs 8192 chips and at most 4096 are given"),
        (Model(), Asked("here", tensor=4, minimum=8), A2, "it has 4 chips, and the recipe names 8 as the fewest"),
        (Model(), Asked("here", chips=9, hosts=2), A2, r"no layout divides 9 chips among 2 host\(s\)"),
        (Model(heads=3), Asked("here", tensor=9), Kind("a2", GIB, 0, 1), "tensor_parallel_size none"),
        (Model(), Asked("here"), A2, "nothing tells how large the model is"),
        (
            Model(weights=900 * GB),
            Asked("here"),
            Kind("a2", 64 * GIB, 8, 1),
            r"838.2 GiB fit on none of the 1 host\(s\) with up to 8 chips",
        ),
        (Model(weights=100 * GB, heads=3, experts=8), Asked("here"), A2, "fit on none of the 4 host"),
        (Model(weights=100 * GB), Asked("here", chips=1), A2, "the weights do not fit with the layout TP 1"),
        (Model(weights=10 * GB), Asked("here", tensor=1, utilization=0.1), A2, "a higher gpu_memory_utilization than 0.1"),
        # Only a quarter would be on a chip if the experts were most of it, which nobody knows.
        (Model(weights=200 * GB, experts=8), Asked("here", chips=4, hosts=4), A2, "the weights do not fit"),
    ],
)
def test_what_cannot_be_is_refused(model, asked, kind, words):
    with pytest.raises(PlanError, match=words):
        make_layout(model, asked, kind)


def test_a_given_layout_may_leave_little_and_hears_of_it():
    # W8A8 of DeepSeek-V3.1 on a 950DT, as its tutorial has it.
    layout = make_layout(read_model(R1, 700 * GB, "w8a8", None), Asked("here", tensor=8), DT)
    assert layout.reasons[-1] == "little is left for the KV cache: long or many requests may wait"


def test_a_given_number_of_chips_may_leave_little_too():
    model = read_model(LLAMA_70B, 55 * GB, None, None)
    assert sizes(make_layout(model, Asked("here"), A2)) == (2, 1, 1, 1)
    layout = make_layout(model, Asked("here", chips=1), A2)
    assert (sizes(layout), layout.reasons[-1][:14]) == ((1, 1, 1, 1), "little is left")


def test_experts_whose_share_is_not_known_give_a_bound():
    layout = make_layout(Model(weights=690 * GB, experts=256), Asked("here", tensor=4, data=4), A3)
    assert "40.2 GiB of weights a chip, at least" in layout.reasons[1]


def test_fewer_chips_than_a_recipe_names_will_do_where_the_weights_fit():
    assert sizes(make_layout(Model(weights=30 * GB), Asked("here", tensor=1, minimum=2), A2)) == (1, 1, 1, 1)


def test_a_copy_over_several_hosts_spans():
    layout = make_layout(Model(), Asked("here", tensor=16), A2)
    assert (layout.hosts, layout.per_host, layout.spans) == (2, 8, True)
    assert not make_layout(EXPERTS, Asked("here"), A2).spans


@pytest.mark.parametrize(
    ("asked", "same"),
    [
        (Asked("here"), True),
        (Asked("here", chips=4), True),
        (Asked("here", tensor=4), True),
        (Asked("here", chips=8), False),
        (Asked("here", tensor=2), False),
        (Asked("here", hosts=2), False),
        (Asked("here", expert=True), False),
    ],
)
def test_a_layout_that_runs_is_kept_while_it_is_what_is_asked_for(asked, same):
    model = read_model(LLAMA_70B, 141 * GB, None, None)
    if same:
        assert keep_layout(model, asked, A2, Parallel(4, 1, 1, False), 1).reasons[0] == "TP 4: as it runs"
    else:
        with pytest.raises(PlanError, match="another layout is asked for"):
            keep_layout(model, asked, A2, Parallel(4, 1, 1, False), 1)


def test_a_layout_that_runs_and_does_not_fit_any_more_is_not_kept():
    with pytest.raises(PlanError, match="the weights do not fit"):
        keep_layout(Model(weights=900 * GB), Asked("here"), A2, Parallel(4, 1, 1, False), 1)
