# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What every role promises: inputs are documented and alike everywhere, names have the prefix, files stay small."""

from __future__ import annotations

import importlib.util
import pathlib
import re

import pytest
import yaml
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_args import check_owned, normal_name
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_checks import on_capture_grid
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_history import RECORDED
from ansible_collections.npufleet.ascend.plugins.module_utils._package_names import CHIP_OF_GENERATION

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROLES = sorted(path.name for path in (ROOT / "roles").iterdir())
TASK_FILES = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("roles/*/tasks/*.yml"))
PLAYBOOKS = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("playbooks/*.yml"))
RECIPES = yaml.safe_load((ROOT / "roles/vllm_engine/vars/recipes.yml").read_text(encoding="utf-8"))["__vllm_engine_recipes"]
RECIPE_KEYS = {"accelerator", "description", "status", "source", "args", "env"}
# The files of the engine and of the gateway set variables; in the others all stand behind a "#".
GATEWAY = "inventories/production/group_vars/gateways/gateway.yml"
PRODUCTION = [
    "inventories/production/group_vars/{0}.yml".format(name)
    for name in ("engines/engine", "engines/host", "all/bundle", "gateways/gateway")
]
LOCAL_SETTINGS = "inventories/local/group_vars/engines.yml"

# Variables of Ansible itself, which are no injected facts.
MAGIC = {"ansible_facts", "ansible_connection", "ansible_check_mode", "ansible_diff_mode", "ansible_managed", "ansible_playbook_python"}
MAGIC |= {"ansible_play_batch", "ansible_failed_result"}
SECRET = re.compile(r"key|token|secret|password|^vllm_engine_index_url$")


def load(path):
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


def text_of(path):
    return (ROOT / path).read_text(encoding="utf-8")


def defaults_of(role):
    return load("roles/{0}/defaults/main.yml".format(role))


def spec_of(role):
    return load("roles/{0}/meta/argument_specs.yml".format(role))["argument_specs"]


