# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_host import read_site
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_network import GIB, check_group, network_env, shm_size
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_values import PlanError
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.test_plan_fleet import a2_facts, a3_facts, duo_facts, host


def hosts(*changes, npu=None):
    return [read_site("h{0}".format(place), host(npu or a2_facts(), place, **change)).host for place, change in enumerate(changes, 1)]


def test_hosts_of_a_group_have_addresses_of_their_own():
    check_group(hosts({}, {}, {"address": "2001:db8::1"}), "here")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"address": None}, r"host h2 is one of a group and its address is not known\. Where: here.*hosts\.h2"),
        ({"interface": None}, "its interface is not known"),
        ({"address": "192.0.2.1"}, r"the address 192\.0\.2\.1 of host h2 cannot be: host h1 has it too\. Where: hosts\.h2\.address"),
        ({"address": "127.0.0.1"}, "it does not reach the host from outside"),
        ({"address": "0.0.0.0"}, "it does not reach the host from outside"),
        ({"address": "host-2.example.com"}, "it is no IP address"),
    ],
)
def test_what_does_not_reach_a_host_is_refused(change, words):
    with pytest.raises(PlanError, match=words):
        check_group(hosts({}, change), "here")


INTERFACES = {"HCCL_IF_IP": "192.0.2.1", "GLOO_SOCKET_IFNAME": "eth0", "TP_SOCKET_IFNAME": "eth0", "HCCL_SOCKET_IFNAME": "eth0"}


@pytest.mark.parametrize(
    ("change", "count", "chips", "env", "found"),
    [
        ({}, 1, 1, {}, {}),
        ({}, 1, 8, {}, INTERFACES),
        ({"address": None}, 1, 8, {}, {}),
        ({"interface": None}, 1, 8, {}, {}),
        ({"address": "127.0.0.1"}, 1, 8, {}, {}),
        ({}, 1, 8, {"HCCL_IF_IP": "192.0.2.99"}, {key: value for key, value in INTERFACES.items() if key != "HCCL_IF_IP"}),
        (
            {},
            2,
            16,
            {"HCCL_CONNECT_TIMEOUT": "7200"},
            dict(INTERFACES, VLLM_HOST_IP="192.0.2.1", HCCL_INTRA_PCIE_ENABLE="1", HCCL_INTRA_ROCE_ENABLE="0"),
        ),
    ],
)
def test_variables_of_a_member(change, count, chips, env, found):
    assert network_env(hosts(change)[0], count, chips, env) == found


def test_a_310p_host_has_a_container_network():
    assert network_env(hosts({}, npu=duo_facts())[0], 1, 8, {}) == {}
    assert "HCCL_IF_IP" in network_env(hosts({}, npu=duo_facts())[0], 2, 16, {})


def test_a3_hosts_keep_their_links():
    env = network_env(hosts({}, npu=a3_facts())[0], 2, 32, {})
    assert env["HCCL_CONNECT_TIMEOUT"] == "1200"
    assert "HCCL_INTRA_ROCE_ENABLE" not in env


@pytest.mark.parametrize(
    ("soc", "model", "ray", "asked", "memory", "size", "why"),
    [
        ("a2", "DeepSeek-R1-W8A8", False, None, None, 1, "on this chip"),
        ("310p", "", False, None, None, 10, "on this chip"),
        ("a5", "", False, None, None, 16, "on this chip"),
        ("a3", "Eco-Tech/DeepSeek-V4-Flash-w8a8-mtp", False, None, 2000 * GIB, 512, "DeepSeek-V4"),
        ("a3", "DeepSeek-V4-Pro", False, None, 512 * GIB, 256, "half of the memory"),
        ("a2", "", True, None, 100 * GIB, 16, "Ray"),
        ("a2", "", True, 3 * GIB, GIB, 3, "given"),
    ],
)
def test_shared_memory(soc, model, ray, asked, memory, size, why):
    found, reason = shm_size(soc, model, ray, asked, memory)
    assert found == size * GIB
    assert why in reason
