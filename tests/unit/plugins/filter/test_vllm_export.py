# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
import yaml
from ansible.errors import AnsibleFilterError
from ansible_collections.npufleet.ascend.plugins.filter.vllm_export import FilterModule
from ansible_collections.npufleet.ascend.plugins.module_utils._export_compose import compose_document
from ansible_collections.npufleet.ascend.plugins.module_utils._export_docker_run import run_script
from ansible_collections.npufleet.ascend.plugins.module_utils._export_kubernetes import manifests
from ansible_collections.npufleet.ascend.plugins.module_utils._export_kubernetes_pod import Cluster
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.engine_fakes import KEY
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.export_fakes import document, npu, raw

vllm_export = FilterModule().filters()["vllm_export"]
# Values that readers of YAML 1.1 or 1.2 take for something else when they are not quoted.
TRICKY = {
    "A": "1e3",
    "B": "0o7",
    "C": "y",
    "D": "on",
    "E": "null",
    "F": "0123",
    "G": "1:30",
    "H": "",
    "I": "a: b #c",
    "J": "~",
    "K": "No",
    "L": "é",
}
FORMATS = ("docker-run", "compose", "kubernetes")


def test_docker_run():
    assert vllm_export(npu(), "docker-run") == run_script([document(npu())])


def test_compose_reads_back_as_the_document():
    text = vllm_export(npu(env=TRICKY), "compose")
    assert text.startswith("# What npufleet.ascend runs on this host, for Docker Compose.")
    assert yaml.safe_load(text) == compose_document([document(npu(env=TRICKY))])
    for name in "ABCFG":
        assert '"{0}": "{1}"\n'.format(name, TRICKY[name]) in text


def test_kubernetes_reads_back_as_the_objects():
    options = {"soc": "A2", "node": "npu-01", "namespace": "llm", "key_secret": "keys", "runtime_class": "ascend", "start_seconds": 901}
    text = vllm_export([npu(), raw(name="b")], "kubernetes", **options)
    cluster = Cluster("huawei.com/Ascend910", "npu-01", "llm", "keys", "ascend", 901)
    assert list(yaml.safe_load_all(text)) == manifests([document(npu()), document(raw(name="b"))], cluster)
    assert text.startswith("# What npufleet.ascend runs on this host, for Kubernetes.")
    # A text of several lines is a block, and nothing is folded or abbreviated.
    assert "                - |\n                  import json" in text
    assert "&id" not in text and "*id" not in text


@pytest.mark.parametrize(("options", "expected"), [({"soc": "310p"}, "huawei.com/Ascend310P"), ({"soc": "a5"}, "huawei.com/npu")])
def test_the_resource_follows_from_the_generation(options, expected):
    assert "{0}: ".format(expected) in vllm_export(npu(), "kubernetes", **options)


def test_another_name_of_the_resource_wins():
    text = vllm_export(npu(), "kubernetes", soc="unknown", resource="example.com/npu")
    assert 'example.com/npu: "2"\n' in text and "huawei.com" not in text


@pytest.mark.parametrize("format", FORMATS)
def test_no_export_holds_the_key(format):
    assert KEY not in vllm_export(npu(), format, soc="a2")


@pytest.mark.parametrize(
    ("given", "format", "options", "where"),
    [
        ({}, "compose", {}, r"input\[0\]\.engine"),
        (None, "compose", {}, "input"),
        (raw(), "helm", {}, "format"),
        (npu(), "kubernetes", {}, "soc"),
        (npu(), "kubernetes", {"soc": "a1"}, "soc"),
    ],
)
def test_one_message(given, format, options, where):
    with pytest.raises(AnsibleFilterError, match=r"vllm_export: .*Where: {0}\. What to do: ".format(where)):
        vllm_export(given, format, **options)


class Text(str):
    """As ansible-core hands over texts. No YAML writer knows them, and str() of them is no other text in 2.17."""

    def __str__(self):
        return next(iter((self,)))


def wrapped(value):
    if isinstance(value, dict):
        return {Text(key): wrapped(one) for key, one in value.items()}
    if isinstance(value, list):
        return tuple(wrapped(one) for one in value)
    return Text(value) if isinstance(value, str) else value


@pytest.mark.parametrize("format", FORMATS)
def test_values_of_templates_give_the_same_text(format):
    options = {"soc": "a2", "node": "npu-01", "namespace": "llm", "key_secret": "keys", "runtime_class": "ascend"}
    given = npu(env=TRICKY)
    assert vllm_export(wrapped(given), Text(format), **wrapped(options)) == vllm_export(given, format, **options)