def generator():
    spec = importlib.util.spec_from_file_location("generate_role_tables", ROOT / "scripts" / "generate_role_tables.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def walk(value):
    """Every mapping in a YAML document."""
    if isinstance(value, dict):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from walk(item)


def names_made_by(document):
    """Names of variables that tasks create: registered, set as facts, given to an included file, or of a loop."""
    for task in walk(document):
        if "register" in task:
            yield task["register"]
        for key in ("ansible.builtin.set_fact", "vars"):
            yield from (name for name in task.get(key) or {} if name != "cacheable")
        for key in ("loop_var", "index_var"):
            if key in task:
                yield task[key]


@pytest.mark.parametrize("role", ROLES)
def test_defaults_and_argument_spec_hold_the_same_values(role):
    options = spec_of(role)["main"]["options"]
    defaults = defaults_of(role)
    assert list(options) == list(defaults)
    # An argument spec knows no default null; an option without a default may be null.
    assert {name: option["default"] for name, option in options.items() if "default" in option} == {
        name: value for name, value in defaults.items() if value is not None
    }


@pytest.mark.parametrize("role", ROLES)
def test_table_of_the_readme_is_current(role):
    assert generator().page_of(ROOT / "roles" / role) == text_of("roles/{0}/README.md".format(role))


@pytest.mark.parametrize("role", ROLES)
def test_every_option_says_what_it_is(role):
    for name, option in spec_of(role)["main"]["options"].items():
        assert option["description"] and option["type"], name
        assert ("elements" in option) == (option["type"] == "list"), name
        assert option.get("no_log", False) == bool(SECRET.search(name)), name
        defaults = option.get("default") if option["type"] == "list" else [option.get("default")]
        assert "choices" not in option or set(defaults) <= set(option["choices"]), name


@pytest.mark.parametrize("role", ROLES)
def test_every_default_has_a_comment(role):
    blocks = text_of("roles/{0}/defaults/main.yml".format(role)).replace("---\n", "", 1).strip().split("\n\n")
    assert [block for block in blocks if not block.startswith("# ")] == []


@pytest.mark.parametrize("role", ROLES)
def test_entry_points(role):
    spec = spec_of(role)
    assert {"main", "preflight", "verify"} <= set(spec)
    for name, entry in spec.items():
        assert (ROOT / "roles" / role / "tasks" / (name + ".yml")).is_file(), name
        assert entry["short_description"] and entry["description"], name
        shared = {key: option for key, option in spec["main"]["options"].items() if key in entry["options"]}
        assert entry["options"] == shared, name


@pytest.mark.parametrize("path", PLAYBOOKS)
def test_playbooks_name_entry_points_that_are_validated(path):
    """Ansible looks for an argument spec under the very text of tasks_from, so "verify.yml" would skip that of "verify"."""
    for task in walk(load(path)):
        call = task.get("ansible.builtin.import_role") or task.get("ansible.builtin.include_role") or {}
        if "tasks_from" in call:
            assert call["tasks_from"] in spec_of(call["name"].rpartition(".")[2])


@pytest.mark.parametrize("role", ROLES)
def test_names_have_the_prefix_of_the_role(role):
    own = (role + "_", "__{0}_".format(role))
    assert [name for name in defaults_of(role) if not name.startswith(own[0])] == []
    for path in sorted((ROOT / "roles" / role / "vars").glob("*.yml")):
        assert [name for name in load(path) if not name.startswith(own[1])] == [], path
    for path in sorted((ROOT / "roles" / role / "tasks").glob("*.yml")):
        document = load(path)
        assert [name for name in names_made_by(document) if not name.startswith(own)] == [], path
        tags = {tag for task in walk(document) for tag in task.get("tags") or []}
        assert {tag for tag in tags if tag not in ("always", role) and not tag.startswith(own[0])} == set(), path


@pytest.mark.parametrize("role", ROLES)
def test_no_task_sets_an_input(role):
    inputs = set(defaults_of(role))
    for path in sorted((ROOT / "roles" / role / "tasks").glob("*.yml")):
        assert inputs.isdisjoint(names_made_by(load(path))), path


# Hosts that are one engine together; which they are is an input.
LOOK_AT_EACH_OTHER = ("group_decide.yml", "group_up.yml", "group_round.yml", "group_back.yml", "group_swap.yml")


@pytest.mark.parametrize("role", ROLES)
def test_role_knows_no_group_and_no_injected_fact(role):
    for path in sorted((ROOT / "roles" / role).rglob("*.yml")):
        text = path.read_text(encoding="utf-8")
        others = r"\bgroups\s*[\[.]|\bgroup_names\b"
        assert re.findall(others if path.name in LOOK_AT_EACH_OTHER else others + r"|\bhostvars\b", text) == [], path
        assert set(re.findall(r"(?<![\w.])ansible_\w+", text)) <= MAGIC, path


@pytest.mark.parametrize("path", TASK_FILES)
def test_task_files_are_short(path):
    assert len(text_of(path).splitlines()) <= (40 if path.endswith("/main.yml") else 80)


@pytest.mark.parametrize("path", [name for name in TASK_FILES if not name.endswith("/main.yml")])
def test_task_names_begin_with_the_name_of_their_file(path):
    prefix = pathlib.PurePath(path).stem + " | "
    assert [task["name"] for task in load(path) if not task["name"].startswith(prefix)] == []


@pytest.mark.parametrize("role", ROLES)
def test_role_needs_no_other(role):
    meta = load("roles/{0}/meta/main.yml".format(role))
    assert meta["dependencies"] == []
    assert meta["galaxy_info"]["role_name"] == role


def test_embedded_default_is_the_local_inventory():
    tasks = load("playbooks/targets.yml")[0]["tasks"]
    # Without a name, include_vars sets every variable of the file, so nothing can be forgotten here.
    tasks = tasks[1:]
    assert tasks[0]["ansible.builtin.include_vars"] == {"file": "{{ playbook_dir }}/../" + LOCAL_SETTINGS}
    (host,) = load("inventories/local/hosts.yml")["engines"]["hosts"].items()
    assert tasks[1]["ansible.builtin.add_host"] == {"name": host[0], "groups": "engines", **host[1]}


@pytest.mark.parametrize("path", [LOCAL_SETTINGS, "inventories/staging/group_vars/engines.yml", PRODUCTION[0], GATEWAY])
def test_inventories_set_inputs_that_exist(path):
    inputs = {name for role in ROLES for name in defaults_of(role)} | {"npufleet_home"}
    assert set(load(path)) <= inputs


def test_production_example_shows_every_input():
    """Each is set, or stands behind a "#" with its default, or with an example where the default is to have none."""
    lines = re.findall(r"^(?:# )?(\w+): *(.*)$", "\n".join(map(text_of, PRODUCTION)), re.MULTILINE)
    shown = dict(lines)
    chosen = dict(load(PRODUCTION[0]), **load(GATEWAY))
    for role in ROLES:
        for name, default in defaults_of(role).items():
            assert name in shown
            assert name in chosen or default is None or yaml.safe_load(shown[name]) == default, name


@pytest.mark.parametrize("name", sorted(RECIPES))
def test_recipe(name):
    recipe = RECIPES[name]
    assert set(recipe) == RECIPE_KEYS
    assert recipe["accelerator"] in ("cpu", "ascend") and recipe["status"] in ("validated", "documented", "experimental")
    assert recipe["description"] and recipe["source"]
    check_owned(recipe["args"])
    assert [key for key in recipe["args"] if key != normal_name(key).replace("-", "_")] == []
    assert on_capture_grid(recipe["args"]["max_num_seqs"])
    assert all(isinstance(value, str) for value in recipe["env"].values())
    assert "| `{0}` |".format(name) in text_of("roles/vllm_engine/README.md")


LAYERS = ["kunpeng_host", "ascend_driver", "container_runtime", "cann"]


@pytest.mark.parametrize("role", ["ascend_driver", "cann"])
def test_chips_of_the_roles_are_those_of_the_packages(role):
    chips = load("roles/{0}/vars/main.yml".format(role))["__{0}_chip_of".format(role)]
    # There is no driver package for hosts with a 310B.
    assert chips == {key: value for key, value in CHIP_OF_GENERATION.items() if role == "cann" or key != "310B"}


@pytest.mark.parametrize("role", LAYERS)
def test_a_look_at_a_layer_starts_no_process_of_ansible_for_includes(role):
    tasks = load("roles/{0}/tasks/preflight.yml".format(role))
    assert [key for task in tasks for key in task if key.startswith("ansible.builtin.include")] == []


@pytest.mark.parametrize("role", [*LAYERS, "offline_bundle", "vllm_engine", "vllm_gateway"])
def test_a_role_does_not_refuse_the_variables_that_it_makes_itself(role):
    made = {name for path in TASK_FILES if path.startswith("roles/{0}/".format(role)) for name in names_made_by(load(path))}
    own = {name for name in made if name.startswith(role + "_")} - set(defaults_of(role))
    refused = load("roles/{0}/vars/main.yml".format(role))["__{0}_unknown".format(role)]
    assert sorted(own) == sorted(re.findall("'({0}_[a-z_]+)'".format(role), refused))


def test_a_table_that_the_preflight_has_shown_is_not_shown_again():
    (shown,) = [task for task in load("roles/kunpeng_host/tasks/tuning.yml") if "ansible.builtin.debug" in task]
    assert "kunpeng_host_due is not defined" in shown["when"]


def test_packages_that_cannot_be_installed_are_told_with_what_to_do():
    *tools, told = load("roles/kunpeng_host/tasks/packages_install.yml")
    assert [task["failed_when"] for task in tools] == [False, False, False]
    assert all(task["register"] in str(told["vars"]) for task in tools[1:]) and "What to do: " in told["ansible.builtin.assert"]["fail_msg"]


@pytest.mark.parametrize("number", range(3))
def test_a_host_without_work_leaves_a_play_of_the_layers_before_its_tasks(number):
    first, *rest = load("playbooks/layers.yml")[number]["tasks"]
    assert first["ansible.builtin.meta"] == "end_host"
    assert set(first["tags"]) == {tag for task in rest for tag in task["tags"]}


@pytest.mark.parametrize("name", ["call", "group_recall"])
def test_an_engine_is_called_with_all_that_is_kept_to_go_back_to(name):
    (task,) = load("roles/vllm_engine/tasks/{0}.yml".format(name))
    assert set(RECORDED) - set(task["npufleet.ascend.vllm_engine"]) == set()


@pytest.mark.parametrize("path", ["playbooks/preflight.yml", "playbooks/deploy.yml", "playbooks/upgrade.yml"])
def test_whoever_plans_an_engine_on_several_hosts_checks_them_before_it_acts(path):
    imported = [play.get("ansible.builtin.import_playbook") for play in load(path)]
    planned = imported.index("plan_engines.yml")
    assert imported[planned + 1] == "precheck_groups.yml"
    # What comes after it acts, or checks each engine.
    assert None in imported[planned + 2 :]


def test_a_rollback_wants_nothing_that_only_a_plan_or_a_recipe_would_tell():
    first = load("roles/vllm_engine/tasks/rollback_engine.yml")[0]
    assert first["ansible.builtin.import_tasks"] == "options.yml"
    told = load("roles/vllm_engine/tasks/options.yml")
    assert [list(task) for task in told] == [["name", "ansible.builtin.set_fact"]]
