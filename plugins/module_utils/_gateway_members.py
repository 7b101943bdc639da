# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Which engines of an inventory stand behind a gateway, and where it finds them. Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._engine_inventory import PREFIX, Variables, instances, options
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError

Member = t.Dict[str, t.Any]

LOOPBACK = ("127.0.0.1", "localhost", "::1")
WILDCARD = ("0.0.0.0", "::")
# What the role vllm_engine does without these variables.
DEFAULTS = {"host": "127.0.0.1", "port": 8000, "name": "deepseek", "hosts": 1, "state": "started"}


def members(variables: t.Mapping[str, Variables], names: t.Sequence[str], here: str, model: t.Optional[str] = None) -> t.List[Member]:
    """Return ``{"name", "address", "port"}`` of each engine, as vllm_gateway_engines takes them.

    An engine has the name of its host, and with vllm_engine_instances that and its own. Of an engine on several hosts the head alone has
    an API.

    :param variables: variables of all hosts, by name
    :param names: hosts with engines, in the order of the inventory
    :param here: the host of the gateway
    :param model: the model that clients ask for; without it that of the first engine
    :raises NpufleetError: an engine listens where the gateway does not reach it
    """
    model = model or first_model(variables, names)
    found: t.List[Member] = []
    ranks: t.Dict[str, int] = {}
    for host in names:
        own = variables[host]
        if own.get("npufleet_gateway_members"):
            found += [dict(member) for member in own["npufleet_gateway_members"]]
            continue
        for instance in instances(own):
            engine = _options(own, instance)
            rank = ranks[engine["name"]] = ranks.get(engine["name"], -1) + 1
            if engine["state"] in ("absent", "stopped") or engine.get("ready_url") or rank % max(int(engine["hosts"]), 1):
                continue
            if model_name(engine) == model:
                name = host + "-" + engine["name"] if own.get(PREFIX + "instances") else host
                found.append({"name": name, "address": _address(own, host, engine["host"], here), "port": int(engine["port"])})
    return found


def first_model(variables: t.Mapping[str, Variables], names: t.Sequence[str]) -> t.Optional[str]:
    """The model of the first engine, or None where there is no engine."""
    for host in names:
        for instance in instances(variables[host]):
            engine = _options(variables[host], instance)
            if engine["state"] not in ("absent", "stopped"):
                return model_name(engine)
    return None


def model_name(engine: Variables) -> t.Optional[str]:
    """The name that clients ask for."""
    return engine.get("served_model_name") or str(engine.get("model") or "").rstrip("/").rpartition("/")[2] or None


def _options(own: Variables, instance: Variables) -> t.Dict[str, t.Any]:
    keys = ("host", "port", "name", "hosts", "state", "model", "served_model_name", "ready_url")
    return {key: DEFAULTS.get(key) if value in (None, "") else value for key, value in options(own, instance, keys).items()}


def _address(own: Variables, host: str, listens: str, here: str) -> str:
    if host == here:
        return "127.0.0.1" if listens in (*LOOPBACK, *WILDCARD) else listens
    if listens in LOOPBACK:
        raise NpufleetError(
            "the engine of {0} listens on {1}, which {2} does not reach".format(host, listens, here),
            where="vllm_engine_host",
            remedy="Set it to an address of the host, or to 0.0.0.0; and let the firewall of the host admit the gateway alone",
        )
    return str(own.get("npufleet_address") or own.get("ansible_host") or host) if listens in WILDCARD else listens
