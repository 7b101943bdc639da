# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
from unittest import mock

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.container_fakes import FakeHost

LOGS = {"log-driver": "json-file", "log-opts": {"max-size": "100m"}}


@pytest.fixture()
def host(tmp_path):
    return FakeHost(tmp_path)


def adr(host):
    return {"ascend": {"path": host.program()}}


def installer(host):
    """What the installer of the Ascend Docker Runtime does to daemon.json."""
    config = host.config()
    config.setdefault("runtimes", {})["ascend"] = {"path": host.program(), "runtimeArgs": []}
    config["default-runtime"] = "ascend"
    host.write(host.path, json.dumps(config, indent=8, sort_keys=True))


def uninstaller(host):
    """And its uninstaller."""
    config = host.config()
    config.get("runtimes", {}).pop("ascend", None)
    if config.get("default-runtime") == "ascend":
        config.pop("default-runtime")
    host.write(host.path, json.dumps(config, indent=8, sort_keys=True))


def test_a_host_without_settings(host):
    wanted = {"runtimes": adr(host), "daemon_defaults": LOGS}
    predicted = host.apply(check=True, **wanted)
    assert host.text() is None and host.verbs() == []
    done = host.apply(**wanted)
    assert done["changed"] and done["engine"]["action"] == predicted["engine"]["action"] == "restart"
    assert host.settings == host.config() == dict(LOGS, runtimes={"ascend": {"path": host.folder + "/ascend"}})
    assert predicted["diff"]["after"].startswith(host.text().rstrip("\n"))
    again = host.apply(**wanted)
    assert (again["changed"], host.verbs(), again["engine"]["action"]) == (False, [], "none")
    assert again["diff"]["before"] == again["diff"]["after"]


def test_a_runtime_needs_a_reload_and_no_consent(host):
    host.site(registry_mirrors=["https://m.example.com"], default_runtime="site", runtimes={"site": {"path": "/s"}})
    host.containers = {"serving": "runc"}
    done = host.apply(runtimes=adr(host))
    assert host.verbs() == ["reload docker.service"]
    assert done["engine"]["due"] == ["runtimes"] and host.containers == {"serving": "runc"}
    assert list(host.config()) == ["registry-mirrors", "default-runtime", "runtimes"]
    assert set(host.settings["runtimes"]) == {"site", "ascend"}
    assert host.apply(runtimes=adr(host))["changed"] is False


def test_a_restart_with_containers_needs_consent(host):
    host.site(debug=False)
    host.containers = {"b": "runc", "a": "runc"}
    wanted = {"runtimes": adr(host), "daemon_options": {"log-opts": {"max-size": "5m"}}}
    before = host.text()
    with pytest.raises(NpufleetError) as caught:
        host.apply(**wanted)
    assert "docker has to be restarted (log-opts), which ends its running containers: a, b" in str(caught.value)
    assert (host.text(), host.verbs()) == (before, [])
    asked = host.apply(check=True, **wanted)["engine"]
    assert (asked["needs_consent"], asked["containers"]) == (True, ["a", "b"]) and "has to be restarted" in asked["consent_reason"]
    done = host.apply(restart=True, **wanted)
    assert (done["changed"], host.verbs(), host.containers) == (True, ["restart docker.service"], {})
    assert host.apply(**wanted)["changed"] is False


def test_without_consent_what_a_reload_brings_comes_and_the_rest_waits(host):
    host.site(debug=False)
    host.containers = {"a": "runc"}
    wanted = {"runtimes": adr(host), "daemon_options": {"log-opts": {"max-size": "5m"}}, "restart": False}
    done = host.apply(**wanted)
    assert (host.verbs(), done["engine"]["pending"], host.containers) == (["reload docker.service"], ["log-opts"], {"a": "runc"})
    assert "ascend" in host.settings["runtimes"] and "log-opts" not in host.settings
    assert host.config()["log-opts"] == {"max-size": "5m"}
    assert done["warnings"] == ["docker runs without log-opts until it is restarted"]
    again = host.apply(**wanted)
    assert (again["changed"], host.verbs(), again["engine"]["pending"]) == (False, [], ["log-opts"])
    # Another task that says nothing of the logs does not make them known.
    assert host.apply(runtimes=adr(host))["changed"] is False
    with pytest.raises(NpufleetError, match=r"restarted \(log-opts\)"):
        host.apply(**dict(wanted, restart=None))
    assert host.apply(**dict(wanted, restart=True))["engine"]["action"] == "restart"
    assert host.apply(**dict(wanted, restart=None))["changed"] is False


