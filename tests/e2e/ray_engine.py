# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""`vllm serve` of the stand-in engine behind an executor over real Ray: the calls of vLLM 0.32.0, without a model.

As in ray_utils.py and ray_executor_v2.py: ray.init with the address of the environment, one placement group of a chip a bundle that is waited
for, an actor in each, and the end of the engine when an actor dies. What the actors say of themselves is printed.
"""

from __future__ import annotations

import argparse
import json
import os
import runpy
import signal
import sys
import threading
import time
import typing as t

import ray
from ray.util.placement_group import placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy


class Worker:
    """A chip's process."""

    def describe(self) -> t.Dict[str, t.Any]:
        context = ray.get_runtime_context()
        names = ("VLLM_HOST_IP", "ASCEND_RT_VISIBLE_DEVICES", "VLLM_API_KEY", "HCCL_IF_IP")
        return {
            "ip": ray.util.get_node_ip_address(),
            "chips": context.get_accelerator_ids()["NPU"],
            "env": {name: os.environ[name] for name in names if name in os.environ},
        }

    def run(self) -> None:
        threading.Event().wait()


def cluster(world: int) -> t.List[t.Any]:
    """Connect, wait for the chips, start the actors; return what waits for their end."""
    ray.init(address=None)
    print("the cluster has {0} of {1} NPUs".format(ray.cluster_resources().get("NPU", 0), world), flush=True)
    bundles: t.List[t.Dict[str, float]] = [{"NPU": 1.0} for _rank in range(world)]
    bundles[0]["node:" + os.environ["VLLM_HOST_IP"]] = 0.001
    group = placement_group(bundles, strategy="PACK")
    ready = group.ready()
    while not ray.wait([ready], timeout=10)[0]:
        print("Waiting for creating a placement group", flush=True)
    actors = [
        ray.remote(Worker)
        .options(
            num_cpus=0,
            num_gpus=0,
            resources={"NPU": 1.0},
            scheduling_strategy=PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=bundle),
            runtime_env={"env_vars": {"RAY_EXPERIMENTAL_NOSET_ASCEND_RT_VISIBLE_DEVICES": "1"}},
        )
        .remote()
        for bundle in range(world)
    ]
    print("workers " + json.dumps(ray.get([actor.describe.remote() for actor in actors])), flush=True)
    # Somebody has to hold the actors, or Ray ends them.
    cluster.actors = actors  # type: ignore[attr-defined]
    return [actor.run.remote() for actor in actors]


def watch(runs: t.List[t.Any]) -> None:
    ray.wait(runs, num_returns=1)
    print("(EngineCore pid={0}) ERROR RayWorkerProc died unexpectedly, shutting down executor.".format(os.getpid()), flush=True)
    os._exit(1)


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("tensor", "pipeline"):
        parser.add_argument("--{0}-parallel-size".format(name), type=int, default=1)
    parser.add_argument("--distributed-executor-backend", required=True)
    options = parser.parse_known_args()[0]
    began = time.monotonic()
    runs = cluster(options.tensor_parallel_size * options.pipeline_parallel_size)
    print("workers after {0:.1f} s".format(time.monotonic() - began), flush=True)
    threading.Thread(target=watch, args=(runs,), daemon=True).start()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    runpy.run_module("vllm.engine", run_name="__main__")


if __name__ == "__main__":
    sys.path.pop(0)
    main()
