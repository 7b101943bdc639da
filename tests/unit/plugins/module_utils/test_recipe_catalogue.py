# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._recipe_catalogue import (
    PLUGIN_VALUES,
    QUANTIZATIONS,
    environment,
    fields,
    options,
)
from ansible_collections.npufleet.ascend.plugins.module_utils._recipe_versions import MINORS


@pytest.mark.parametrize(
    ("minor", "flag", "there"),
    [
        ("0.23", "--engram-config", False),
        ("0.26", "--engram-config", False),
        ("0.30", "--engram-config", True),
        ("0.23", "--max-num-partial-prefills", True),
        ("0.30", "--max-num-partial-prefills", False),
        ("0.23", "--prefix-cache-retention-interval", False),
        ("0.30", "--prefix-cache-retention-interval", True),
    ],
)
def test_each_minor_has_the_options_of_its_vllm(minor, flag, there):
    assert (flag in options(minor)) is there


@pytest.mark.parametrize("minor", MINORS)
def test_kinds_are_read(minor):
    known = options(minor)
    assert len(known) > 300
    assert known["--max-num-seqs"].kind == "int" and known["--max-num-seqs"].nargs is None
    assert known["--gpu-memory-utilization"].kind == "float"
    assert known["--enforce-eager"].nargs == 0 and "--no-enforce-eager" in known
    assert known["--headless"].nargs == 0 and "--no-headless" not in known
    assert known["--served-model-name"].nargs == "+" and known["--hf-token"].nargs == "?"
    assert known["--dtype"].choices == ["auto", "bfloat16", "float", "float16", "float32", "half"]


def test_keys_of_mappings_are_those_of_the_version():
    assert "indexer_kv_dtype" not in fields("0.23", "attention-config")
    assert "indexer_kv_dtype" in fields("0.30", "attention-config")
    assert fields("0.30", "engram-config") == {"cpu_offload", "dp_shared_memory", "embedding_across_dp"}
    assert fields("0.30", "additional-config") is None


def test_variables_are_those_of_the_version():
    assert "VLLM_PREFIX_CACHE_RETENTION_INTERVAL" in environment("0.26") - environment("0.30")
    assert all("VLLM_USE_V1" not in environment(minor) and "VLLM_HOST_IP" in environment(minor) for minor in MINORS)


@pytest.mark.parametrize("row", PLUGIN_VALUES, ids=lambda row: row.option)
def test_values_of_the_plugin_belong_to_keys_that_vllm_has(row):
    option, _dot, key = row.option.partition(".")
    assert row.source and row.minors and all(key in fields(minor, option) for minor in row.minors)


def test_the_quantization_of_the_plugin_is_among_those_that_are_taken():
    assert "ascend" in QUANTIZATIONS and "awq" not in QUANTIZATIONS
