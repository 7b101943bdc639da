# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils import _npu_queries
from ansible_collections.npufleet.ascend.plugins.module_utils._command import CommandError, CommandResult
from ansible_collections.npufleet.ascend.plugins.module_utils._npu_queries import NpuSmi, library_path

FIXTURES = Path(__file__).parents[2] / "fixtures" / "npu_smi"
EIGHT = (FIXTURES / "info_L6_910B3_24.1.0_eight.txt").read_text(encoding="utf-8")


class Runner:
    """Answers by arguments: text, (text, rc), None for a hang, or an exception."""

    def __init__(self, answers: t.Dict[str, t.Any]) -> None:
        self.answers = answers
        self.calls: t.List[str] = []

    def __call__(self, argv: t.List[str], timeout: float, env: t.Dict[str, str]) -> CommandResult:
        arguments = " ".join(argv[1:])
        self.calls.append(arguments)
        answer = self.answers.get(arguments, ("This device does not support querying it.\n", 0))
        if isinstance(answer, Exception):
            raise answer
        if answer is None:
            return CommandResult(argv, None, "", "", timed_out=True)
        text, rc = answer if isinstance(answer, tuple) else (answer, 0)
        return CommandResult(argv, rc, text, "")


def tool(**answers: t.Any) -> t.Tuple[NpuSmi, Runner]:
    runner = Runner({key.replace("__", " -").replace("_", " "): value for key, value in answers.items()})
    return NpuSmi("/usr/local/bin/npu-smi", runner, 20.0, "/nowhere"), runner


def chip(**values: t.Any) -> t.Dict[str, t.Any]:
    base = {"npu_id": 0, "chip_id": 0, "name": "910B3", "generation": "A2", "soc": None, "health": "OK", "board": None, "errors": None}
    return dict(base, **values)


def read(name: str) -> str:
    return (FIXTURES / name).read_text(encoding="utf-8")


def test_table() -> None:
    smi, runner = tool(info=EIGHT)
    info, failed = smi.table()
    assert (info is not None and len(info.chips), failed, runner.calls) == (8, None, ["info"])


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (None, "timeout"),
        (("dcmi module initialize failed. ret is -8005\n", 187), "dcmi_init_failed"),
        (("", 187), "dcmi_init_failed"),
        ("a robot ate the table\n", "unexpected_output"),
        ("", "unexpected_output"),
        (EIGHT[:900], "unexpected_output"),
        ("Usage: npu-smi info\n", "help_printed"),
        (CommandError("cannot execute npu-smi: Permission denied"), "permission_denied"),
        (CommandError("cannot execute npu-smi: Exec format error"), "cannot_execute"),
    ],
)
def test_table_that_fails(answer: t.Any, reason: str) -> None:
    smi, _runner = tool(info=answer)
    info, failed = smi.table()
    assert info is None
    assert failed is not None
    assert failed.reason == reason


def test_a_table_with_a_failure_beside_it_gives_both() -> None:
    smi, _runner = tool(info=(EIGHT + "Failed to query card total info.\n", 208))
    info, failed = smi.table()
    assert info is not None
    assert failed is not None
    assert failed.reason == "query_failed"


def test_mapping_that_fails_is_a_warning() -> None:
    smi, _runner = tool(info__m=("", 187))
    assert smi.mapping() == []
    assert len(smi.warnings) == 1
    assert smi.warnings[0].startswith("npu-smi info -m: npu-smi cannot reach the driver")


def test_mapping_that_cannot_be_read_is_a_warning() -> None:
    smi, _runner = tool(info__m="garbage\n")
    assert smi.mapping() == []
    assert smi.warnings == ["npu-smi info -m: npu-smi printed an unknown answer: 'garbage'"]


def test_no_call_after_one_that_hung() -> None:
    smi, runner = tool(info=EIGHT, info__m=None)
    smi.table()
    assert smi.mapping() == []
    chips = [chip(), chip(npu_id=1)]
    smi.add_boards(chips)
    assert smi.topology() is None
    assert runner.calls == ["info", "info -m"]
    assert smi.warnings == ["npu-smi info -m: npu-smi did not answer within the time limit"]
    assert [row["board"] for row in chips] == [None, None]


def test_boards_cost_one_call_an_npu_and_one_a_name() -> None:
    smi, runner = tool(info__t_board__i_0=read("board_A2.txt"), info__t_board__i_0__c_0=read("board-c_A2.txt"))
    chips = [chip(), chip(npu_id=1), chip(npu_id=None)]
    smi.add_boards(chips)
    assert runner.calls == ["info -t board -i 0", "info -t board -i 0 -c 0", "info -t board -i 1"]
    assert [row["soc"] for row in chips] == ["Ascend910B3"] * 3
    assert chips[0]["board"]["serial_number"] == "SN0000000103"
    assert (chips[0]["board"]["pcie_bus_info"], chips[0]["board"]["model"]) == ("0000:C1:00.0", None)
    assert chips[1]["board"] is None
    assert smi.warnings == ["npu-smi info -t board -i 1: this NPU does not support the query it"]


def test_a_board_of_a5_tells_the_soc_without_a_chip_id() -> None:
    smi, runner = tool(info__t_board__i_0=read("board_A5.txt"))
    chips = [chip(generation="A5", name="Ascend950PR", chip_id=0)]
    smi.add_boards(chips)
    assert (runner.calls, chips[0]["soc"]) == (["info -t board -i 0"], "Ascend950PR_9574")


def test_a_soc_from_the_name_stays_when_the_board_does_not_tell() -> None:
    smi, _runner = tool()
    chips = [chip(soc="Ascend910B3")]
    smi.add_boards(chips)
    assert chips[0]["soc"] == "Ascend910B3"


def test_errors_are_asked_for_unhealthy_chips_only() -> None:
    smi, runner = tool(info__t_health__i_1__c_0=read("health-c_alarm.txt"), info__t_health__i_2=read("health_A5.txt"))
    chips = [
        chip(),
        chip(npu_id=1, health="Alarm"),
        chip(npu_id=2, health="Warning", generation="A5"),
        chip(npu_id=3, health="UNKNOWN"),
        chip(npu_id=None, health="UNKNOWN"),
    ]
    smi.add_errors(chips)
    assert runner.calls == ["info -t health -i 1 -c 0", "info -t health -i 2", "info -t health -i 3 -c 0"]
    assert [row["errors"] and row["errors"]["codes"] for row in chips] == [None, ["80C98000", "80E18401"], ["81AF8001"], None, None]


def test_library_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    assert library_path(str(tmp_path)) == {}
    lib64 = tmp_path / "driver" / "lib64"
    (lib64 / "common").mkdir(parents=True)
    assert library_path(str(tmp_path)) == {"LD_LIBRARY_PATH": "{0}:{0}/common".format(lib64)}
    monkeypatch.setenv("LD_LIBRARY_PATH", "/opt/lib")
    assert library_path(str(tmp_path)) == {"LD_LIBRARY_PATH": "/opt/lib:{0}:{0}/common".format(lib64)}


def test_the_environment_and_the_time_limit_reach_the_command() -> None:
    seen: t.Dict[str, t.Any] = {}

    def runner(argv: t.List[str], **kwargs: t.Any) -> CommandResult:
        seen.update(kwargs, argv=argv)
        return CommandResult(argv, 0, EIGHT, "")

    NpuSmi("/opt/npu-smi", runner, 7.5, "/nowhere").table()
    assert seen == {"argv": ["/opt/npu-smi", "info"], "timeout": 7.5, "env": _npu_queries.library_path("/nowhere")}
