# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._npu_chips import match_rows, merge_chips, responding
from ansible_collections.npufleet.ascend.plugins.module_utils._npu_smi_matrix import parse_mapping
from ansible_collections.npufleet.ascend.plugins.module_utils._npu_smi_table import parse_info

FIXTURES = Path(__file__).parents[2] / "fixtures" / "npu_smi"
EIGHT = "info_L6_910B3_24.1.0_eight.txt"
DUO = "info_L5_310P3-duo_24.1.0.txt"
A3 = "info_L7_Ascend910_25.3.rc1.txt"
A5 = "info_L9_Ascend950PR_25.7.rc1.txt"


def function(bus_id: str, generation: str = "A2", product: t.Optional[str] = "Atlas 800I A2", node: int = 0) -> t.Dict[str, t.Any]:
    return {"bus_id": bus_id, "generation": generation, "product": product, "numa_node": node, "cpu_affinity": "{0}-{0}".format(node)}


def merge(
    info: str, mapping: t.Optional[str] = None, pci: t.Sequence[t.Dict[str, t.Any]] = (), nodes: t.Sequence[int] = ()
) -> t.List[t.Any]:
    rows = parse_mapping((FIXTURES / mapping).read_text(encoding="utf-8")) if mapping else []
    return merge_chips(parse_info((FIXTURES / info).read_text(encoding="utf-8")), rows, pci, nodes)


def column(chips: t.List[t.Dict[str, t.Any]], *keys: str) -> t.List[t.Any]:
    return [tuple(chip[key] for key in keys) if len(keys) > 1 else chip[keys[0]] for chip in chips]


def test_one_whole_chip() -> None:
    chip = merge(EIGHT, "map_A2.txt", [function("0000:c1:00.0", node=3)], range(8))[0]
    assert chip == {
        "npu_id": 0,
        "chip_id": 0,
        "logic_id": 0,
        "phy_id": 0,
        "phy_id_source": "device_order",
        "device_node": "/dev/davinci0",
        "slot_id": None,
        "name": "910B3",
        "soc": "Ascend910B3",
        "generation": "A2",
        "product": "Atlas 800I A2",
        "health": "OK",
        "responding": True,
        "power_w": 90.5,
        "temp_c": 40,
        "util_pct": 0,
        "memory_type": "HBM",
        "memory_used_mb": 3300,
        "memory_total_mb": 65536,
        "hbm_used_mb": 3300,
        "hbm_total_mb": 65536,
        "ddr_used_mb": 0,
        "ddr_total_mb": 0,
        "hugepages_used": 0,
        "hugepages_total": 0,
        "bus_id": "0000:C1:00.0",
        "numa_node": 3,
        "cpu_affinity": "3-3",
        "processes": [
            {"pid": 51000, "name": "VLLM_Worker_TP0", "memory_mb": 55012, "container_pid": None},
            {"pid": 51001, "name": "python3", "memory_mb": 210, "container_pid": None},
        ],
        "board": None,
        "errors": None,
    }


def test_two_chips_of_a_card_share_bus_and_npu_id() -> None:
    chips = merge(DUO, "map_310P-duo.txt", [function("0000:02:00.0", "310P", "Atlas 300I Duo", 1)], [0, 1, 2, 3])
    assert column(chips, "npu_id", "chip_id", "logic_id", "phy_id") == [(1, 0, 0, 0), (1, 1, 1, 1), (32800, 0, 2, 2), (32800, 1, 3, 3)]
    assert column(chips, "numa_node") == [1, 1, None, None]
    assert column(chips, "memory_type", "memory_total_mb", "hbm_total_mb")[:2] == [("DDR", 44280, None), ("DDR", 43693, None)]
    processes = column(chips, "processes")
    assert (processes[0], [row["name"] for row in processes[1]], processes[2:]) == ([], ["engine_core", None], [[], []])


def test_dies_have_printed_physical_ids() -> None:
    chips = merge(A3, "map_A3.txt", nodes=[6, 7, 9])
    assert column(chips, "phy_id", "logic_id", "phy_id_source") == [
        (6, 0, "npu_smi"),
        (7, 1, "npu_smi"),
        (8, 2, "npu_smi"),
        (9, 3, "npu_smi"),
    ]
    assert column(chips, "device_node") == ["/dev/davinci6", "/dev/davinci7", None, "/dev/davinci9"]
    assert column(chips, "soc", "generation") == [(None, "A3")] * 4
    assert column(chips, "power_w")[1] is None


def test_a5_takes_its_ids_from_the_mapping() -> None:
    chips = merge(A5, "map_A5.txt", nodes=[0, 1])
    assert column(chips, "chip_id", "phy_id", "slot_id", "logic_id") == [(0, 0, 3, None), (0, 1, 6, None)]
    assert [[row["pid"] for row in rows] for rows in column(chips, "processes")] == [[57000], [1570001]]


def test_a5_without_the_mapping() -> None:
    assert column(merge(A5, nodes=[0, 1]), "chip_id", "phy_id", "phy_id_source") == [(None, 0, "device_order"), (None, 1, "device_order")]


def test_a_container_with_one_of_eight() -> None:
    chips = merge("info_L6_910B4-1_25.2.0_warning.txt", nodes=[6])
    assert column(chips, "npu_id", "phy_id", "device_node") == [(6, 6, "/dev/davinci6")]


