# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._recipe_catalogue import environment
from ansible_collections.npufleet.ascend.plugins.module_utils._recipe_env import DEAD, PLUGIN_VARIABLES, problems_of_env
from ansible_collections.npufleet.ascend.plugins.module_utils._recipe_keys import KEYS
from ansible_collections.npufleet.ascend.plugins.module_utils._recipe_versions import MINORS


@pytest.mark.parametrize(
    ("minor", "env"),
    [
        ("0.23", {"VLLM_ASCEND_BALANCE_SCHEDULING": "1", "HCCL_BUFFSIZE": "200", "VLLM_PREFIX_CACHE_RETENTION_INTERVAL": "4096"}),
        ("0.26", {"VLLM_ASCEND_ENABLE_MLAPO": "1", "VLLM_ENGINE_READY_TIMEOUT_S": "3600"}),
        ("0.30", {"VLLM_USE_V2_MODEL_RUNNER": "0", "ANYTHING": "1"}),
        ("0.30", {}),
    ],
)
def test_variables_of_the_version_are_taken(minor, env):
    assert problems_of_env(env, minor) == []


@pytest.mark.parametrize(
    ("minor", "name", "words"),
    [
        ("0.23", "VLLM_USE_V1", "no other engine than V1. Remove it"),
        ("0.30", "VLLM_RPC_TIMEOUT", "no longer knows it"),
        ("0.30", "VLLM_PREFIX_CACHE_RETENTION_INTERVAL", "option prefix_cache_retention_interval"),
        ("0.30", "VLLM_ASCEND_BALANCE_SCHEDULING", "additional_config.scheduler_config.enable_balance_scheduling"),
        ("0.30", "VLLM_ASCEND_ENABLE_NZ", "additional_config.weight_nz_mode"),
        ("0.26", "VLLM_ASCEND_ENABLE_MATMUL_ALLREDUCE", "removed in vllm-ascend 0.26"),
        ("0.26", "ASCEND_BUFFER_POOL", "ASCEND_ENABLE_USE_FABRIC_MEM=1"),
        ("0.23", "VLLM_ENGINE_READY_TIMEOUT", "Did you mean VLLM_ENGINE_READY_TIMEOUT_S?"),
        ("0.23", "VLLM_ASCEND_ENABLE_FLASHCOMM", "Did you mean VLLM_ASCEND_ENABLE_FLASHCOMM1?"),
        ("0.23", "VLLM_ZZZZZZZZZZZZ", "knows VLLM_ZZZZZZZZZZZZ. Remove it"),
    ],
)
def test_dead_and_unknown_variables_are_named_with_what_to_do(minor, name, words):
    found = problems_of_env({name: "1", "HCCL_BUFFSIZE": "1"}, minor)
    assert len(found) == 1 and name in found[0] and words in found[0]


@pytest.mark.parametrize("row", DEAD, ids=lambda row: row.name)
def test_each_dead_variable_is_unknown_to_its_versions(row):
    assert row.reason and row.remedy and row.source and set(row.minors) <= set(MINORS)
    for minor in row.minors:
        assert row.name not in environment(minor) and minor not in PLUGIN_VARIABLES.get(row.name, ())


def test_a_variable_that_moved_names_a_key_that_is_there():
    keys = [row.remedy.partition("additional_config.")[2] for row in DEAD if "additional_config." in row.remedy]
    assert len(keys) == 7
    assert all("0.30" in KEYS[key].minors for key in keys)
