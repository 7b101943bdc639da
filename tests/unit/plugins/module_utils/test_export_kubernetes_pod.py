# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import re

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._export_kubernetes_pod import Cluster, pod_spec
from ansible_collections.npufleet.ascend.plugins.module_utils._export_probe import probe_command
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.docker_fakes import IMAGE
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.export_fakes import GROUP, ODD, RAY, document, npu, raw

A2 = Cluster(resource="huawei.com/Ascend910", node="npu-01", start_seconds=901)
KEY_FILE = "/run/npufleet/api-key"


def container(given, cluster=A2):
    (found,) = pod_spec(document(given), cluster)["containers"]
    return found


def expanded(text, env):
    """As Kubernetes reads commands and values: ``$$`` is the sign, ``$(NAME)`` a variable where there is one (third_party/forked/golang/expansion)."""
    return re.sub(r"\$\$|\$\((\w+)\)", lambda found: "$" if found.group(1) is None else env.get(found.group(1), found.group()), text)


def test_the_pod_of_an_engine_on_npus():
    spec = pod_spec(document(npu()), A2)
    (found,) = spec.pop("containers")
    volumes = spec.pop("volumes")
    assert spec == {
        "terminationGracePeriodSeconds": 60,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
        "hostNetwork": True,
        "dnsPolicy": "ClusterFirstWithHostNet",
        "nodeSelector": {"kubernetes.io/hostname": "npu-01"},
    }
    assert (found["image"], found["imagePullPolicy"], "command" in found) == (IMAGE, "IfNotPresent", False)
    assert found["resources"] == {
        "requests": {"cpu": "24", "huawei.com/Ascend910": "2"},
        "limits": {"huawei.com/Ascend910": "2"},
    }
    assert found["securityContext"] == {
        "privileged": False,
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"], "add": ["DAC_OVERRIDE", "SYS_NICE"]},
    }
    assert found["ports"] == [{"name": "http", "containerPort": 8000, "protocol": "TCP"}]
    assert [{key: one[key] for key in one if key != "name"} for one in volumes] == [
        {"emptyDir": {"medium": "Memory", "sizeLimit": "16Gi"}},
        {"emptyDir": {}},
        {"hostPath": {"path": "/srv/models/tiny", "type": "Directory"}},
        {"hostPath": {"path": "/usr/local/Ascend/driver", "type": "Directory"}},
        {"hostPath": {"path": "/etc/ascend_install.info", "type": "File"}},
        {"hostPath": {"path": "/usr/local/dcmi", "type": "Directory"}},
        {"hostPath": {"path": "/etc/hccn.conf", "type": "File"}},
        {"secret": {"secretName": "npufleet-engine-demo-key", "defaultMode": 0o400, "items": [{"key": "api-key", "path": "api-key"}]}},
    ]
    mounts = found["volumeMounts"]
    assert [one["name"] for one in mounts] == [one["name"] for one in volumes]
    assert [one["mountPath"] for one in mounts] == [
        "/dev/shm", "/srv/home/engines/demo/work", "/srv/models/tiny", "/usr/local/Ascend/driver", "/etc/ascend_install.info",
        "/usr/local/dcmi", "/etc/hccn.conf", "/run/npufleet",
    ]  # fmt: skip
    assert [one["mountPath"] for one in mounts if not one.get("readOnly")] == ["/dev/shm", "/srv/home/engines/demo/work"]


def test_no_device_node_and_no_choice_of_chips_is_carried_over():
    given = raw(accelerator="ascend", env={"ASCEND_VISIBLE_DEVICES": "4,5"}, container={"oci_runtime": "ascend"})
    for one in (npu(), given):
        assert "/dev/davinci" not in repr(pod_spec(document(one), A2))
    assert "ASCEND_VISIBLE_DEVICES" not in repr(pod_spec(document(given), A2))
    assert container(given)["resources"]["limits"] == {"huawei.com/Ascend910": "2"}


def test_the_runtime_class():
    given = raw(accelerator="ascend", env={"ASCEND_VISIBLE_DEVICES": "4,5"}, container={"oci_runtime": "ascend"})
    assert pod_spec(document(given), A2)["runtimeClassName"] == "ascend"
    assert pod_spec(document(given), A2._replace(runtime_class="npu"))["runtimeClassName"] == "npu"
    assert "runtimeClassName" not in pod_spec(document(npu()), A2)


