# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Options of vLLM for each member of an engine: the sizes of the layout, and on several hosts who is the head and which rank one has. Pure.

Native data parallel: the head serves the API and the others are headless with their first rank. One copy of the model over several hosts:
--nnodes, --node-rank, --master-addr and --master-port (both tried with vLLM's CPU engine on two hosts). Ray: the head alone runs vLLM, and the
others get what _engine_ray.py makes a node of Ray of.
"""

from __future__ import annotations

import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._plan_layout import Layout
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_ports import Ports
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_values import PlanError, Row

# What a member opens itself; the other ports are the head's.
OWN = ("hccl", "hccl_npu", "ray_node")


class Member(t.NamedTuple):
    """Role (single, head or member), whether it runs without API server, its options, and the ports that it opens itself."""

    role: str
    headless: bool
    args: Row
    ports: Ports


def check_ray(layout: Layout, ray: bool, where: str) -> None:
    """:raises PlanError: Ray is asked for where it has nothing to join, or where the documents of vllm-ascend show another way"""
    if ray and layout.hosts == 1:
        raise PlanError(
            "Ray joins hosts, and the engine runs on one",
            where + ".distributed",
            "Use native, or let it run on several hosts (vllm_engine_hosts, host_count)",
        )
    if ray and layout.hosts > 1 and layout.sizes.data > 1:
        raise PlanError(
            "Ray joins hosts for tensor and pipeline parallel, and the layout is {0}".format(layout.sizes),
            where + ".distributed",
            "Use native, which data parallel over several hosts is documented with, or give a layout with data_parallel_size 1, such as "
            "tensor_parallel_size with the chips of a host and pipeline_parallel_size with the number of hosts",
        )


def sizes_of(layout: Layout) -> Row:
    """Return the layout with the names of vLLM's options."""
    sizes = layout.sizes
    return {
        "tensor_parallel_size": sizes.tensor,
        "pipeline_parallel_size": sizes.pipeline,
        "data_parallel_size": sizes.data,
        "data_parallel_size_local": 1 if layout.spans else sizes.data // layout.hosts,
        "enable_expert_parallel": sizes.expert,
        "chips": sizes.chips,
        "chips_per_host": layout.per_host,
        "hosts": layout.hosts,
    }


def member(layout: Layout, rank: int, head: t.Optional[str], ports: Ports, ray: bool) -> Member:
    """Return role and options of the member with this rank.

    :param head: address of the head
    :param ports: those of the whole engine
    """
    args = _sizes(layout)
    role = "single" if layout.hosts == 1 else "head" if rank == 0 else "member"
    own = {kind: value for kind, value in ports.items() if kind in OWN or role != "member"}
    if role == "single":
        return Member(role, False, args, own)
    if ray:
        return Member(role, role == "member", dict(args, distributed_executor_backend="ray") if role == "head" else {}, own)
    if layout.spans:
        args.update(nnodes=layout.hosts, node_rank=rank, master_addr=head, master_port=ports["master"])
    else:
        local = layout.sizes.data // layout.hosts
        args.update(data_parallel_size_local=local, data_parallel_address=head, data_parallel_rpc_port=ports["data_parallel_rpc"])
        if role == "member":
            args["data_parallel_start_rank"] = rank * local
    if role == "member":
        args["headless"] = True
    return Member(role, role == "member", args, own)


def ray_node(layout: Layout, head: t.Optional[str], address: t.Optional[str], ports: Ports) -> Row:
    """Return what the option ``ray`` of vllm_engine takes for one host of an engine with Ray.

    :param head, address: addresses of the head and of the host
    :param ports: those of the whole engine
    """
    return {"address": head, "port": ports["ray"], "node_address": address, "node_ports": ports["ray_node"], "npus": layout.per_host}


def _sizes(layout: Layout) -> Row:
    """Sizes of 1 are vLLM's defaults; they are given where a recipe may say otherwise, which is harmless."""
    args: Row = {"tensor_parallel_size": layout.sizes.tensor}
    args["pipeline_parallel_size"] = layout.sizes.pipeline
    args["data_parallel_size"] = layout.sizes.data
    if layout.sizes.expert:
        args["enable_expert_parallel"] = True
    return args
