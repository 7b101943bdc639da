# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Two engines on one server with eight NPUs: what each of them got."""

from __future__ import annotations

import json

import pytest

testinfra_hosts = ["ansible://npu-a2"]


@pytest.fixture
def container(host):
    def inspect(name):
        return json.loads(host.check_output("docker inspect npufleet-engine-" + name))[0]

    return inspect


def nodes(found):
    return sorted(device["PathOnHost"] for device in found["HostConfig"]["Devices"])


CONTROL = ["/dev/davinci_manager", "/dev/devmm_svm", "/dev/hisi_hdc"]


def test_each_engine_has_its_own_chips(container):
    first, second = nodes(container("first")), nodes(container("second"))
    assert second == ["/dev/davinci4", "/dev/davinci5", *CONTROL]
    assert len(first) == 4 and first[1:] == CONTROL
    assert set(first) & set(second) == set(CONTROL)


def test_chips_are_in_the_container_and_can_be_opened(host):
    host.check_output("docker exec npufleet-engine-second test -c /dev/davinci4")
    assert host.run("docker exec npufleet-engine-second test -c /dev/davinci0").rc != 0


def test_options_are_those_of_recipe_plan_and_inventory(container):
    words = container("second")["Config"]["Cmd"]
    line = " ".join(words)
    for part in (
        "--tensor-parallel-size 2",
        "--max-model-len 512",
        "--reasoning-parser deepseek_r1",
        "--gpu-memory-utilization 0.9",
        "--port 8001",
    ):
        assert part in line, line
    environment = dict(text.split("=", 1) for text in container("second")["Config"]["Env"])
    assert environment["PYTORCH_NPU_ALLOC_CONF"] == "expandable_segments:True"
    assert environment["HCCL_IF_BASE_PORT"] == "60000"
    assert "HCCL_IF_BASE_PORT" not in " ".join(container("first")["Config"]["Env"])


def test_nothing_is_privileged_and_no_key_is_shown(host, container, variables):
    key = variables["engines"]["vars"]["vllm_engine_api_key"]
    for name in ("first", "second"):
        found = container(name)
        assert not found["HostConfig"]["Privileged"]
        assert key not in json.dumps(found)
        assert key not in host.check_output("docker logs npufleet-engine-{0} 2>&1".format(name))
    assert key not in host.check_output("ps axww -o args")
    assert key not in host.check_output("cat /var/lib/npufleet/engines/*/plan.json")


ASK = """\
import sys, urllib.error, urllib.request
request = urllib.request.Request(sys.argv[1], headers={"Authorization": "Bearer " + sys.argv[2]} if sys.argv[2] else {})
try:
    print(urllib.request.urlopen(request, timeout=10).status)
except urllib.error.HTTPError as error:
    print(error.code)
"""


def test_engines_answer_with_the_key_only(host, variables):
    key = variables["engines"]["vars"]["vllm_engine_api_key"]
    for port in (8000, 8001):
        url = "http://127.0.0.1:{0}/v1/models".format(port)
        assert [host.check_output("python3 -c '{0}' {1} '{2}'".format(ASK, url, sent)) for sent in ("", key)] == ["401", "200"]
