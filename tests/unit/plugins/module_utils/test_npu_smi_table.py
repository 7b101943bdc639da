# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._npu_smi_errors import NpuSmiFormatError, classify
from ansible_collections.npufleet.ascend.plugins.module_utils._npu_smi_table import parse_info

FIXTURES = Path(__file__).parents[2] / "fixtures" / "npu_smi"
EXPECTED = json.loads((FIXTURES / "expected.json").read_text(encoding="utf-8"))
LAYOUTS = ("L1", "L2", "L3", "L4", "L4b", "L5", "L6", "L6b", "L7", "L8", "L9", "L10")
DEVICES = "info_L6_910B3_24.1.0_eight.txt"


def read(name: str) -> str:
    return (FIXTURES / name).read_text(encoding="utf-8")


def test_each_layout_has_a_fixture() -> None:
    assert {name.split("_")[1] for name in EXPECTED} == set(LAYOUTS)
    assert {path.name for path in FIXTURES.glob("info_L*.txt")} == set(EXPECTED)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_layout(name: str) -> None:
    assert parse_info(read(name))._asdict() == EXPECTED[name]
    assert classify(read(name), "", 0) is None


def test_lines_of_a_preloaded_library_are_warnings() -> None:
    info = parse_info(
        "[limiter Info(1:2)]: starts\n| not a table\n".replace("| not", "not") + read(DEVICES) + "[limiter Info(1:2)]: ends\n"
    )
    assert info.warnings == ["[limiter Info(1:2)]: starts", "not a table", "[limiter Info(1:2)]: ends"]
    assert len(info.chips) == 8


def test_a_table_without_rows_is_no_chip() -> None:
    lines = read("info_L6_910B1_23.0.rc2_no-processes.txt").splitlines()
    assert parse_info("\n".join(lines[1:7])).chips == []


def test_a_name_that_is_missing_shifts_nothing() -> None:
    chip = parse_info(read(DEVICES).replace("| 0     910B3 ", "| 0           ")).chips[0]
    assert (chip["npu_id"], chip["name"], chip["power_w"]) == (0, None, 90.5)


def test_a_process_name_may_hold_a_bar() -> None:
    text = read(DEVICES).replace("VLLM_Worker_TP0 ", "a|b ")
    assert [row["name"] for row in parse_info(text).processes or []] == ["a|b", "python3"]


@pytest.mark.parametrize("state", ["Error", "ok", "", "OKAY"])
def test_an_unknown_health_is_never_healthy(state: str) -> None:
    chip = parse_info(read(DEVICES).replace("| OK            |", "| {0:<14}|".format(state), 1)).chips[0]
    assert chip["health"] == "UNKNOWN"


@pytest.mark.parametrize(
    ("old", "new", "field", "value"),
    [
        ("90.5 ", "NA   ", "power_w", None),
        ("90.5 ", "-    ", "power_w", None),
        ("  40   ", "  -5   ", "temp_c", -5),
        ("  40   ", "  NA   ", "temp_c", None),
        ("0000:C1:00.0  | 0 ", "0000:C1:00.0  | NA", "util_pct", None),
        ("3300 / 65536", "NA/65536    ", "hbm_used_mb", None),
        ("0000:C1:00.0", "NA          ", "bus_id", None),
    ],
)
def test_markers_of_absent_values(old: str, new: str, field: str, value: object) -> None:
    assert parse_info(read(DEVICES).replace(old, new, 1)).chips[0][field] == value


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("| npu-smi 24.1.0 ", "| other     24.1.0 ", "an unknown table"),
        ("| NPU   Name ", "| NPU   Nom  ", "an unknown table header"),
        ("| Chip  ", "| Die   ", "an unknown table header"),
        ("Bus-Id", "Device", "an unknown table header"),
        ("Memory-Usage(MB)  HBM-Usage(MB)", "Memory-Usage(GB)  HBM-Usage(GB)", "an unknown table header"),
        ("| 0     910B3 ", "| x     910B3 ", "without an NPU id"),
        ("| 0     910B3 ", "|             ", "without an NPU id"),
        ("90.5        40", "90.5        4x", "does not fit its header"),
        ("0000:C1:00.0  |", "0000:C1:00.0   ", "a device row with 2 cells"),
        ("| 0                         | 0000:C1:00.0", "| 0     7                   | 0000:C1:00.0", "unexpected ids"),
        ("| 0                         | 0000:C1:00.0", "| x                         | 0000:C1:00.0", "unexpected ids"),
        ("| NPU     Chip ", "| Card    Chip ", "unknown process table header"),
        ("| 0       0                 | 51000", "| 0                         | 51000", "process row"),
        ("| 51000 ", "| pid   ", "process row"),
        ("| 55012 ", "| much  ", "process row"),
        ("| 51000         |", "| 51000          ", "process row"),
    ],
)
def test_an_unknown_form_is_an_error_with_version_and_line(old: str, new: str, complaint: str) -> None:
    text = read(DEVICES)
    assert old in text
    with pytest.raises(NpuSmiFormatError, match=complaint) as caught:
        parse_info(text.replace(old, new, 1))
    assert "npu-smi 24.1.0" in str(caught.value) or complaint == "an unknown table"


@pytest.mark.parametrize("text", ["", "\n\n", "Segmentation fault\n", "+----+\n+----+\n", "| npu-smi 25.5.0   Version: 25.5.0 |\n+---+\n"])
def test_no_device_table(text: str) -> None:
    with pytest.raises(NpuSmiFormatError, match="no device table"):
        parse_info(text)


@pytest.mark.parametrize("keep", [9, 10, 25, 27, 29])
def test_a_table_that_breaks_off(keep: int) -> None:
    text = "\n".join(read(DEVICES).splitlines()[:keep])
    if text.rstrip().endswith("+") and "| 0000:" in text.splitlines()[-2]:
        assert parse_info(text).chips  # a cut between two chips cannot be seen here; the PCI scan sees it
    else:
        with pytest.raises(NpuSmiFormatError, match="breaks off"):
            parse_info(text)


def test_a_second_row_that_is_missing() -> None:
    lines = read(DEVICES).splitlines()
    without = [line for line in lines if "0000:42:00.0" not in line]
    with pytest.raises(NpuSmiFormatError, match="second row is missing"):
        parse_info("\n".join(without))
    with pytest.raises(NpuSmiFormatError, match="does not fit"):
        parse_info("\n".join(line for line in lines if "0000:C1:00.0" not in line))


def test_numbers_that_no_chip_can_have() -> None:
    with pytest.raises(NpuSmiFormatError):
        parse_info(read(DEVICES).replace("65536", "9" * 5000))
