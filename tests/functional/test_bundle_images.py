# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Container images from a registry into a bundle and from there into Docker: real skopeo, real registry, real Docker Engine."""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import sys
import typing as t

import pytest
from bundle_host import PLATFORM, SECRET, Registry, Site, need
from docker_host import docker, need_docker

ARCH = {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]
OTHER = {"amd64": "aarch64", "arm64": "x86_64"}[ARCH]


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[Registry]:
    need("skopeo", "skopeo")
    registry = Registry(tmp_path_factory.mktemp("registry"))
    yield registry
    registry.stop()


class ImageSite(Site):
    """A host of this machine with an engine in a container, by digest; one of the other architecture; and what a person types."""

    def __init__(self, folder: pathlib.Path, registry: Registry) -> None:
        super().__init__(folder)
        self.registry = registry
        self.image = "{0}@{1}".format(registry.repository, registry.digest)
        self.loaded = "{0}:{1}".format(registry.repository, registry.digest.partition(":")[2][:12])
        self.copy = folder / "copy"
        del self.inventory["gateways"]
        here = {
            "ansible_connection": "local",
            "ansible_python_interpreter": sys.executable,
            "ansible_become_method": "ansible.builtin.su",
            "offline_bundle_folder": str(self.copy),
            "offline_bundle_package_folder": str(folder / "packages"),
        }
        self.inventory["all"]["vars"]["offline_bundle_content"] = ["images"]
        self.inventory["engines"] = {
            "hosts": {"engine": here},
            "vars": {"vllm_engine_accelerator": "cpu", "vllm_engine_runtime": "docker", "vllm_engine_image": self.image},
        }

    def run(self, name: str, *options: str) -> "subprocess.CompletedProcess[str]":
        self.env = {"HOME": str(self.registry.home)}
        return self.playbook(name, *options)

    def fill(self, *options: str) -> str:
        done = self.run("bundle", *options)
        assert done.returncode == 0, self.bench.output
        return done.stdout

    def use(self) -> "subprocess.CompletedProcess[str]":
        """Bring the bundle to the host and load its images, as site.yml does."""
        role = {"name": "npufleet.ascend.offline_bundle", "tasks_from": "images"}
        load = {"ansible.builtin.import_role": role, "vars": {"offline_bundle_needs": "{{ npufleet_bundle_host['needs'] }}"}}
        tell = {"ansible.builtin.debug": {"msg": "{{ offline_bundle_images | to_json }}"}}
        play = {"hosts": "engines", "gather_facts": False, "tasks": [load, tell]}
        path = self.folder / "use.yml"
        path.write_text(json.dumps([{"import_playbook": self.playbooks + "/offline.yml"}, play]))
        return self.run(str(path))


@pytest.fixture()
def site(tmp_path: pathlib.Path, registry: Registry) -> t.Iterator[ImageSite]:
    site = ImageSite(tmp_path, registry)
    yield site
    docker("image", "rm", "--force", site.loaded, check=False)


def changes(text: str) -> t.Dict[str, int]:
    return {name: int(count) for name, count in re.findall(r"^(\S+)\s+: ok=\d+\s+changed=(\d+)", text, re.MULTILINE)}


def archive_of(site: ImageSite, arch: str = PLATFORM["arch"]) -> pathlib.Path:
    (path,) = (site.bundle / "images").glob("*-{0}.tar".format(arch))
    return path


def test_an_image_by_digest_is_fetched_once_and_for_each_architecture(site: ImageSite, tmp_path: pathlib.Path) -> None:
    site.inventory["engines"]["hosts"]["other"] = {"npufleet_platform": dict(PLATFORM, arch=OTHER)}
    listed = site.fill("--check")
    assert re.search(r'"total: 2 files, \d+ B"', listed) and not site.bundle.exists()
    assert changes(site.fill())["engine"] > 0
    for arch, name in ((PLATFORM["arch"], ARCH), (OTHER, {"aarch64": "arm64", "x86_64": "amd64"}[OTHER])):
        content = archive_of(site, arch).read_bytes()
        assert "hello from {0}\n".format(name).encode() in content and site.loaded.encode() in content
    manifest = json.loads((site.bundle / "manifest.json").read_text())
    assert {row["source"] for row in manifest["files"].values()} == {"docker://" + site.image}
    # The password of the registry is nowhere but where the person put it.
    places = [path for path in tmp_path.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]
    assert places == [] and SECRET not in site.bench.output
    # A second run asks nobody: it would not trust the registry.
    site.registry.home = site.folder / "a home without the certificate"
    try:
        assert set(changes(site.fill()).values()) == {0}
    finally:
        site.registry.home = site.registry.folder / "home"


def test_what_is_not_there_is_one_message(site: ImageSite) -> None:
    engine = site.inventory["engines"]["vars"]
    for image, words in (
        (site.registry.repository + ":no-such", "for {0} cannot be read from its registry".format(ARCH)),
        ("{0}:{1}".format(site.registry.repository, "arm64" if ARCH == "amd64" else "amd64"), "and not for {0}".format(ARCH)),
    ):
        engine["vllm_engine_image"] = image
        done = site.run("bundle")
        assert done.returncode != 0 and "ERROR: {0} ".format(image) in done.stdout and words in done.stdout
    assert not list(site.bundle.glob("images/*"))


def test_it_is_loaded_from_a_bundle_that_is_whole_and_runs(site: ImageSite) -> None:
    need_docker()
    site.fill()
    path = archive_of(site)
    whole = path.read_bytes()
    other = whole.replace(b"hello", b"hullo")
    path.write_bytes(other)
    damaged = site.use()
    assert damaged.returncode != 0 and "are missing or not what the manifest says: images/" + path.name in damaged.stdout
    assert not site.copy.exists() and "No such image" in docker("image", "inspect", site.loaded, check=False)

    path.write_bytes(whole)
    done = site.use()
    assert done.returncode == 0, site.bench.output
    assert json.dumps(site.loaded)[1:-1] in done.stdout
    assert docker("run", "--rm", "--network=none", site.loaded) == "hello from {0}\n".format(ARCH)
    # Docker keeps no digest of what it loads, so roles have to be told the name.
    assert "No such image" in docker("image", "inspect", site.image, check=False)
    assert set(changes(site.use().stdout).values()) == {0}, site.bench.output

    # Damaged on the host after it was brought: brought again before it is loaded.
    docker("image", "rm", site.loaded)
    (site.copy / "images" / path.name).write_bytes(other)
    assert site.use().returncode == 0, site.bench.output
    assert docker("run", "--rm", "--network=none", site.loaded) == "hello from {0}\n".format(ARCH)
