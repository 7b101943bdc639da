# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._npu_smi_errors import NpuSmiFormatError, classify
from ansible_collections.npufleet.ascend.plugins.module_utils._npu_smi_text import (
    Health,
    parse_blocks,
    parse_health,
    parse_list,
    parse_pairs,
    parse_process_memory,
    parse_version,
    soc_version,
)

FIXTURES = Path(__file__).parents[2] / "fixtures" / "npu_smi"


def read(name: str) -> str:
    text = (FIXTURES / name).read_text(encoding="utf-8")
    assert classify(text, "", 0) is None
    return text


def test_version() -> None:
    assert parse_version(read("version.txt")) == "25.2.0"


@pytest.mark.parametrize(
    ("name", "count", "some"),
    [
        (
            "board_A2.txt",
            19,
            {"PCIe Bus Info": "0000:C1:00.0", "Serial Number": "SN0000000103", "Subsystem Device ID": "0x3004", "Model": "NA"},
        ),
        ("board_A5.txt", 12, {"Main Board ID": "0x6a(1P)", "NPU Name": "9574"}),
        ("phyid-remap_A3.txt", 4, {"Chip Physical ID": "8", "NPU ID": "4", "Chip ID": "0"}),
    ],
)
def test_pairs(name: str, count: int, some: t.Dict[str, str]) -> None:
    pairs = parse_pairs(read(name))
    assert len(pairs) == count
    assert {key: pairs[key] for key in some} == some


@pytest.mark.parametrize(
    ("name", "soc"),
    [
        ("board-c_A2.txt", "Ascend910B3"),
        ("board-c_A3.txt", "Ascend910_9382"),
        ("board_A5.txt", "Ascend950PR_9574"),
        ("board_A2.txt", None),
    ],
)
def test_soc_version(name: str, soc: t.Optional[str]) -> None:
    assert soc_version(parse_pairs(read(name))) == soc


def test_soc_version_without_a_value() -> None:
    assert soc_version({"Chip Name": "910B3", "Chip Type": "NA"}) is None


@pytest.mark.parametrize(
    ("name", "health"),
    [
        ("health-c_ok.txt", Health("OK", [], [])),
        (
            "health-c_alarm.txt",
            Health(
                "Alarm",
                ["80C98000", "80E18401"],
                [
                    "node type=HBM, event state=threshold: 2, exceeded",
                    "node type=L2, event state=multi bit error",
                    "Failed to get error information for error code : 0x80E18401",
                ],
            ),
        ),
        ("health_A5.txt", Health("Warning", ["81AF8001"], ["node type=LINK, event state=down"])),
    ],
)
def test_health(name: str, health: Health) -> None:
    assert parse_health(read(name)) == health


@pytest.mark.parametrize(
    ("name", "head", "chips", "mcu"),
    [
        (
            "health_duo.txt",
            {"NPU ID": "1", "Chip Count": "2"},
            [{"Health": "OK", "Chip ID": "0"}, {"Health": "Critical", "Chip ID": "1"}],
            {"Health": "OK", "Chip Name": "MCU"},
        ),
        (
            "common_A2.txt",
            {"NPU ID": "2", "Chip Count": "1"},
            [{"Chip ID": "0", "HBM Usage Rate(%)": "6", "Aicore Count": "20", "Temperature(C)": "48", "NPU Real-time Power(W)": "99.1"}],
            {"Chip Name": "mcu", "Temperature(C)": "36"},
        ),
        (
            "usages_duo.txt",
            {"NPU ID": "1", "Chip Count": "2"},
            [
                {"DDR Capacity(MB)": "44280", "Aicore Usage Rate(%)": "7", "Chip ID": "0"},
                {"DDR Capacity(MB)": "43693", "Aicore Usage Rate(%)": "9", "Chip ID": "1"},
            ],
            None,
        ),
        ("power_duo_mcu-only.txt", {"NPU ID": "1", "Chip Count": "2"}, [], {"Power Dissipation(W)": "51.7", "Chip Name": "MCU"}),
        (
            "flash_A2.txt",
            {"NPU ID": "0", "Chip Count": "1"},
            [{"Flash Count": "1", "Flash ID": "0", "Manufacturer ID": "0xC2", "Capacity(MB)": "32", "Chip ID": "0"}],
            None,
        ),
        (
            "ecc_A1.txt",
            {"NPU ID": "3", "Chip Count": "1"},
            [{"HBM Single Bit Error Count": "2", "HBM Double Bit Error Count": "0", "Chip ID": "0"}],
            None,
        ),
        (
            "vrd_A5.txt",
            {"VRD Count": "2"},
            [
                {"VRD Name": "AIC_D1", "Current Version": "3", "Target Version": "4"},
                {"VRD Name": "BUS_D1", "Current Version": "4", "Target Version": "4"},
            ],
            None,
        ),
    ],
)
def test_blocks(name: str, head: t.Dict[str, str], chips: t.List[t.Dict[str, str]], mcu: t.Optional[t.Dict[str, str]]) -> None:
    assert parse_blocks(read(name)) == (head, chips, mcu)


