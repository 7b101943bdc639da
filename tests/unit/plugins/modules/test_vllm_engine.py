# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Bad input gives one clear message before anything is touched."""

from __future__ import annotations

import json
import pathlib
import typing as t

import pytest
import yaml
from ansible_collections.npufleet.ascend.plugins.module_utils._tiny_model import build_files
from ansible_collections.npufleet.ascend.plugins.modules import vllm_engine
from ansible_collections.npufleet.ascend.plugins.modules.vllm_engine import argument_spec, main
from ansible_collections.npufleet.ascend.tests.unit.plugins.modules.module_runner import run_module


class Machine:
    """A folder with a tiny model and an environment whose list of options is the stand-in engine's."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.home = folder / "home"
        self.model = folder / "model"
        self.venv = folder / "venv"

    def options(self, **changes: t.Any) -> t.Dict[str, t.Any]:
        options = {
            "name": "demo",
            "venv": str(self.venv),
            "home": str(self.home),
            "model": str(self.model),
            "runtime": "supervisor",
            "port": 47321,
        }
        options.update(changes)
        return options


OPTIONS = [
    {"flags": ["--dtype"], "nargs": None, "choices": ["auto", "bfloat16", "float16"], "kind": "str"},
    {"flags": ["--max-model-len"], "nargs": None, "choices": None, "kind": "int"},
    {"flags": ["--max-num-seqs"], "nargs": None, "choices": None, "kind": "int"},
    {"flags": ["--tensor-parallel-size"], "nargs": None, "choices": None, "kind": "int"},
    {"flags": ["--data-parallel-size"], "nargs": None, "choices": None, "kind": "int"},
    {"flags": ["--data-parallel-size-local"], "nargs": None, "choices": None, "kind": "int"},
]


@pytest.fixture(scope="module")
def model_files() -> t.Dict[str, bytes]:
    return build_files("qwen2", 1)


@pytest.fixture()
def machine(tmp_path: pathlib.Path, model_files: t.Dict[str, bytes]) -> Machine:
    machine = Machine(tmp_path)
    machine.model.mkdir()
    for name, data in model_files.items():
        (machine.model / name).write_bytes(data)
    (machine.venv / "bin").mkdir(parents=True)
    (machine.venv / "bin" / "vllm").write_text("#!/bin/sh\n")
    (machine.venv / "bin" / "vllm").chmod(0o755)
    (machine.venv / "npufleet-arguments.json").write_text(json.dumps({"version": "0.32.0", "options": OPTIONS}))
    return machine


def damage_weights(model: pathlib.Path) -> None:
    path = model / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])


def lfs_pointer(model: pathlib.Path) -> None:
    (model / "model.safetensors").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n")


def remove_config(model: pathlib.Path) -> None:
    (model / "config.json").unlink()


ARGS = {"max_model_len": 512, "max_num_seqs": 8}


@pytest.mark.parametrize(
    ("changes", "prepare", "words"),
    [
        ({"model": "/no/such/model"}, None, ["/no/such/model"]),
        ({}, remove_config, ["config.json"]),
        ({}, damage_weights, ["model.safetensors", "MetadataIncompleteBuffer"]),
        ({}, lfs_pointer, ["model.safetensors", "LFS"]),
        ({"args": {"max_num_seqs": 20}}, None, ["max_num_seqs 20", "16 or 24", "#16049"]),
        ({"args": {"max_num_seq": 8}}, None, ["--max-num-seq", "--max-num-seqs"]),
        ({"args": {"dtype": "bfloat61"}}, None, ["bfloat61", "bfloat16"]),
        ({"args": {"max_model_len": "many"}}, None, ["max-model-len", "whole number"]),
        ({"args": {"tensor_parallel_size": 3}}, None, ["tensor_parallel_size 3", "attention heads"]),
        ({"args": {"data_parallel_size": 1, "data_parallel_size_local": 2}}, None, ["data_parallel_size_local 2"]),
        ({"args": {"port": 1}}, None, ["--port", "Remove it there"]),
        ({"env": {"MY_API_KEY": "x"}}, None, ["secret", "api_key"]),
        ({"env": {"VLLM_CPU_KVCACHE_SPACE": "100000"}}, None, ["memory", "GiB"]),
        ({"name": "Bad Name"}, None, ["Bad Name"]),
        ({"port": 70000}, None, ["70000"]),
        ({"venv": "/no/such/venv"}, None, ["/no/such/venv", "vllm_venv"]),
    ],
)
def test_one_message_and_nothing_touched(machine: Machine, changes: dict, prepare, words: list) -> None:
    if prepare:
        prepare(machine.model)
    result = run_module(main, machine.options(**changes))
    assert result["failed"] is True
    for word in words:
        assert word in result["msg"], result["msg"]
    assert "Where: " in result["msg"]
    assert not machine.home.exists()


def test_check_mode_tells_what_a_first_run_would_do(machine: Machine) -> None:
    result = run_module(main, machine.options(), check=True)
    assert (result["failed"], result["changed"], result["engine"]["action"]) == (False, True, "create")
    assert json.loads(result["diff"]["after"])["state"] == "started"
    assert not machine.home.exists()


def test_the_documentation_and_the_argument_spec_agree() -> None:
    documented = yaml.safe_load(vllm_engine.DOCUMENTATION)["options"]
    spec = argument_spec()
    assert set(documented) == set(spec)
    for name, option in spec.items():
        assert documented[name].get("default") == option.get("default"), name
        assert documented[name]["type"] == option["type"], name
