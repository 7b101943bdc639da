# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Addresses and interfaces for HCCL, gloo and tensorpipe, time limits between hosts, and shared memory. Pure."""

from __future__ import annotations

import ipaddress
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._plan_host import Host
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_values import PlanError, gib

GIB = 1024**3

# Which interface the address belongs to, for the three libraries that ask (recipes of vllm-ascend).
INTERFACES = ("GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME", "HCCL_SOCKET_IFNAME")
# The default of HCCL is 120 s, and hosts of a group that load weights at different speed miss it; recipes of vllm-ascend have 600 to 7200.
CONNECT_TIMEOUT = ("HCCL_CONNECT_TIMEOUT", "1200")
# Two or more A2 hosts run out of queue pairs when chips of one host talk over RoCE (EI0007, vllm-ascend #5947, #5993).
A2_GROUP = {"HCCL_INTRA_PCIE_ENABLE": "1", "HCCL_INTRA_ROCE_ENABLE": "0"}

# --shm-size in the docker run lines of vllm-ascend: a limit, not a reservation. Ray: own estimate, its object store needs far more than
# 64 MB (gpustack #5014).
SHM = {"a2": GIB, "a3": GIB, "310p": 10 * GIB, "a5": 16 * GIB}
SHM_V4, SHM_RAY = 512 * GIB, 16 * GIB


def check_group(hosts: t.Sequence[Host], where: str) -> None:
    """Hosts of a group reach each other by addresses that are their own.

    :raises PlanError: an address or interface is missing, is no address of the host alone, or two hosts have the same
    """
    seen: t.Dict[str, str] = {}
    for host in hosts:
        if host.address is None or host.interface is None:
            raise PlanError(
                "host {0} is one of a group and its {1} is not known".format(host.name, "address" if host.address is None else "interface"),
                where,
                "Give address and interface in {0}: those by which the hosts of the group reach each other".format(host.where),
            )
        problem = _address_problem(host.address)
        if problem is None and host.address in seen:
            problem = "host {0} has it too".format(seen[host.address])
        if problem is not None:
            raise PlanError(
                "the address {0} of host {1} cannot be: {2}".format(host.address[:60], host.name, problem),
                host.where + ".address",
                "Give the IP address by which the other hosts reach it",
            )
        seen[host.address] = host.name


def _address_problem(address: str) -> t.Optional[str]:
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return "it is no IP address"
    return "it does not reach the host from outside" if parsed.is_loopback or parsed.is_unspecified or parsed.is_multicast else None


def network_env(host: Host, hosts: int, chips: int, env: t.Mapping[str, str]) -> t.Dict[str, str]:
    """Return the variables of one member of an engine.

    One chip needs none. Several on one host get them where address and interface are known: an engine that has to guess may take the
    interface of a container network. Containers on 310P have a network of their own, which that interface is not in (vllm-ascend).

    :param hosts, chips: of the whole engine
    :param env: variables that are set already and stay as they are
    """
    found: t.Dict[str, str] = {}
    own_network = host.soc == "310p" and hosts == 1
    if chips > 1 and not own_network and host.address is not None and host.interface is not None and _address_problem(host.address) is None:
        found["HCCL_IF_IP"] = host.address
        found.update({name: host.interface for name in INTERFACES})
    if hosts > 1:
        found.update([CONNECT_TIMEOUT])
        found["VLLM_HOST_IP"] = host.address or ""
        if host.soc == "a2":
            found.update(A2_GROUP)
    return {name: value for name, value in found.items() if name not in env}


def shm_size(soc: str, model_name: str, ray: bool, asked: t.Optional[int], memory_bytes: t.Optional[int]) -> t.Tuple[int, str]:
    """Return the limit of /dev/shm for the container in bytes, at most half of the host's memory, and why."""
    if asked is not None:
        return asked, "shared memory {0}: given".format(gib(asked))
    size, why = SHM.get(soc, GIB), "as vllm-ascend runs its containers on this chip"
    if "deepseek-v4" in model_name.lower():
        size, why = SHM_V4, "as vllm-ascend runs DeepSeek-V4"
    elif ray and size < SHM_RAY:
        size, why = SHM_RAY, "the object store of Ray lies there"
    if memory_bytes and size > memory_bytes // 2:
        size, why = max(memory_bytes // 2, 64 * 1024**2), "half of the memory of the host"
    return size, "shared memory {0}: {1}".format(gib(size), why)
