# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Fixtures of the functional tests."""

from __future__ import annotations

import pathlib
import shutil
import subprocess
import sys
import tempfile
import typing as t

import pytest
from docker_host import IMAGE, build_image, docker, need_docker
from functional_host import ROOT, Bench


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A tiny model and a stand-in environment, made once."""
    folder = tmp_path_factory.mktemp("prepared")
    subprocess.run([sys.executable, str(ROOT / "molecule/shared/standin_engine/make_standin.py"), str(folder / "venv")], check=True)
    bench = Bench(folder)
    result = bench.task(
        {"npufleet.ascend.model_weights": {"path": str(folder / "models" / "tiny"), "source": "tiny", "architecture": "qwen2"}}
    )
    assert result["changed"], bench.output
    return folder


@pytest.fixture()
def bench(prepared: pathlib.Path) -> t.Iterator[Bench]:
    """A fresh home; whatever still runs in it is removed at the end. The path is short: supervisor's socket lies in it."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="npuf-"))
    shutil.copytree(prepared / "models", folder / "models")
    subprocess.run([sys.executable, str(ROOT / "molecule/shared/standin_engine/make_standin.py"), str(folder / "venv")], check=True)
    bench = Bench(folder)
    yield bench
    if (folder / "home" / "supervisor").exists():
        bench.engine(state="absent")
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[None]:
    need_docker()
    build_image(tmp_path_factory.mktemp("image") / "context")
    yield
    docker("image", "rm", "--force", IMAGE + ":one", IMAGE + ":two", IMAGE + ":moving", check=False)
