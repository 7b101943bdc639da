# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._group_findings import Answers
from ansible_collections.npufleet.ascend.plugins.module_utils._group_hosts import check_hosts
from ansible_collections.npufleet.ascend.plugins.module_utils._group_members import find_groups
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.test_group_members import NAMES, lab

FILES = {
    "config.json": {"size": 2, "sha256": "aa"},
    "model.safetensors": {"size": 9, "sha256": None},
    "README.md": {"size": 1, "sha256": "x"},
}
IMAGE = "example.com/vllm:1"


def look(**changes):
    """What a host answers that fits the other."""
    answer = {
        "errors": [],
        "clock": {"ahead": [-0.5, 0.5], "synchronised": True},
        "mtu": {"eth0": 9000},
        "ports": {"8000": None},
        "weights": {"/m": dict(FILES)},
        "images": {IMAGE: {"id": "sha256:1", "reason": None}},
        "venvs": {},
        "versions": {"driver": "25.5.1", "firmware": "7.8.0", "cann": "9.0.0"},
    }
    return dict(answer, **changes)


def answers(second=None, first=None, own=None, **common):
    plan, variables = lab(**dict({"vllm_engine_image": IMAGE}, **common))
    variables["npu-02"].update(own or {})
    looks = {"npu-01": look(**(first or {}))}
    if second is not None:
        looks["npu-02"] = look(**second)
    return Answers(find_groups(plan, variables)[0], looks, {}, "ping")


def texts(given, problem=True, seconds=5.0):
    return [found.text for found in check_hosts(given, seconds) if found.problem is problem]


def test_hosts_that_fit():
    assert check_hosts(answers({}), 5.0) == []


def clock(*ahead, **more):
    return {"clock": dict({"ahead": list(ahead) or None, "synchronised": True}, **more)}


def weights(**changes):
    files = dict(FILES, **{name.replace("_", "."): row for name, row in changes.items()})
    return {"weights": {"/m": {name: row for name, row in files.items() if row is not None}}}


@pytest.mark.parametrize(
    ("second", "what", "where"),
    [
        (None, "hosts did not answer", "npu-02"),
        (clock(6.6, 7.6), "clocks are more than 5 s apart", "npu-02 is at least 6.1 s ahead of npu-01"),
        (clock(-7.6, -6.6), "clocks are more than 5 s apart", "npu-01 is at least 6.1 s ahead of npu-02"),
        ({"mtu": {"eth0": 1500}}, "the MTU of the hosts' interfaces differs", "9000 on npu-01; 1500 on npu-02"),
        ({"ports": {"60000": "process 7 (x)"}}, "ports of the engine are in use", "npu-02 port 60000 by process 7 (x)"),
        ({"weights": {"/m": None}}, "hosts lack the weights that npu-01 has", "npu-02"),
        (
            weights(config_json={"size": 2, "sha256": "bb"}),
            "the weights differ from those of npu-01: config.json has another content",
            "npu-02",
        ),
        (weights(model_safetensors={"size": 8, "sha256": None}), "model.safetensors has 8 bytes instead of 9", "npu-02"),
        (weights(model_safetensors=None), "model.safetensors is missing", "npu-02"),
        (weights(new_json={"size": 8, "sha256": "a"}), "new.json is too much", "npu-02"),
        ({"versions": {"driver": "25.5.0", "firmware": "7.8.0", "cann": "8"}}, "the driver differs", "25.5.1 on npu-01; 25.5.0 on npu-02"),
        ({"versions": {"driver": None, "firmware": "7.7.0", "cann": "8"}}, "the firmware differs", "7.8.0 on npu-01; 7.7.0 on npu-02"),
        ({"images": {IMAGE: {"id": "sha256:2"}}}, "what the image holds (its id) differs", "sha256:1 on npu-01; sha256:2 on npu-02"),
    ],
)
def test_one_fault(second, what, where):
    (found,) = texts(answers(second))
    assert found.startswith("engine q: ") and what in found
    assert "Where: {0}. What to do: ".format(where) in found


def test_what_a_host_could_not_read_is_passed_on():
    assert texts(answers({"errors": ["It is so."]})) == ["engine q, npu-02: It is so."]


def test_what_no_engine_reads_may_differ():
    second = weights(README_md={"size": 7, "sha256": "y"}, LICENSE_txt={"size": 1, "sha256": "z"})
    assert texts(answers(second)) == []


@pytest.mark.parametrize(
    ("second", "seconds", "words"),
    [
        (clock(), 5.0, "Where: npu-01 and npu-02. "),
        # The bounds of the pair reach from 3.7 to 5.7, so nothing is certain.
        (clock(4.2, 5.2), 5.0, "npu-01 and npu-02 (the calls took too long)"),
        (clock(-5.2, -4.2), 5.0, "npu-01 and npu-02 (the calls took too long)"),
        (clock(0.0, 0.2, synchronised=False), 5.0, "nothing keeps the clock right, so it will drift. Where: npu-02. "),
    ],
)
def test_doubts_about_clocks(second, seconds, words):
    assert texts(answers(second), seconds=seconds) == []
    (found,) = texts(answers(second), problem=False, seconds=seconds)
    assert words in found


def test_clocks_that_may_be_further_apart():
    assert texts(answers(clock(6.6, 7.6)), seconds=60) == []


def test_other_doubts():
    (found,) = texts(answers({"images": {IMAGE: {"id": None, "reason": "the host does not have it yet"}}}), problem=False)
    assert "the image cannot be compared. Where: npu-02 (the host does not have it yet). " in found
    (found,) = texts(answers({"images": {}}), problem=False)
    assert "npu-02 (not asked)" in found
    (found,) = texts(answers({"weights": {}}, {"weights": {}}), problem=False)
    assert "no host has the weights yet. Where: npu-01, npu-02. " in found


def test_names_differ():
    found = texts(answers({"images": {"other:2": {"id": "sha256:1"}}}, own={"vllm_engine_image": "other:2"}))
    assert len(found) == 1 and "the name of the image differs" in found[0]
    found = texts(answers({}, own={"vllm_engine_model": "/n"}))
    assert len(found) == 1 and "/m on npu-01; /n on npu-02" in found[0]


def test_a_model_that_nobody_names():
    assert check_hosts(answers({}, vllm_engine_model=None), 5.0) == []


def test_engines_outside_containers():
    venvs = {"/v": {"vllm": "0.23.0", "vllm_ascend": "0.23.0"}}
    given = answers({"venvs": {"/v": {"vllm": "0.23.0"}}, "versions": {"cann": "9.1", "driver": "25.5.1", "firmware": None}}, {"venvs": venvs},
                    vllm_engine_image=None, vllm_engine_venv="/v")  # fmt: skip
    cann, plugin = texts(given)
    assert "CANN differs between the hosts. Where: 9.0.0 on npu-01; 9.1 on npu-02. " in cann
    assert "Where: vllm 0.23.0, vllm_ascend 0.23.0 on npu-01; vllm 0.23.0 on npu-02. " in plugin


def test_hosts_with_one_address_and_an_unknown_interface():
    given = answers({})
    members = tuple(member._replace(address="192.0.2.1", interface=None) for member in given.group.members)
    (found,) = texts(given._replace(group=given.group._replace(members=members)))
    assert "hosts have the same address. Where: 192.0.2.1: npu-01, npu-02. " in found
    assert NAMES == ("npu-01", "npu-02")
