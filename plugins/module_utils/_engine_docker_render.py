# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""A spec as the Docker Engine API wants it (``create_body``), as a person types it (``docker_command``) and as a document. Pure; one source."""

from __future__ import annotations

import hashlib
import json
import shlex
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._engine_docker_spec import CHIP_NODE, Container
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_spec import EngineSpec
from ansible_collections.npufleet.ascend.plugins.module_utils._export_docker_run import run_words
from ansible_collections.npufleet.ascend.plugins.module_utils._export_document import read_documents
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_devices import OUTER
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_values import parse_cpus

# Labels of a container of ours: the folder of its engine, and the hash of what it was made from. No secret is in either.
LABEL_ENGINE = "npufleet.ascend.engine"
LABEL_SPEC = "npufleet.ascend.spec"

# Options that only an engine on several hosts without Ray has (docs/planning.md, several hosts).
GROUP_OPTIONS = frozenset({"--headless", "--data-parallel-address", "--nnodes", "--master-addr"})

KEY_NAME = "secret.key"
KEY_INSIDE = "/run/npufleet/api-key"

# Where images have jemalloc: Ubuntu on both machines, openEuler. The images of vllm-ascend set it in ~/.bashrc alone, which a service
# never reads (vllm-ascend #9141); a path that is not there would print an error of ld.so at every start of a program (gpustack #5660).
JEMALLOC = (
    "/usr/lib/aarch64-linux-gnu/libjemalloc.so.2",
    "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2",
    "/usr/lib64/libjemalloc.so.2",
)
# vLLM reads a key from its command line, from a file given with --config, or from VLLM_API_KEY. The first two end up in its log ("non-default
# args", log_non_default_args of vLLM), and the environment of a container is shown by `docker inspect`. So it is read here, from a file.
READ_KEY = "VLLM_API_KEY=$(cat {0}) && export VLLM_API_KEY || exit 1"
PRELOAD = (
    'for library in {0}; do if [ -e "$library" ]; then LD_PRELOAD="${{LD_PRELOAD:+$LD_PRELOAD:}}$library"; export LD_PRELOAD; fi; done'
)
# Mooncake's transport lies there (vllm-ascend #6949).
LIBRARY_PATH = 'LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}/usr/local/lib"; export LD_LIBRARY_PATH'


def container_of(spec: EngineSpec) -> Container:
    """The container of a spec.

    :raises ValueError: it has none
    """
    if spec.container is None:
        raise ValueError("the engine {0} runs in no container".format(spec.name))
    return spec.container


def all_mounts(spec: EngineSpec) -> t.List[t.Tuple[str, str, bool]]:
    """(path on the host, path in the container, read-only) of every mount, that of the key among them."""
    mounts = []
    for text in container_of(spec).mounts:
        source, target, mode = text.split(":")
        mounts.append((source, target, mode == "ro"))
    if spec.secret_env:
        mounts.append((spec.working_directory + "/" + KEY_NAME, KEY_INSIDE, True))
    return mounts


def command(spec: EngineSpec) -> t.List[str]:
    """The words after the image: the engine, behind a line of shell where something must be set in the container."""
    env = dict(spec.env)
    lines = [READ_KEY.format(KEY_INSIDE)] if spec.secret_env else []
    libraries = [part for part in env.get("LD_PRELOAD", "").replace(" ", ":").split(":") if part]
    if spec.accelerator == "ascend" or libraries:
        lines.append(PRELOAD.format(" ".join(shlex.quote(path) for path in libraries or JEMALLOC)))
    if spec.accelerator == "ascend":
        lines.append(LIBRARY_PATH)
    if not lines:
        return list(spec.argv)
    return ["/bin/sh", "-c", "; ".join([*lines, 'exec "$@"']), "npufleet-engine", *spec.argv]


def environment(spec: EngineSpec) -> t.List[str]:
    """``NAME=VALUE`` as the container gets them. Libraries to preload are looked for in the container first, see command()."""
    return ["{0}={1}".format(name, value) for name, value in spec.env if name != "LD_PRELOAD"]


def create_body(spec: EngineSpec) -> t.Dict[str, t.Any]:
    """Return the body of ``POST /containers/create`` (Docker Engine API 1.41), with the labels."""
    body = _body(spec)
    body["Labels"] = {LABEL_ENGINE: spec.working_directory, LABEL_SPEC: spec_hash(spec)}
    return body


def spec_hash(spec: EngineSpec) -> str:
    """SHA-256 of what the container is made from. Secrets are not in it: everybody who may use Docker can read a label."""
    return hashlib.sha256(json.dumps(_body(spec), sort_keys=True).encode()).hexdigest()


