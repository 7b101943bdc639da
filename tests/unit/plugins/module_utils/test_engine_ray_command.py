# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import subprocess

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_ray import Ray
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_ray_command import node_command, ray_env, start_words

HEAD = Ray("192.0.2.1", 6379, "192.0.2.1", (14000, 14111), 8)
MEMBER = HEAD._replace(node_address="192.0.2.2")
ENGINE = ["vllm", "serve", "/srv/models/q"]
COMMON = [
    "--node-manager-port=14000", "--object-manager-port=14001", "--runtime-env-agent-port=14002", "--dashboard-agent-listen-port=14003",
    "--dashboard-agent-grpc-port=14004", "--metrics-export-port=14005", "--min-worker-port=14012", "--max-worker-port=14111",
    "--num-cpus=8", "--num-gpus=0", '--resources={"NPU":8}', "--object-store-memory=4294967296", "--block",
]  # fmt: skip


def test_the_head_starts_a_cluster_with_all_ports_given():
    head = ["/v/ray", "start", "--head", "--port=6379", "--include-dashboard=false", "--node-ip-address=192.0.2.1"]
    assert start_words(HEAD, "/v/ray", None) == [*head, *COMMON]


def test_a_member_joins_it():
    assert start_words(MEMBER, "ray", None) == ["ray", "start", "--address=192.0.2.1:6379", "--node-ip-address=192.0.2.2", *COMMON]


@pytest.mark.parametrize(("shm", "store"), [(None, 4 << 30), (16 << 30, 4 << 30), (1 << 30, 1 << 29)])
def test_the_object_store_fits_into_shared_memory(shm, store):
    assert "--object-store-memory={0}".format(store) in start_words(HEAD, "ray", shm)


def test_environment():
    env = ray_env(HEAD, True, "/srv/work")
    assert env == {
        "RAY_ADDRESS": "192.0.2.1:6379",
        "RAY_EXPERIMENTAL_NOSET_ASCEND_RT_VISIBLE_DEVICES": "1",
        "RAY_USAGE_STATS_ENABLED": "0",
        "VLLM_CONFIG_ROOT": "/srv/work/config/vllm",
        "VLLM_HOST_IP": "192.0.2.1",
    }
    member = ray_env(MEMBER, False, "/srv/work")
    assert (member["VLLM_HOST_IP"], member["RAY_TMPDIR"]) == ("192.0.2.2", "/tmp/npufleet-ray-6379")
    assert not {"RAY_ADDRESS", "VLLM_CONFIG_ROOT"} & set(member)


def words(ray=HEAD, has_key=False):
    return node_command(ray, ENGINE, "/v/bin/ray", "/v/bin/python", None, has_key)


@pytest.mark.parametrize("ray", [HEAD, MEMBER])
@pytest.mark.parametrize("has_key", [True, False])
def test_every_command_is_one_line_that_a_shell_can_read(ray, has_key):
    found = words(ray, has_key)
    assert found[:2] == ["/bin/sh", "-c"]
    assert not [word for word in found if "\n" in word]
    checked = subprocess.run(["/bin/sh", "-n", "-c", found[2]], capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")


def test_the_engine_is_what_follows_the_lines_of_the_head():
    script, *rest = words()[2:]
    assert rest == ["npufleet-ray", *ENGINE]
    assert "/v/bin/ray start --head" in script
    assert "'--resources={\"NPU\":8}'" in script
    assert "--ray-client-server-port=14006" in script


def test_a_member_runs_ray_alone():
    found = words(MEMBER, True)
    assert found[3:5] == ["npufleet-ray", "/v/bin/ray"]
    assert "vllm" not in " ".join(found).replace("vllm-ascend", "")


def test_the_key_of_the_clients_stays_on_the_head():
    assert '["VLLM_API_KEY"]' in words(has_key=True)[2]
    assert '["VLLM_API_KEY"]' not in words()[2]
    assert "(unset VLLM_API_KEY; exec /v/bin/ray start" in words()[2]
    assert "unset VLLM_API_KEY" in words(MEMBER)[2]
