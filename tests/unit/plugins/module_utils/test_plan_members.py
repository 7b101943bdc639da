# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_layout import Layout
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_members import check_ray, member, ray_node, sizes_of
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_model import Parallel
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_values import PlanError

ONE = Layout(Parallel(4, 1, 4, True), 1, ())
DATA = Layout(Parallel(4, 1, 8, True), 4, ())
COPY = Layout(Parallel(8, 2, 1, False), 2, ())
PORTS = {
    "serving": 8000, "data_parallel_rpc": 13389, "master": 29501, "ray": 6379, "ray_node": "14000-14111", "hccl": "60000-60031",
    "hccl_npu": "61000-61015",
}  # fmt: skip
NODE_PORTS = {"ray_node": "14000-14111", "hccl": "60000-60031", "hccl_npu": "61000-61015"}


def test_a_single_host():
    found = member(ONE, 0, None, PORTS, False)
    assert found == (
        "single",
        False,
        {"tensor_parallel_size": 4, "pipeline_parallel_size": 1, "data_parallel_size": 4, "enable_expert_parallel": True},
        PORTS,
    )
    assert member(ONE, 0, None, PORTS, True) == found


@pytest.mark.parametrize(
    ("rank", "role", "own"),
    [
        (0, "head", {}),
        (1, "member", {"headless": True, "data_parallel_start_rank": 2}),
        (3, "member", {"headless": True, "data_parallel_start_rank": 6}),
    ],
)
def test_native_data_parallel(rank, role, own):
    found = member(DATA, rank, "192.0.2.1", PORTS, False)
    common = {"data_parallel_size_local": 2, "data_parallel_address": "192.0.2.1", "data_parallel_rpc_port": 13389}
    sizes = {"tensor_parallel_size": 4, "pipeline_parallel_size": 1, "data_parallel_size": 8, "enable_expert_parallel": True}
    assert (found.role, found.headless, found.args) == (role, bool(rank), {**sizes, **common, **own})
    assert found.ports == (NODE_PORTS if rank else PORTS)


@pytest.mark.parametrize(("rank", "own"), [(0, {}), (1, {"headless": True})])
def test_a_copy_over_hosts(rank, own):
    found = member(COPY, rank, "192.0.2.1", PORTS, False)
    sizes = {"tensor_parallel_size": 8, "pipeline_parallel_size": 2, "data_parallel_size": 1}
    assert found.args == {**sizes, "nnodes": 2, "node_rank": rank, "master_addr": "192.0.2.1", "master_port": 29501, **own}


def test_ray():
    assert member(COPY, 0, "192.0.2.1", PORTS, True).args["distributed_executor_backend"] == "ray"
    assert member(COPY, 1, "192.0.2.1", PORTS, True) == ("member", True, {}, NODE_PORTS)
    assert ray_node(COPY, "192.0.2.1", "192.0.2.2", PORTS) == {
        "address": "192.0.2.1", "port": 6379, "node_address": "192.0.2.2", "node_ports": "14000-14111", "npus": 8,
    }  # fmt: skip
    check_ray(COPY, True, "here")
    check_ray(DATA, False, "here")
    check_ray(ONE, False, "here")
    with pytest.raises(PlanError, match=r"Ray joins hosts, and the engine runs on one\. Where: here\.distributed\. What to do: Use native"):
        check_ray(ONE, True, "here")
    with pytest.raises(PlanError, match=r"the layout is TP 4 x DP 8 with EP\. Where: here\.distributed"):
        check_ray(DATA, True, "here")


@pytest.mark.parametrize(("layout", "local", "per_host"), [(ONE, 4, 16), (DATA, 2, 8), (COPY, 1, 8)])
def test_sizes(layout, local, per_host):
    sizes = sizes_of(layout)
    assert (sizes["data_parallel_size_local"], sizes["chips_per_host"], sizes["hosts"]) == (local, per_host, layout.hosts)
    assert sizes["chips"] == layout.sizes.chips
