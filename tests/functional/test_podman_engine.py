# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""vllm_engine over Podman's Docker-compatible socket: what differs from Docker Engine, and the way of an engine from nothing and back."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import signal
import tempfile
import time
import typing as t

import pytest
from docker_host import IMAGE, NAME, STANDIN, DockerBench, make_driver, make_nodes
from functional_host import KEY
from podman_host import Podman, missing
from test_docker_engine import ARGS, CHANGED, everything, wait_for


class PodmanBench(DockerBench):
    """The bench with Podman instead of Docker."""

    def __init__(self, folder: pathlib.Path, podman: Podman) -> None:
        super().__init__(folder)
        self.podman = podman

    def options(self, **changes: t.Any) -> dict:
        return super().options(container={"docker_host": self.podman.url, **changes.pop("container", {})}, **changes)

    def inspect(self) -> dict:
        return json.loads(self.podman.do("inspect", "--type=container", NAME))[0]

    def log(self) -> str:
        return self.podman.do("logs", NAME)


@pytest.fixture(scope="module")
def podman(images: None) -> t.Iterator[Podman]:
    reason = missing()
    if reason and os.environ.get("NPUFLEET_NO_SKIP"):
        pytest.fail(reason)
    if reason:
        pytest.skip(reason)
    with tempfile.TemporaryDirectory(prefix="npuf-") as folder:
        service = Podman(pathlib.Path(folder))
        service.load(IMAGE + ":one", IMAGE + ":two")
        yield service
        service.close()


@pytest.fixture()
def bench(prepared: pathlib.Path, podman: Podman) -> t.Iterator[PodmanBench]:
    folder = pathlib.Path(tempfile.mkdtemp(prefix="npuf-"))
    shutil.copytree(prepared / "models", folder / "models")
    make_driver(folder / "root")
    bench = PodmanBench(folder, podman)
    bench.nodes = make_nodes(folder / "dev")
    yield bench
    podman.do("rm", "--all", "--force", "--time=0")
    shutil.rmtree(folder)


def test_the_way_of_an_engine(bench: PodmanBench) -> None:
    """Launch with the full option set, second run, consent, replacement, removal."""
    told = bench.engine(check=True, **everything(bench))
    first = bench.engine(**everything(bench))
    print("RES2", json.dumps(first)[:3000])
    assert (first["changed"], first["diff"]) == (True, told["diff"]), bench.output
    assert first["engine"]["completion"]["text"] == "stand-in"
    pid = first["engine"]["pid"]
    second = bench.engine(**everything(bench))
    assert (second["changed"], second["engine"]["action"], second["engine"]["pid"]) == (False, "keep", pid)
    shown = json.dumps(bench.inspect()) + bench.log() + bench.output
    assert KEY not in shown and bench.inspect()["HostConfig"]["Privileged"] is False

    wanted = dict(everything(bench), args=CHANGED)
    assert "--max-model-len 512 -> --max-model-len 256" in bench.engine(**wanted)["msg"]
    replaced = bench.engine(replace=True, **wanted)
    assert (replaced["changed"], replaced["engine"]["action"]) == (True, "replace"), bench.output
    assert replaced["engine"]["pid"] not in (0, pid)
    assert bench.engine(state="stopped", **wanted)["engine"]["running"] is False
    assert bench.engine(**wanted)["engine"]["action"] == "start"
    assert bench.engine(state="absent", **wanted)["changed"] is True
    assert bench.podman.do("ps", "--all", "--quiet") == ""


def test_a_tag_that_moved_is_a_difference(bench: PodmanBench) -> None:
    options = {"container": {"image": IMAGE + ":moving"}}
    bench.podman.do("tag", IMAGE + ":one", IMAGE + ":moving")
    bench.engine(**options)
    bench.podman.do("tag", IMAGE + ":two", IMAGE + ":moving")
    told = bench.engine(check=True, **options)
    assert "container.image: {0}:moving is sha256:".format(IMAGE) in told["engine"]["differences"][0]
    assert bench.engine(replace=True, **options)["changed"] is True
    assert bench.engine(**options)["changed"] is False


def test_a_killed_engine_comes_back(bench: PodmanBench) -> None:
    pid = bench.engine()["engine"]["pid"]
    os.kill(pid, signal.SIGKILL)
    assert wait_for(lambda: bench.log().count("Application startup complete") == 2, 30)
    result = bench.engine()
    assert result["changed"] is False
    assert result["engine"]["pid"] not in (0, pid)


def test_an_engine_that_dies_is_not_started_again_and_again(bench: PodmanBench) -> None:
    bench.fault(
        mode="die", after=0.2, log=["(EngineCore pid=7) OSError: libnuma.so.1: cannot open shared object file: No such file or directory"]
    )
    began = time.monotonic()
    result = bench.engine(
        wait_timeout=120, args=ARGS, container={"mounts": ["{0}/fault.json:{1}/fault.json".format(bench.folder, STANDIN)]}
    )  # fmt: skip
    assert time.monotonic() - began < 60
    assert "died while starting" in result["msg"] and "libnuma.so.1" in result["first_error"]
    restarts = bench.inspect()["RestartCount"]
    # A look at the restart policy takes Podman a moment.
    assert not wait_for(lambda: bench.inspect()["State"]["Status"] == "running", 3)
    assert bench.inspect()["RestartCount"] == restarts