@pytest.mark.parametrize(
    ("info", "nodes", "expected"),
    [
        (EIGHT, range(9), [(number, "npu_id") for number in range(8)]),  # A2: one node more than chips
        (EIGHT, [], [(None, None)] * 8),
        (DUO, [0, 1, 2], [(None, None)] * 4),  # the NPU id of a card is no device number
    ],
)
def test_physical_ids_that_are_not_printed(info: str, nodes: t.Sequence[int], expected: t.List[t.Any]) -> None:
    assert column(merge(info, nodes=nodes), "phy_id", "phy_id_source") == expected


def test_a_missing_health_row_is_filled_from_the_mapping() -> None:
    chips = merge("info_L6_910B3_25.0.rc1_health-row-missing.txt", nodes=[0, 1])
    assert column(chips, "npu_id", "name", "health", "responding") == [(0, "910B3", "OK", True), (None, None, "UNKNOWN", True)]
    rows = [{"npu_id": number, "chip_id": 0, "logic_id": number, "chip_name": "Ascend 910B3"} for number in (0, 1)]
    info = parse_info((FIXTURES / "info_L6_910B3_25.0.rc1_health-row-missing.txt").read_text(encoding="utf-8"))
    filled = merge_chips(info, rows, [], [0, 1])
    assert column(filled, "npu_id", "name", "soc", "health", "processes")[1] == (1, "Ascend 910B3", "Ascend910B3", "UNKNOWN", [])


@pytest.mark.parametrize(
    ("chip", "rows", "npu"),
    [
        ({"npu_id": None, "chip_id": 1, "device_id": None, "phy_id": 7}, [{"npu_id": 3, "phy_id": 7}, {"npu_id": 4, "phy_id": 8}], 3),
        ({"npu_id": None, "chip_id": 1, "device_id": 3, "phy_id": None}, [{"npu_id": 3, "logic_id": 2}, {"npu_id": 4, "logic_id": 3}], 4),
        ({"npu_id": None, "chip_id": 0, "device_id": None, "phy_id": None}, [{"npu_id": 5, "logic_id": 0}], 5),
        ({"npu_id": None, "chip_id": 0, "device_id": None, "phy_id": None}, [{"npu_id": 5}, {"npu_id": 6}], None),
        ({"npu_id": 9, "chip_id": 0, "device_id": None, "phy_id": None}, [], None),
    ],
)
def test_match_rows(chip: t.Dict[str, t.Any], rows: t.List[t.Dict[str, t.Any]], npu: t.Optional[int]) -> None:
    mapping = [dict({"chip_id": 0, "chip_name": "Ascend 910B3"}, **row) for row in rows]
    (matched,) = match_rows([chip], mapping)
    assert (matched["npu_id"] if matched else None) == npu


def test_a_dead_chip_is_not_a_cool_one() -> None:
    chips = merge("info_L6_910B4_24.1.rc2_dead-chip.txt")
    assert column(chips, "responding", "power_w", "temp_c") == [(True, 84.9, 36), (False, 0.0, 0)]


@pytest.mark.parametrize(
    ("power", "temp", "total", "bus", "expected"),
    [
        (0.0, 63, 15609, None, True),  # 310B reports 0.0 W
        (None, 45, 44280, "0000:02:00.0", True),
        (0.0, 0, 0, "0000:02:00.0", False),
        (None, None, 65536, "0000:02:00.0", True),
        (90.0, 40, 65536, "0000:00:00.0", False),
    ],
)
def test_responding(power: t.Optional[float], temp: t.Optional[int], total: int, bus: t.Optional[str], expected: bool) -> None:
    assert responding({"power_w": power, "temp_c": temp, "memory_total_mb": 0, "hbm_total_mb": total, "bus_id": bus}) is expected


def test_processes_are_unknown_without_a_table_or_a_word_about_the_npu() -> None:
    assert column(merge("info_L6_910B1_23.0.rc2_no-processes.txt"), "processes") == [None, None]
    silent = column(merge("info_L6_910B2C_23.0.3_silent-npu.txt"), "processes")
    assert (len(silent[0]), silent[1]) == (1, None)


def test_a_virtual_npu_is_named_by_its_template() -> None:
    (chip,) = merge("info_L5_310Pvir02_22.0.4_container.txt", pci=[function("0000:81:00.0", "310P", "Atlas 300I Pro")])
    assert (chip["generation"], chip["soc"], chip["product"], chip["numa_node"]) == ("310P", "Ascend310P3vir02", "Atlas 300I Pro", None)


def test_pci_tells_the_generation_where_the_name_does_not() -> None:
    info = parse_info((FIXTURES / EIGHT).read_text(encoding="utf-8").replace("910B3      ", "vir05_1c_8g"))
    mixed = [function("0000:c1:00.0"), function("0000:01:00.0", "A3", "Atlas 800I A3")]
    assert column(merge_chips(info, [], mixed, []), "generation", "product")[:3] == [
        ("A2", "Atlas 800I A2"),
        ("A3", "Atlas 800I A3"),
        (None, None),
    ]
    assert column(merge_chips(info, [], mixed[:1], []), "generation")[7] == "A2"
