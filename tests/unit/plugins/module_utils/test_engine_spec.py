# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_args import ArgumentError
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_spec import ACCELERATOR_ENV, SpecError, build_spec
from ansible_collections.npufleet.ascend.plugins.module_utils._runtime_systemd import render_unit
from ansible_collections.npufleet.ascend.plugins.module_utils._supervisor_files import render_program
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.engine_fakes import KEY, params, spec


def test_the_command_is_that_of_the_virtual_environment():
    wanted = spec(venv="/srv/venv/", port=8123, args={"max_model_len": 512})
    assert wanted.argv == (
        "/srv/venv/bin/vllm",
        "serve",
        "/srv/models/tiny",
        "--host",
        "127.0.0.1",
        "--port",
        "8123",
        "--served-model-name",
        "tiny",
        "--max-model-len",
        "512",
    )


@pytest.mark.parametrize(
    ("changes", "served"),
    [
        ({}, "tiny"),
        ({"model": "/srv/models/tiny/"}, "tiny"),
        ({"served_model_name": "deepseek"}, "deepseek"),
    ],
)
def test_the_name_that_clients_ask_for(changes, served):
    wanted = spec(**changes)
    assert wanted.served_model_name == served
    assert wanted.argv[wanted.argv.index("--served-model-name") + 1] == served


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:8000"),
        ("0.0.0.0", "http://127.0.0.1:8000"),
        ("", "http://127.0.0.1:8000"),
        ("::", "http://[::1]:8000"),
        ("fd00::7", "http://[fd00::7]:8000"),
        ("node.example", "http://node.example:8000"),
    ],
)
def test_the_address_of_a_client_on_this_host(host, url):
    wanted = spec(host=host)
    assert wanted.base_url == url
    assert wanted.argv[wanted.argv.index("--host") + 1] == host


def test_the_environment_keeps_every_file_in_the_folder_and_makes_no_network_call():
    env = dict(spec(home="/srv/home/", env={"OMP_NUM_THREADS": 4, "VLLM_CPU_KVCACHE_SPACE": "2"}).env)
    assert env["HOME"] == "/srv/home/engines/demo"
    assert [value for name, value in env.items() if name.endswith(("_DIR", "_ROOT", "_HOME"))] == [
        "/srv/home/engines/demo/cache/torchinductor",
        "/srv/home/engines/demo/cache/vllm",
        "/srv/home/engines/demo/cache",
    ]
    assert env["PATH"].startswith("/srv/venv/bin:")
    assert (env["OMP_NUM_THREADS"], env["VLLM_CPU_KVCACHE_SPACE"]) == ("4", "2")
    assert {name for name in ACCELERATOR_ENV["cpu"] if name not in env} == set()


def test_the_key_shows_nowhere_but_in_the_secrets():
    wanted = spec(api_key=KEY)
    assert wanted.api_key == KEY
    assert wanted.secret_env == (("VLLM_API_KEY", KEY),)
    assert KEY not in json.dumps([wanted.public(), wanted.argv, wanted.env])
    assert wanted.public()["secrets"] == ["VLLM_API_KEY"]
    assert spec().api_key is None
    assert spec().public()["secrets"] == []


def test_the_public_spec_survives_json():
    public = spec(args={"additional_config": {"a": 1}}, env={"A": "1"}, user="vllm").public()
    assert json.loads(json.dumps(public)) == public


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "other"},
        {"venv": "/srv/venv2"},
        {"home": "/srv/home2"},
        {"model": "/srv/models/other"},
        {"served_model_name": "other"},
        {"host": "::1"},
        {"port": 8001},
        {"api_key": KEY},
        {"args": {"enforce_eager": True}},
        {"env": {"A": "1"}},
        {"user": "vllm"},
        {"stop_timeout": 61},
    ],
)
def test_every_setting_counts_in_the_digest(changes):
    assert spec(**changes).digest() != spec().digest()


def test_settings_of_the_task_alone_do_not_count():
    same = spec(replace=True, wait_timeout=1, wait_slice=1, state="restarted", runtime="systemd", venv="/srv/venv/", home="/srv/home/")
    assert same.digest() == spec().digest()


BLANK = "the API key holds a blank, a line break or another character that no HTTP header may hold"


