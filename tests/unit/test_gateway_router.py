# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The starter of vllm-router, and what the role says about the router."""

from __future__ import annotations

import importlib.util
import pathlib
import re
import types

import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROLE = ROOT / "roles" / "vllm_gateway"
VARS = yaml.safe_load((ROLE / "vars" / "main.yml").read_text(encoding="utf-8"))
UNIT = (ROLE / "templates" / "npufleet-router.service.j2").read_text(encoding="utf-8")
CONFIG = (ROLE / "templates" / "haproxy.cfg.j2").read_text(encoding="utf-8")
GUIDE = (ROOT / "docs" / "gateway.md").read_text(encoding="utf-8")
BUFFER = 16384 - 1024


class RouterArgs(types.SimpleNamespace):
    """As the class of vllm-router."""

    @staticmethod
    def add_cli_args(parser, use_router_prefix):
        assert use_router_prefix is False
        parser.add_argument("--port", type=int)

    @classmethod
    def from_cli_args(cls, options, use_router_prefix):
        assert use_router_prefix is False
        return cls(port=options.port)


@pytest.fixture
def starter():
    spec = importlib.util.spec_from_file_location("gateway_router", ROLE / "files" / "router.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_option_that_the_program_lacks_reaches_the_library(starter):
    args = starter.parse(["--port", "8406", "--api-key-validation-urls", "http://127.0.0.1:8407/key"], RouterArgs)
    assert (args.port, args.api_key_validation_urls) == (8406, ["http://127.0.0.1:8407/key"])


def test_no_path_of_the_router_is_open_and_nothing_is_sent_twice():
    for word in ("--api-key-validation-urls {{ here }}/key", "--host 127.0.0.1", "--prometheus-host 127.0.0.1", "--disable-retries"):
        assert word in UNIT
    assert "api_key" not in UNIT.replace("api-key", "") and "map_str" not in UNIT


def test_both_wheels_are_pinned_and_the_guide_names_the_version():
    digests = VARS["__vllm_gateway_router_digests"]
    assert set(digests) == {"x86_64", "aarch64"} and all(re.fullmatch("[0-9a-f]{64}", digest) for digest in digests.values())
    assert "--require-hashes" in (ROLE / "files" / "router.sh").read_text(encoding="utf-8")
    assert "project/router) {0} from PyPI".format(VARS["__vllm_gateway_router_version"]) in GUIDE


def test_the_beginning_of_a_prompt_fits_into_the_buffer_of_haproxy():
    """Half of it, as the headers are in there as well; and each prompt gets as many tokens as it has blocks, or the next fewer."""
    blocks, size = VARS["__vllm_gateway_router_blocks"], VARS["__vllm_gateway_router_block"]
    assert blocks == sorted(blocks, reverse=True) and blocks[-1] == 1
    assert blocks[0] * size <= BUFFER * 0.6 and "to {0} bytes".format(blocks[0] * size) in GUIDE
    assert all(fewer * 2 >= more for more, fewer in zip(blocks, blocks[1:]))


def test_the_paths_of_the_router_have_an_order():
    """A set has none, and each run would write another configuration."""
    assert not re.search("intersect|difference|union", VARS["__vllm_gateway_router_paths"])


@pytest.mark.parametrize("name", ["router", "serves-{{ engine.name }}"])
def test_states_of_the_router_are_not_kept(name):
    """They are not drained by anybody; and a saved state would be believed before the first check."""
    assert "backend {0}\n    load-server-state-from-file none".format(name) in CONFIG
