# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An engine whose image is wanted by digest: from a registry into a bundle, and from there by site.yml into a container that answers."""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import sys
import typing as t

import pytest
from bundle_host import Registry, Site, need
from docker_host import IMAGE, docker, need_docker
from functional_host import free_port

NAME = "npufleet-functional-docker-bundle"


@pytest.fixture()
def registry(images: None, tmp_path: pathlib.Path) -> t.Iterator[Registry]:
    need("skopeo", "skopeo")
    (tmp_path / "registry").mkdir()
    registry = Registry(tmp_path / "registry")
    yield registry
    registry.stop()


@pytest.fixture()
def image(registry: Registry) -> str:
    """The image of the stand-in engine, by its digest in the registry; Docker forgets it."""
    name = registry.repository.replace("tiny", "engine")
    words = ["copy", "--quiet", "docker-daemon:" + IMAGE + ":one", "docker://{0}:one".format(name)]
    subprocess.run(["skopeo", *words], check=True, capture_output=True, env=dict(os.environ, HOME=str(registry.home)))
    digest = registry.ask(name.partition("/")[2] + "/manifests/one")["Docker-Content-Digest"]
    return "{0}@{1}".format(name, digest)


def test_site_starts_an_engine_from_the_bundle(prepared: pathlib.Path, tmp_path: pathlib.Path, registry: Registry, image: str) -> None:
    need_docker()
    site = Site(tmp_path)
    site.env = {"HOME": str(registry.home)}
    loaded = re.sub("@sha256:(.{12}).*", r":\1", image)
    del site.inventory["gateways"]
    site.inventory["all"]["vars"].update(offline_bundle_content=["images"])
    site.inventory["engines"] = {
        "hosts": {"engine": {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}},
        "vars": {
            "ansible_become_method": "ansible.builtin.su",
            "offline_bundle_folder": str(tmp_path / "copy"),
            "offline_bundle_package_folder": str(tmp_path / "packages"),
            "npufleet_prepare": False,
            "model_weights_source": "existing",
            "model_weights_path": str(prepared / "models" / "tiny"),
            "vllm_engine_accelerator": "cpu",
            "vllm_engine_runtime": "docker",
            "vllm_engine_image": image,
            "vllm_engine_container": {"name": NAME, "shm_bytes": 256 << 20},
            "vllm_engine_home": str(tmp_path / "home"),
            "vllm_engine_model": str(prepared / "models" / "tiny"),
            "vllm_engine_recipe": "tiny-deepseek",
            "vllm_engine_port": free_port(),
            "vllm_engine_wait_timeout": 60,
        },
    }
    try:
        assert site.playbook("bundle").returncode == 0, site.bench.output
        # Docker takes any certificate from an address of this machine, and would pull.
        registry.stop()
        assert site.playbook("site").returncode == 0, site.bench.output
        found = json.loads(docker("inspect", NAME))[0]
        assert (found["State"]["Running"], found["Config"]["Image"]) == (True, loaded)
        again = site.playbook("site")
        assert again.returncode == 0 and re.findall(r"changed=(\d+)", again.stdout) == ["0", "0"], again.stdout
    finally:
        docker("rm", "--force", "--volumes", NAME, check=False)
        docker("image", "rm", "--force", loaded, check=False)