def _body(spec: EngineSpec) -> t.Dict[str, t.Any]:
    container = container_of(spec)
    body: t.Dict[str, t.Any] = {
        "Image": container.image,
        "Cmd": command(spec),
        "Env": environment(spec),
        "StopTimeout": spec.stop_seconds,
        "HostConfig": _host_config(spec, container),
    }
    if container.entrypoint is not None:
        # An empty list would mean "as in the image".
        body["Entrypoint"] = list(container.entrypoint) or [""]
    if container.published:
        address, port = container.published
        body["ExposedPorts"] = {"{0}/tcp".format(port): {}}
        body["HostConfig"]["PortBindings"] = {"{0}/tcp".format(port): [{"HostIp": address, "HostPort": str(port)}]}
    if container.address:
        family = "IPv6Address" if ":" in container.address else "IPv4Address"
        body["NetworkingConfig"] = {"EndpointsConfig": {container.network: {"IPAMConfig": {family: container.address}}}}
    return body


def _host_config(spec: EngineSpec, container: Container) -> t.Dict[str, t.Any]:
    config: t.Dict[str, t.Any] = {
        "NetworkMode": container.network,
        "RestartPolicy": {"Name": container.restart, "MaximumRetryCount": 0},
        "Privileged": False,
        "CapDrop": ["ALL"],
        "CapAdd": list(container.cap_add),
        "SecurityOpt": ["no-new-privileges"],
        "Devices": [
            {"PathOnHost": host, "PathInContainer": inside, "CgroupPermissions": "rwm"}
            for host, inside in (device.split(":") for device in container.devices)
        ],
        # Not as Binds: for those the engine makes a folder where a file or the driver is missing.
        "Mounts": [
            {"Type": "bind", "Source": source, "Target": target, "ReadOnly": read_only} for source, target, read_only in all_mounts(spec)
        ],
        "ShmSize": container.shm_bytes,
        "LogConfig": {"Type": "json-file", "Config": {"max-size": container.log_size, "max-file": str(container.log_files)}},
    }
    if container.cpuset:
        config["CpusetCpus"] = container.cpuset
    if container.oci_runtime:
        config["Runtime"] = container.oci_runtime
    return config


def docker_command(spec: EngineSpec) -> t.List[str]:
    """Return the ``docker run`` line that makes the same container. The key is not in it; its file must be there (mode 0600)."""
    return run_words(read_documents(container_document(spec))[0])


def container_document(spec: EngineSpec) -> t.Dict[str, t.Any]:
    """Return the container as a document of plain values, from which every export is rendered. No secret is in it.

    ``devices`` and ``mounts`` are rows of source and target, ``chips`` the number of NPUs, ``group`` tells a member of an engine on several
    hosts, and ``host`` is where a client of this host finds ``port``.
    """
    container, body = container_of(spec), create_body(spec)
    config = body["HostConfig"]
    return {
        "engine": spec.name,
        "name": container.name,
        "image": container.image,
        "entrypoint": None if container.entrypoint is None else list(container.entrypoint),
        "command": body["Cmd"],
        "env": dict(text.split("=", 1) for text in body["Env"]),
        "devices": [{"source": row["PathOnHost"], "target": row["PathInContainer"]} for row in config["Devices"]],
        "chips": _chips(spec),
        "mounts": [{"source": row["Source"], "target": row["Target"], "read_only": row["ReadOnly"]} for row in config["Mounts"]],
        "work": spec.working_directory + "/work",
        "shm_bytes": config["ShmSize"],
        "cpuset": container.cpuset,
        "network": container.network,
        "address": container.address,
        "ports": [{"address": address, "port": port} for address, port in ([container.published] if container.published else [])],
        "cap_drop": config["CapDrop"],
        "cap_add": config["CapAdd"],
        "security_opt": config["SecurityOpt"],
        "oci_runtime": container.oci_runtime,
        "restart": container.restart,
        "stop_timeout": spec.stop_seconds,
        "log_driver": config["LogConfig"]["Type"],
        "log_options": config["LogConfig"]["Config"],
        "labels": body["Labels"],
        "docker_host": container.docker_host,
        "host": spec.host,
        "port": spec.port,
        "model": spec.served_model_name,
        "model_path": spec.model,
        "key_file": KEY_INSIDE if spec.secret_env else None,
        "headless": spec.headless,
        "group": spec.ray is not None or not GROUP_OPTIONS.isdisjoint(spec.argv),
    }


def _chips(spec: EngineSpec) -> int:
    selected = dict(spec.env).get(OUTER)
    nodes = [text.rpartition(":")[2] for text in container_of(spec).devices]
    return len(parse_cpus(selected)) if selected else sum(1 for node in nodes if CHIP_NODE.match(node))
