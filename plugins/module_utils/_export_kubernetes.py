# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.
"""Containers as manifests of Kubernetes: one Deployment an engine, and a Service where it has an API. Pure.

A Deployment, not a StatefulSet: an engine is one pod on one host, with no volume of its own and no name that others know it by; the ranks of
a group are words of the commands. Recreate, as chips have to be given back before the next pod can get them.

Chips come from the Ascend device plugin. Device nodes as hostPath volumes would need a privileged container, since the devices cgroup lets no
other open them.
"""

from __future__ import annotations

import hashlib
import re
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._export_document import Document, ExportError
from ansible_collections.npufleet.ascend.plugins.module_utils._export_kubernetes_pod import SECRET_KEY, Cluster, pod_spec

# Names of objects are labels of the DNS (RFC 1123), and that of a Service begins with a letter (RFC 1035).
NAME_LENGTH = 63
LABEL_SELECTOR = "npufleet.ascend/deployment"
ANNOTATION_SPEC = "npufleet.ascend/spec"
LABEL_SPEC = "npufleet.ascend.spec"


def manifests(documents: t.Sequence[Document], cluster: Cluster) -> t.List[t.Dict[str, t.Any]]:
    """Return the objects in the order in which they are applied.

    :raises ExportError: something that Kubernetes has to be told is missing
    """
    result: t.List[t.Dict[str, t.Any]] = []
    names: t.Set[str] = set()
    for document in documents:
        _check(document, cluster)
        name = object_name(document.name, cluster.node)
        if name in names:
            raise ExportError(
                "two engines would have the name {0} in Kubernetes".format(name), where="input", remedy="Export each in a call of its own"
            )
        names.add(name)
        result.append(_deployment(document, cluster, name))
        if not document.headless:
            result.append(_service(document, cluster, name))
    return result


def manifests_head(documents: t.Sequence[Document], cluster: Cluster) -> t.List[str]:
    """What a person has to know first, as lines of a comment."""
    lines = ["What npufleet.ascend runs on this host, for Kubernetes. Nothing here is a secret."]
    if any(document.chips for document in documents):
        lines.append("Needs the Ascend device plugin on the node, which offers {0}.".format(cluster.resource))
    paths = sorted(
        {mount.source for document in documents for mount in document.mounts if mount.target not in (document.key_file, document.work)}
    )
    lines.append("The node has to have: {0}".format(" ".join(paths)))
    where = "--namespace {0} ".format(cluster.namespace) if cluster.namespace else ""
    secrets = sorted({cluster.secret_of(document) for document in documents if document.key_file})
    lines += ["kubectl {0}create secret generic {1} --from-file={2}=FILE".format(where, secret, SECRET_KEY) for secret in secrets]
    return lines


def object_name(name: str, node: t.Optional[str]) -> str:
    """Name of the objects of an engine, unique by the node, as an inventory has engines of one name on many hosts."""
    text = re.sub(r"[^a-z0-9-]+", "-", "-".join([name, *([node] if node else [])]).lower()).strip("-")
    text = text if re.match("[a-z]", text) else "engine-" + text
    if len(text) > NAME_LENGTH:
        digest = hashlib.sha256(text.encode()).hexdigest()[:8]
        text = "{0}-{1}".format(text[: NAME_LENGTH - len(digest) - 1].rstrip("-"), digest)
    return text


def _check(document: Document, cluster: Cluster) -> None:
    if document.chips and not cluster.resource:
        raise ExportError(
            "which resource of Kubernetes the NPUs of {0} are is not known".format(document.engine),
            where="soc",
            remedy="Give soc (a2, a3, 310p or a5), or resource, the name that the device plugin of the cluster uses",
        )
    if document.group and not cluster.node:
        raise ExportError(
            "{0} is a member of a group on several hosts, and its addresses are those of its host".format(document.engine),
            where="node",
            remedy="Give node, the label kubernetes.io/hostname of the node that it belongs to",
        )


def _metadata(document: Document, cluster: Cluster, name: str) -> t.Dict[str, t.Any]:
    metadata: t.Dict[str, t.Any] = {"name": name, "labels": _labels(document, name)}
    if cluster.namespace:
        metadata["namespace"] = cluster.namespace
    if LABEL_SPEC in document.labels:
        metadata["annotations"] = {ANNOTATION_SPEC: document.labels[LABEL_SPEC]}
    return metadata


def _labels(document: Document, name: str) -> t.Dict[str, str]:
    return {
        "app.kubernetes.io/name": "vllm",
        "app.kubernetes.io/instance": document.engine.rstrip("-_"),
        LABEL_SELECTOR: name,
    }


def _deployment(document: Document, cluster: Cluster, name: str) -> t.Dict[str, t.Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": _metadata(document, cluster, name),
        "spec": {
            "replicas": 1,
            "strategy": {"type": "Recreate"},
            "revisionHistoryLimit": 2,
            # Longer than the engine may take, so that a slow load of the weights is no failed deployment.
            "progressDeadlineSeconds": cluster.start_seconds + 600,
            "selector": {"matchLabels": {LABEL_SELECTOR: name}},
            "template": {"metadata": {"labels": _labels(document, name)}, "spec": pod_spec(document, cluster)},
        },
    }


def _service(document: Document, cluster: Cluster, name: str) -> t.Dict[str, t.Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _metadata(document, cluster, name),
        "spec": {
            "type": "ClusterIP",
            "selector": {LABEL_SELECTOR: name},
            "ports": [{"name": "http", "port": document.port, "targetPort": "http", "protocol": "TCP"}],
        },
    }
