# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""One host's part in an engine that Ray spreads over several hosts: who it is, its ports, and what may not go with it. Values only.

The head runs Ray and vLLM, the others run Ray alone. _engine_ray_command.py makes the commands of it.
"""

from __future__ import annotations

import ipaddress
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._engine_args import normal_name
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError

GIB = 1024**3
# Ports of one node of Ray beside that of the head: seven for its own processes, five to spare, the rest for its workers. A worker takes one;
# Ray starts one for each of --num-cpus ahead, vLLM one for each NPU and one for itself.
OWN_PORTS = 12
FEWEST_PORTS = OWN_PORTS + 20
DEFAULT_PORT, DEFAULT_RANGE = 6379, "14000-14111"

SUBOPTIONS: t.Dict[str, t.Dict[str, t.Any]] = {
    "address": {"type": "str", "required": True},
    "port": {"type": "int", "default": DEFAULT_PORT},
    "node_address": {"type": "str", "required": True},
    "node_ports": {"type": "str", "default": DEFAULT_RANGE},
    "npus": {"type": "int", "required": True},
}
# Options of vLLM for several hosts without Ray, and those of data parallel, for which vLLM would want another kind of cluster.
NATIVE = ("nnodes", "node-rank", "master-addr", "master-port", "headless")


class RayError(NpufleetError):
    """An engine that Ray cannot spread."""


class Ray(t.NamedTuple):
    """``address`` and ``port`` are those of the head, ``node_address`` that of this host, ``ports`` the first and last of its own."""

    address: str
    port: int
    node_address: str
    ports: t.Tuple[int, int]
    npus: int

    @property
    def head(self) -> bool:
        """Whether this host is the head."""
        return self.address == self.node_address

    @property
    def gcs(self) -> str:
        """Where the nodes of the cluster meet: the global control store of the head."""
        return "{0}:{1}".format(self.address, self.port)


def read_ray(params: t.Mapping[str, t.Any]) -> t.Optional[Ray]:
    """Return what the option ``ray`` of vllm_engine says, or None where it is not given.

    :raises RayError: Ray cannot run this engine, or a value is none
    """
    given = params.get("ray")
    if not given:
        return None
    if params["accelerator"] == "cpu":
        raise RayError(
            "vLLM refuses Ray on the CPU engine (current platform cpu does not support ray; vLLM 0.32, ray_utils.py)",
            where="ray",
            remedy="Leave it out: without Ray several hosts serve one CPU engine by nnodes, or by data parallel",
        )
    ray = Ray(
        address=_address(given["address"], "ray.address"),
        port=_port(given.get("port") or DEFAULT_PORT, "ray.port"),
        node_address=_address(given["node_address"], "ray.node_address"),
        ports=_range(given.get("node_ports") or DEFAULT_RANGE),
        npus=given["npus"],
    )
    if ray.npus < 1:
        raise RayError("a node of Ray without NPUs serves nothing", where="ray.npus", remedy="Give the number of NPUs of this host, from 1")
    if ray.ports[0] <= ray.port <= ray.ports[1]:
        raise RayError("port {0} is that of the head".format(ray.port), where="ray.node_ports", remedy="Give a range without it")
    if ray.head:
        _check_args(params["args"])
    return ray


def _check_args(args: t.Mapping[str, t.Any]) -> None:
    values = {normal_name(key): value for key, value in args.items() if value is not None and value is not False}
    for name in NATIVE:
        if name in values:
            raise RayError(
                "the option --{0} joins hosts without Ray".format(name),
                where="args." + name.replace("-", "_"),
                remedy="Leave it out, or ray",
            )
    backend = values.get("distributed-executor-backend", "ray")
    if backend != "ray":
        raise RayError(
            "the option --distributed-executor-backend is {0}".format(backend),
            where="args.distributed_executor_backend",
            remedy="Leave it out, or ray",
        )
    if str(values.get("data-parallel-size", 1)) != "1":
        raise RayError(
            "data parallel over several hosts is not done with Ray here",
            where="args.data_parallel_size",
            remedy="Use tensor and pipeline parallel sizes, or leave out ray: vllm-ascend documents data parallel without it",
        )


def _address(text: str, where: str) -> str:
    """Ray 2.48 writes ``ADDRESS:PORT`` without brackets (scripts.py, start), so it takes no IPv6 address."""
    try:
        return str(ipaddress.IPv4Address(text))
    except ValueError:
        raise RayError(
            "{0!r} is no IPv4 address, and Ray takes no other".format(text),
            where=where,
            remedy="Give that by which the other hosts reach it",
        ) from None


def _port(value: int, where: str) -> int:
    if not 1024 <= value <= 65535:
        raise RayError("the port {0} cannot be".format(value), where=where, remedy="Give a port from 1024 to 65535, as Ray wants it")
    return value


def _range(text: str) -> t.Tuple[int, int]:
    first, _dash, last = str(text).partition("-")
    if first.isdecimal() and last.isdecimal() and int(first) >= 1024 and int(first) + FEWEST_PORTS - 1 <= int(last) <= 65535:
        return int(first), int(last)
    raise RayError(
        "{0!r} is no range of {1} ports".format(text, FEWEST_PORTS),
        where="ray.node_ports",
        remedy="Write it as {0}, from 1024 to 65535".format(DEFAULT_RANGE),
    )
