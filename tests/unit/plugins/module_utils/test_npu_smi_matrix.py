# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._npu_smi_errors import NpuSmiFormatError, classify
from ansible_collections.npufleet.ascend.plugins.module_utils._npu_smi_matrix import (
    is_chip,
    parse_mapping,
    parse_templates,
    parse_topology,
    parse_vnpus,
    parse_watch,
)

FIXTURES = Path(__file__).parents[2] / "fixtures" / "npu_smi"


def read(name: str) -> str:
    text = (FIXTURES / name).read_text(encoding="utf-8")
    assert classify(text, "", 0) is None
    return text


@pytest.mark.parametrize(
    ("name", "rows", "chips", "first", "last"),
    [
        (
            "map_310.txt",
            6,
            4,
            {"npu_id": 2, "chip_id": 0, "logic_id": 0, "chip_name": "MiniD"},
            {"npu_id": 3, "chip_id": 0, "logic_id": None, "chip_name": "3559"},
        ),
        (
            "map_310P-duo.txt",
            6,
            4,
            {"npu_id": 1, "chip_id": 0, "logic_id": 0, "chip_name": "Ascend 310P3"},
            {"npu_id": 32800, "chip_id": 2, "logic_id": None, "chip_name": "Mcu"},
        ),
        (
            "map_A2.txt",
            16,
            8,
            {"npu_id": 0, "chip_id": 0, "logic_id": 0, "chip_name": "Ascend 910B3"},
            {"npu_id": 7, "chip_id": 1, "logic_id": None, "chip_name": "MCU"},
        ),
        (
            "map_A3.txt",
            6,
            4,
            {"npu_id": 3, "chip_id": 0, "logic_id": 0, "phy_id": 6, "chip_name": "Ascend910"},
            {"npu_id": 4, "chip_id": 2, "logic_id": None, "phy_id": None, "chip_name": "Mcu"},
        ),
        (
            "map_A5.txt",
            2,
            2,
            {"npu_id": 0, "slot_id": 3, "chip_id": 0, "phy_id": 0, "chip_name": "Ascend950PR"},
            {"npu_id": 1, "slot_id": 6, "chip_id": 0, "phy_id": 1, "chip_name": "Ascend950PR"},
        ),
    ],
)
def test_mapping(name: str, rows: int, chips: int, first: t.Dict[str, t.Any], last: t.Dict[str, t.Any]) -> None:
    result = parse_mapping("a line of the driver log\n" + read(name))
    assert (len(result), sum(map(is_chip, result)), result[0], result[-1]) == (rows, chips, first, last)


def test_topology_with_cpu_lists() -> None:
    topology = parse_topology(read("topo_A2.txt"))
    assert (topology.label, topology.devices) == ("NPU", [0, 1, 2, 3])
    assert topology.links == {"0-1": "HCCS", "0-2": "SYS", "0-3": "SYS", "1-2": "HCCS", "1-3": "SYS", "2-3": "HCCS"}
    assert topology.cpu_affinity == ["0-23", "24-47", "48-71,96-119", "72-95"]


def test_topology_of_dies() -> None:
    topology = parse_topology(read("topo_A3.txt"))
    assert (topology.label, topology.devices, topology.cpu_affinity) == ("Phy-ID", [6, 7, 8, 9], None)
    assert (topology.links["6-7"], topology.links["6-8"], topology.links["8-9"]) == ("SIO", "HCCS_SW", "SIO")


def test_topology_leaves_network_cards_out() -> None:
    topology = parse_topology(read("topo_nic.txt"))
    assert (topology.devices, topology.links, topology.cpu_affinity) == ([0, 1], {"0-1": "HCCS"}, ["0-23", "24-47"])


def test_topology_of_one_device_and_without_leading_blanks() -> None:
    assert parse_topology(read("topo_one.txt")) == ("NPU", [0], {}, ["0-31"])
    stripped = "\n".join(line.strip() for line in read("topo_A2.txt").splitlines())
    assert parse_topology(stripped) == parse_topology(read("topo_A2.txt"))


