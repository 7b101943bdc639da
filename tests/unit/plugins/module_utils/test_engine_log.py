# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import io
import os

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_log import (
    MAX_ERROR,
    explain,
    first_error,
    last_meaningful,
    match,
    redact,
)

FIXTURES = os.path.join(os.path.dirname(__file__), os.pardir, os.pardir, "fixtures", "engine_logs")


def log(name):
    with io.open(os.path.join(FIXTURES, name + ".txt"), encoding="utf-8") as stream:
        return stream.read().splitlines()


# The cpu_ files are shortened logs of the real vLLM CPU engine 0.32.0; the others are written in the format of public issues.
LOGS = [
    ("cpu_unknown_argument", "vllm: error: unrecognized arguments: --no-such-flag 3", "arguments-unrecognized"),
    (
        "cpu_bad_json_argument",
        "vllm serve: error: argument --compilation-config/-cc: 1 validation error for CompilationConfig; "
        "Invalid JSON: EOF while parsing a value at line 1 column 6",
        "argument-value-invalid",
    ),
    (
        "cpu_model_folder_missing",
        "HFValidationError: Repo id must be in the form 'repo_name' or 'namespace/repo_name': '/srv/models/demo'. "
        "Use `repo_type` argument if needed.",
        "model-folder-missing",
    ),
    (
        "cpu_config_json_damaged",
        "OSError: It looks like the config file at '/srv/models/demo/config.json' is not a valid JSON file.",
        "model-config-invalid",
    ),
    (
        "cpu_quantization_ascend",
        "ValidationError: 1 validation error for ModelConfig; Unknown quantization method: ascend. Must be one of",
        "quantization-ascend-on-cpu",
    ),
    (
        "cpu_architecture_unknown",
        "ValidationError: 1 validation error for ModelConfig; The checkpoint you are trying to load has model type `deepseek_v9` "
        "but Transformers does not recognize this architecture.",
        "architecture-unknown",
    ),
    (
        "cpu_tensor_parallel_heads",
        "ValidationError: 1 validation error for VllmConfig; "
        "Total number of attention heads (4) must be divisible by tensor parallel size (3).",
        "tensor-parallel-heads",
    ),
    ("cpu_weights_truncated", "SafetensorError: Error while deserializing header: invalid header length", "weights-truncated"),
    ("cpu_weights_lfs_pointer", "SafetensorError: Error while deserializing header: header too large", "weights-lfs-pointer"),
    (
        "cpu_fp8_weights",
        "ValueError: Failed to find a kernel that can implement the ScaledMM linear layer. Reasons: "
        "CPUFp8W8A8BlockScaledMMKernel requires AMX tile support (Sapphire Rapids or newer)..; "
        "CPUFp8BlockScaledMMKernel requires AMX tile support (Sapphire Rapids or newer)",
        "quantization-not-on-platform",
    ),
    ("cpu_port_in_use", "OSError: [Errno 98] Address already in use", "address-in-use"),
    (
        "cpu_kv_space_too_large",
        "ValueError: Available memory on node 0 (6.74/8.09 GiB) on kv cache allocation is less than requested memory for kv (4000.0 GiB).",
        "cpu-kv-space-too-large",
    ),
    (
        "cpu_context_exceeds_kv",
        "ValueError: To serve at least one request with the model's max seq len (4096),",
        "context-exceeds-kv-memory",
    ),
    ("cpu_mla_head_dimension", "ValueError: Head dimension 96 is not supported by MLA.", "cpu-mla-head-dimension"),
    ("cpu_sparse_attention", "NotImplementedError: Sparse Attention is not supported on CPU.", "cpu-sparse-attention"),
    (
        "cpu_libnuma_missing",
        "AttributeError: '_OpNamespace' '_C' object has no attribute 'init_cpu_memory_env'",
        "cpu-libnuma-missing",
    ),
    ("cpu_package_metadata", "PackageNotFoundError: No package metadata was found for vllm", "cpu-package-metadata"),
    (
        "cpu_engine_core_killed",
        "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {'EngineCore': -9}",
        "killed-out-of-memory",
    ),
    ("ascend_driver_not_mounted", "ImportError: libascend_hal.so: cannot open shared object file", "hal-library-missing"),
    (
        "ascend_workers_mixed",
        "RuntimeError: operator():build/CMakeFiles/torch_npu.dir/compiler_depend.ts:161 NPU function error: "
        "call aclnnMoeDistributeDispatchV3 failed, error code is 561000; [PID: 322] 2026-11-30-09:44:05.909.517 "
        "Allocation_Failure(EI0007): Failed to allocate resource[qp]",
        "hccl-qp-exhausted",
    ),
    (
        "ascend_visible_devices",
        "RuntimeError: Initialize:torch_npu/csrc/core/npu/sys_ctrl/npu_sys_ctrl.cpp:146 NPU function error: "
        "c10_npu::SetDevice(device_id_), error code is 507899; [Error]: An internal error occurs in the Driver module.; EL9999:",
        "visible-devices-index",
    ),
    ("ascend_modelslim_missing", "ValueError: ERROR: ModelSlim Quantization Config Not Found", "modelslim-config-missing"),
    ("ascend_ray_key_error", "KeyError: 'model.layers.23.mlp.experts.w2_weight_offset'", "quant-description-key"),
    (
        "ascend_hccl_port",
        "RuntimeError: create_config:build/CMakeFiles/torch_npu.dir/compiler_depend.ts:148 HCCL function error: "
        "hcclCommInitRootInfoConfig(",
        "hccl-npu-port-in-use",
    ),
    ("docker_unknown_runtime", "docker: Error response from daemon: unknown or invalid runtime name: ascend.", "runtime-name-unknown"),
    ("systemd_killed", "vllm-demo.service: A process of this unit has been killed by the OOM killer.", "killed-out-of-memory"),
]