def test_all_of_it_waits(host):
    host.site(debug=False)
    host.containers = {"a": "runc"}
    done = host.apply(daemon_options={"log-opts": {"max-size": "5m"}}, restart=False)
    assert (done["changed"], host.verbs(), done["engine"]["pending"]) == (True, [], ["log-opts"])


def test_a_restart_by_somebody_else_is_noticed(host):
    host.site(debug=False)
    host.containers = {"a": "runc"}
    wanted = {"daemon_options": {"log-opts": {"max-size": "5m"}}, "restart": False}
    host.apply(**wanted)
    host._start("docker.service")
    done = host.apply(**wanted)
    assert (done["changed"], done["engine"]["pending"]) == (False, [])


def test_live_restore_needs_no_consent(host):
    host.site(live_restore=True)
    host.containers = {"a": "runc"}
    host.apply(daemon_options={"log-opts": {"max-size": "5m"}})
    assert (host.verbs(), host.containers) == (["restart docker.service"], {"a": "runc"})
    with pytest.raises(NpufleetError, match="which ends its running containers"):
        host.apply(daemon_options={"data-root": "/data"})


def test_the_default_runtime_of_the_site_survives_the_installer(host):
    host.site(default_runtime="site", runtimes={"site": {"path": "/s"}})
    assert host.apply()["changed"] is False
    installer(host)
    done = host.apply(runtimes=adr(host))
    assert (done["engine"]["default_runtime"], host.config()["default-runtime"], host.settings["default-runtime"]) == (
        "site",
        "site",
        "site",
    )
    assert host.apply(runtimes=adr(host))["changed"] is False
    # Interrupted: the installer ran, Docker was restarted by hand, the second call never came.
    installer(host)
    host._start("docker.service")
    assert host.settings["default-runtime"] == "ascend"
    host.apply(runtimes=adr(host))
    assert (host.verbs(), host.settings["default-runtime"]) == (["reload docker.service"], "site")


def test_a_site_without_a_default_runtime_gets_none(host):
    host.apply()
    installer(host)
    host._start("docker.service")
    done = host.apply(runtimes=adr(host))
    assert "default-runtime" not in host.config() and host.settings["default-runtime"] == "runc"
    assert (done["engine"]["default_runtime"], done["engine"]["site_default_runtime"]) == (None, None)
    assert host.apply(runtimes=adr(host))["changed"] is False


def test_a_default_that_was_there_before_this_collection_stays(host):
    installer(host)
    host._start("docker.service")
    host.time += 5
    assert host.apply(runtimes=adr(host))["changed"] is False
    assert host.config()["default-runtime"] == "ascend"


def test_told_otherwise_the_default_runtime_changes_and_comes_back(host):
    host.site(default_runtime="site", runtimes={"site": {"path": "/s"}})
    done = host.apply(runtimes=adr(host), default_runtime="ascend")
    assert (done["engine"]["default_runtime"], done["engine"]["site_default_runtime"], host.settings["default-runtime"]) == (
        "ascend",
        "site",
        "ascend",
    )
    host.apply(runtimes=adr(host))
    assert host.settings["default-runtime"] == host.config()["default-runtime"] == "site"


@pytest.mark.parametrize("name", ["nosuch", "ascend"])
def test_a_default_runtime_that_nobody_knows_is_refused(host, name):
    with pytest.raises(NpufleetError, match="no runtime " + name):
        host.apply(default_runtime=name)
    assert host.verbs() == []


