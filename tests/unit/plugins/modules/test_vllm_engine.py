# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Bad input gives one clear message before anything is touched."""

from __future__ import annotations

import json
import pathlib
import shutil
import tempfile
import typing as t

import pytest
import yaml
from ansible_collections.npufleet.ascend.plugins.doc_fragments import vllm_engine_container, vllm_engine_launch, vllm_engine_ray
from ansible_collections.npufleet.ascend.plugins.module_utils import _engine_docker_client, _engine_task
from ansible_collections.npufleet.ascend.plugins.module_utils._engine import EngineFailedError
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_checks import GIB
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_docker_options import SUBOPTIONS
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_ray import SUBOPTIONS as RAY
from ansible_collections.npufleet.ascend.plugins.module_utils._tiny_model import build_files
from ansible_collections.npufleet.ascend.plugins.modules import vllm_engine
from ansible_collections.npufleet.ascend.plugins.modules.vllm_engine import argument_spec, main
from ansible_collections.npufleet.ascend.tests.unit.plugins.modules.module_runner import run_module


class Machine:
    """A folder with a tiny model and an environment whose list of options is the stand-in engine's."""

    def __init__(self, folder: pathlib.Path, short: pathlib.Path) -> None:
        self.home = short / "home"
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
def machine(tmp_path: pathlib.Path, model_files: t.Dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> t.Iterator[Machine]:
    """The home lies in a short folder, as the path of supervisor's socket is limited. Memory of the real host plays no part."""
    short = pathlib.Path(tempfile.mkdtemp(prefix="npuf-"))
    machine = Machine(tmp_path, short)
    monkeypatch.setattr(_engine_task, "memory_available", lambda: 64 * GIB)
    monkeypatch.setattr(_engine_task, "SHARED_MEMORY", "/no/such/folder")
    machine.model.mkdir()
    for name, data in model_files.items():
        (machine.model / name).write_bytes(data)
    (machine.venv / "bin").mkdir(parents=True)
    (machine.venv / "bin" / "vllm").write_text("#!/bin/sh\n")
    (machine.venv / "bin" / "vllm").chmod(0o755)
    (machine.venv / "npufleet-arguments.json").write_text(json.dumps({"version": "0.32.0", "options": OPTIONS}))
    yield machine
    shutil.rmtree(short)


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


def test_what_the_kernel_refuses_is_one_message_too(machine: Machine) -> None:
    (machine.venv / "bin" / "supervisord").write_text("#!/bin/sh\n")
    (machine.venv / "bin" / "supervisord").chmod(0o755)
    machine.home.write_text("a file")
    result = run_module(main, machine.options())
    assert result["failed"] is True
    assert result["msg"].startswith("the host refused: Not a directory. Where: {0}".format(machine.home))


@pytest.mark.parametrize("changed", [True, False])
def test_a_dead_engine_is_reported_with_its_log(machine: Machine, monkeypatch: pytest.MonkeyPatch, changed: bool) -> None:
    report = {"first_error": "OSError: x", "signature": None, "other_signatures": [], "tail": ["OSError: x"]}

    def dies(_task: t.Any, _check: bool) -> None:
        raise EngineFailedError("it died", "service demo", "Read", report, changed)

    monkeypatch.setattr(_engine_task.EngineTask, "execute", dies)
    result = run_module(main, machine.options())
    assert result == dict(report, failed=True, changed=changed, msg="it died. Where: service demo. What to do: Read.")
    documented = yaml.safe_load(vllm_engine.RETURN)
    assert {name for name in documented if documented[name]["returned"] == "on failure of the engine"} == set(report)


def test_warnings_are_passed_on(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    warnings: t.List[str] = []
    monkeypatch.setattr("ansible.module_utils.basic.AnsibleModule.warn", lambda _module, text: warnings.append(text))
    result = run_module(main, machine.options(model="/no/such/model"), check=True)
    assert "warn" not in result
    assert "the model folder /no/such/model does not exist yet, so it was not checked" in warnings


@pytest.mark.parametrize("check", [False, True])
def test_a_host_without_the_docker_library_is_told_so(machine: Machine, monkeypatch: pytest.MonkeyPatch, check: bool) -> None:
    """In check mode an earlier task may be what brings it."""
    monkeypatch.setattr(vllm_engine, "IMPORT_ERROR", "No module named docker")
    monkeypatch.setattr(_engine_docker_client, "_docker", None)
    options = machine.options(runtime="docker", container={"image": "engine"})
    del options["venv"]
    result = run_module(main, options, check=check)
    assert result["failed"] is not check
    if check:
        assert result["engine"]["action"] == "create"
    else:
        assert "docker" in result["msg"]
        assert "Python library" in result["msg"]
        assert result["exception"] == "No module named docker"
    assert not machine.home.exists()


@pytest.mark.parametrize(("runtime", "missing"), [("auto", "venv"), ("systemd", "venv"), ("supervisor", "venv"), ("docker", "container")])
def test_each_way_to_run_has_an_option_that_it_needs(machine: Machine, runtime: str, missing: str) -> None:
    options = machine.options(runtime=runtime)
    del options["venv"]
    result = run_module(main, options)
    assert result["msg"] == "runtime is {0} but all of the following are missing: {1}".format(runtime, missing)


def test_the_documentation_and_the_argument_spec_agree() -> None:
    documented = yaml.safe_load(vllm_engine.DOCUMENTATION)["options"]
    for fragment in (vllm_engine_container, vllm_engine_launch, vllm_engine_ray):
        documented.update(yaml.safe_load(fragment.ModuleDocFragment.DOCUMENTATION)["options"])
    spec = argument_spec()
    assert set(documented) == set(spec)
    for name, option in spec.items():
        assert documented[name].get("default") == option.get("default"), name
        assert documented[name]["type"] == option["type"], name


def test_the_documentation_of_container_and_its_options_agree() -> None:
    documented = yaml.safe_load(vllm_engine_container.ModuleDocFragment.DOCUMENTATION)["options"]["container"]["suboptions"]
    assert {name: {key: row[key] for key in row if key != "description"} for name, row in documented.items()} == SUBOPTIONS


def test_the_documentation_of_ray_and_its_options_agree() -> None:
    documented = yaml.safe_load(vllm_engine_ray.ModuleDocFragment.DOCUMENTATION)["options"]["ray"]["suboptions"]
    assert {name: {key: row[key] for key in row if key != "description"} for name, row in documented.items()} == RAY
