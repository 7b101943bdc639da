# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.
"""The pod of an exported engine: its container, volumes, probes and limits. Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._engine_docker_spec import (
    DRIVER,
    DRIVER_OPTIONAL,
    DRIVER_REQUIRED,
    NETWORK_FILE,
)
from ansible_collections.npufleet.ascend.plugins.module_utils._export_compose import doubled
from ansible_collections.npufleet.ascend.plugins.module_utils._export_document import Document
from ansible_collections.npufleet.ascend.plugins.module_utils._export_probe import probe_command
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_devices import OUTER
from ansible_collections.npufleet.ascend.plugins.module_utils._readiness import COMPLETION_SECONDS
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_values import parse_cpus

GIB = 1024**3
SECRET_KEY = "api-key"
# Variable of the pod with its address, see listens().
POD_IP = "POD_IP"
LOOPBACK = ("127.", "::1", "localhost")
WILDCARDS = ("", "0.0.0.0", "::")
START_PERIOD = 10
# Without a type Kubernetes makes a folder where a file or the driver is missing. What a mount of the user is, is not known here.
FOLDERS = (DRIVER, "/usr/local/dcmi")
FILES = tuple(path for path in (*DRIVER_REQUIRED, *DRIVER_OPTIONAL, NETWORK_FILE) if path not in FOLDERS)


class Cluster(t.NamedTuple):
    """What only the cluster knows. ``resource`` is the name of NPUs, ``node`` the label kubernetes.io/hostname of the host."""

    resource: t.Optional[str] = None
    node: t.Optional[str] = None
    namespace: t.Optional[str] = None
    secret: t.Optional[str] = None
    runtime_class: t.Optional[str] = None
    start_seconds: int = 3600

    def secret_of(self, document: Document) -> str:
        """Name of the Secret with the key of the clients."""
        return self.secret or "npufleet-engine-{0}-key".format(document.engine.replace("_", "-").strip("-"))


def pod_spec(document: Document, cluster: Cluster) -> t.Dict[str, t.Any]:
    """Return the spec of the pod."""
    host_network = document.group or document.network == "host"
    spec: t.Dict[str, t.Any] = {
        "containers": [_container(document, cluster)],
        "volumes": _volumes(document, cluster),
        "terminationGracePeriodSeconds": document.stop_timeout,
        "automountServiceAccountToken": False,
        # A Service of the name vllm would set VLLM_PORT to an address, and the engine reads that as its port (vLLM docs, env_vars).
        "enableServiceLinks": False,
        "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
    }
    if host_network:
        spec.update(hostNetwork=True, dnsPolicy="ClusterFirstWithHostNet")
    if cluster.node:
        spec["nodeSelector"] = {"kubernetes.io/hostname": cluster.node}
    runtime = cluster.runtime_class or document.oci_runtime
    if runtime:
        spec["runtimeClassName"] = runtime
    return spec


def listens(document: Document) -> str:
    """Address that the engine listens on in the pod; empty for that of the pod.

    A loopback address is reached by no other pod, no Service and no probe, so the address of the pod stands in for it.
    """
    if document.network != "host":
        return "0.0.0.0"
    return "" if document.host.startswith(LOOPBACK) else document.host or "0.0.0.0"


def _container(document: Document, cluster: Cluster) -> t.Dict[str, t.Any]:
    words = _command(document)
    container: t.Dict[str, t.Any] = {"name": "engine", "image": document.image, "imagePullPolicy": "IfNotPresent"}
    entrypoint = document.entrypoint
    if entrypoint is None:
        container["args"] = words
    else:
        container["command"] = [*doubled(entrypoint), *words] if entrypoint else words
    container["env"] = [{"name": name, "value": doubled(value)} for name, value in sorted(document.env.items()) if name != OUTER]
    if not document.headless:
        container["env"].append({"name": POD_IP, "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}})
        container["ports"] = [{"name": "http", "containerPort": document.port, "protocol": "TCP"}]
        container.update(_probes(document, cluster))
    container["resources"] = _resources(document, cluster)
    container["securityContext"] = {
        "privileged": False,
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": document.cap_drop, "add": document.cap_add},
    }
    container["volumeMounts"] = _volume_mounts(document)
    return container


def _command(document: Document) -> t.List[str]:
    """The command with the address that the engine listens on in a pod. Of a variable in it Kubernetes keeps the sign by doubling."""
    words = t.cast(t.List[str], doubled(document.command))
    if not document.headless and not listens(document):
        place = words.index("--host") + 1 if "--host" in words[:-1] else 0
        if place:
            words[place] = "$({0})".format(POD_IP)
    return words


def _resources(document: Document, cluster: Cluster) -> t.Dict[str, t.Any]:
    resources: t.Dict[str, t.Any] = {}
    if document.cpuset:
        resources["requests"] = {"cpu": str(len(parse_cpus(document.cpuset)))}
    if document.chips:
        for part in ("requests", "limits"):
            resources.setdefault(part, {})[str(cluster.resource)] = str(document.chips)
    return resources


def _probes(document: Document, cluster: Cluster) -> t.Dict[str, t.Any]:
    """Started means one good completion, and until then the other probes wait. After that /health has to do: a completion asks a busy engine."""
    address = listens(document)
    get: t.Dict[str, t.Any] = {"path": "/health", "port": "http"}
    if address not in WILDCARDS:
        get["host"] = address
    inside = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(address, address)
    command = probe_command(inside, document.port, document.model, document.key_file)
    return {
        "startupProbe": {
            "exec": {"command": command},
            "periodSeconds": START_PERIOD,
            "timeoutSeconds": int(COMPLETION_SECONDS),
            "failureThreshold": max(1, -(-cluster.start_seconds // START_PERIOD)),
        },
        "readinessProbe": {"httpGet": get, "periodSeconds": 5, "timeoutSeconds": 5, "failureThreshold": 2},
        # A minute of silence, as an engine under load may be slow; 503 says that it is dead (own estimate).
        "livenessProbe": {"httpGet": dict(get), "periodSeconds": 15, "timeoutSeconds": 10, "failureThreshold": 4},
    }


def _volumes(document: Document, cluster: Cluster) -> t.List[t.Dict[str, t.Any]]:
    limit = "{0}Gi".format(document.shm_bytes // GIB) if document.shm_bytes % GIB == 0 else str(document.shm_bytes)
    volumes: t.List[t.Dict[str, t.Any]] = [{"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": limit}}]
    for place, mount in enumerate(document.mounts):
        name = "mount-{0}".format(place)
        if mount.target == document.key_file:
            items = [{"key": SECRET_KEY, "path": mount.target.rpartition("/")[2]}]
            volumes.append({"name": name, "secret": {"secretName": cluster.secret_of(document), "defaultMode": 0o400, "items": items}})
        elif mount.target == document.work:
            volumes.append({"name": name, "emptyDir": {}})
        else:
            volumes.append({"name": name, "hostPath": _host_path(mount.source, mount.target, document)})
    return volumes


def _host_path(source: str, target: str, document: Document) -> t.Dict[str, str]:
    if target in FOLDERS or target == document.model_path:
        return {"path": source, "type": "Directory"}
    return {"path": source, "type": "File"} if target in FILES else {"path": source}


def _volume_mounts(document: Document) -> t.List[t.Dict[str, t.Any]]:
    mounts: t.List[t.Dict[str, t.Any]] = [{"name": "shm", "mountPath": "/dev/shm"}]
    for place, mount in enumerate(document.mounts):
        # The folder, and not the file: Kubernetes brings a Secret that changed into a folder only.
        target = mount.target.rpartition("/")[0] if mount.target == document.key_file else mount.target
        mounts.append({"name": "mount-{0}".format(place), "mountPath": target, "readOnly": mount.read_only})
    return mounts