@pytest.mark.parametrize("name, error, signature", LOGS, ids=[name for name, _error, _signature in LOGS])
def test_explain_a_dead_engine(name, error, signature):
    engine = "cpu" if name.startswith("cpu_") else "ascend"
    report = explain(log(name), engine)
    assert report["first_error"].startswith(error)
    assert report["signature"]["id"] == signature
    assert set(report["signature"]) == {"id", "cause", "remedy", "source"}
    assert signature not in [row["id"] for row in report["other_signatures"]]
    assert 0 < len(report["tail"]) <= 30
    assert first_error(log(name)) == report["first_error"]


def test_no_fixture_is_unused():
    names = {name[: -len(".txt")] for name in os.listdir(FIXTURES) if name.endswith(".txt")}
    assert names == {name for name, _error, _signature in LOGS} | {"cpu_serving_then_stopped"}


def test_a_handled_traceback_is_no_error():
    lines = log("cpu_serving_then_stopped")
    running = lines[: next(index for index, line in enumerate(lines) if "Application startup complete" in line) + 1]
    assert "Traceback (most recent call last):" in "\n".join(running)
    assert first_error(running) is None
    report = explain(running, "cpu")
    assert report["signature"] is None
    assert [row["severity"] for row in report["other_signatures"]] == ["harmless", "harmless"]


def test_an_engine_that_was_stopped_shows_the_wrapper_when_there_is_nothing_better():
    assert first_error(log("cpu_serving_then_stopped")) == "AsyncLLM output_handler failed."


FRAMES = ["Traceback (most recent call last):", '  File "a.py", line 1, in f', "    g()"]
HANDLING = ["", "During handling of the above exception, another exception occurred:", ""]
CAUSE = ["", "The above exception was the direct cause of the following exception:", ""]
ERR = "(Worker pid=9) ERROR 11-30 14:50:01 [w.py:1] "