def test_an_engine_on_the_cpu_with_a_network_of_its_own():
    spec = pod_spec(document(raw(container={"network": "fleet", "shm_bytes": 200 << 20, "mounts": ["/srv/x", "/srv/y:/y:rw"]})), Cluster())
    assert not {"hostNetwork", "dnsPolicy", "nodeSelector"} & set(spec)
    assert spec["containers"][0]["resources"] == {}
    assert spec["volumes"][0]["emptyDir"]["sizeLimit"] == str(200 << 20)
    # What somebody else's mount is, folder or file, is not known.
    assert [one["hostPath"] for one in spec["volumes"][-2:]] == [{"path": "/srv/x"}, {"path": "/srv/y"}]
    assert [one["readOnly"] for one in spec["containers"][0]["volumeMounts"][-2:]] == [True, False]


@pytest.mark.parametrize(
    ("given", "command", "first"),
    [(None, None, "vllm"), ([], ["vllm", "serve"], None), (["/bin/a", "b"], ["/bin/a", "b", "vllm", "serve"], None)],
)
def test_the_entrypoint(given, command, first):
    found = container(raw(container={"entrypoint": given}))
    if command is None:
        assert ("command" in found, found["args"][0]) == (False, first)
    else:
        assert (found["command"][: len(command)], "args" in found) == (command, False)


@pytest.mark.parametrize(
    ("host", "network", "word", "probed", "asked"),
    [
        ("127.0.0.1", "host", "$(POD_IP)", None, ""),
        ("::1", "host", "$(POD_IP)", None, ""),
        ("0.0.0.0", "host", "0.0.0.0", None, "127.0.0.1"),
        ("::", "host", "::", None, "::1"),
        ("192.0.2.7", "host", "192.0.2.7", "192.0.2.7", "192.0.2.7"),
        ("127.0.0.1", "fleet", "0.0.0.0", None, "127.0.0.1"),
        ("192.0.2.7", "fleet", "0.0.0.0", None, "127.0.0.1"),
    ],
)
def test_where_it_listens_and_where_it_is_asked(host, network, word, probed, asked):
    found = container(npu(host=host, container={"network": network}))
    assert found["args"][found["args"].index("--host") + 1] == word
    assert [found[probe]["httpGet"].get("host") for probe in ("readinessProbe", "livenessProbe")] == [probed, probed]
    assert found["startupProbe"]["exec"]["command"] == probe_command(asked, 8000, "tiny", KEY_FILE)
    assert {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}} in found["env"]


def test_a_command_without_an_address_is_left_alone():
    given = dict(npu(), command=["serve", "--host"])
    assert container(given)["args"] == ["serve", "--host"]


def test_probes():
    found = container(npu())
    assert {key: found["startupProbe"][key] for key in ("periodSeconds", "timeoutSeconds", "failureThreshold")} == {
        "periodSeconds": 10, "timeoutSeconds": 60, "failureThreshold": 91,
    }  # fmt: skip
    for probe in ("readinessProbe", "livenessProbe"):
        assert found[probe]["httpGet"] == {"path": "/health", "port": "http"}
    assert container(npu(), A2._replace(start_seconds=0))["startupProbe"]["failureThreshold"] == 1


def test_a_member_of_a_group_has_the_network_of_its_host():
    head = npu(args=GROUP, container={"network": "fleet"})
    assert pod_spec(document(head), A2)["hostNetwork"] is True
    assert "startupProbe" in container(head)
    member = container(npu(args=dict(GROUP, headless=True)))
    assert not {"startupProbe", "readinessProbe", "livenessProbe", "ports"} & set(member)
    assert "POD_IP" not in repr(member)


def test_a_member_with_ray_runs_ray_alone_with_the_network_of_its_host():
    head, member = npu(ray=RAY), npu(ray=dict(RAY, node_address="192.0.2.11"))
    for given in (head, member):
        assert pod_spec(document(given), A2)["hostNetwork"] is True
        words = [expanded(word, {"client": "wrong", "POD_IP": "127.0.0.1"}) for word in container(given)["args"]]
        assert words == given["command"]
    assert {"startupProbe", "readinessProbe"} <= set(container(head))
    assert not {"startupProbe", "readinessProbe", "livenessProbe", "ports"} & set(container(member))
    assert "--address=192.0.2.10:6379" in container(member)["args"]


def test_no_text_is_taken_for_a_variable():
    given = npu(env={"A": ODD}, container={"entrypoint": ["/bin/a", ODD]})
    found = container(given)
    env = {"POD_IP": "192.0.2.9", "A": "wrong", "HOME": "wrong"}
    values = {one["name"]: expanded(one["value"], env) for one in found["env"] if "value" in one}
    assert values == given["env"]
    words = [expanded(word, env) for word in found["command"]]
    place = words.index("--host") + 1
    assert words[place] == "192.0.2.9"
    words[place] = "127.0.0.1"
    assert words == [*given["entrypoint"], *given["command"]]


def test_the_name_of_the_secret():
    assert Cluster().secret_of(document(npu(name="a_b_"))) == "npufleet-engine-a-b-key"
    assert Cluster(secret="keys").secret_of(document(npu())) == "keys"
