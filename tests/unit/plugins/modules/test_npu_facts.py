# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.npufleet.ascend.plugins.doc_fragments.npu_gather import ModuleDocFragment
from ansible_collections.npufleet.ascend.plugins.module_utils._npu_facts import argument_spec
from ansible_collections.npufleet.ascend.plugins.module_utils._npu_smi_errors import REASONS
from ansible_collections.npufleet.ascend.plugins.modules import npu_facts
from ansible_collections.npufleet.ascend.tests.unit.plugins.modules.module_runner import run_module

FIXTURES = Path(__file__).parents[2] / "fixtures" / "npu_smi"
GUIDE = Path(__file__).parents[4] / "docs" / "npu-facts.md"


def options_of(root: Path, **extra: t.Any) -> t.Dict[str, t.Any]:
    paths = {"sysfs_root": root / "sys", "dev_root": root / "dev", "driver_root": root / "Ascend", "install_info": root / "none"}
    return dict({key: str(path) for key, path in paths.items()}, npu_smi=str(root / "npu-smi"), **extra)


def add_tool(root: Path, script: str) -> None:
    (root / "npu-smi").write_text("#!/bin/sh\n" + script, encoding="utf-8")
    (root / "npu-smi").chmod(0o755)


def add_nodes(root: Path, count: int) -> None:
    (root / "dev").mkdir()
    for number in range(count):
        (root / "dev" / "davinci{0}".format(number)).touch()


ANSWER = """\
echo "$*" >> {root}/calls
case "$*" in
  info) cat {fixtures}/info_L6_910B3_24.1.0_eight.txt ;;
  "info -m") cat {fixtures}/map_A2.txt ;;
  *) exit 187 ;;
esac
"""


@pytest.mark.parametrize("check", [False, True])
def test_a_host_with_eight_npus(tmp_path: Path, check: bool) -> None:
    add_tool(tmp_path, ANSWER.format(root=tmp_path, fixtures=FIXTURES))
    add_nodes(tmp_path, 8)
    result = run_module(npu_facts.main, options_of(tmp_path), check=check)
    facts = result["ansible_facts"]["npufleet_npu"]
    assert (result["failed"], result["changed"]) == (False, False)
    assert (facts["available"], facts["npu_count"], facts["generation"], facts["image_suffix"]) == (True, 8, "A2", "")
    assert [chip["device_node"] for chip in facts["chips"]] == ["{0}/dev/davinci{1}".format(tmp_path, number) for number in range(8)]
    assert (tmp_path / "calls").read_text(encoding="utf-8") == "info\ninfo -m\n"


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("exec sleep 60\n", "timeout"),
        ("echo 'dcmi module initialize failed. ret is -8005'; exit 187\n", "dcmi_init_failed"),
        ("echo 'npu-smi: error while loading shared libraries: libc_sec.so: cannot open' >&2; exit 127\n", "missing_library"),
        ("printf '\\377\\376|+\\000'\n", "unexpected_output"),
        ("kill -SEGV $$\n", "crashed"),
        ("cat <<'EOF'\n+---+\nEOF\n", "unexpected_output"),
    ],
)
def test_a_tool_that_fails_is_a_reason_and_no_failure(tmp_path: Path, script: str, reason: str) -> None:
    add_tool(tmp_path, script)
    add_nodes(tmp_path, 2)
    result = run_module(npu_facts.main, options_of(tmp_path, timeout=0.05 if reason == "timeout" else 20))
    facts = result["ansible_facts"]["npufleet_npu"]
    assert result["failed"] is False
    assert (facts["available"], facts["reason"], facts["device_node_count"], facts["chips"]) == (False, reason, 2, [])


def test_a_host_without_npus(tmp_path: Path) -> None:
    facts = run_module(npu_facts.main, options_of(tmp_path))["ansible_facts"]["npufleet_npu"]
    assert (facts["available"], facts["present"], facts["reason"]) == (False, False, "no_npu")
    assert facts["message"].startswith("no Ascend NPU: no PCI function of vendor 0x19e5 class 0x1200")


def test_an_unknown_query_is_refused(tmp_path: Path) -> None:
    result = run_module(npu_facts.main, options_of(tmp_path, gather=["everything"]))
    assert result["failed"] is True
    assert "gather" in result["msg"]


def test_the_documented_options_are_the_spec() -> None:
    documented = yaml.safe_load(ModuleDocFragment.DOCUMENTATION)["options"]
    spec = argument_spec()
    assert set(documented) == set(spec)
    for name, option in spec.items():
        assert {key: documented[name].get(key) for key in ("type", "elements", "choices", "default")} == {
            key: option.get(key) for key in ("type", "elements", "choices", "default")
        }


def test_the_documented_result_is_the_result(tmp_path: Path) -> None:
    add_tool(tmp_path, ANSWER.format(root=tmp_path, fixtures=FIXTURES))
    facts = run_module(npu_facts.main, options_of(tmp_path))["ansible_facts"]["npufleet_npu"]
    documented = yaml.safe_load(npu_facts.RETURN)["ansible_facts"]["contains"]["npufleet_npu"]["contains"]
    assert list(documented) == list(facts)
    assert list(documented["chips"]["contains"]) == list(facts["chips"][0])


def test_the_guide_knows_each_field_and_each_reason() -> None:
    documented = yaml.safe_load(npu_facts.RETURN)["ansible_facts"]["contains"]["npufleet_npu"]["contains"]
    guide = GUIDE.read_text(encoding="utf-8")
    reasons = set(REASONS) - {"help_printed"}  # reported as no_npu or devices_not_listed
    names = [*documented, *documented["chips"]["contains"], *reasons]
    assert [name for name in names if "`{0}`".format(name) not in guide] == []