@pytest.mark.parametrize(
    "lines, expected",
    [
        ([], None),
        (["", "INFO 11-30 14:50:01 [a.py:1] fine"], None),
        # chains
        ([*FRAMES, "ValueError: root", *CAUSE, *FRAMES, "RuntimeError: wrapped"], "ValueError: root"),
        ([*FRAMES, "ValueError: root", *HANDLING, *FRAMES, "AttributeError: clean-up"], "ValueError: root"),
        ([*FRAMES, "KeyError: 'x'", *HANDLING, *FRAMES, "ValueError: no model x"], "ValueError: no model x"),
        ([*FRAMES, "json.decoder.JSONDecodeError: Expecting value", *CAUSE, *FRAMES, "OSError: bad file"], "OSError: bad file"),
        (
            [*FRAMES, "KeyError: 'x'", *HANDLING, *FRAMES, "RuntimeError: Engine core initialization failed."],
            "KeyError: 'x'",
        ),
        (
            [*FRAMES, "RuntimeError: Worker failed with error 'x'", *HANDLING, *FRAMES, "ValueError: real"],
            "ValueError: real",
        ),
        ([*FRAMES, "KeyError: 'x'", *HANDLING, "something else"], "KeyError: 'x'"),
        ([*FRAMES, "KeyError: 'x'", *HANDLING], "KeyError: 'x'"),
        # messages
        ([*FRAMES, "NotImplementedError"], "NotImplementedError"),
        ([*FRAMES, "AssertionError: ", "after the message"], "AssertionError: after the message"),
        ([*FRAMES, "AssertionError: "], "AssertionError"),
        ([*FRAMES, "socket.gaierror: [Errno -2] Name or service not known"], "gaierror: [Errno -2] Name or service not known"),
        ([*FRAMES, "queue.Empty"], "Empty"),
        ([*FRAMES, "ValueError: first", "  second,", "third", "other output"], "ValueError: first; second, third"),
        (
            [*FRAMES, "OSError: [Errno 98] Address already in use", "nanobind: leaked 5 functions!"],
            "OSError: [Errno 98] Address already in use",
        ),
        ([ERR + line for line in [*FRAMES, "ValueError: a", "b", "", "c"]], "ValueError: a; b"),
        ([ERR + line for line in FRAMES + ["ValueError: a"] + ["b{0}".format(i) for i in range(30)]], None),
        ([*FRAMES, "ValueError: " + "x" * 2000], None),
        # tracebacks that are none
        (["Exception ignored in: <function f>", *FRAMES, "TypeError: at exit"], None),
        (["--- Logging error ---", *FRAMES, "TypeError: bad format"], None),
        (["Traceback (most recent call last):", '  File "a.py"'], None),
        (["Traceback (most recent call last):", *FRAMES, "ValueError: second start"], "ValueError: second start"),
        ([*FRAMES, "Loading checkpoint shards:   0% Completed | 0/1", "ValueError: mixed output"], "ValueError: mixed output"),
        # wrappers
        (
            [*FRAMES, "Exception: WorkerProc initialization failed due to an exception", *FRAMES, "ValueError: later but real"],
            "ValueError: later but real",
        ),
        (
            ["ERROR 11-30 14:50:01 [c.py:1] EngineCore failed to start.", "ERROR 11-30 14:50:02 [d.py:1] cannot read weights"],
            "cannot read weights",
        ),
        (["ERROR 11-30 14:50:01 [c.py:1] EngineCore failed to start."], "EngineCore failed to start."),
        ([*FRAMES, "EOFError", *FRAMES, "KeyboardInterrupt: terminated"], "EOFError"),
        # lines without a traceback
        (["vllm serve: error: unrecognized arguments: --x"], "vllm serve: error: unrecognized arguments: --x"),
        (["Killed"], "Killed"),
        (["bash: vllm: command not found"], "bash: vllm: command not found"),
        (["bash: line 1: vllm: command not found"], "bash: line 1: vllm: command not found"),
        (["npu-smi: error while loading shared libraries: libdcmi.so: x"], "npu-smi: error while loading shared libraries: libdcmi.so: x"),
        (["ERROR:    [Errno 98] error while attempting to bind"], "[Errno 98] error while attempting to bind"),
        (["RuntimeError: the head of the log is cut off"], "RuntimeError: the head of the log is cut off"),
        (["EJ0003: [PID: 159] Failed to bind the IP port."], "EJ0003: [PID: 159] Failed to bind the IP port."),
        (["ERROR 11-30 14:50:01 [c.py:1]   indented frame", "ERROR 11-30 14:50:01 [c.py:1] "], None),
        (["WARNING 11-30 14:50:01 [c.py:1] Killed the cache"], None),
        (["(Worker pid=9) Killed"], "Killed"),
        # known and unimportant
        (["ERROR 11-30 14:50:01 [config.py:29] Failed to import Triton kernels. Error: No module named 'triton.language'"], None),
        (
            ["vllm.service: Main process exited, code=exited, status=1/FAILURE"],
            "vllm.service: Main process exited, code=exited, status=1/FAILURE",
        ),
    ],
)
def test_first_error(lines, expected):
    found = first_error(lines)
    if expected is not None:
        assert found == expected
    elif lines and lines[-1].endswith(("x", "b29")):
        assert found.startswith("ValueError: ") and len(found) <= MAX_ERROR
    else:
        assert found is None