@pytest.mark.parametrize(
    ("changes", "what", "where"),
    [
        ({"name": "Bad Name"}, "the engine name 'Bad Name' is not usable as the name of a service", "name"),
        ({"name": "-a"}, "the engine name '-a' is not usable as the name of a service", "name"),
        ({"name": "a/../b"}, "the engine name 'a/../b' is not usable as the name of a service", "name"),
        ({"name": "demo\n"}, "the engine name 'demo\\n' is not usable as the name of a service", "name"),
        ({"name": "a" * 64}, "the engine name '{0}' is not usable as the name of a service".format("a" * 64), "name"),
        ({"port": 0}, "the port 0 does not exist", "port"),
        ({"port": 65536}, "the port 65536 does not exist", "port"),
        ({"venv": "venv"}, "venv is no absolute path: venv", "venv"),
        ({"model": "models/tiny"}, "model is no absolute path: models/tiny", "model"),
        ({"home": ""}, "home is no absolute path: ", "home"),
        ({"home": "/srv/a b"}, "home holds a character that systemd or supervisor would not read as itself: '/srv/a b'", "home"),
        ({"home": "/srv/a%b"}, "home holds a character that systemd or supervisor would not read as itself: '/srv/a%b'", "home"),
        ({"home": "/srv/a\n"}, "home holds a character that systemd or supervisor would not read as itself: '/srv/a\\n'", "home"),
        ({"api_key": KEY + "\n"}, BLANK, "api_key"),
        ({"api_key": "a b"}, BLANK, "api_key"),
        ({"api_key": "\u5bc6\u94a5"}, BLANK, "api_key"),
        ({"model": "/srv/a\nb"}, "a value in model holds a line break", "model"),
        ({"venv": "/srv/a\rb"}, "a value in venv holds a line break", "venv"),
        ({"host": "::\n"}, "a value in host holds a line break", "host"),
        ({"served_model_name": "a\0"}, "a value in served_model_name holds a line break", "served_model_name"),
        ({"user": "root\nExecStartPre=/bin/x"}, "a value in user holds a line break", "user"),
        ({"args": {"chat_template": "{% a %}\n"}}, "a value in args holds a line break", "args"),
        ({"args": {"lora_modules": ["a", "b\rc"]}}, "a value in args holds a line break", "args"),
        ({"env": {"A B": "1"}}, "A B is no valid environment variable", "env"),
        ({"env": {"A": "1\n2"}}, "A is no valid environment variable", "env"),
        ({"env": {"A\n": "1"}}, "A\n is no valid environment variable", "env"),
        ({"env": {"1A": "1"}}, "1A is no valid environment variable", "env"),
    ],
)
def test_what_cannot_be_is_refused_with_a_remedy(changes, what, where):
    with pytest.raises(SpecError) as caught:
        spec(**changes)
    assert (caught.value.what, caught.value.where) == (what, where)
    assert caught.value.remedy
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    "name", ["HF_TOKEN", "MY_API_KEY", "OPENAI_APIKEY", "api_keys", "KEY", "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD", "PASSWD"]
)
def test_secrets_do_not_go_into_the_environment_that_is_shown(name):
    with pytest.raises(SpecError) as caught:
        spec(env={name: "hidden-value"})
    assert caught.value.what == "env.{0} looks like a secret, and env is shown in diffs and unit files".format(name)
    assert "hidden-value" not in str(caught.value)


@pytest.mark.parametrize("name", ["TOKENIZERS_PARALLELISM", "VLLM_MAX_TOKENS_PER_EXPERT_FP4_MOE", "KEYBOARD", "MONKEY", "PASS"])
def test_names_that_only_sound_like_secrets_pass(name):
    assert dict(spec(env={name: "false"}).env)[name] == "false"


def test_owned_options_are_refused_here_already():
    with pytest.raises(ArgumentError, match="--port is set by the engine itself"):
        spec(args={"port": 1})


@pytest.mark.parametrize("text", ["two\nlines", {"a": "two\nlines"}])
def test_only_json_may_hold_a_line_break_as_it_is_written_without_one(text):
    if isinstance(text, str):
        with pytest.raises(SpecError):
            spec(args={"a": text})
    else:
        assert spec(args={"a": text}).argv[-1] == '{"a":"two\\nlines"}'


@pytest.mark.parametrize(("length", "has_one"), [(66, True), (67, False)])
def test_a_folder_too_deep_for_sockets_has_no_temporary_files_of_its_own(length, has_one):
    home = "/h" + "x" * (length - len("/h/engines/demo"))
    wanted = spec(home=home)
    assert len(wanted.working_directory) == length
    assert ("TMPDIR" in dict(wanted.env)) is has_one


CANN = {"LD_LIBRARY_PATH": "/drv:/cann/lib", "PATH": "/srv/venv/bin:/cann/bin", "ASCEND_HOME_PATH": "/cann"}


def bare(**changes):
    return build_spec(params(**dict({"accelerator": "ascend", "runtime": "systemd"}, **changes)), cann=CANN)


def test_an_engine_on_npus_outside_a_container():
    env = dict(bare(env={"OMP_NUM_THREADS": 10, "ASCEND_RT_VISIBLE_DEVICES": "4,5"}).env)
    assert {name: env[name] for name in CANN} == CANN
    assert (env["OMP_NUM_THREADS"], env["TASK_QUEUE_ENABLE"], env["ASCEND_RT_VISIBLE_DEVICES"]) == ("10", "1", "4,5")
    assert (env["HOME"], env["HF_HUB_OFFLINE"]) == ("/srv/home/engines/demo", "1")
    assert "VLLM_CPU_KVCACHE_SPACE" not in env
    assert bare().argv[:2] == ("/srv/venv/bin/vllm", "serve")
    assert dict(bare(env={"LD_LIBRARY_PATH": "/mine"}).env)["LD_LIBRARY_PATH"] == "/mine"