def test_templates() -> None:
    assert parse_templates(read("template-info_A2.txt")) == [
        {"name": "vir06_1c_16g", "aicore": 6, "memory_gb": 16, "aicpu": 1},
        {"name": "vir12_3c_32g", "aicore": 12, "memory_gb": 32, "aicpu": 3},
    ]


def test_a_template_value_that_is_absent() -> None:
    text = read("template-info_A2.txt").replace("16        1 ", "16        NA")
    assert [row["aicpu"] for row in parse_templates(text)] == [None, 3]


def test_vnpus() -> None:
    result = parse_vnpus(read("info-vnpu_A2.txt"))
    assert result.pop("vnpus") == [
        {"vnpu_id": 101, "vgroup_id": 0, "container_id": "ffffffffffff", "in_use": True, "template": "vir06_1c_16g"},
        {"vnpu_id": 102, "vgroup_id": 0, "container_id": "000000000000", "in_use": False, "template": "vir06_1c_16g"},
    ]
    assert result == {"aicore_free": 8, "aicore_total": 20, "memory_gb_free": 16, "memory_gb_total": 64, "vnpu_count": 2}


def test_vnpus_that_are_none() -> None:
    result = parse_vnpus(read("info-vnpu_none.txt"))
    assert result == {
        "aicore_free": None,
        "aicore_total": None,
        "memory_gb_free": 60,
        "memory_gb_total": 64,
        "vnpu_count": 0,
        "vnpus": [],
    }


@pytest.mark.parametrize(
    ("name", "columns", "rows"),
    [
        ("watch_310P.txt", 9, [["1", "0", "NA", "51", "0", "0", "3", "4", "1"], ["1", "1", "NA", "50", "11", "0", "3", "5", "2"]]),
        ("watch_A5.txt", 10, [["1", "189.2", "46", "0", "0", "2", "5", "0", "0", "0"]]),
    ],
)
def test_watch(name: str, columns: int, rows: t.List[t.List[str]]) -> None:
    answer = parse_watch(read(name))
    assert (len(answer["columns"]), answer["columns"][0], answer["rows"]) == (columns, "NpuID(Idx)", rows)


MAP = "\tNPU ID      Chip ID     Chip Logic ID   Chip Name\n"
VNPU = "| 5/20   7/32 |\n| Total number of vnpu: 1 |\n"


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (parse_mapping, ""),
        (parse_mapping, MAP.replace("Logic", "Magic")),
        (parse_mapping, "\tChip Name    NPU ID\n\tAscend   0\n"),
        (parse_mapping, MAP + "\t0    0    Ascend910\n"),
        (parse_mapping, MAP + "\t0    0    zero    Ascend 910B3\n"),
        (parse_mapping, MAP + "\t-    0    0    Ascend 910B3\n"),
        (parse_topology, ""),
        (parse_topology, "\t   NPU0   NPU1\nNPU0  X   HCCS\n"),
        (parse_topology, "\t   NPU0   NPU1\nNPU0  X   HCCS\nNPU1  HCCS\n"),
        (parse_topology, "\t   NPU0   CPU Affinity\nNPU0  X\n"),
        (parse_topology, "\t   NIC0\nNIC0  X\n"),
        (parse_templates, "| vir01  1  2  3 |\n"),
        (parse_templates, "|Name  AICORE  Memory  AICPU|\n|vir01  1  2 |\n"),
        (parse_templates, "|Name  AICORE  Memory  AICPU|\n|vir01  1  2  many|\n"),
        (parse_vnpus, ""),
        (parse_vnpus, "| Total number of vnpu: 0 |\n"),
        (parse_vnpus, VNPU + "| Vnpu ID | Vgroup ID |\n| 100 | 0 |\n"),
        (parse_vnpus, VNPU + "| Vnpu ID | Vgroup ID |\n| one | 0 | f | 1 | vir01 |\n"),
        (parse_watch, "0   0   8.7\n"),
        (parse_watch, "NpuID(Idx)  ChipId(Idx) Pwr(W)\n0  0\n"),
    ],
)
def test_unknown_answers(parse: t.Callable[[str], t.Any], text: str) -> None:
    with pytest.raises(NpuSmiFormatError, match="unknown answer"):
        parse(text)
