# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One run of site.yml made a service of a bare server. A second one came before these tests, and changed nothing."""

from __future__ import annotations

import json

import pytest
import testinfra
from prepared_host import PreparedHost

testinfra_hosts = ["ansible://npu-01"]

ASK = """
import json, ssl, sys, urllib.error, urllib.request
body = json.dumps({"model": "tiny-qwen2", "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 8}).encode()
head = {"Authorization": "Bearer " + sys.argv[1], "Content-Type": "application/json"}
ask = urllib.request.Request("https://127.0.0.1:8443/v1/chat/completions", body, head)
try:
    with urllib.request.urlopen(ask, timeout=30, context=ssl._create_unverified_context()) as answer:
        print(answer.status, answer.read().decode())
except urllib.error.HTTPError as error:
    print(error.code, error.read().decode())
"""


@pytest.fixture
def ask(variables):
    gateway = testinfra.get_host("docker://" + variables["molecule"]["hosts"]["gateway-01"]["ansible_host"])

    def with_key(key):
        status, _blank, body = gateway.check_output("python3 -c '{0}' {1}".format(ASK.strip(), key)).partition(" ")
        return int(status), json.loads(body)

    return with_key


def test_driver_and_firmware_were_installed_once(host):
    assert PreparedHost(host).acts() == [("driver", "install"), ("firmware", "install")]
    assert "Version: 25.5.0" in host.check_output("npu-smi info")


def test_docker_and_its_client_for_python_came_with_it(host):
    assert json.loads(host.check_output("docker info --format '{{json .ServerVersion}}'"))
    assert host.package("python3-docker").is_installed


def test_the_engine_has_a_chip_of_the_server(host):
    (engine,) = json.loads(host.check_output("docker inspect npufleet-engine-deepseek"))
    assert engine["Config"]["Image"] == "quay.io/ascend/vllm-ascend:v0.23.0.post1"
    assert "/dev/davinci0" in [row["PathOnHost"] for row in engine["HostConfig"]["Devices"]]
    assert engine["HostConfig"]["Privileged"] is False


def test_clients_of_the_gateway_get_answers(ask):
    status, answer = ask("sk-molecule-team-0123456789")
    assert (status, answer["model"]) == (200, "tiny-qwen2")
    assert ask("sk-wrong")[0] == 401