@pytest.mark.parametrize("name", ["runc", "io.containerd.kata.v2", "site"])
def test_a_default_runtime_that_docker_has(host, name):
    host.site(runtimes={"site": {"path": "/s"}})
    assert host.apply(default_runtime=name)["engine"]["default_runtime"] == name


def test_everything_goes_again(host):
    host.site(registry_mirrors=["https://m.example.com"], default_runtime="site", runtimes={"site": {"path": "/s"}})
    site = host.config()
    host.apply(daemon_defaults=LOGS)
    installer(host)
    host.apply(runtimes=adr(host), daemon_options={"registry-mirrors": ["https://n.example.com"]}, daemon_defaults=LOGS)
    uninstaller(host)
    gone = host.apply(state="absent")
    assert gone["changed"] and host.config() == site
    assert (host.settings, gone["engine"]["recorded"]) == (site, False)
    assert host.apply(state="absent")["changed"] is False


def test_the_uninstaller_took_the_default_away_and_it_comes_back(host):
    host.site(default_runtime="site", runtimes={"site": {"path": "/s"}})
    host.apply(runtimes=adr(host), default_runtime="ascend")
    uninstaller(host)
    assert "default-runtime" not in host.config()
    host.apply(state="absent")
    assert (host.config()["default-runtime"], host.settings["default-runtime"]) == ("site", "site")


def test_the_daemon_forgets_what_the_uninstaller_took_out_of_the_file(host):
    host.apply(daemon_defaults=LOGS)
    installer(host)
    host.apply(runtimes=adr(host), daemon_defaults=LOGS)
    host.containers = {"a": "runc"}
    uninstaller(host)
    assert "ascend" in host.settings["runtimes"]
    gone = host.apply(state="absent", restart=False)
    assert (host.settings["runtimes"], host.text(), gone["engine"]["pending"]) == ({}, None, ["log-opts"])
    assert host.containers == {"a": "runc"}


def test_a_file_that_was_not_there_is_gone_again(host):
    host.apply()
    installer(host)
    host.apply(runtimes=adr(host), default_runtime="ascend")
    host.containers = {"a": "runc"}
    gone = host.apply(state="absent")
    assert (host.text(), host.verbs(), host.containers) == (None, ["reload docker.service"], {"a": "runc"})
    assert (gone["engine"]["default_runtime"], host.settings["runtimes"], host.settings["default-runtime"]) == (None, {}, "runc")


def test_a_runtime_that_containers_use_goes_only_with_consent(host):
    host.apply(runtimes=adr(host))
    host.containers = {"serving": "ascend", "other": "runc"}
    with pytest.raises(NpufleetError, match="could not be started again: serving"):
        host.apply(state="absent")
    assert host.apply(check=True, state="absent")["engine"]["containers"] == ["serving"]
    assert host.apply(state="absent", restart=True)["changed"]
    assert host.containers == {"serving": "ascend", "other": "runc"}


def test_both_reasons_to_ask_are_told(host):
    host.apply(runtimes=adr(host), daemon_defaults=LOGS)
    host.containers = {"serving": "ascend", "other": "runc"}
    with pytest.raises(NpufleetError) as caught:
        host.apply(state="absent")
    assert "ends its running containers: other, serving; running containers use a runtime" in str(caught.value)
    assert "could not be started again: serving. Where: restart" in str(caught.value)


def test_without_a_record_nothing_is_taken_back(host):
    installer(host)
    before = host.text()
    gone = host.apply(state="absent")
    assert (gone["changed"], host.text(), host.verbs()) == (False, before, [])


def test_a_docker_that_was_removed_leaves_its_file_to_be_put_back(host):
    host.site(debug=False)
    host.apply(runtimes=adr(host))
    host.tools -= {"docker", "dockerd"}
    assert host.apply(state="absent")["changed"]
    assert host.config() == {"debug": False}


