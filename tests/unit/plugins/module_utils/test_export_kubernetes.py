# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import re

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._export_document import ExportError
from ansible_collections.npufleet.ascend.plugins.module_utils._export_kubernetes import manifests, manifests_head, object_name
from ansible_collections.npufleet.ascend.plugins.module_utils._export_kubernetes_pod import Cluster
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.engine_fakes import KEY
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.export_fakes import GROUP, RAY, document, npu, raw

A2 = Cluster(resource="huawei.com/Ascend910", node="npu-01.example.com", namespace="llm")
NAME = "npufleet-engine-demo-npu-01-example-com"


def test_an_engine_is_one_deployment_and_one_service():
    deployment, service = manifests([document(npu())], A2)
    pod = deployment["spec"].pop("template")
    labels = {"app.kubernetes.io/name": "vllm", "app.kubernetes.io/instance": "demo", "npufleet.ascend/deployment": NAME}
    metadata = {
        "name": NAME,
        "namespace": "llm",
        "labels": labels,
        "annotations": {"npufleet.ascend/spec": npu()["labels"]["npufleet.ascend.spec"]},
    }
    selector = {"npufleet.ascend/deployment": NAME}
    assert deployment == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata,
        "spec": {
            "replicas": 1,
            "strategy": {"type": "Recreate"},
            "revisionHistoryLimit": 2,
            "progressDeadlineSeconds": 4200,
            "selector": {"matchLabels": selector},
        },
    }
    assert pod["metadata"]["labels"] == labels
    assert pod["spec"]["nodeSelector"] == {"kubernetes.io/hostname": "npu-01.example.com"}
    assert service == {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata,
        "spec": {
            "type": "ClusterIP",
            "selector": selector,
            "ports": [{"name": "http", "port": 8000, "targetPort": "http", "protocol": "TCP"}],
        },
    }
    assert KEY not in json.dumps([deployment, service, pod])


def test_what_the_cluster_does_not_have_to_say():
    (deployment, service) = manifests([document(raw(name="a_b-"), labels={})], Cluster())
    assert "namespace" not in deployment["metadata"] and "annotations" not in service["metadata"]
    assert deployment["metadata"]["name"] == "npufleet-engine-a-b"
    assert deployment["metadata"]["labels"]["app.kubernetes.io/instance"] == "a_b"
    assert "nodeSelector" not in deployment["spec"]["template"]["spec"]


def test_a_member_without_api_has_no_service():
    for member in (npu(args=dict(GROUP, headless=True)), npu(ray=dict(RAY, node_address="192.0.2.11"))):
        kinds = [one["kind"] for one in manifests([document(member)], A2)]
        assert kinds == ["Deployment"]
    kinds = [one["kind"] for one in manifests([document(npu(ray=RAY))], A2)]
    assert kinds == ["Deployment", "Service"]


@pytest.mark.parametrize(
    ("given", "cluster", "where"),
    [
        ([npu()], Cluster(node="a"), "soc"),
        ([npu(args=GROUP)], A2._replace(node=None), "node"),
        ([npu(ray=RAY)], A2._replace(node=None), "node"),
        ([npu(name="a-b"), npu(name="a_b")], A2, "input"),
    ],
)
def test_what_is_missing_is_named(given, cluster, where):
    with pytest.raises(ExportError, match="Where: {0}. What to do: ".format(where)):
        manifests([document(one) for one in given], cluster)


@pytest.mark.parametrize(
    ("name", "node", "expected"),
    [
        ("npufleet-engine-q", None, "npufleet-engine-q"),
        ("My_Engine.1", "NPU-01.example.com", "my-engine-1-npu-01-example-com"),
        ("0a", None, "engine-0a"),
        ("a-", None, "a"),
    ],
)
def test_names_of_objects(name, node, expected):
    assert object_name(name, node) == expected


def test_long_names_stay_apart():
    names = {object_name("a" * 60, "node-{0}".format(number)) for number in range(3)} | {object_name("a" * 53 + "-" * 20 + "b", None)}
    assert len(names) == 4
    for name in names:
        assert re.match(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?\Z", name), name


def test_what_a_person_has_to_do_first():
    head = manifests_head([document(npu())], A2)
    assert "Needs the Ascend device plugin on the node, which offers huawei.com/Ascend910." in head
    assert "The node has to have: /etc/ascend_install.info /etc/hccn.conf /srv/models/tiny /usr/local/Ascend/driver /usr/local/dcmi" in head
    assert "kubectl --namespace llm create secret generic npufleet-engine-demo-key --from-file=api-key=FILE" in head
    plain = manifests_head([document(raw())], Cluster())
    assert not [line for line in plain if "secret " in line or "plugin" in line]
    own = manifests_head([document(npu())], Cluster(secret="keys"))
    assert "kubectl create secret generic keys --from-file=api-key=FILE" in own
