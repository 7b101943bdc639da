# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._log_line import MAX_LINE, LogLine, parse_line, strip_prefix

CASES = [
    ("", LogLine("", "", "", "")),
    ("plain text", LogLine("", "", "", "plain text")),
    ("  indented", LogLine("", "", "", "  indented")),
    (
        "INFO 11-30 14:50:01 [core.py:123] Loading",
        LogLine("", "INFO", "INFO [core.py:123]", "Loading"),
    ),
    (
        "(APIServer pid=1) WARNING 11-30 14:50:01 [vllm.py:1703] Enforce eager set",
        LogLine("APIServer pid=1", "WARNING", "WARNING [vllm.py:1703]", "Enforce eager set"),
    ),
    (
        '\x1b[1;36m(EngineCore_DP0 pid=51)\x1b[0;0m ERROR 11-30 14:50:01 [v1/engine/core.py:842]   File "x.py", line 1, in f',
        LogLine("EngineCore_DP0 pid=51", "ERROR", "ERROR [v1/engine/core.py:842]", '  File "x.py", line 1, in f'),
    ),
    (
        "(EngineCore_1 pid=803) (VllmWorker rank=0 pid=20) ERROR 07-01 08:38:50 [multiproc_executor.py:492] Traceback",
        LogLine("EngineCore_1 pid=803 VllmWorker rank=0 pid=20", "ERROR", "ERROR [multiproc_executor.py:492]", "Traceback"),
    ),
    (
        "(RayWorkerWrapper pid=19, ip=192.0.2.11) ERROR 05-28 03:53:36 [worker_base.py:620] KeyError: 'x' [repeated 14x across cluster]",
        LogLine("RayWorkerWrapper pid=19, ip=192.0.2.11", "ERROR", "ERROR [worker_base.py:620]", "KeyError: 'x'"),
    ),
    (
        # vLLM 0.7 has no bracket before the file
        "ERROR 03-11 14:48:04 engine.py:387] GEInitialize failed.",
        LogLine("", "ERROR", "ERROR engine.py:387]", "GEInitialize failed."),
    ),
    (
        "(Worker_TP2 pid=96) [2026-11-30 09:13:30] INFO modelslim_config.py:296: Using modelslim",
        LogLine("Worker_TP2 pid=96", "INFO", "INFO modelslim_config.py:296", "Using modelslim"),
    ),
    ("[2026-11-30 09:13:30,120] ERROR a.py:2: x", LogLine("", "ERROR", "ERROR a.py:2", "x")),
    ("[rank0]: Traceback (most recent call last):", LogLine("rank0", "", "", "Traceback (most recent call last):")),
    ("[rank0]:   File", LogLine("rank0", "", "", "  File")),
    (
        "[rank9]:[E119 05:52:40.886041733 compiler_depend.ts:444] operator(): failed",
        LogLine("rank9", "ERROR", "ERROR", "operator(): failed"),
    ),
    ("[W1130 14:53:11.068873170 utils.cpp:68] Warning: NUMA binding", LogLine("", "WARNING", "WARNING", "Warning: NUMA binding")),
    ("INFO:     Started server process [7]", LogLine("", "INFO", "INFO", "Started server process [7]")),
    ("ERROR:    [Errno 98] error", LogLine("", "ERROR", "ERROR", "[Errno 98] error")),
    ("ERROR: ld.so: object 'x'", LogLine("", "", "", "ERROR: ld.so: object 'x'")),
    ("2026-11-30T14:50:01.123456789Z (APIServer pid=1) hello", LogLine("APIServer pid=1", "", "", "hello")),
    ("2026-11-30T14:50:01+0000 node1 vllm[700]: INFO 11-30 14:50:01 [a.py:1] x", LogLine("", "INFO", "INFO [a.py:1]", "x")),
    ("Nov  3 14:50:01 node1 vllm-demo[700]: x", LogLine("", "", "", "x")),
    ("Loading:   0%| | 0/2\rLoading:  50%| | 1/2\rLoading: 100%| | 2/2\r", LogLine("", "", "", "Loading: 100%| | 2/2")),
    ("[ERROR] 2026-11-30-09:44:06 (PID:322, Device:3, RankID:-1) ERR00100", LogLine("", "", "", None)),
    ("(function init_cpu_memory_env)", LogLine("", "", "", None)),
]


@pytest.mark.parametrize("line, expected", CASES)
def test_parse_line(line, expected):
    if expected.text is None:
        expected = expected._replace(text=line)
    assert parse_line(line) == expected
    assert strip_prefix(line) == expected.text


def test_a_very_long_line_is_cut():
    assert len(strip_prefix("x" * (MAX_LINE + 5))) == MAX_LINE


@pytest.mark.parametrize("line", ["((" * 5000, "[" * 5000, "(pid=" * 5000, "(a pid=1) " * 1000, "\x1b[" * 5000, "2026-11-30T" + ":" * 5000])
def test_hostile_lines_do_not_fail(line):
    assert len(strip_prefix(line)) <= MAX_LINE
