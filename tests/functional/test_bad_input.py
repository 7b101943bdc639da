# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Bad input through real Ansible; tests/unit/plugins/modules/test_vllm_engine.py has the whole list, in one process."""

from __future__ import annotations

import os
import socket

from functional_host import Bench

ARGS = {"max_model_len": 512, "max_num_seqs": 8}


def test_one_message_and_nothing_touched(bench: Bench) -> None:
    result = bench.engine(args=dict(ARGS, max_num_seq=8))
    assert result["failed"] is True
    assert (
        result["msg"] == "vLLM 0.32.0+cpu knows no option --max-num-seq. Where: args.max_num_seq. What to do: Did you mean --max-num-seqs?"
    )
    assert "Traceback" not in bench.output
    assert not bench.home.exists()


def test_a_port_in_use_says_by_whom(bench: Bench) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", bench.port))
        other.listen()
        result = bench.engine()
    assert result["failed"] is True
    assert f"process {os.getpid()}" in result["msg"]
    assert not bench.home.exists()


def test_the_real_parser_is_asked_before_a_running_engine_is_stopped(bench: Bench) -> None:
    pid = bench.engine()["engine"]["pid"]
    # --seed is in the list of options with a type that only the parser itself judges here: the list is replaced by one that allows anything.
    catalogue = bench.venv / "npufleet-arguments.json"
    catalogue.write_text(catalogue.read_text().replace('"kind": "int"', '"kind": null'))
    result = bench.engine(args=dict(ARGS, seed="many"), replace=True)
    assert result["failed"] is True
    assert "invalid int value: 'many'" in result["msg"]
    again = bench.engine()
    assert again["changed"] is False
    assert again["engine"]["pid"] == pid