def test_a_docker_that_is_stopped_is_started_and_enabled(host):
    host.running["docker.service"] = host.enabled["docker.service"] = False
    predicted = host.apply(check=True, daemon_defaults=LOGS)
    assert predicted["engine"]["action"] == "start" and "# docker: stopped, not enabled" in predicted["diff"]["before"]
    assert "# docker: running\n" in predicted["diff"]["after"]
    done = host.apply(daemon_defaults=LOGS)
    assert host.verbs() == ["start docker.service", "enable docker.service"]
    assert (done["engine"]["running"], host.settings) == (True, LOGS)
    assert host.apply(daemon_defaults=LOGS)["changed"] is False


def test_absent_leaves_a_stopped_docker_alone(host):
    host.apply(daemon_defaults=LOGS)
    host.running["docker.service"] = False
    assert host.apply(state="absent")["changed"]
    assert (host.verbs(), host.text()) == ([], None)


def test_a_docker_that_is_not_there(host):
    host.tools -= {"docker", "dockerd"}
    with pytest.raises(NpufleetError, match=r"Docker is not installed.*role container_runtime"):
        host.apply()
    predicted = host.apply(check=True, runtimes=adr(host), daemon_defaults=LOGS)
    assert (predicted["changed"], predicted["engine"]["installed"]) == (True, False)
    assert "# docker: not installed" in predicted["diff"]["before"] and "max-size" in predicted["diff"]["after"]


@pytest.mark.parametrize("version", ["20.10.24+dfsg1", "26.1.5"])
def test_a_start_that_fails_is_undone(host, version):
    host.docker_version = version
    host.site(debug=False)
    before = host.text()
    host.refuses = {"storage-driver"}
    with pytest.raises(NpufleetError) as caught:
        host.apply(daemon_options={"storage-driver": "nosuch"})
    assert host.text() == before and host.running["docker.service"]
    if version.startswith("20"):
        assert "wrong storage-driver. The old {0} was put back; it runs with that again".format(host.path) in str(caught.value)
        assert host.verbs() == ["restart docker.service", "restart docker.service"]
    else:
        assert "dockerd refuses the new settings" in str(caught.value)
        assert host.verbs() == [] and "validate" in host.calls


def test_a_start_that_fails_on_a_docker_that_did_not_run(host):
    host.running["docker.service"] = False
    host.refuses = {"storage-driver"}
    with pytest.raises(NpufleetError, match="it was not running before, and was left like that"):
        host.apply(daemon_options={"storage-driver": "nosuch"})
    assert host.text() is None


def test_a_restart_that_fails_with_the_old_file_too(host):
    host.site(mtu=1)
    host.refuses = {"mtu"}
    with pytest.raises(NpufleetError, match="it does not start with that either"):
        host.apply(daemon_options={"log-opts": {"max-size": "5m"}})


def test_a_restart_that_fails_without_a_change_is_told_as_it_is(host):
    host.site(loaded=False, log_opts={"max-size": "5m"})
    host.refuses = {"log-opts"}
    with pytest.raises(NpufleetError) as caught:
        host.apply(daemon_options={"log-opts": {"max-size": "5m"}})
    assert "was put back" not in str(caught.value)


def test_a_reload_that_is_refused_is_undone(host):
    host.site(debug=False)
    before = host.text()
    host.refuses = {"labels"}
    with pytest.raises(NpufleetError, match=r"refused to reload its settings.*wrong labels"):
        host.apply(daemon_options={"labels": ["a=b"]})
    assert host.text() == before


def test_a_reload_that_is_not_logged_is_seen_in_docker_info(host):
    host.silent = True
    done = host.apply(runtimes=adr(host))
    assert done["engine"]["action"] == "reload" and "ascend" in host.settings["runtimes"]
    assert 0 < host.naps < 10


def test_a_reload_that_does_nothing_is_an_error(host):
    host.deaf = True
    with pytest.raises(NpufleetError) as caught:
        host.apply(runtimes=adr(host))
    assert "Docker does not have what is wanted: it does not know the runtime ascend" in str(caught.value)
    assert "docker info" in str(caught.value)


