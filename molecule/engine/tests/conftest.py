# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Engines beside the one that converge made, run by the module itself."""

from __future__ import annotations

import json
import typing as t

import pytest

STANDIN = "/opt/standin"
PORT = 8100


@pytest.fixture
def key(variables):
    """The API key of the engines that converge made."""
    return variables["engines"]["vars"]["vllm_engine_api_key"]


@pytest.fixture
def engine(place, run_module):
    """Run vllm_engine for an engine "probe" and return the result; that engine is gone after the test."""

    def run(check: bool = False, extra_vars: t.Optional[dict] = None, **changes: t.Any) -> dict:
        options = {
            "name": "probe",
            "venv": STANDIN,
            "home": place.home,
            "model": place.home + "/models/tiny-qwen2",
            "port": PORT,
            "args": {"max_model_len": 512, "max_num_seqs": 8},
            "env": {"STANDIN_WORKERS": "1"},
            "wait_timeout": 60,
            "stop_timeout": 10,
        }
        options.update(changes)
        return run_module(place.name, "npufleet.ascend.vllm_engine", extra_vars, check, **options)

    yield run
    run(state="absent")


@pytest.fixture
def fault(place):
    """Let the engines that are started from now on in this test fail; see the stand-in engine for what it may be."""
    path = STANDIN + "/fault.json"
    yield lambda **fault: place.root.check_output("printf %s '{0}' > {1}".format(json.dumps(fault), path))
    place.root.check_output("rm -f " + path)
