# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the role made of four hosts: one bare, one with a Docker that a site configured, one for containerd, one for Podman."""

from __future__ import annotations

import json

testinfra_hosts = ["local://"]

ADR = "/usr/local/Ascend/Ascend-Docker-Runtime/ascend-docker-runtime"


def test_docker_knows_the_runtime_and_keeps_its_default(bare, site):
    for place, default in ((bare, "runc"), (site, "site")):
        info = place.info()
        assert info["Runtimes"]["ascend"]["path"] == ADR, place.name
        assert info["DefaultRuntime"] == default, place.name
        assert "default-runtime" not in place.daemon_json() or default == "site"


def test_docker_starts_with_the_host(bare):
    assert bare.sh("systemctl is-enabled docker") == "enabled"


def test_settings_of_the_site_stay(site):
    before = json.loads(site.host.file("/root/daemon.json").content_string)
    after = site.daemon_json()
    assert after["runtimes"].pop("ascend")["path"] == ADR
    assert after.pop("registry-mirrors") == [*before.pop("registry-mirrors"), "https://second.example.com"]
    assert after == before
    assert site.info()["RegistryConfig"]["Mirrors"] == ["https://mirror.example.com/", "https://second.example.com/"]


def test_nothing_was_interrupted(site):
    assert site.start() == site.host.file("/root/start").content_string.strip()
    assert site.serves()
    assert site.sh("docker inspect --format '{{.RestartCount}} {{.HostConfig.Runtime}}' serving") == "0 site"


def test_logs_of_containers_are_limited_where_the_site_said_nothing(bare, site):
    for place, size, files in ((bare, "100m", "3"), (site, "1g", "2")):
        place.image()
        place.sh("docker rm -f logs >/dev/null 2>&1; docker create --name logs box:1 sleep 1")
        config = json.loads(place.sh("docker inspect --format '{{json .HostConfig.LogConfig}}' logs"))
        assert config == {"Type": "json-file", "Config": {"max-size": size, "max-file": files}}
        place.sh("docker rm logs")


def test_a_container_gets_the_npus_it_asks_the_runtime_for(bare):
    bare.image()
    listing = bare.sh("docker run --rm --runtime ascend --env ASCEND_VISIBLE_DEVICES=0,2 box:1 ls /dev").split()
    assert [name for name in listing if name.startswith("davinci")] == ["davinci0", "davinci2", "davinci_manager"]
    assert not [name for name in bare.sh("docker run --rm --runtime ascend box:1 ls /dev").split() if name.startswith("davinci")]


def test_explicit_devices_and_mounts_need_no_runtime(bare):
    bare.image()
    options = "--device /dev/davinci1 --device /dev/davinci_manager --volume /usr/local/dcmi:/usr/local/dcmi:ro"
    listing = bare.sh("docker run --rm {0} box:1 ls /dev /usr/local/dcmi".format(options)).split()
    assert {"davinci1", "davinci_manager", "libdcmi.so"} <= set(listing) and "davinci0" not in listing


def test_containerd_knows_the_runtime_and_keeps_its_default(containerd):
    dump = containerd.sh("containerd config dump")
    assert ADR in dump and 'default_runtime_name = "runc"' in dump
    assert not containerd.host.file("/etc/docker").exists


def test_a_container_of_containerd_gets_the_npus_it_asks_the_runtime_for(containerd):
    run = "ctr run --rm --runc-binary {0} --env ASCEND_VISIBLE_DEVICES=0,2 --rootfs /opt/image npus /bin/ls /dev".format(ADR)
    assert [name for name in containerd.sh(run).split() if name.startswith("davinci")] == ["davinci0", "davinci2", "davinci_manager"]


def test_podman_knows_the_runtime_and_keeps_its_default(podman):
    ask = "podman {0} info --format '{{{{.Host.OCIRuntime.Name}}}}'"
    assert podman.sh(ask.format("--runtime wrapped")) == "wrapped"
    assert podman.sh(ask.format("")) in ("crun", "runc")
    assert not podman.host.file("/etc/docker").exists


def test_verify_agrees(play):
    done = play("verify.yml")
    assert done.returncode == 0, done.stdout
    assert "docker 20.10" in done.stdout and "podman 4.3" in done.stdout and "containerd 1.6" in done.stdout
    assert "changed=0" in done.stdout and "changed=1" not in done.stdout


def test_a_second_run_leaves_the_daemons_alone(play, bare, site):
    starts = [bare.start(), site.start()]
    times = [place.host.file("/etc/docker/daemon.json").mtime for place in (bare, site)]
    done = play("converge.yml")
    assert done.returncode == 0 and done.stdout.count("changed=0") == 4, done.stdout
    assert [bare.start(), site.start()] == starts
    assert [place.host.file("/etc/docker/daemon.json").mtime for place in (bare, site)] == times


def test_the_runtimes_package_left_usual_modes(bare):
    assert oct(bare.host.file("/etc/docker").mode) == "0o755"
    assert oct(bare.host.file("/usr/local/Ascend").mode) == "0o755"
