# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Removal, last of all: hosts are as they were, and containers run on."""

from __future__ import annotations

import json

testinfra_hosts = ["local://"]

ADR = "/usr/local/Ascend/Ascend-Docker-Runtime/ascend-docker-runtime"


def test_what_containers_use_goes_only_with_consent(play, site):
    site.sh("docker rm --force serving && docker run --detach --stop-timeout=1 --name serving --runtime ascend box:1 sleep 100000")
    done = play("remove.yml", "docker-site")
    assert done.returncode == 2 and "could not be started again: serving" in done.stdout, done.stdout
    assert site.host.file("/usr/local/Ascend/Ascend-Docker-Runtime").exists
    site.sh("docker rm --force serving && docker run --detach --stop-timeout=1 --name serving box:1 sleep 100000")


def test_everything_is_as_it_was(play, bare, site, containerd, podman):
    bare.image()
    bare.sh("docker run --detach --stop-timeout=1 --name other box:1 sleep 100000")
    starts = [bare.start(), site.start()]
    done = play("remove.yml", container_runtime_restart=False)
    assert done.returncode == 0, done.stdout
    assert json.loads(site.host.file("/root/daemon.json").content_string) == site.daemon_json()
    assert (site.info()["DefaultRuntime"], "ascend" in site.info()["Runtimes"], site.serves()) == ("site", False, True)
    assert [bare.start(), site.start()] == starts
    assert not bare.host.file("/etc/docker/daemon.json").exists
    assert "ascend" not in bare.info()["Runtimes"]
    for place in (bare, site):
        assert not place.host.file("/usr/local/Ascend/Ascend-Docker-Runtime").exists
        assert not place.host.file("/var/lib/npufleet/container_engine/docker.json").exists
    assert not containerd.host.file("/usr/local/Ascend/Ascend-Docker-Runtime").exists
    assert ADR not in containerd.sh("containerd config dump")
    assert not podman.host.file("/etc/containers/containers.conf.d/npufleet.conf").exists
    again = play("remove.yml", container_runtime_restart=False)
    assert again.returncode == 0 and again.stdout.count("changed=0") == 4, again.stdout


def test_packages_go_only_when_asked_and_data_stays(play, bare):
    done = play("remove.yml", "docker-bare", container_runtime_remove_packages=True)
    assert done.returncode == 0, done.stdout
    assert not bare.host.package("docker.io").is_installed
    assert bare.host.file("/var/lib/docker/image").exists
