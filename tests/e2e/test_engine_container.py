# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The real vLLM CPU engine in a container that is given what one on NPUs is given: device nodes, the driver's files, a list of CPUs.

The image is made by test_engine_group.py before, or of the virtual environment that NPUFLEET_REAL_VENV names.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import typing as t

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/functional"))

from docker_host import NAME, DockerBench, docker, make_driver, make_nodes
from functional_host import KEY

ARGS = {"max_model_len": 512, "max_num_seqs": 8, "enforce_eager": True}
CPU_ENV = {"VLLM_CPU_KVCACHE_SPACE": "1"}


@pytest.fixture(scope="module")
def bench() -> t.Iterator[DockerBench]:
    script = str(ROOT / "molecule/shared/images/engine_cpu.sh")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="npuf-"))
    bench = DockerBench(folder)
    bench.image = subprocess.run([script], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    weights = {"path": str(bench.model), "source": "tiny", "architecture": "deepseek_v2"}
    assert bench.task({"npufleet.ascend.model_weights": weights})["changed"], bench.output
    make_driver(folder / "root")
    bench.nodes = make_nodes(folder / "dev")
    yield bench
    docker("rm", "--force", "--volumes", NAME, check=False)
    shutil.rmtree(folder)


def wanted(bench: DockerBench, **args: t.Any) -> dict:
    container = {"shm_bytes": 1 << 30, "cpuset": ",".join(map(str, sorted(os.sched_getaffinity(0))))}
    return bench.npu(args=dict(ARGS, **args), env=CPU_ENV, api_key=KEY, wait_timeout=220, container=container)


def test_launch_second_run_and_check_mode(bench: DockerBench) -> None:
    told = bench.engine(check=True, **wanted(bench))
    assert (told["changed"], told["engine"]["action"]) == (True, "create"), bench.output
    first = bench.engine(**wanted(bench))
    assert not first.get("failed"), first["msg"]
    assert (first["changed"], first["diff"]) == (True, told["diff"]), bench.output
    assert first["engine"]["completion"]["text"]
    print("ready after {0} s".format(first["engine"]["ready_seconds"]))
    second = bench.engine(**wanted(bench))
    assert (second["changed"], second["engine"]["action"], second["engine"]["pid"]) == (False, "keep", first["engine"]["pid"])
    assert bench.engine(check=True, **wanted(bench))["changed"] is False


def test_what_it_was_given(bench: DockerBench) -> None:
    assert bench.inside("sh", "-c", "ls /dev/davinci* /dev/hisi_hdc").split() == [
        "/dev/davinci4", "/dev/davinci5", "/dev/davinci_manager", "/dev/hisi_hdc",
    ]  # fmt: skip
    assert bench.inside("cat", "/usr/local/Ascend/driver/version.info") == "Version=26.0.rc1\n"
    assert bench.inspect()["HostConfig"]["Privileged"] is False
    shown = docker("inspect", NAME) + bench.log() + docker("top", NAME)
    assert KEY not in shown


def test_only_a_difference_launches_it_again(bench: DockerBench) -> None:
    pid = bench.inspect()["State"]["Pid"]
    refused = bench.engine(**wanted(bench, max_num_seqs=16))
    assert "--max-num-seqs 8 -> --max-num-seqs 16" in refused["msg"]
    assert bench.inspect()["State"]["Pid"] == pid
    replaced = bench.engine(replace=True, **wanted(bench, max_num_seqs=16))
    assert (replaced["changed"], replaced["engine"]["action"]) == (True, "replace"), bench.output
    assert replaced["engine"]["completion"]["text"]
    assert bench.engine(state="absent", **wanted(bench))["changed"] is True
    assert "No such" in docker("inspect", NAME, check=False)
