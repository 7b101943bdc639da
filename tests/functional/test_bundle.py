# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an inventory puts into a bundle: the playbooks by real Ansible and apt-get, with a repository in a folder."""

from __future__ import annotations

import json
import pathlib
import re
import typing as t

import pytest
from bundle_host import PLATFORM, Site, need


@pytest.fixture()
def site(tmp_path: pathlib.Path) -> Site:
    return Site(tmp_path)


def packages(host: t.Mapping[str, t.Any]) -> t.List[str]:
    return sorted(name for need in host["needs"] for name in (need.get("os_packages") or {}).get("debian", []))


def test_engines_and_gateways_are_asked_alike(site: Site) -> None:
    site.inventory["engines"]["vars"]["vllm_engine_install_prerequisites"] = True
    found = site.needs()
    assert packages(found["gateway"]) == ["haproxy", "openssl"]
    engine = packages(found["engine"])
    assert engine and not {"haproxy", "openssl"}.intersection(engine)
    # Once, and for what both need.
    assert packages(found["both"]) == sorted([*engine, "haproxy", "openssl"])
    assert found["gateway"]["platform"] == dict(PLATFORM, arch="aarch64")


@pytest.mark.parametrize(
    ("layers", "asked", "there"), [(["container_runtime"], None, True), (["container_runtime"], False, False), ([], None, False)]
)
def test_the_docker_sdk_comes_with_the_container_engine(site: Site, layers: t.List[str], asked: t.Optional[bool], there: bool) -> None:
    site.inventory["engines"]["vars"].update(
        npufleet_prepare=True,
        npufleet_layers=layers,
        vllm_engine_runtime="docker",
        vllm_engine_image="registry.example.com/vllm:1",
        vllm_engine_install_prerequisites=asked,
    )
    found = packages(site.needs()["engine"])
    assert ("docker.io" in found, "python3-docker" in found) == (bool(layers), there), found


def test_a_gateway_that_brings_its_own_haproxy_needs_nothing(site: Site) -> None:
    site.inventory["gateways"]["vars"] = {"vllm_gateway_manage_packages": False}
    assert packages(site.needs()["gateway"]) == []
    site.inventory["gateways"]["vars"] = {"vllm_gateway_state": "absent"}
    assert packages(site.needs()["gateway"]) == []


def test_without_a_bundle_nobody_is_asked(site: Site) -> None:
    del site.inventory["all"]["vars"]["npufleet_bundle"]
    assert site.needs() == {"engine": {}, "both": {}, "gateway": {}}


def test_an_inventory_without_gateways(site: Site) -> None:
    del site.inventory["gateways"]
    site.inventory["engines"]["hosts"]["gateway"] = {}
    found = site.needs()
    assert found["both"]["name"] == "both" and packages(found["gateway"]) == []
    assert "WARNING" not in site.bench.output


def test_check_mode_lists_the_packages_of_gateways(site: Site) -> None:
    need("apt-ftparchive", "apt-utils")
    done = site.playbook("bundle", "--check", "-e", json.dumps({"offline_bundle_content": ["os"]}))
    assert done.returncode == 0, site.bench.output
    here = "os/debian-12-{0}: 3 files, 2.9 KiB".format(PLATFORM["arch"])
    assert here in done.stdout and "os/debian-12-aarch64: 3 files" in done.stdout
    assert re.findall(r'"  (\S+)_1_all\.deb 1000 B"', done.stdout)[:3] == ["haproxy", "openssl", "python3-apt"]
    assert not site.bundle.exists()