def test_dockerd_has_an_option_on_its_command_line(host):
    host.cmdline = ["dockerd", "--log-driver=journald", "--label", "a=b"]
    host.info_extra = {"LoggingDriver": "journald"}
    assert host.apply(runtimes=adr(host), daemon_defaults=LOGS)["changed"]
    assert list(host.config()) == ["runtimes"]
    with pytest.raises(NpufleetError, match="started with an option for labels, log-driver"):
        host.apply(daemon_options={"log-driver": "json-file", "labels": ["c=d"]})


def test_dockerd_reads_another_file(host):
    other = host.folder + "/docker/other.json"
    host.cmdline = ["dockerd", "--config-file", other]
    host._observe()
    found = host.apply(check=True, config_path=None, runtimes=adr(host))
    assert found["engine"]["config_path"] == other


@pytest.mark.parametrize("check", [True, False])
def test_what_docker_refuses_is_told_before_anybody_is_asked(host, check):
    host.docker_version = "26.1.5"
    host.containers = {"a": "runc"}
    host.refuses = {"log-optz"}
    with pytest.raises(NpufleetError, match="dockerd refuses the new settings"):
        host.apply(check=check, daemon_options={"log-optz": 1})


def test_a_setting_that_an_old_docker_does_not_know(host):
    with pytest.raises(NpufleetError, match=r"Did you mean log-opts\?"):
        host.apply(daemon_options={"log-optz": 1})
    assert host.text() is None and host.verbs() == []


def test_a_program_that_is_missing(host):
    wanted = {"runtimes": {"ascend": {"path": "/nowhere/ascend"}}}
    assert host.apply(check=True, **wanted)["engine"]["missing_programs"] == ["ascend (/nowhere/ascend)"]
    with pytest.raises(NpufleetError, match=r"not there: ascend \(/nowhere/ascend\)"):
        host.apply(**wanted)
    assert host.text() is None
    with pytest.raises(NpufleetError, match="not there"):
        host.apply(runtimes={"folder": host.folder})


def test_a_data_root_that_is_a_link(host, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "root").symlink_to(tmp_path / "real")
    host.info_extra = {"DockerRootDir": str(tmp_path / "real")}
    host.apply(daemon_options={"data-root": str(tmp_path / "root")})
    assert host.config()["data-root"] == str(tmp_path / "root")
    assert host.apply(daemon_options={"data-root": str(tmp_path / "root")})["changed"] is False


@pytest.mark.parametrize(("version", "warned"), [("20.10.24", False), ("29.1.0", True)])
def test_the_version_is_compared_where_the_runtime_is_that_of_ascend(host, version, warned):
    host.docker_version = version
    path = host.program("ascend-docker-runtime")
    assert bool(host.apply(runtimes={"ascend": path})["warnings"]) is warned
    assert host.apply(runtimes={"crun": host.program("crun")})["warnings"] == []


def test_a_docker_that_is_too_old_for_it(host):
    host.docker_version = "18.03.1"
    with pytest.raises(NpufleetError, match="too old for the Ascend Docker Runtime"):
        host.apply(runtimes={"ascend": host.program("ascend-docker-runtime")})


def test_passwords_are_not_shown(host):
    host.site(proxies={"https-proxy": "http://user:secret@proxy.example.com"})
    shown = host.apply(runtimes=adr(host))["diff"]
    assert "secret" not in shown["before"] + shown["after"] and "://***@proxy.example.com" in shown["after"]
    assert "user:secret@" in host.text()


def test_an_interrupted_run_goes_on(host):
    """The file was written, and Docker not restarted."""
    wanted = {"runtimes": adr(host), "daemon_defaults": LOGS}
    task = host.task(**wanted)
    task._adapter.begin = mock.Mock(side_effect=KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        task.execute(False)
    assert host.config()["log-opts"] and "log-opts" not in host.settings
    done = host.apply(**wanted)
    assert (host.verbs(), host.settings["log-opts"]) == (["restart docker.service"], LOGS["log-opts"])
    assert done["changed"] and host.apply(**wanted)["changed"] is False
    host.apply(state="absent")
    assert host.text() is None
