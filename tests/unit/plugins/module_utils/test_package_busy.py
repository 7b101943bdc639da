# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import os

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._command import CommandError, CommandResult
from ansible_collections.npufleet.ascend.plugins.module_utils._package_busy import containers, holders, other_installers
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.package_fakes import link, put

ID = "0123456789abcdef" * 4
DRIVER = "/usr/local/Ascend/driver"


def process(root, pid, *targets, comm="python3", exe="/usr/bin/python3", cgroup="", cmdline="", namespace=""):
    put(root, "/{0}/comm".format(pid), comm + "\n")
    put(root, "/{0}/cgroup".format(pid), cgroup)
    put(root, "/{0}/cmdline".format(pid), cmdline)
    link(root, "/{0}/exe".format(pid), exe)
    os.makedirs("{0}/{1}/fd".format(root, pid), exist_ok=True)
    for number, target in enumerate(targets):
        link(root, "/{0}/fd/{1}".format(pid, number), target)
    if namespace:
        link(root, "/{0}/ns/pid".format(pid), namespace)


def held(root, names=None):
    return [str(holder) for holder in holders(str(root), "/dev", DRIVER, names or {})]


def test_processes_with_device_nodes_are_named(tmp_path):
    process(tmp_path, 30, "/dev/null", "/dev/davinci1", "/dev/davinci0", "/dev/davinci_manager", comm="vllm (main)")
    process(tmp_path, 4, "/dev/hisi_hdc", cgroup="12:devices:/docker/{0}\n".format(ID))
    process(tmp_path, 5, "/dev/devmm_svm", cgroup="0::/system.slice/docker-{0}.scope\n".format("f" * 64))
    process(tmp_path, 6, "/dev/davinciX", "/dev/other", "/tmp/davinci0", "/srv/dev/davinci0", "pipe:[1]")
    process(tmp_path, 7, "/dev/davinci0", exe=DRIVER + "/tools/hdcd")
    put(tmp_path, "/self/comm")
    assert held(tmp_path, {ID: "engine"}) == [
        "process 4 (python3 in the container engine) with /dev/hisi_hdc",
        "process 5 (python3 in the container ffffffffffff) with /dev/devmm_svm",
        "process 30 (vllm (main)) with /dev/davinci0, /dev/davinci1, /dev/davinci_manager",
    ]


def test_a_host_that_is_a_container_itself(tmp_path):
    put(tmp_path, "/self/cgroup", "0::/docker/{0}\n".format(ID))
    process(tmp_path, 4, "/dev/hisi_hdc", cgroup="0::/docker/{0}\n".format(ID))
    assert held(tmp_path) == ["process 4 (python3) with /dev/hisi_hdc"]


def test_processes_that_end_meanwhile_are_left_out(tmp_path):
    process(tmp_path, 8)
    os.rmdir(str(tmp_path) + "/8/fd")
    process(tmp_path, 9, "/dev/davinci0")
    for name in ("comm", "cgroup", "exe"):
        os.unlink("{0}/9/{1}".format(tmp_path, name))
    os.mkdir(str(tmp_path) + "/9/fd/7")
    assert held(tmp_path) == ["process 9 (?) with /dev/davinci0"]


class Docker:
    """A Docker whose containers are name -> (devices, environment)."""

    def __init__(self, **rows):
        self.rows = rows
        self.calls = []

    def run(self, argv, timeout):
        self.calls.append(argv[1])
        assert argv[0] == "/usr/bin/docker" and timeout > 0
        if argv[1] == "ps":
            return CommandResult(argv, 0, "".join(name + "-id\n" for name in self.rows), "")
        lines = []
        for name, (devices, environment) in self.rows.items():
            lines.append("{0}-id /{0} {1} {2}".format(name, json.dumps(devices), json.dumps(environment)))
        return CommandResult(argv, 0, "\n".join(lines) + "\n", "")


def find(name):
    return "/usr/bin/" + name


def test_containers_that_were_given_an_npu():
    docker = Docker(
        engine=([{"PathOnHost": "/dev/davinci0", "PathInContainer": "/dev/davinci0"}], ["A=1"]),
        manager=([{"PathOnHost": "/dev/davinci_manager"}], None),
        runtime=(None, ["PATH=/bin", "ASCEND_VISIBLE_DEVICES=0,1"]),
        void=([], ["ASCEND_VISIBLE_DEVICES=void"]),
        empty=([], ["ASCEND_VISIBLE_DEVICES="]),
        plain=([{"PathOnHost": "/dev/kvm"}, 7], []),
        odd=({"a": 1}, {"b": 2}),
    )
    names, using = containers(docker.run, find)
    assert using == ["engine", "manager", "runtime"]
    assert names["engine-id"] == "engine" and len(names) == 7
    assert docker.calls == ["ps", "inspect"]


@pytest.mark.parametrize("line", ["", "short", "id /name nothing else", "id /name [1] {", "id /name " + "[" * 100000])
def test_answers_that_nobody_understands_are_none(line):
    answers = {"ps": "id\n", "inspect": line + "\n"}
    assert containers(lambda argv, timeout: CommandResult(argv, 0, answers[argv[1]], ""), find)[1] == []


def test_a_host_without_docker_or_with_one_that_does_not_answer():
    assert containers(pytest.fail, lambda _name: None) == ({}, [])
    assert containers(Docker().run, find) == ({}, [])

    def broken(_argv, timeout):
        raise CommandError("cannot execute it")

    assert containers(broken, find) == ({}, [])


@pytest.mark.parametrize(
    ("words", "namespace", "found"),
    [
        (["/bin/bash", "/srv/Ascend-hdk-910b-npu-driver_25.5.0_linux-aarch64.run", "--full"], "", True),
        (["bash", "-e", "./Atlas-A3-cann-kernels_8.3.RC1_linux-aarch64.run"], "", True),
        (["./Ascend-cann-toolkit_9.0.0_linux-aarch64.run", "--install"], "pid:[1]", True),
        (["./Ascend-cann-toolkit_9.0.0_linux-aarch64.run", "--install"], "pid:[2]", False),
        (["sha256sum", "Ascend-cann-toolkit_9.0.0_linux-aarch64.run"], "", False),
        (["vim", "/srv/Ascend-hdk-910b-npu-driver_25.5.0_linux-aarch64.run"], "", False),
        (["bash", "other.run"], "", False),
        ([""], "", False),
    ],
)
def test_other_installers(tmp_path, words, namespace, found):
    link(tmp_path, "/self/ns/pid", "pid:[1]")
    process(tmp_path, 70, cmdline="\0".join(words) + "\0", namespace=namespace)
    name = next((word.rpartition("/")[2] for word in words if word.endswith(".run")), "")
    assert other_installers(str(tmp_path)) == (["process 70 ({0})".format(name)] if found else [])
