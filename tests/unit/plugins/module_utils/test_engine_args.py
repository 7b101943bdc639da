# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_args import (
    OWNED_OPTIONS,
    ArgumentError,
    check_args,
    check_owned,
    normal_name,
    parse_catalogue,
    to_argv,
)


def option(*flags, **fields):
    return dict({"nargs": None, "choices": None, "kind": None}, flags=list(flags), **fields)


CATALOGUE = parse_catalogue(
    json.dumps(
        {
            "options": [
                option("--max-model-len", kind="int"),
                option("--max-num-seqs", kind="int"),
                option("--gpu-memory-utilization", kind="float"),
                option("--dtype", "-d", choices=["auto", "bfloat16", "float16"]),
                option("--enforce-eager", "--no-enforce-eager", nargs=0),
                option("--disable-log-stats", nargs=0),
                option("--compilation-config", "-O", kind="loads"),
                option("--allowed-origins", nargs="*"),
                option("--middleware", nargs="+"),
                option("--lora-modules", nargs="?"),
            ]
        }
    )
)


@pytest.mark.parametrize(
    ("name", "normal"),
    [
        ("max_num_seqs", "max-num-seqs"),
        ("--max-num-seqs", "max-num-seqs"),
        ("max-num-seqs", "max-num-seqs"),
        ("compilation_config.cudagraph_mode", "compilation-config.cudagraph_mode"),
    ],
)
def test_every_spelling_of_an_option_is_one(name, normal):
    assert normal_name(name) == normal


@pytest.mark.parametrize(
    ("args", "argv"),
    [
        ({}, []),
        ({"max_model_len": 512, "enforce_eager": True}, ["--enforce-eager", "--max-model-len", "512"]),
        ({"b": 1, "--a": 2}, ["--a", "2", "--b", "1"]),
        ({"enforce_eager": False}, ["--no-enforce-eager"]),
        ({"dtype": None}, []),
        ({"lora_modules": ["a=1", 2]}, ["--lora-modules", "a=1", "2"]),
        ({"lora_modules": []}, ["--lora-modules"]),
        ({"lora_modules": ({"name": "a"},)}, ["--lora-modules", '{"name":"a"}']),
        ({"additional_config": {"b": [1, None], "a": True}}, ["--additional-config", '{"a":true,"b":[1,null]}']),
        ({"compilation_config.mode": 3}, ["--compilation-config.mode", "3"]),
        ({"gpu_memory_utilization": 0.9}, ["--gpu-memory-utilization", "0.9"]),
    ],
)
def test_options_become_an_argument_list(args, argv):
    assert to_argv(args) == argv


def test_the_order_of_a_mapping_does_not_matter():
    one = {"b": {"y": 1, "x": 2}, "a": 1}
    two = {"a": 1, "b": {"x": 2, "y": 1}}
    assert to_argv(one) == to_argv(two)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"options": [{"flags": ["--a"]}]}', '{"options": 1}', '{"options": [1]}'])
def test_a_damaged_list_of_options_says_which_file_to_remove(text):
    with pytest.raises(ArgumentError, match="is damaged") as caught:
        parse_catalogue(text, "/venv/options.json")
    assert (caught.value.where, caught.value.remedy) == ("/venv/options.json", "Remove the file; it is made again")


@pytest.mark.parametrize("name", sorted(OWNED_OPTIONS))
def test_options_with_a_setting_of_their_own_are_refused(name):
    key = name.replace("-", "_")
    with pytest.raises(ArgumentError) as caught:
        check_owned({key: "x"})
    assert str(
        caught.value
    ) == "the option --{0} is set by the engine itself. Where: args.{1}. What to do: Remove it there and use {2}.".format(
        name, key, OWNED_OPTIONS[name]
    )


@pytest.mark.parametrize("key", ["ssl_certfile", "--ssl-keyfile", "enable_ssl_refresh"])
def test_tls_is_refused_because_readiness_asks_over_http(key):
    with pytest.raises(ArgumentError, match="put a proxy that speaks TLS in front") as caught:
        check_owned({key: "x"})
    assert caught.value.where == "args." + key


def test_an_option_in_two_spellings_is_refused():
    check_owned({"max_num_seqs": 8, "max_model_len": 8})
    with pytest.raises(ArgumentError) as caught:
        check_owned({"max_num_seqs": 8, "max-num-seqs": 20})
    assert str(caught.value) == (
        "the option --max-num-seqs is given twice. Where: args.max-num-seqs, args.max_num_seqs. What to do: Keep one of them."
    )


@pytest.mark.parametrize(
    "args",
    [
        {},
        {"max_model_len": 512, "max_num_seqs": "8"},
        {"gpu_memory_utilization": 0.5},
        {"dtype": "bfloat16"},
        {"no_such_option": None},
        {"enforce_eager": True},
        {"enforce_eager": False},
        {"compilation_config": {"mode": 3}},
        {"compilation_config.mode": "any"},
        {"allowed_origins": True},
        {"allowed_origins": ["a", "b"]},
        {"lora_modules": True},
    ],
)
def test_what_vllm_accepts_passes(args):
    check_args(args, CATALOGUE, "0.32.0")


NEEDED = "See `vllm serve --help=all` for the options"


@pytest.mark.parametrize(
    ("args", "what", "remedy"),
    [
        ({"max_num_seq": 8}, "vLLM 0.32.0 knows no option --max-num-seq", "Did you mean --max-num-seqs?"),
        ({"wholly_different": 8}, "vLLM 0.32.0 knows no option --wholly-different", NEEDED),
        ({"wholly_different": False}, "vLLM 0.32.0 knows no option --wholly-different", NEEDED),
        ({"no_enforce_eage": 8}, "vLLM 0.32.0 knows no option --no-enforce-eage", "Did you mean --enforce-eager?"),
        ({"compilation_confi.mode": 1}, "vLLM 0.32.0 knows no option --compilation-confi", "Did you mean --compilation-config?"),
        ({"max_model_len": True}, "the option --max-model-len of vLLM 0.32.0 needs a value", "Give one instead of true"),
        ({"middleware": True}, "the option --middleware of vLLM 0.32.0 needs a value", "Give one instead of true"),
        ({"enforce_eager": "yes"}, "the option --enforce-eager of vLLM 0.32.0 is a switch and takes no value", "Give true or false"),
        (
            {"disable_log_stats": False},
            "the option --disable-log-stats of vLLM 0.32.0 cannot be switched off",
            "Leave it out, or give null",
        ),
        ({"max_model_len": "many"}, "the option --max-model-len of vLLM 0.32.0 takes a whole number, not many", "Correct the value"),
        ({"max_model_len": 1.5}, "the option --max-model-len of vLLM 0.32.0 takes a whole number, not 1.5", "Correct the value"),
        (
            {"gpu_memory_utilization": "all"},
            "the option --gpu-memory-utilization of vLLM 0.32.0 takes a number, not all",
            "Correct the value",
        ),
        (
            {"dtype": "bfloat61"},
            "the option --dtype of vLLM 0.32.0 does not take bfloat61",
            "Did you mean bfloat16? Known: auto, bfloat16, float16",
        ),
        ({"dtype": "?"}, "the option --dtype of vLLM 0.32.0 does not take ?", "Known: auto, bfloat16, float16"),
    ],
)
def test_what_vllm_does_not_accept_is_named(args, what, remedy):
    with pytest.raises(ArgumentError) as caught:
        check_args(args, CATALOGUE, "0.32.0")
    assert (caught.value.what, caught.value.where, caught.value.remedy) == (what, "args." + next(iter(args)), remedy)