def test_the_earliest_error_of_several_processes_counts():
    first = ["(Worker_TP1 pid=2) " + line for line in [*FRAMES, "ValueError: early"]]
    second = ["(Worker_TP0 pid=1) " + line for line in [*FRAMES, "ValueError: late"]]
    mixed = [line for pair in zip(first, second) for line in pair]
    assert first_error(mixed) == "ValueError: early"
    assert first_error(second + first) == "ValueError: late"


def test_match_orders_by_severity_and_then_by_position():
    lines = [
        "WARNING 11-30 14:50:01 [a.py:1] Found ulimit of 1024 and failed to automatically increase with error x",
        "WARNING 11-30 14:50:01 [a.py:1] Unknown vLLM environment variable detected: VLLM_USE_V1",
        "OSError: [Errno 28] No space left on device",
        "OSError: [Errno 98] Address already in use",
        "OSError: [Errno 28] No space left on device",
    ]
    assert [row.id for row in match(lines)] == ["disk-full", "address-in-use", "environment-variable-unknown", "ulimit-hint"]
    assert [row.id for row in match(iter(lines), "ascend")] == [row.id for row in match(lines)]


def test_match_reads_no_line_that_repeats_the_configuration():
    echo = "(APIServer pid=1) INFO 11-30 14:50:01 [api_utils.py:286] non-default args: {'x': 'Failed to infer device type'}"
    assert match([echo, "(EngineCore pid=2) INFO 11-30 14:50:01 [core.py:1] Initializing a V1 LLM engine with config: [Errno 28]"]) == []


def test_explain_of_an_empty_log():
    assert explain([]) == {"first_error": None, "signature": None, "other_signatures": [], "tail": []}


def test_explain_prefers_the_row_of_the_first_error_to_an_earlier_row():
    lines = ["OSError: [Errno 28] No space left on device", *FRAMES, "ValueError: Head dimension 96 is not supported by MLA."]
    report = explain(lines, "cpu")
    assert report["signature"]["id"] == "cpu-mla-head-dimension"
    assert [row["id"] for row in report["other_signatures"]] == ["disk-full"]


def test_explain_falls_back_to_the_first_error_row():
    report = explain(["npu: ret is -8005", *FRAMES, "ValueError: not in the table"], "ascend")
    assert report["first_error"] == "ValueError: not in the table"
    assert report["signature"]["id"] == "npu-access-denied"


def test_explain_takes_no_warning_for_the_cause():
    report = explain([*FRAMES, "ValueError: not in the table", "Truncating max_cudagraph_capture_size."], "ascend")
    assert report["signature"] is None
    assert [row["id"] for row in report["other_signatures"]] == ["capture-size-truncated"]


@pytest.mark.parametrize("tail, expected", [(2, ["b", "(W pid=1) c"]), (0, []), (9, ["a", "b", "(W pid=1) c"])])
def test_tail_keeps_prefixes_and_drops_colours_and_empty_lines(tail, expected):
    assert explain(["a", "", "b\n", "\x1b[36m(W pid=1)\x1b[0m c", "  "], tail=tail)["tail"] == expected


@pytest.mark.parametrize(
    "lines, expected",
    [
        ([], ""),
        (["", "  ", "---", "(APIServer pid=1) INFO 11-30 14:50:01 [a.py:1]   \u2588\u2584 "], ""),
        (
            ["first", "(EngineCore pid=2) INFO 11-30 14:50:01 [core.py:1] Loading weights took 2 s\n", "", "===="],
            "Loading weights took 2 s",
        ),
        (["Loading shards:   0%\rLoading shards:  50%"], "Loading shards:  50%"),
        (["y" * 300], "y" * 97 + "..."),
        (["\u6b63\u5728\u52a0\u8f7d"], "\u6b63\u5728\u52a0\u8f7d"),
    ],
)
def test_last_meaningful(lines, expected):
    assert last_meaningful(lines) == expected


@pytest.mark.parametrize(
    "lines, secrets, expected",
    [
        (["key=s3cret and s3cret"], ["s3cret"], ["key=*** and ***"]),
        (["abcdef abc"], ["abc", "abcdef", ""], ["*** ***"]),
        (["nothing"], [], ["nothing"]),
        ([], ["x"], []),
    ],
)
def test_redact(lines, secrets, expected):
    assert redact(lines, secrets) == expected
