# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whatever npu-smi prints, the parsers raise their own exception or nothing, and the facts of a host are a verdict."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._command import CommandResult
from ansible_collections.npufleet.ascend.plugins.module_utils._npu_facts import Settings, gather
from ansible_collections.npufleet.ascend.plugins.module_utils._npu_smi_errors import NpuSmiFormatError, classify
from ansible_collections.npufleet.ascend.plugins.module_utils._npu_smi_matrix import (
    parse_mapping,
    parse_templates,
    parse_topology,
    parse_vnpus,
    parse_watch,
)
from ansible_collections.npufleet.ascend.plugins.module_utils._npu_smi_table import HEALTH_STATES, parse_info
from ansible_collections.npufleet.ascend.plugins.module_utils._npu_smi_text import (
    parse_blocks,
    parse_health,
    parse_list,
    parse_pairs,
    parse_process_memory,
    parse_version,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

FIXTURES = Path(__file__).parents[2] / "fixtures" / "npu_smi"
TEXTS = {path.name: path.read_text(encoding="utf-8") for path in sorted(FIXTURES.glob("*.txt"))}
PARSERS: t.Dict[str, t.Callable[[str], t.Any]] = {
    "info_": parse_info,
    "map": parse_mapping,
    "list": parse_list,
    "version": parse_version,
    "board": parse_pairs,
    "phyid": parse_pairs,
    "health-c": parse_health,
    "health_A5": parse_health,
    "proc-mem": parse_process_memory,
    "topo": parse_topology,
    "template": parse_templates,
    "info-vnpu": parse_vnpus,
    "watch": parse_watch,
    "": parse_blocks,
}
PIECES = ("|", "+", "\n", "\t", " : ", "/", "NA", "-", "-1", "²", "٣", "9" * 20, "0x", "NPU", "Chip ID", "\x00", "\u2028", " ")
SLOW = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@st.composite
def mutated(draw: t.Callable[[t.Any], t.Any], names: t.Sequence[str]) -> t.Tuple[str, str]:
    """A fixture with up to four edits: cut, doubled line, lost line, inserted piece, swapped piece, changed case."""
    name = draw(st.sampled_from(names))
    text = TEXTS[name]
    for _edit in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        stop = min(len(text), start + draw(st.integers(0, 40)))
        piece = draw(st.one_of(st.sampled_from(PIECES), st.text(max_size=5)))
        lines = text.split("\n")
        line = draw(st.integers(0, len(lines) - 1))
        text = draw(
            st.sampled_from(
                (
                    text[:start],
                    text[:start] + text[stop:],
                    text[:start] + piece + text[stop:],
                    text[:start] + piece + text[start:],
                    "\n".join(lines[:line] + lines[line + 1 :]),
                    "\n".join([*lines[:line], lines[line], *lines[line:]]),
                    text.swapcase(),
                )
            )
        )
    return name, text


@SLOW
@given(st.text(max_size=300), st.sampled_from(sorted(PARSERS)))
def test_any_text(text: str, kind: str) -> None:
    try:
        PARSERS[kind](text)
    except NpuSmiFormatError as exc:
        assert str(exc)


@pytest.mark.parametrize("kind", sorted(PARSERS))
@SLOW
@given(data=st.data())
def test_mutated_answers(kind: str, data: st.DataObject) -> None:
    names = [name for name in TEXTS if kind == next(prefix for prefix in PARSERS if name.startswith(prefix))]
    _name, text = data.draw(mutated(names))
    classify(text, "", 0)
    try:
        PARSERS[kind](text)
    except NpuSmiFormatError as exc:
        assert str(exc)


@SLOW
@given(
    mutated([name for name in TEXTS if name.startswith("info_")]),
    mutated([name for name in TEXTS if name.startswith("map")]),
    st.integers(-9, 255),
)
def test_facts_of_a_host_whose_tool_prints_anything(table: t.Tuple[str, str], mapping: t.Tuple[str, str], rc: int) -> None:
    def runner(argv: t.List[str], **kwargs: t.Any) -> CommandResult:
        return CommandResult(argv, rc, table[1] if argv[-1] == "info" else mapping[1], "")

    host = gather(
        Settings(
            npu_smi="/bin/sh",
            sysfs_root="/nowhere",
            dev_root="/nowhere",
            driver_root="/nowhere",
            install_info="/nowhere",
            gather=["health"],
        ),
        runner,
    )
    json.dumps(host, allow_nan=False)
    assert host["available"] is bool(host["chips"] and host["responding_count"])
    assert host["available"] or (host["reason"] and host["message"])
    assert all(chip["health"] in HEALTH_STATES for chip in host["chips"])
