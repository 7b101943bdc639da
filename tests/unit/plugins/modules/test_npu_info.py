# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.npufleet.ascend.plugins.modules import npu_facts, npu_info
from ansible_collections.npufleet.ascend.tests.unit.plugins.modules.module_runner import run_module

FIXTURES = Path(__file__).parents[2] / "fixtures" / "npu_smi"
ANSWER = """\
case "$*" in
  info) cat {0}/{1} ;;
  "info -m") cat {0}/{2} ;;
  "info -t board -i 3 -c 0") cat {0}/board-c_A3.txt ;;
  "info -t health -i 4 -c "*) cat {0}/health-c_alarm.txt ;;
  *) echo "This device does not support querying it." ;;
esac
"""


def run(root: Path, table: str, mapping: str, check: bool = False, **extra: t.Any) -> t.Dict[str, t.Any]:
    tool = root / "npu-smi"
    tool.write_text("#!/bin/sh\n" + ANSWER.format(FIXTURES, table, mapping), encoding="utf-8")
    tool.chmod(0o755)
    options = dict({key: str(root) for key in ("sysfs_root", "dev_root", "driver_root", "install_info")}, npu_smi=str(tool), **extra)
    result = run_module(npu_info.main, options, check=check)
    assert (result["failed"], result["changed"]) == (False, False)
    assert "ansible_facts" not in result
    return t.cast(t.Dict[str, t.Any], result["npu"])


@pytest.mark.parametrize("check", [False, True])
def test_state_of_the_chips(tmp_path: Path, check: bool) -> None:
    npu = run(tmp_path, "info_L5_310P3-duo_24.1.0.txt", "map_310P-duo.txt", check=check)
    assert (npu["available"], npu["generation"], npu["npu_count"], npu["chip_count"]) == (True, "310P", 2, 4)
    assert [chip["memory_used_mb"] for chip in npu["chips"]] == [1490, 35604, 1490, 35604]


def test_extra_queries(tmp_path: Path) -> None:
    npu = run(tmp_path, "info_L7_Ascend910_25.3.rc1.txt", "map_A3.txt", gather=["board", "health"])
    assert (npu["soc"], npu["image_suffix"], npu["healthy_count"]) == ("Ascend910_9382", "-a3", 2)
    assert [chip["errors"] and len(chip["errors"]["codes"]) for chip in npu["chips"]] == [None, None, 2, 2]


def test_both_modules_document_one_structure() -> None:
    facts = yaml.safe_load(npu_facts.RETURN)["ansible_facts"]["contains"]["npufleet_npu"]["contains"]
    info = yaml.safe_load(npu_info.RETURN)["npu"]["contains"]
    assert list(facts) == list(info)
    assert list(facts["chips"]["contains"]) == list(info["chips"]["contains"])
