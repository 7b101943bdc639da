# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._clock import Clock
from ansible_collections.npufleet.ascend.plugins.module_utils._command import CommandResult
from ansible_collections.npufleet.ascend.plugins.module_utils._container_adapter import Host
from ansible_collections.npufleet.ascend.plugins.module_utils._container_docker_cli import ENVIRONMENT, DockerCli, parse_flags
from ansible_collections.npufleet.ascend.plugins.module_utils._container_unit import UnitState
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError

RUNS = UnitState(found=True, running=True, pid=7, start="a", started=1.0)
INFO = {"ServerVersion": "26.1.5", "ContainersRunning": 1}


def cli(answers=None, tools=("docker", "dockerd"), proc="/nowhere", calls=None):
    """``answers`` are (rc, stdout, stderr) by the first word that is known; rc None is a time limit."""

    def run(argv, timeout, env=None):
        if calls is not None:
            calls.append((list(argv), env))
        for word in argv:
            if word in (answers or {}):
                rc, out, err = answers[word]
                return CommandResult(list(argv), rc, out, err, timed_out=rc is None)
        return CommandResult(list(argv), 0, "", "")

    def find(name, _extra):
        return "/usr/bin/" + name if name in tools else None

    return DockerCli(Host(run, Clock(lambda: 0.0, lambda _seconds: None), find, proc))


def test_a_docker_that_runs(tmp_path):
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "cmdline").write_text("/usr/bin/dockerd\0-H\0fd://\0--log-opt=max-size=5m\0")
    calls = []
    look = cli({"info": (0, json.dumps(INFO), "")}, proc=str(tmp_path), calls=calls).look(lambda: RUNS)
    assert (look.installed, look.program, look.version, look.runs) == (True, "/usr/bin/dockerd", "26.1.5", True)
    assert look.data == {"info": INFO, "flags": {"hosts": "fd://", "log-opts": "max-size=5m"}}
    assert calls == [(["/usr/bin/docker", "info", "--format", "{{json .}}"], ENVIRONMENT)]


def test_a_docker_that_does_not_run():
    answers = {"--version": (0, "Docker version 18.09.0, build 62eb848\n", "")}
    look = cli(answers).look(lambda: UnitState(found=True))
    assert (look.installed, look.version, look.runs, look.data) == (True, "18.09.0", False, {"info": {}, "flags": {}})


@pytest.mark.parametrize(
    ("tools", "words"),
    [
        ((), "Docker is not installed"),
        (("docker",), "may be Podman's docker command"),
        (("dockerd",), "no docker command"),
    ],
)
def test_no_docker(tools, words):
    look = cli(tools=tools).look(lambda: pytest.fail("there is nothing to ask"))
    assert not look.installed and words in look.missing


def test_a_docker_that_systemd_does_not_know():
    with pytest.raises(NpufleetError, match=r"knows no docker\.service"):
        cli().look(UnitState)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ((1, "", "Cannot connect to the Docker daemon\n"), "Cannot connect"),
        ((0, json.dumps({"ServerErrors": ["permission denied"]}), ""), "permission denied"),
        ((0, json.dumps(dict(INFO, ServerErrors=["half dead"])), ""), "half dead"),
        ((0, json.dumps({"host": {}}), ""), "does not answer"),
        ((0, "[]", ""), "does not answer"),
        ((0, "", ""), "no message"),
        ((None, "", ""), "no answer in time"),
    ],
)
def test_a_daemon_that_does_not_answer(answer, words):
    with pytest.raises(NpufleetError) as caught:
        cli({"info": answer}).look(lambda: RUNS)
    assert words in str(caught.value) and "journalctl --unit docker.service" in str(caught.value)


def test_containers():
    answers = {"ps": (0, "two\none\n", ""), "inspect": (0, "/one ascend\n/two runc\n/three\n", "")}
    assert cli(answers).containers() == ["one", "two"]
    assert cli(answers).containers_with({"ascend"}) == ["one"]
    assert cli({"ps": (0, "", "")}).containers_with({"ascend"}) == []
    assert cli(answers).containers_with(set()) == []


def test_a_file_that_dockerd_refuses():
    answers = {"--validate": (1, "", "warning\nunable to configure the Docker daemon with file /tmp/x.json: no such thing\n")}
    with pytest.raises(NpufleetError) as caught:
        cli(answers).check_file("/tmp/x.json")
    assert "with file the new file: no such thing" in str(caught.value)
    cli({"--validate": (0, "configuration OK\n", "")}).check_file("/tmp/x.json")
    with pytest.raises(NpufleetError, match="no message"):
        cli({"--validate": (None, "", "")}).check_file("/tmp/x.json")


HELP = "  --log-opt map   Options\n  --log-driver string  Driver\n  --registry-mirror list\n  -D, --debug\n"


@pytest.mark.parametrize(("key", "words"), [("log-optz", "Did you mean log-opts?"), ("zzz", "Leave it out")])
def test_a_setting_that_dockerd_does_not_know(key, words):
    with pytest.raises(NpufleetError) as caught:
        cli({"--help": (0, HELP, "")}).check_keys({"debug", key})
    assert "knows no setting " + key in str(caught.value) and words in str(caught.value)


def test_settings_that_it_knows():
    cli({"--help": (0, HELP, "")}).check_keys({"debug", "log-opts", "registry-mirrors", "features"})
    cli({"--help": (1, "", "no such flag")}).check_keys({"anything"})


@pytest.mark.parametrize(
    ("words", "flags"),
    [
        ([], {}),
        (["-H", "fd://", "--containerd=/run/c.sock"], {"hosts": "fd://", "containerd": "/run/c.sock"}),
        (["--live-restore", "--data-root", "/data"], {"live-restore": "", "data-root": "/data"}),
        (
            ["--add-runtime", "a=/bin/a", "--default-ulimit=nofile=1:2", "-g=/x"],
            {"runtimes": "a=/bin/a", "default-ulimits": "nofile=1:2", "data-root": "/x"},
        ),
        (
            ["--config-file", "/etc/docker/site.json", "-D", "-l", "debug"],
            {"config-file": "/etc/docker/site.json", "debug": "", "log-level": "debug"},
        ),
        (["stray", "--log-driver", "journald", ""], {"log-driver": "journald"}),
    ],
)
def test_options_of_dockerd(words, flags):
    assert parse_flags(words) == flags
