# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A `ray` of a few lines, and the stand-in engine with its executor: what of Ray 2.48.0 and vLLM the service of a node depends on.

As `ray`: `start --head` opens the port of the cluster; `start --address` joins it, and ends with 1 when the head is gone; both live until
they are stopped (--block). `health-check` tells by its exit code whether the head answers. Everything of it was tried with Ray 2.48.0.

As `vllm` (with `serve`): waits until the cluster at RAY_ADDRESS has as many NPUs as the options ask for, becomes the stand-in engine, and
ends when the cluster or one of its nodes is gone (vLLM 0.32.0, ray_utils.py and ray_executor_v2.py, read).
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import runpy
import signal
import socket
import sys
import threading
import time
import typing as t

NODES: t.Dict[str, float] = {}
GONE = threading.Event()


def install(venv: pathlib.Path) -> None:
    """Put `ray` into an environment of the stand-in engine, and the executor before its `vllm`."""
    runner = '#!/bin/sh\nPYTHONPATH="{0}" exec "{1}" "{2}" {3} "$@"\n'
    for name in ("ray", "vllm"):
        path = venv / "bin" / name
        path.write_text(runner.format(venv / "site", sys.executable, os.path.abspath(__file__), name))
        path.chmod(0o755)


def connect(gcs: str) -> socket.socket:
    host, _colon, port = gcs.rpartition(":")
    return socket.create_connection((host, int(port)), timeout=2)


def ask(gcs: str) -> t.Dict[str, float]:
    """The nodes of the cluster and their NPUs."""
    with connect(gcs) as channel, channel.makefile("rw") as stream:
        print(json.dumps({"ask": True}), file=stream, flush=True)
        return json.loads(stream.readline())


def member_of(channel: socket.socket) -> None:
    with channel, channel.makefile("rw") as stream:
        said = json.loads(stream.readline() or "{}")
        if "node" in said:
            NODES[said["node"]] = said["NPU"]
        print(json.dumps(NODES), file=stream, flush=True)
        stream.readline()
        if "node" in said:
            del NODES[said["node"]]


def serve_cluster(address: str, port: int) -> None:
    with socket.create_server((address, port)) as server:
        while True:
            channel, _peer = server.accept()
            threading.Thread(target=member_of, args=(channel,), daemon=True).start()


def start(options: argparse.Namespace) -> None:
    npus = json.loads(options.resources)["NPU"]
    if options.head:
        NODES[options.node_ip_address] = npus
        print("Ray runtime started.", flush=True)
        serve_cluster(options.node_ip_address, options.port)
    with connect(options.address) as channel, channel.makefile("rw") as stream:
        channel.settimeout(None)
        print(json.dumps({"node": options.node_ip_address, "NPU": npus}), file=stream, flush=True)
        stream.readline()
        print("Ray runtime started.", flush=True)
        stream.readline()
    print("Some Ray subprocesses exited unexpectedly:\n  raylet [exit code=1]", flush=True)
    sys.exit(1)


def ray(words: t.List[str]) -> None:
    parser = argparse.ArgumentParser(prog="ray")
    commands = parser.add_subparsers(dest="command", required=True)
    health = commands.add_parser("health-check")
    health.add_argument("--address", required=True)
    health.add_argument("--skip-version-check", action="store_true")
    node = commands.add_parser("start")
    node.add_argument("--head", action="store_true")
    node.add_argument("--block", action="store_true", required=True)
    for name in ("address", "node-ip-address", "resources", "include-dashboard"):
        node.add_argument("--" + name)
    numbers = ["port", "num-cpus", "num-gpus", "object-store-memory", "min-worker-port", "max-worker-port"]
    own = ["node-manager", "object-manager", "runtime-env-agent", "dashboard-agent-listen", "dashboard-agent-grpc", "metrics-export"]
    for name in [*numbers, *(one + "-port" for one in own)]:
        node.add_argument("--" + name, type=int)
    options = parser.parse_args(words)
    signal.signal(signal.SIGTERM, lambda *_: os._exit(1))
    if options.command == "start":
        start(options)
    try:
        ask(options.address)
    except (OSError, ValueError):
        sys.exit(1)


def watch(gcs: str, hosts: int) -> None:
    """vLLM ends when an actor dies, and a driver without its cluster ends too."""
    while True:
        time.sleep(0.3)
        try:
            whole = len(ask(gcs)) >= hosts
        except (OSError, ValueError):
            whole = False
        if not whole:
            print("(EngineCore pid={0}) ERROR RayWorkerProc died unexpectedly, shutting down executor.".format(os.getpid()), flush=True)
            os._exit(1)


def vllm(words: t.List[str]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--distributed-executor-backend")
    parser.add_argument("--tensor-parallel-size", type=int, default=1)
    parser.add_argument("--pipeline-parallel-size", type=int, default=1)
    options = parser.parse_known_args(words)[0]
    if options.distributed_executor_backend == "ray":
        signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
        wanted = options.tensor_parallel_size * options.pipeline_parallel_size
        gcs = os.environ["RAY_ADDRESS"]
        while sum(ask(gcs).values()) < wanted:
            print("(EngineCore pid={0}) INFO Waiting for creating a placement group".format(os.getpid()), flush=True)
            time.sleep(0.5)
        threading.Thread(target=watch, args=(gcs, len(ask(gcs))), daemon=True).start()
    sys.argv = ["vllm", *words]
    runpy.run_module("vllm.engine", run_name="__main__")


if __name__ == "__main__":
    sys.path.pop(0)
    {"ray": ray, "vllm": vllm}[sys.argv[1]](sys.argv[2:])
