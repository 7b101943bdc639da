# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Ports of an engine that no other engine on its hosts has. Pure.

Which ports there are: ``serving`` (API), ``data_parallel_rpc`` (data parallel over several hosts), ``master`` (a copy of the model over
several hosts), ``ray`` (where the nodes of Ray meet, on the head), ``ray_node`` (all others of one node of Ray), ``hccl`` (32 ports from
HCCL_IF_BASE_PORT on, 60000 by default, CANN), ``hccl_npu`` (HCCL_NPU_SOCKET_PORT_RANGE, on the network card of the NPU).
"""

from __future__ import annotations

import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._plan_host import Site
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_values import PlanError, mapping, number

Ports = t.Dict[str, t.Any]


class Range(t.NamedTuple):
    """Where to look for free ports: the first, how many at once, and the last that may begin a range."""

    first: int
    size: int
    last: int


# 8000 is vLLM's; 13389 is that of the recipes of vllm-ascend; 29501 and 6379 are the defaults of vLLM and Ray; HCCL takes 16 ports (CANN 8.0) or 32
# (8.2 to 9.0; reference of environment variables, envref_07_0074). Those of
# a node of Ray lie where Ray has them by itself (10002 to 19999), below the ports that Mooncake and the kernel choose from.
RANGES = {
    "serving": Range(8000, 1, 65535),
    "data_parallel_rpc": Range(13389, 1, 65535),
    "master": Range(29501, 1, 65535),
    "ray": Range(6379, 1, 65535),
    "ray_node": Range(14000, 112, 65424),
    "hccl": Range(60000, 32, 65504),
    "hccl_npu": Range(61000, 16, 65520),
}
BASE_PORT, NPU_PORTS = "HCCL_IF_BASE_PORT", "HCCL_NPU_SOCKET_PORT_RANGE"


def span(value: t.Any) -> t.Tuple[int, ...]:
    """Return the ports of a value of ``ports``: a number, or first and last as in ``60000-60015``; nothing for anything else."""
    first, _dash, last = str(value).partition("-")
    low, high = number(first), number(last or first)
    return tuple(range(low, high + 1)) if low and high and low <= high <= 65535 else ()


def needed(hosts: int, spans: bool, ray: bool, chips: int, apart: bool) -> t.List[str]:
    """Return which ports an engine needs.

    :param spans: one copy of the model lies on several hosts
    :param apart: its chips are of a kind for which HCCL takes other ports on the NPU's card, and other engines may be on the host
    """
    kinds = ["serving"]
    if hosts > 1:
        kinds += ["ray", "ray_node"] if ray else ["master"] if spans else ["data_parallel_rpc"]
    if chips > 1:
        kinds.append("hccl")
        if apart:
            kinds.append("hccl_npu")
    return kinds


def give(
    sites: t.Sequence[Site], kinds: t.Sequence[str], fixed: Ports, recorded: Ports, claimed: t.Set[int], name: str, where: str
) -> Ports:
    """Return ports that are free on all hosts of the engine, and take them.

    :param fixed: ports that somebody gave
    :param recorded: those that the running engine has; kept where they are free
    :param claimed: ports that are given to an engine somewhere and that the planner does not choose by itself
    :raises PlanError: a given port is taken, or none is left
    """
    ports: Ports = {}
    for kind in kinds:
        taken = {port for site in sites for port in site.ports} | {port for value in ports.values() for port in span(value)}
        if kind in fixed:
            ports[kind] = _fixed(kind, fixed[kind], sites, taken, where)
        else:
            old = span(recorded.get(kind))
            kept = len(old) == RANGES[kind].size and not taken.intersection(old)
            ports[kind] = recorded[kind] if kept else _free(RANGES[kind], taken | claimed, kind, where)
    for site in sites:
        site.ports.update({port: "engine " + name for value in ports.values() for port in span(value)})
    return ports


def _fixed(kind: str, value: t.Any, sites: t.Sequence[Site], taken: t.Set[int], where: str) -> t.Any:
    ports = span(value)
    clash = sorted(taken.intersection(ports))
    if clash or not ports:
        holder = next((site.ports[port] for site in sites for port in clash if port in site.ports), "the engine itself")
        what = "has port {0}".format(clash[0]) if clash else "gives no port"
        raise PlanError(
            "port {0} for {1} cannot be: {2} {3}".format(value, kind, holder if clash else "it", what),
            where,
            "Give another one, or leave it out",
        )
    return value


def _free(span_of: Range, taken: t.Set[int], kind: str, where: str) -> t.Any:
    for first in range(span_of.first, span_of.last + 1, span_of.size):
        if taken.isdisjoint(range(first, first + span_of.size)):
            return first if span_of.size == 1 else "{0}-{1}".format(first, first + span_of.size - 1)
    raise PlanError("no port is left for {0}".format(kind), where, "Free ports from {0} on".format(span_of.first))


def fixed_ports(port: t.Optional[int], args: t.Mapping[str, t.Any], env: t.Mapping[str, str], where: str) -> Ports:
    """Return the ports that a person names in the settings of the engine. Those of a recipe are only where the planner would begin as well.

    :raises PlanError: HCCL_IF_BASE_PORT is no port at which 32 begin
    """
    fixed: Ports = {}
    if port is not None:
        fixed["serving"] = port
    for kind, option in (("data_parallel_rpc", "data_parallel_rpc_port"), ("master", "master_port")):
        if args.get(option) is not None:
            fixed[kind] = args[option]
    if BASE_PORT in env:
        base = number(env[BASE_PORT])
        if base is None or not 1024 <= base <= RANGES["hccl"].last:
            raise PlanError(
                "{0} is {1!r}".format(BASE_PORT, env[BASE_PORT][:40]), where + ".env", "Give a port from 1024 to 65504, as HCCL takes 32"
            )
        fixed["hccl"] = "{0}-{1}".format(base, base + RANGES["hccl"].size - 1)
    return fixed


def read_ports(value: t.Any, where: str) -> Ports:
    """Return the ports of a recorded engine; what is no port is left out.

    :raises PlanError: it is no mapping
    """
    return {kind: port for kind, port in mapping(value, where).items() if kind in RANGES and span(port)}


def port_env(ports: Ports) -> t.Dict[str, str]:
    """Return the variables that tell HCCL its ports."""
    env = {}
    if "hccl" in ports:
        env[BASE_PORT] = str(ports["hccl"]).partition("-")[0]
    if "hccl_npu" in ports:
        env[NPU_PORTS] = str(ports["hccl_npu"])
    return env
