# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Consent, mistakes, and what others do to the configuration."""

from __future__ import annotations

testinfra_hosts = ["local://"]

MODULE = "npufleet.ascend.container_engine"
LOGS = {"log-opts": {"max-size": "2g"}}


def engine(run_module, place, **options):
    return run_module(place.name, MODULE, **options)


def test_preflight_names_the_containers_that_a_restart_would_end(play, site):
    before, start = site.daemon_json(), site.start()
    done = play("preflight.yml", "docker-site", container_runtime_daemon_options=LOGS)
    assert done.returncode == 2 and "which ends its running containers: serving" in done.stdout, done.stdout
    assert "container_runtime_restart" in done.stdout
    assert (site.daemon_json(), site.start()) == (before, start)


def test_consent(run_module, site):
    """One story, because each step needs the step before."""
    start = site.start()
    refused = engine(run_module, site, daemon_options=LOGS)
    assert refused["failed"] and "running containers: serving" in refused["msg"]
    kept = engine(run_module, site, daemon_options=LOGS, restart=False)
    assert (kept["changed"], kept["engine"]["pending"]) == (True, ["log-opts"])
    again = engine(run_module, site, daemon_options=LOGS, restart=False)
    assert (again["changed"], again["engine"]["pending"]) == (False, ["log-opts"])
    assert site.start() == start and site.serves()
    done = engine(run_module, site, daemon_options=LOGS, restart=True)
    assert (done["changed"], done["engine"]["action"], done["engine"]["containers"]) == (True, "restart", ["serving"])
    assert site.start() != start
    assert engine(run_module, site, daemon_options=LOGS)["changed"] is False
    site.sh("docker start serving")


def test_live_restore_lets_containers_run_on(run_module, site):
    pid = site.sh("docker inspect --format '{{.State.Pid}}' serving")
    done = engine(run_module, site, daemon_options={"live-restore": True})
    assert done["engine"]["action"] == "reload"
    done = engine(run_module, site, daemon_options={"live-restore": True, "log-opts": {"max-size": "3g"}})
    assert done["engine"]["action"] == "restart"
    assert site.sh("docker inspect --format '{{.State.Pid}}' serving") == pid
    # Without it the next start would end what runs, so that needs consent again.
    refused = engine(run_module, site, daemon_options={"live-restore": False, "log-opts": {"max-size": "1g"}})
    assert refused["failed"] and "running containers: serving" in refused["msg"]
    assert engine(run_module, site, daemon_options={"live-restore": False})["engine"]["action"] == "reload"


def test_settings_that_docker_refuses_are_undone(run_module, bare):
    before = bare.daemon_json()
    unknown = engine(run_module, bare, daemon_options={"log-optz": {}})
    assert "Did you mean log-opts?" in unknown["msg"]
    failed = engine(run_module, bare, daemon_options={"storage-driver": "nosuch"})
    assert failed["failed"] and "was put back; it runs with that again" in failed["msg"]
    refused = engine(run_module, bare, daemon_options={"features": {"x": "no"}})
    assert refused["failed"] and "refused to reload its settings" in refused["msg"]
    assert bare.daemon_json() == before
    assert bare.sh("systemctl is-active docker") == "active"


def test_a_damaged_file_is_told_before_anything_is_done(run_module, bare):
    bare.sh("cp -p /etc/docker/daemon.json /root/kept && echo '{' >/etc/docker/daemon.json")
    assert "no valid JSON" in engine(run_module, bare)["msg"]
    bare.sh("chmod 666 /etc/docker/daemon.json")
    assert "can be written to by others" in engine(run_module, bare)["msg"]
    bare.sh("rm /etc/docker/daemon.json && ln -s /root/kept /etc/docker/daemon.json")
    assert "is a link" in engine(run_module, bare)["msg"]
    bare.sh("rm /etc/docker/daemon.json && mv /root/kept /etc/docker/daemon.json")
    assert engine(run_module, bare)["changed"] is False


def test_somebody_overwrites_the_file_and_verify_sees_it(play, bare):
    bare.sh("cp -p /etc/docker/daemon.json /root/kept && echo '{}' >/etc/docker/daemon.json && systemctl restart docker")
    done = play("verify.yml", "docker-bare")
    assert done.returncode == 2 and "docker does not run with what is wanted" in done.stdout, done.stdout
    done = play("converge.yml", "docker-bare")
    assert done.returncode == 0, done.stdout
    assert "ascend" in bare.info()["Runtimes"] and bare.daemon_json()["log-opts"] == {"max-size": "100m", "max-file": "3"}
    assert play("verify.yml", "docker-bare").returncode == 0


def test_a_docker_that_was_stopped_runs_again(play, bare):
    bare.sh("systemctl disable --now docker.service docker.socket")
    done = play("converge.yml", "docker-bare")
    assert done.returncode == 0, done.stdout
    assert bare.sh("systemctl is-active docker") == "active" and bare.sh("systemctl is-enabled docker") == "enabled"


def test_the_installer_ran_again_and_docker_was_restarted(play, site):
    """What the installer of the Ascend Docker Runtime leaves when the play is interrupted right after it."""
    site.sh('sed -i \'s/"default-runtime": "site"/"default-runtime": "ascend"/\' /etc/docker/daemon.json && systemctl restart docker')
    assert site.info()["DefaultRuntime"] == "ascend"
    done = play("converge.yml", "docker-site", container_runtime_restart=False)
    assert done.returncode == 0, done.stdout
    assert (site.info()["DefaultRuntime"], site.daemon_json()["default-runtime"]) == ("site", "site")


def test_podman_gets_no_ascend_runtime(play, podman):
    done = play("converge.yml", "podman-bare", container_runtime_ascend=True)
    assert done.returncode == 2 and "does not support Podman" in done.stdout, done.stdout