def test_what_cann_sets_counts_and_shows():
    upgraded = build_spec(params(accelerator="ascend", runtime="systemd"), cann=dict(CANN, ASCEND_HOME_PATH="/cann-9.2"))
    assert upgraded.digest() != bare().digest()
    assert upgraded.public()["env"]["ASCEND_HOME_PATH"] == "/cann-9.2"


def test_a_cpu_engine_takes_nothing_of_cann():
    assert build_spec(params(), cann=CANN) == spec()


def test_words_before_the_engine():
    prefix = ["numactl", "--physcpubind=0-23", "--localalloc"]
    wanted = bare(command_prefix=prefix)
    assert wanted.argv == (*prefix, *bare().argv)
    assert (wanted.program, wanted.options) == ("/srv/venv/bin/vllm", bare().argv[2:])
    assert wanted.digest() != bare().digest()
    assert 'ExecStart="numactl" "--physcpubind=0-23" "--localalloc" "/srv/venv/bin/vllm" "serve"' in render_unit(wanted, "/s", False)
    assert '/launch.sh" "numactl" "--physcpubind=0-23" "--localalloc" "/srv/venv/bin/vllm"' in render_program(wanted)
    assert 'Environment="LD_LIBRARY_PATH=/drv:/cann/lib"' in render_unit(wanted, "/s", False)


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"set_env": ["/a"], "accelerator": "cpu"}, "set_env is for an engine on NPUs outside a container"),
        ({"set_env": ["/a"], "runtime": "docker"}, "set_env is for an engine on NPUs outside a container"),
        ({"command_prefix": ["numactl"], "runtime": "docker"}, "command_prefix is for an engine outside a container"),
        ({"command_prefix": ["serve"]}, "a command before the engine has the word serve"),
        ({"command_prefix": ["nice\n"]}, "a value in args holds a line break"),
    ],
)
def test_options_of_engines_outside_containers(changes, what):
    with pytest.raises(SpecError, match=what):
        bare(**changes)


RAY = {"address": "192.0.2.1", "node_address": "192.0.2.1", "npus": 8}


def test_the_head_of_ray_runs_vllm_in_its_service():
    wanted = spec(accelerator="ascend", ray=RAY, command_prefix=["/usr/bin/nice"], args={"tensor_parallel_size": 8}, api_key=KEY)
    assert wanted.argv[:3] == ("/usr/bin/nice", "/bin/sh", "-c")
    assert wanted.program == "/srv/venv/bin/vllm"
    assert wanted.options[0] == "/srv/models/tiny"
    assert wanted.options[-4:] == ("--distributed-executor-backend", "ray", "--tensor-parallel-size", "8")
    assert (wanted.headless, wanted.joins) == (False, False)
    env = dict(wanted.env)
    assert (env["RAY_ADDRESS"], env["VLLM_HOST_IP"]) == ("192.0.2.1:6379", "192.0.2.1")
    assert env["VLLM_CONFIG_ROOT"] == "/srv/home/engines/demo/config/vllm"
    assert KEY not in json.dumps(wanted.public())
    same = spec(accelerator="ascend", ray=RAY, args={"distributed_executor_backend": "ray"})
    assert same.options.count("--distributed-executor-backend") == 1


def test_the_other_hosts_of_ray_run_no_vllm():
    ray = dict(RAY, node_address="192.0.2.2")
    wanted = spec(accelerator="ascend", ray=ray, command_prefix=["/usr/bin/nice"])
    assert (wanted.headless, wanted.joins) == (True, True)
    assert "serve" not in wanted.argv
    assert (wanted.program, wanted.options) == ("/srv/venv/bin/vllm", ())
    # What vLLM is told concerns the head alone.
    assert wanted.digest() == spec(accelerator="ascend", ray=ray, command_prefix=["/usr/bin/nice"], args={"seed": 7}).digest()
    assert wanted.digest() != spec(accelerator="ascend", ray=dict(ray, npus=4), command_prefix=["/usr/bin/nice"]).digest()


def test_ray_changes_nothing_for_engines_without_it():
    wanted = spec()
    assert "ray" not in wanted.public()
    assert not [name for name, _value in wanted.env if "RAY" in name]


@pytest.mark.parametrize("ray", [RAY, dict(RAY, node_address="192.0.2.2")])
def test_files_of_services_hold_the_lines_of_ray_as_they_are(ray):
    wanted = spec(accelerator="ascend", ray=ray, runtime="systemd", args={"tensor_parallel_size": 8})
    script = wanted.argv[2]
    line = next(one for one in render_unit(wanted, "/x", False).splitlines() if one.startswith("ExecStart="))
    plain = line.replace("$$", "$").replace("%%", "%").replace('\\"', '"').replace("\\\\", "\\")
    assert script in plain
    assert render_program(wanted).count("\ncommand=") == 1
