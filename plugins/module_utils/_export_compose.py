# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.
"""Containers as a document of the Compose specification. Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._engine_docker_options import SUBOPTIONS
from ansible_collections.npufleet.ascend.plugins.module_utils._export_docker_run import published
from ansible_collections.npufleet.ascend.plugins.module_utils._export_document import Document, ExportError

# What the container engine has of itself, as network_mode takes it; anything else is a network that exists.
MODES = {"host": "host", "bridge": "bridge", "none": "none", "default": "bridge"}


def compose_document(documents: t.Sequence[Document]) -> t.Dict[str, t.Any]:
    """Return the document, with one service an engine.

    :raises ExportError: the engines belong to different container engines
    """
    hosts = sorted({document.docker_host for document in documents})
    if len(hosts) > 1:
        raise ExportError(
            "one compose file is for one container engine, and these are for {0}".format(", ".join(hosts)),
            where="input",
            remedy="Export the engines of each in a call of its own",
        )
    result: t.Dict[str, t.Any] = {"services": {document.name: _service(document) for document in documents}}
    networks = sorted({document.network for document in documents} - set(MODES))
    if networks:
        result["networks"] = {name: {"name": name, "external": True} for name in networks}
    return t.cast(t.Dict[str, t.Any], doubled(result))


def compose_head(documents: t.Sequence[Document]) -> t.List[str]:
    """What a person has to know first, as lines of a comment."""
    lines = ["What npufleet.ascend runs on this host, for Docker Compose. Nothing here is a secret."]
    if documents[0].docker_host != SUBOPTIONS["docker_host"]["default"]:
        lines.append("Set DOCKER_HOST={0}".format(documents[0].docker_host))
    for document in documents:
        lines.append("Make this folder first, mode 0700: {0}".format(document.work))
        if document.key_source:
            lines.append("Put the key of the clients into this file first, mode 0600: {0}".format(document.key_source))
    return lines


def doubled(value: t.Any) -> t.Any:
    """Every ``$`` as ``$$``: Compose and Kubernetes replace variables in texts, and read ``$$`` as the sign itself."""
    if isinstance(value, str):
        return value.replace("$", "$$")
    if isinstance(value, dict):
        return {key: doubled(one) for key, one in value.items()}
    return [doubled(one) for one in value] if isinstance(value, list) else value


def _service(document: Document) -> t.Dict[str, t.Any]:
    service: t.Dict[str, t.Any] = {"container_name": document.name, "image": document.image}
    if document.entrypoint is not None:
        service["entrypoint"] = document.entrypoint
    service["command"] = document.command
    service["environment"] = document.env
    if document.network in MODES:
        service["network_mode"] = MODES[document.network]
    else:
        family = "ipv6_address" if ":" in (document.address or "") else "ipv4_address"
        service["networks"] = {document.network: {family: document.address} if document.address else {}}
    optional = {
        "ports": [published(*pair) for pair in document.ports],
        "devices": ["{0}:{1}".format(device.source, device.target) for device in document.devices],
        "cpuset": document.cpuset,
        "runtime": document.oci_runtime,
    }
    service.update((key, value) for key, value in optional.items() if value)
    service.update(
        volumes=[
            # As `docker run --mount`: a file or a driver that is missing is an error, and no folder is made in its place.
            {"type": "bind", "source": one.source, "target": one.target, "read_only": one.read_only, "bind": {"create_host_path": False}}
            for one in document.mounts
        ],
        shm_size=document.shm_bytes,
        cap_drop=document.cap_drop,
        cap_add=document.cap_add,
        security_opt=document.security_opt,
        restart=document.restart,
        stop_grace_period="{0}s".format(document.stop_timeout),
        logging={"driver": document.log_driver, "options": document.log_options},
        labels=document.labels,
    )
    return service
