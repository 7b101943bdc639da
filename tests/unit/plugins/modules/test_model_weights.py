# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import os

import jinja2.sandbox
import pytest
import yaml
from ansible_collections.npufleet.ascend.plugins.module_utils._tiny_model import CHAT_TEMPLATE, DEFAULT_SEED, RECIPES
from ansible_collections.npufleet.ascend.plugins.modules import model_weights
from ansible_collections.npufleet.ascend.tests.unit.plugins.modules.module_runner import run_module

ROLE = os.path.join(os.path.dirname(__file__), "../../../../roles/model_weights")


def run(path, check=False, diff=False, **options):
    return run_module(model_weights.main, dict(options, path=str(path)), check=check, diff=diff)


def test_build_in_check_mode_then_for_real_then_again(tmp_path):
    path = tmp_path / "models" / "tiny"
    predicted = run(path, check=True, diff=True, source="tiny", architecture="qwen2")
    assert (predicted["failed"], predicted["changed"], path.exists()) == (False, True, False)
    result = run(path, diff=True, source="tiny", architecture="qwen2")
    assert result == predicted
    assert result["diff"]["before"] == "absent\n"
    assert "model.safetensors 4598296\n" in result["diff"]["after"]
    again = run(path, source="tiny", architecture="qwen2", verify="full")
    assert (again["changed"], again["differences"], again["weights"]) == (False, [], result["weights"])
    assert "diff" not in again


def test_what_is_returned(tmp_path):
    run(tmp_path / "tiny", source="tiny")
    result = run(tmp_path / "tiny")
    weights = result["weights"]
    files = weights.pop("files")
    manifest = weights.pop("manifest_sha256")
    assert weights == {
        "path": str(tmp_path / "tiny"),
        "architecture": "DeepseekV2ForCausalLM",
        "model_type": "deepseek_v2",
        "total_bytes": 11778560,
        "tensor_count": 83,
        "quantization": None,
        "max_position_embeddings": 4096,
    }
    assert {entry["name"]: entry["size"] for entry in files}["model-00001-of-00002.safetensors"] == 7287920
    assert len(manifest) == 64
    assert json.dumps(result)


def test_without_a_manifest_there_is_no_digest(tmp_path):
    run(tmp_path / "tiny", source="tiny")
    (tmp_path / "tiny" / "SHA256SUMS").unlink()
    assert run(tmp_path / "tiny")["weights"]["manifest_sha256"] is None


def test_remove(tmp_path):
    run(tmp_path / "tiny", source="tiny")
    for check, changed in ((True, True), (False, True), (False, False)):
        result = run(tmp_path / "tiny", check=check, state="absent")
        assert (result["changed"], result["weights"]) == (changed, None)
    assert os.listdir(str(tmp_path)) == []


def test_a_failure_says_what_where_and_what_to_do(tmp_path):
    result = run(tmp_path)
    assert result == {
        "failed": True,
        "msg": "the folder has no config.json, so it is no model folder. Where: {0}. "
        "What to do: give the folder that holds config.json, or fetch the model again.".format(tmp_path),
    }


def test_warnings_are_passed_on(tmp_path, monkeypatch):
    warnings = []
    monkeypatch.setattr("ansible.module_utils.basic.AnsibleModule.warn", lambda _module, text: warnings.append(text))
    run(tmp_path / "tiny", source="tiny")
    (tmp_path / "tiny" / "tokenizer.json").unlink()
    run(tmp_path / "tiny")
    assert len(warnings) == 1
    assert "has none of the tokenizer files" in warnings[0]


@pytest.mark.parametrize("option", ["source", "architecture", "state", "verify"])
def test_unknown_choices_are_refused(tmp_path, option):
    result = run(tmp_path, **{option: "unknown"})
    assert result["failed"]
    assert "value of {0} must be one of".format(option) in result["msg"]


def test_the_options_fit_the_documentation_the_recipes_and_the_role():
    documented = yaml.safe_load(model_weights.DOCUMENTATION)["options"]
    keys = ("type", "choices", "default", "required")
    assert {name: {key: option[key] for key in keys if key in option} for name, option in documented.items()} == model_weights.ARGUMENT_SPEC
    assert sorted(RECIPES) == model_weights.ARGUMENT_SPEC["architecture"]["choices"]
    assert model_weights.ARGUMENT_SPEC["seed"]["default"] == DEFAULT_SEED
    with open(os.path.join(ROLE, "meta/argument_specs.yml"), encoding="utf-8") as stream:
        role = yaml.safe_load(stream)["argument_specs"]["main"]["options"]
    assert sorted(role) == sorted("model_weights_" + name for name in documented)
    for name, option in documented.items():
        assert role["model_weights_" + name].get("choices") == option.get("choices")
        assert name == "path" or role["model_weights_" + name]["default"] == option["default"]


SYSTEM, USER, ASSISTANT = ({"role": role, "content": role} for role in ("system", "user", "assistant"))


@pytest.mark.parametrize(
    ("messages", "arguments", "text"),
    [
        ([USER], {}, "<|bos|><|user|>user"),
        ([SYSTEM, USER], {"add_generation_prompt": True}, "<|bos|><|system|>system<|user|>user<|assistant|>"),
        ([dict(SYSTEM, role="developer")], {}, "<|bos|><|system|>system"),
        ([USER, ASSISTANT, USER], {}, "<|bos|><|user|>user<|assistant|>assistant<|eos|><|user|>user"),
        ([dict(ASSISTANT, content=None), dict(USER, role="tool")], {}, "<|bos|><|assistant|><|eos|><|user|>user"),
        ([USER], {"add_generation_prompt": True, "thinking": True}, "<|bos|><|user|>user<|assistant|><think>"),
    ],
)
def test_the_chat_template(messages, arguments, text):
    template = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True).from_string(CHAT_TEMPLATE)
    assert template.render(messages=messages, bos_token="<|bos|>", eos_token="<|eos|>", **arguments) == text
