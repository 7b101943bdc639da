# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What every module promises: documented options are those it takes, it is in the action groups, and roles pass on its defaults."""

from __future__ import annotations

import ast
import importlib
import pathlib
import re

import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = "ansible_collections.npufleet.ascend.plugins."
MODULES = sorted(path.stem for path in (ROOT / "plugins" / "modules").glob("*.py"))
COMPARED = ("type", "default", "choices", "required", "elements")

# Which role passes on the options of which module.
ROLE_OF_MODULE = {
    "container_engine": "container_runtime",
    "host_tuning": "kunpeng_host",
    "model_weights": "model_weights",
    "vllm_engine": "vllm_engine",
    "vllm_venv": "vllm_engine",
}
# Variables of the role that mean something else: its state and its time limit are those of the engine, and it finds the accelerator out.
OTHER_MEANING = {("vllm_engine", "accelerator"), ("vllm_engine", "container"), ("vllm_venv", "accelerator"), ("vllm_venv", "state")}
OTHER_MEANING |= {("vllm_venv", "vllm_ascend"), ("vllm_venv", "wait_timeout")}


class CapturedError(Exception):
    """Stops main() where it makes its AnsibleModule."""


def module_of(name):
    return importlib.import_module(PACKAGE + "modules." + name)


def documentation(name):
    """DOCUMENTATION with the fragments it extends."""
    document = yaml.safe_load(module_of(name).DOCUMENTATION)
    options, attributes = dict(document.get("options") or {}), {}
    for fragment in document["extends_documentation_fragment"]:
        words = fragment.split(".")
        part = words[3].upper() if len(words) > 3 else "DOCUMENTATION"
        text = getattr(importlib.import_module(PACKAGE + "doc_fragments." + words[2]).ModuleDocFragment, part)
        extended = yaml.safe_load(text)
        options.update(extended.get("options") or {})
        for key, value in (extended.get("attributes") or {}).items():
            attributes.setdefault(key, {}).update(value)
    for key, value in (document.get("attributes") or {}).items():
        attributes.setdefault(key, {}).update(value)
    return dict(document, options=options, attributes=attributes)


def spec_of(name, monkeypatch):
    """The arguments that main() gives to AnsibleModule."""
    module = module_of(name)
    given = {}

    def capture(**arguments):
        given.update(arguments)
        raise CapturedError

    monkeypatch.setattr(module, "AnsibleModule", capture)
    with pytest.raises(CapturedError):
        module.main()
    return given


def plain(option):
    """The parts of an option that documentation and spec both say, with what is understood where they say nothing."""
    known = {key: option[key] for key in COMPARED if key in option}
    return dict({"type": "str", "required": False}, **known)


@pytest.mark.parametrize("name", MODULES)
def test_documented_options_are_the_spec(name, monkeypatch):
    given = spec_of(name, monkeypatch)
    documented = {key: plain(option) for key, option in documentation(name)["options"].items()}
    assert documented == {key: plain(option) for key, option in given["argument_spec"].items()}
    assert given["supports_check_mode"] is (documentation(name)["attributes"]["check_mode"]["support"] != "none")


@pytest.mark.parametrize("name", MODULES)
def test_documentation_is_whole(name):
    document = documentation(name)
    assert document["module"] == name and document["short_description"] and document["version_added"] and document["author"]
    assert {key for key, value in document["attributes"].items() if value.get("support")} == {"check_mode", "diff_mode", "idempotent"}
    assert all(option.get("description") for option in document["options"].values())


@pytest.mark.parametrize("name", MODULES)
def test_examples_use_options_that_exist(name):
    document = documentation(name)
    tasks = yaml.safe_load(module_of(name).EXAMPLES)
    calls = [task["npufleet.ascend." + name] for task in tasks if "npufleet.ascend." + name in task]
    assert calls
    for call in calls:
        given = set(call or {})
        assert given <= set(document["options"])
        assert {key for key, option in document["options"].items() if option.get("required")} <= given


def described(returned):
    """Every description in RETURN, with the path of its value."""
    for key, value in returned.items():
        yield key, value
        for inner, item in described(value.get("contains") or {}):
            yield "{0}.{1}".format(key, inner), item


@pytest.mark.parametrize("name", MODULES)
def test_returned_values_have_type_and_description(name):
    values = list(described(yaml.safe_load(module_of(name).RETURN)))
    assert values
    assert [path for path, value in values if not value.get("description") or not value.get("type")] == []
    assert [path for path, value in values if value["type"] == "list" and "elements" not in value] == []


@pytest.mark.parametrize("name", MODULES)
def test_module_is_thin(name):
    source = (ROOT / "plugins" / "modules" / (name + ".py")).read_text(encoding="utf-8")
    (main,) = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef) and node.name == "main"]
    assert main.end_lineno - main.lineno < 40
    assert source.startswith("#!/usr/bin/python\n")
    code = source.replace(ast.get_source_segment(source, main), "")
    assert re.findall(r"\b(?:exit_json|fail_json|sys\.exit)\(", code) == []


def test_every_module_is_in_one_action_group_and_in_all():
    groups = yaml.safe_load((ROOT / "meta" / "runtime.yml").read_text(encoding="utf-8"))["action_groups"]
    listed = [name for key, names in groups.items() if key != "all" for name in names]
    assert sorted(listed) == MODULES
    assert groups["all"] == [{"metadata": {"extend_group": [key for key in groups if key != "all"]}}]


@pytest.mark.parametrize("name", sorted(ROLE_OF_MODULE))
def test_role_passes_on_the_defaults_of_the_module(name):
    role = ROLE_OF_MODULE[name]
    defaults = yaml.safe_load((ROOT / "roles" / role / "defaults" / "main.yml").read_text(encoding="utf-8"))
    compared = 0
    for key, option in documentation(name)["options"].items():
        variable = "{0}_{1}".format(role, key)
        if variable in defaults and (name, key) not in OTHER_MEANING and not option.get("required"):
            compared += 1
            assert defaults[variable] == option.get("default"), variable
    assert compared


@pytest.mark.parametrize("path", [*ROOT.glob("playbooks/*.yml"), *ROOT.glob("roles/*/*/*.yml")], ids=lambda path: path.stem)
def test_facts_that_are_used_exist(path):
    """Keys of npufleet_npu in playbooks and roles are keys that npu_facts returns."""
    returned = yaml.safe_load(module_of("npu_facts").RETURN)["ansible_facts"]["contains"]["npufleet_npu"]["contains"]
    used = re.findall(r"_npu(?:'\])?\['(\w+)'\]", path.read_text(encoding="utf-8"))
    assert [key for key in used if key not in returned] == []


def test_versions_agree():
    galaxy = yaml.safe_load((ROOT / "galaxy.yml").read_text(encoding="utf-8"))["version"]
    project = re.search(r'^version = "(.*)"$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE).group(1)
    releases = yaml.safe_load((ROOT / "changelogs" / "changelog.yaml").read_text(encoding="utf-8"))["releases"]
    assert galaxy == project
    assert galaxy in releases
    # antsibull escapes every sign that Markdown could read as markup.
    assert "\n## v{0}\n".format(galaxy.replace(".", "\\.")) in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert [name for name in MODULES if documentation(name)["version_added"] not in releases] == []
