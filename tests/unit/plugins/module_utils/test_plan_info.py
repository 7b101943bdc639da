# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_plan_file import keep_plan
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_host import read_site
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_info import address_of, host_info, model_info, recorded_plans

ROUTES = """\
Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
slow0\t00000000\t010200C0\t0003\t0\t0\t600\t00000000\t0\t0\t0
fast0\t00000000\t010200C0\t0003\t0\t0\t100\t00000000\t0\t0\t0
lan0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
broken
"""


def put(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture
def roots(tmp_path):
    put(tmp_path / "proc/net/route", ROUTES)
    put(tmp_path / "proc/meminfo", "MemTotal:       2097152 kB\nMemFree: 1 kB\n")
    put(tmp_path / "sys/devices/system/cpu/online", "0-7\n")
    put(tmp_path / "sys/devices/system/node/node0/cpulist", "0-3\n")
    put(tmp_path / "sys/devices/system/node/node1/cpulist", "4-7\n")
    put(tmp_path / "sys/devices/system/node/node2/cpulist", "\n")
    return str(tmp_path / "proc"), str(tmp_path / "sys")


def test_a_host(roots):
    info = host_info(*roots, address={"fast0": "192.0.2.11"}.get)
    assert info.pop("arch")
    assert info == {
        "cpus": "0-7",
        "numa_nodes": {"0": "0-3", "1": "4-7"},
        "memory_mb": 2048,
        "interface": "fast0",
        "address": "192.0.2.11",
    }


def test_the_planner_takes_it(roots):
    host = read_site("h", dict(host_info(*roots, address={"fast0": "192.0.2.11"}.get), npu={"available": True, "chips": []})).host
    assert (host.cpus, host.interface, host.memory_bytes) == (tuple(range(8)), "fast0", 2 * 1024**3)


def test_a_host_that_tells_nothing(tmp_path):
    info = host_info(str(tmp_path), str(tmp_path), address=lambda interface: pytest.fail("there is no interface"))
    assert info.pop("arch")
    assert info == {"cpus": None, "numa_nodes": {}, "memory_mb": None, "interface": None, "address": None}
    assert read_site("h", dict(info, arch=None, npu={})).host.cpus == ()


def test_the_address_is_asked_of_the_kernel():
    assert address_of("lo") == "127.0.0.1"
    assert address_of("no-such-if") is None


@pytest.mark.parametrize(
    ("files", "size"),
    [
        ({"model.safetensors.index.json": json.dumps({"metadata": {"total_size": 70}}), "a.safetensors": "1234"}, 70),
        ({"model.safetensors.index.json": json.dumps({"metadata": {"total_size": True}}), "a.safetensors": "1234"}, 4),
        ({"model.safetensors.index.json": json.dumps({"metadata": []}), "a.safetensors": "12", "b.safetensors": "3"}, 3),
        ({"a.safetensors": "1234", "readme": "x"}, 4),
        ({}, 0),
    ],
    ids=["index", "size is no number", "no metadata", "one file", "empty"],
)
def test_a_model(tmp_path, files, size):
    for name, text in files.items():
        put(tmp_path / name, text)
    put(tmp_path / "config.json", '{"num_attention_heads": 4}')
    assert model_info(str(tmp_path)) == {
        "config": {"num_attention_heads": 4},
        "weights_bytes": size,
        "files": sorted([*files, "config.json"]),
    }


def test_a_model_that_is_not_there(tmp_path):
    assert model_info(str(tmp_path / "gone")) == {"config": {}, "weights_bytes": 0, "files": []}


@pytest.mark.parametrize("text", ["{", "[]"], ids=["cut", "list"])
def test_a_damaged_model(tmp_path, text):
    put(tmp_path / "config.json", text)
    with pytest.raises(NpufleetError, match=r"it is no JSON object.*config\.json"):
        model_info(str(tmp_path))


def test_plans_of_engines(tmp_path):
    home = tmp_path / "a[b]"
    row = {"name": "one", "host": "npu-01", "chips": [{"phy_id": 0}]}
    keep_plan(str(home / "engines/one"), row)
    written = (home / "engines/one/plan.json").stat().st_mtime_ns
    keep_plan(str(home / "engines/one"), dict(row, reasons=["it stays"]))
    assert (home / "engines/one/plan.json").stat().st_mtime_ns == written
    for name, text in (("cut", "{"), ("list", "[]"), ("nameless", "{}"), ("empty", "")):
        put(home / "engines" / name / "plan.json", text)
    assert recorded_plans(str(home) + "/") == [row]


def test_another_plan_replaces_the_row(tmp_path):
    for chips in ([0], [1]):
        keep_plan(str(tmp_path / "engines/one"), {"name": "one", "chips": chips})
    assert recorded_plans(str(tmp_path)) == [{"name": "one", "chips": [1]}]
