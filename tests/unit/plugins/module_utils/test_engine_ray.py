# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_ray import FEWEST_PORTS, RayError, read_ray
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.engine_fakes import params

HEAD = {"address": "192.0.2.1", "port": 6380, "node_address": "192.0.2.1", "node_ports": "14112-14223", "npus": 8}
MEMBER = dict(HEAD, node_address="192.0.2.2")


def read(ray, **changes):
    return read_ray(params(**{"accelerator": "ascend", "ray": ray, **changes}))


def test_head_and_member():
    head, member = read(HEAD), read(MEMBER)
    assert head == ("192.0.2.1", 6380, "192.0.2.1", (14112, 14223), 8)
    assert (head.head, member.head) == (True, False)
    assert head.gcs == member.gcs == "192.0.2.1:6380"


def test_nothing_is_asked_for_by_default():
    assert read(None) is None
    assert read({}) is None
    assert read_ray({"accelerator": "cpu"}) is None


def test_defaults():
    found = read({"address": "192.0.2.1", "node_address": "192.0.2.1", "npus": 1})
    assert (found.port, found.ports) == (6379, (14000, 14111))


def test_the_cpu_engine_has_no_ray():
    with pytest.raises(
        RayError, match=r"vLLM refuses Ray on the CPU engine \(current platform cpu does not support ray.*Where: ray\. What"
    ):
        read(HEAD, accelerator="cpu")


@pytest.mark.parametrize(
    ("changes", "what", "where"),
    [
        ({"address": "npu-01"}, "'npu-01' is no IPv4 address, and Ray takes no other", "ray.address"),
        ({"node_address": "fd00::1"}, "'fd00::1' is no IPv4 address, and Ray takes no other", "ray.node_address"),
        ({"port": 80}, "the port 80 cannot be", "ray.port"),
        ({"port": 65536}, "the port 65536 cannot be", "ray.port"),
        ({"npus": 0}, "a node of Ray without NPUs serves nothing", "ray.npus"),
        ({"node_ports": "14112"}, "'14112' is no range of 32 ports", "ray.node_ports"),
        ({"node_ports": "14112-14142"}, "'14112-14142' is no range of 32 ports", "ray.node_ports"),
        ({"node_ports": "1000-2000"}, "'1000-2000' is no range of 32 ports", "ray.node_ports"),
        ({"node_ports": "65500-65536"}, "'65500-65536' is no range of 32 ports", "ray.node_ports"),
        ({"node_ports": "a-b"}, "'a-b' is no range of 32 ports", "ray.node_ports"),
        ({"port": 14150}, "port 14150 is that of the head", "ray.node_ports"),
    ],
)
def test_wrong_values(changes, what, where):
    with pytest.raises(RayError) as caught:
        read(dict(HEAD, **changes))
    assert (caught.value.what, caught.value.where) == (what, where)
    assert caught.value.remedy


def test_the_smallest_range():
    assert read(dict(HEAD, node_ports="14112-{0}".format(14112 + FEWEST_PORTS - 1))).ports == (14112, 14143)


@pytest.mark.parametrize(
    ("args", "what", "where"),
    [
        ({"nnodes": 2}, "the option --nnodes joins hosts without Ray", "args.nnodes"),
        ({"node_rank": 0}, "the option --node-rank joins hosts without Ray", "args.node_rank"),
        ({"--master-addr": "192.0.2.1"}, "the option --master-addr joins hosts without Ray", "args.master_addr"),
        ({"headless": True}, "the option --headless joins hosts without Ray", "args.headless"),
        ({"distributed_executor_backend": "mp"}, "the option --distributed-executor-backend is mp", "args.distributed_executor_backend"),
        ({"data_parallel_size": 2}, "data parallel over several hosts is not done with Ray here", "args.data_parallel_size"),
    ],
)
def test_options_that_do_not_go_with_ray(args, what, where):
    with pytest.raises(RayError) as caught:
        read(HEAD, args=args)
    assert (caught.value.what, caught.value.where) == (what, where)
    # A member does not run vLLM, so the options that it has in common with the head do not concern it.
    assert read(MEMBER, args=args) is not None


def test_options_that_go_with_ray():
    args = {"distributed_executor_backend": "ray", "data_parallel_size": 1, "tensor_parallel_size": 8, "headless": False, "nnodes": None}
    assert read(HEAD, args=args) is not None
