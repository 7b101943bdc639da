# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A few of the options of `vllm serve`, with the types and choices that vLLM 0.32.0 gives them."""

from __future__ import annotations

import argparse
import json


def make_arg_parser(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    parser.add_argument("model_tag", nargs="?")
    parser.add_argument("--host")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--served-model-name", nargs="+")
    parser.add_argument("--api-key", nargs="+")
    parser.add_argument("--dtype", choices=["auto", "bfloat16", "float", "float16", "float32", "half"])
    parser.add_argument("--max-model-len", type=int)
    parser.add_argument("--max-num-seqs", type=int)
    parser.add_argument("--max-num-batched-tokens", type=int)
    parser.add_argument("--tensor-parallel-size", type=int, default=1)
    parser.add_argument("--pipeline-parallel-size", type=int, default=1)
    parser.add_argument("--data-parallel-size", type=int, default=1)
    for name in ("data-parallel-rpc-port", "data-parallel-size-local", "data-parallel-start-rank", "master-port", "nnodes", "node-rank"):
        parser.add_argument("--" + name, type=int)
    for name in ("data-parallel-address", "master-addr"):
        parser.add_argument("--" + name)
    parser.add_argument("--api-server-count", type=int)
    parser.add_argument("--distributed-executor-backend", choices=["external_launcher", "mp", "ray", "uni"])
    parser.add_argument("--additional-config", type=json.loads)
    parser.add_argument("--compilation-config", type=json.loads)
    parser.add_argument("--gpu-memory-utilization", type=float, default=0.92)
    parser.add_argument("--quantization", choices=["ascend", "awq", "compressed-tensors", "gptq"])
    parser.add_argument("--reasoning-parser")
    parser.add_argument("--speculative-config", type=json.loads)
    parser.add_argument("--seed", type=int)
    for name in ("enforce-eager", "enable-prefix-caching", "enable-expert-parallel", "trust-remote-code"):
        group = parser.add_mutually_exclusive_group()
        group.add_argument("--" + name, dest=name.replace("-", "_"), action="store_true", default=None)
        group.add_argument("--no-" + name, dest=name.replace("-", "_"), action="store_false")
    parser.add_argument("--headless", action="store_true")
    return parser