def test_blocks_whose_blank_lines_are_lost() -> None:
    for name in ("health_duo.txt", "common_A2.txt"):
        head, blank, rest = read(name).partition("\n\n")
        tight = head + blank + rest.replace("\n\n", "\n")
        assert parse_blocks(tight) == parse_blocks(read(name))


def test_blocks_without_a_head_and_with_loose_ends() -> None:
    text = "\tChip ID : 0\n\tA : 1\n\n\tA : 2\n\n\tA : 3\n\tChip ID : 1\n\n\tB : 9\n"
    assert parse_blocks(text) == ({}, [{"Chip ID": "0", "A": "1"}, {"A": "2"}, {"A": "3", "Chip ID": "1"}, {"B": "9"}], None)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "list_card.txt",
            {
                "total": 2,
                "cards": [
                    {"npu_id": 1, "product_name": "CARDCODE1", "serial_number": "SN0000000101", "chip_count": 2},
                    {"npu_id": 32800, "product_name": "CARDCODE1", "serial_number": "SN0000000102", "chip_count": 2},
                ],
            },
        ),
        ("list_310.txt", {"total": 1, "cards": [{"npu_id": 2, "chip_count": 4}]}),
        ("list_A5.txt", {"total": 2, "cards": [{"npu_id": 0}, {"npu_id": 1}]}),
    ],
)
def test_list(name: str, expected: t.Dict[str, t.Any]) -> None:
    assert parse_list(read(name)) == expected


def test_process_memory() -> None:
    busy = [{"pid": 20461, "name": "engine core", "memory_mb": 40110}, {"pid": 20462, "name": "", "memory_mb": 98}]
    assert parse_process_memory(read("proc-mem_A2.txt")) == {"npu_id": 4, "chip_count": 1, "chips": [{"chip_id": 0, "processes": busy}]}
    assert parse_process_memory(read("proc-mem_idle.txt"))["chips"] == [{"chip_id": 0, "processes": []}]


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (parse_version, "25.2.0\n"),
        (parse_pairs, ""),
        (parse_pairs, "Not : led by a TAB\n"),
        (parse_pairs, "\t                    : a value without a key\n"),
        (parse_health, "\tError Code : NA\n"),
        (parse_blocks, "\n\n"),
        (parse_list, "\tNPU ID : 0\n"),
        (parse_list, "\tTotal Count : one\n"),
        (parse_list, "\tTotal Count : 1\n\tNPU ID : first\n"),
        (parse_process_memory, "\tChip ID : 0\n"),
        (parse_process_memory, "\tNPU ID : 0\n\tProcess id:1   Process name:a   Process memory(MB):1\n"),
        (parse_process_memory, "\tNPU ID : NA\n"),
    ],
)
def test_unknown_answers(parse: t.Callable[[str], t.Any], text: str) -> None:
    with pytest.raises(NpuSmiFormatError, match="unknown answer"):
        parse(text)
