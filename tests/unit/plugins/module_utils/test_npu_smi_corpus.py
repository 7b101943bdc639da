# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The npu-smi parsers against an acceptance corpus that lives outside of the repository.

The corpus is a folder with expected.json (file name -> expected values) and the outputs. It is looked for in NPUFLEET_NPU_SMI_CORPUS and as
shared/npu-smi beside any parent of this checkout; without it this file collects nothing. tests/unit/fixtures/npu_smi is the repository's own.
"""

from __future__ import annotations

import json
import os
import typing as t
from pathlib import Path

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._npu_smi_errors import classify
from ansible_collections.npufleet.ascend.plugins.module_utils._npu_smi_matrix import (
    is_chip,
    parse_mapping,
    parse_templates,
    parse_topology,
    parse_vnpus,
    parse_watch,
)
from ansible_collections.npufleet.ascend.plugins.module_utils._npu_smi_table import parse_info
from ansible_collections.npufleet.ascend.plugins.module_utils._npu_smi_text import (
    parse_blocks,
    parse_health,
    parse_list,
    parse_pairs,
    parse_process_memory,
    parse_version,
    soc_version,
)

ROWS_OF_THE_CORPUS = 105


def find_corpus() -> t.Optional[Path]:
    named = os.environ.get("NPUFLEET_NPU_SMI_CORPUS")
    folders = [Path(named)] if named else [parent / "shared" / "npu-smi" for parent in Path(__file__).resolve().parents]
    return next((folder for folder in folders if (folder / "expected.json").is_file()), None)


CORPUS = find_corpus()
ROWS = json.loads((CORPUS / "expected.json").read_text(encoding="utf-8")) if CORPUS else {}


def as_info(text: str, expected: t.Dict[str, t.Any]) -> t.Dict[str, t.Any]:
    info = parse_info(text)
    # The corpus writes [] for a missing process table, too; the parser tells them apart.
    assert (info.processes is None) == ("Process id" not in text)
    npus = list(dict.fromkeys(chip["npu_id"] for chip in info.chips))
    result = {
        "tool_version": info.tool_version,
        "driver_version": info.driver_version,
        "npu_count": len(npus),
        "npu_ids": npus,
        "chip_count": len(info.chips),
        "chips": info.chips,
        "processes": info.processes or [],
    }
    if info.warnings:
        result["warnings"] = info.warnings
    return result


def as_mapping(text: str, expected: t.Dict[str, t.Any]) -> t.Dict[str, t.Any]:
    rows = parse_mapping(text)
    chips = sum(is_chip(row) for row in rows)
    return {"rows": rows, "chip_rows": chips, "mcu_rows": len(rows) - chips}


def as_keyvalue(text: str, expected: t.Dict[str, t.Any]) -> t.Dict[str, t.Any]:
    pairs = parse_pairs(text)
    result: t.Dict[str, t.Any] = {"pairs": pairs}
    if "Error Code" in pairs:
        result["error_codes"] = parse_health(text).codes
    if soc_version(pairs):
        result["soc_version"] = soc_version(pairs)
    return result


def as_blocks(text: str, expected: t.Dict[str, t.Any]) -> t.Dict[str, t.Any]:
    head, blocks, mcu = parse_blocks(text)
    result: t.Dict[str, t.Any] = {"blocks": blocks}
    if "NPU ID" in head:
        result.update(npu_id=int(head["NPU ID"]), chip_count=int(head["Chip Count"]))
    else:
        result["head"] = head
    if mcu is not None:
        result["mcu"] = mcu
    return result


def as_topology(text: str, expected: t.Dict[str, t.Any]) -> t.Dict[str, t.Any]:
    topology = parse_topology(text)
    result = {"devices": topology.devices, "label": topology.label, "cpu_affinity": topology.cpu_affinity}
    if "links" in expected:
        result["links"] = {pair: topology.links[pair] for pair in expected["links"]}
    if "links_default" in expected:
        (result["links_default"],) = set(topology.links.values())
    return result


def as_watch(text: str, expected: t.Dict[str, t.Any]) -> t.Dict[str, t.Any]:
    return {"rows": parse_watch(text)["rows"]}


KINDS: t.Dict[str, t.Callable[[str, t.Dict[str, t.Any]], t.Dict[str, t.Any]]] = {
    "info": as_info,
    "mapping": as_mapping,
    "list": lambda text, expected: parse_list(text),
    "version": lambda text, expected: {"tool_version": parse_version(text)},
    "keyvalue": as_keyvalue,
    "blocks": as_blocks,
    "procmem": lambda text, expected: parse_process_memory(text),
    "topo": as_topology,
    "template": lambda text, expected: {"templates": parse_templates(text)},
    "vnpu": lambda text, expected: parse_vnpus(text),
    "watch": as_watch,
}

if CORPUS:

    def read(name: str) -> t.Tuple[str, str, int]:
        """Return stdout, stderr and exit code of a row."""
        text = (CORPUS / name).read_text(encoding="utf-8")
        on_stderr = ROWS[name]["stream"] == "stderr"
        return ("" if on_stderr else text, text if on_stderr else "", ROWS[name]["exit_code"])

    def test_the_corpus_is_complete() -> None:
        assert len(ROWS) >= ROWS_OF_THE_CORPUS

    @pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row["expected"]["kind"] != "error"])
    def test_answer(name: str) -> None:
        stdout, stderr, rc = read(name)
        expected = {key: value for key, value in ROWS[name]["expected"].items() if key != "kind"}
        assert classify(stdout, stderr, rc) is None
        assert KINDS[ROWS[name]["expected"]["kind"]](stdout, expected) == expected

    @pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row["expected"]["kind"] == "error"])
    def test_failure(name: str) -> None:
        stdout, stderr, rc = read(name)
        expected = {key: value for key, value in ROWS[name]["expected"].items() if key != "kind"}
        failure = classify(stdout, stderr, rc)
        assert failure is not None
        answer = dict(failure.details, reason=failure.reason)
        assert {key: answer.get(key) for key in expected} == expected
