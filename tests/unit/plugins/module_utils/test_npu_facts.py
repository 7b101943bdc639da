# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import time
import typing as t
from pathlib import Path

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._command import CommandResult
from ansible_collections.npufleet.ascend.plugins.module_utils._npu_facts import Settings, argument_spec, gather, missing_bus_ids

FIXTURES = Path(__file__).parents[2] / "fixtures" / "npu_smi"
BUSES = ("c1", "01", "c2", "02", "81", "41", "82", "42")
EIGHT = "info_L6_910B3_24.1.0_eight.txt"
KEYS = set(
    gather(Settings(npu_smi="/nowhere", sysfs_root="/nowhere", dev_root="/nowhere", driver_root="/nowhere", install_info="/nowhere"))
)


class Host:
    """A folder that poses as /sys, /dev, /usr/local/Ascend and /etc, and an npu-smi whose answers are given by arguments."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.calls: t.List[str] = []
        self.answers: t.Dict[str, t.Any] = {}
        (root / "dev").mkdir()
        self.tool: t.Optional[Path] = root / "npu-smi"
        self.tool.write_text("#!/bin/sh\n", encoding="utf-8")
        self.tool.chmod(0o755)

    def add_function(self, bus_id: str, device: str = "d802", subsystem: str = "3004", virtual: bool = False) -> None:
        folder = self.root / "sys" / "bus" / "pci" / "devices" / bus_id
        folder.mkdir(parents=True)
        values = {"vendor": "0x19e5", "class": "0x120000", "device": "0x" + device, "subsystem_vendor": "0x19e5"}
        for name, value in dict(values, subsystem_device="0x" + subsystem, numa_node="1", local_cpulist="24-47").items():
            (folder / name).write_text(value + "\n", encoding="utf-8")
        if virtual:
            (folder / "physfn").mkdir()

    def add_nodes(self, *numbers: int) -> None:
        for number in numbers:
            (self.root / "dev" / "davinci{0}".format(number)).touch()
        (self.root / "dev" / "davinci_manager").touch()

    def add_driver(self, version: str) -> None:
        for name, text in (("driver", version), ("firmware", "7.5.0.3.220")):
            (self.root / "Ascend" / name).mkdir(parents=True)
            (self.root / "Ascend" / name / "version.info").write_text("Version={0}\n".format(text), encoding="utf-8")
        (self.root / "ascend_install.info").write_text("Driver_Install_Status=complete\n", encoding="utf-8")

    def eight(self) -> Host:
        for bus in BUSES:
            self.add_function("0000:{0}:00.0".format(bus))
        self.add_nodes(*range(8))
        self.add_driver("24.1.0")
        self.answers = {"info": read(EIGHT), "info -m": read("map_A2.txt")}
        return self

    def run(self, argv: t.List[str], timeout: float, env: t.Dict[str, str]) -> CommandResult:
        arguments = " ".join(argv[1:])
        self.calls.append(arguments)
        answer = self.answers.get(arguments, ("This device does not support querying it.\n", 0))
        text, rc = answer if isinstance(answer, tuple) else (answer, 0)
        return CommandResult(argv, rc, text or "", "", timed_out=text is None)

    def gather(self, *extra: str) -> t.Dict[str, t.Any]:
        settings = Settings(
            npu_smi=str(self.tool) if self.tool else str(self.root / "absent"),
            gather=extra,
            sysfs_root=str(self.root / "sys"),
            dev_root=str(self.root / "dev"),
            driver_root=str(self.root / "Ascend"),
            install_info=str(self.root / "ascend_install.info"),
        )
        result = gather(settings, self.run)
        assert set(result) == KEYS
        json.dumps(result, allow_nan=False)
        if not result["available"]:
            assert result["reason"]
            assert result["message"]
        return result


def read(name: str) -> str:
    return (FIXTURES / name).read_text(encoding="utf-8")


@pytest.fixture(name="host")
def _host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def test_a_healthy_host_costs_two_processes(host: Host) -> None:
    result = host.eight().gather()
    chips, pci = result.pop("chips"), result.pop("pci")
    assert host.calls == ["info", "info -m"]
    assert result == {
        "available": True,
        "reason": None,
        "message": None,
        "present": True,
        "complete": True,
        "product": "Atlas 800I A2",
        "generation": "A2",
        "soc": "Ascend910B3",
        "image_suffix": "",
        "npu_count": 8,
        "chip_count": 8,
        "responding_count": 8,
        "healthy_count": 8,
        "pci_count": 8,
        "device_node_count": 8,
        "missing_bus_ids": [],
        "tool_path": str(host.tool),
        "tool_version": "24.1.0",
        "driver_version": "24.1.0",
        "driver_version_installed": "24.1.0",
        "driver_install_status": "complete",
        "driver_matches_installed": True,
        "firmware_version": "7.5.0.3.220",
        "driver_root": str(host.root / "Ascend"),
        "device_nodes": [0, 1, 2, 3, 4, 5, 6, 7],
        "control_nodes": ["davinci_manager"],
        "topology": None,
        "warnings": [],
    }
    assert [(chip["phy_id"], chip["numa_node"], chip["cpu_affinity"]) for chip in chips] == [(number, 1, "24-47") for number in range(8)]
    assert len(pci) == 8


@pytest.mark.parametrize(
    ("answer", "reason", "words"),
    [
        ((None, None), "timeout", "did not answer within the time limit"),
        (("DrvMngGetConsoleLogLevel failed. (ret=4)\ndcmi module initialize failed. ret is -8005\n", 187), "dcmi_init_failed", "-8005"),
        (("", 187), "dcmi_init_failed", "Reboot after a driver or firmware change"),
        (("dcmi model initialized failed, because the device is used. ret is -8020\n", 172), "device_in_use", "another container"),
        (("npu-smi: error while loading shared libraries: libdcmi.so: cannot open\n", 127), "missing_library", "libdcmi.so"),
        ((b"\x00\xff".decode("latin-1"), 0), "unexpected_output", "cannot read (npu-smi info printed no device table"),
        (("", 0), "unexpected_output", "Report its output"),
        (("", -11), "crashed", "signal 11"),
        (("There is no NPU card on this server.\n", 0), "devices_not_listed", "although the host has some"),
        (("Usage: npu-smi info <watch|proc>\n", 0), "devices_not_listed", "although the host has some"),
    ],
)
def test_a_failing_tool_leaves_what_the_hardware_shows(
    host: Host, answer: t.Tuple[t.Optional[str], t.Optional[int]], reason: str, words: str
) -> None:
    host.eight().answers["info"] = answer
    result = host.gather("topo", "board", "health")
    assert host.calls == ["info"]
    assert (result["available"], result["reason"], result["chips"], result["npu_count"]) == (False, reason, [], None)
    assert words in result["message"]
    assert "Seen without npu-smi: 8 PCI functions (Atlas 800I A2), 8 /dev/davinciN" in result["message"]
    assert (result["present"], result["pci_count"], result["device_node_count"]) == (True, 8, 8)
    assert (result["product"], result["generation"], result["image_suffix"]) == ("Atlas 800I A2", "A2", "")
    assert (result["driver_version_installed"], result["firmware_version"]) == ("24.1.0", "7.5.0.3.220")


def test_hardware_without_a_driver(host: Host) -> None:
    host.tool = None
    host.add_function("0000:01:00.0", "d803", "3003")
    result = host.gather()
    assert host.calls == []
    assert (result["reason"], result["generation"], result["image_suffix"], result["tool_path"]) == ("command_not_found", "A3", "-a3", None)
    assert result["message"] == (
        "npu-smi is not installed ({0} is no executable file). Seen without npu-smi: 1 PCI function (Atlas 800I A3), 0 /dev/davinciN. "
        "Install the Ascend driver, or name the tool with the option npu_smi.".format(host.root / "absent")
    )


def test_no_hardware_and_no_tool(host: Host) -> None:
    host.tool = None
    result = host.gather()
    assert (result["available"], result["present"], result["reason"]) == (False, False, "no_npu")
    assert result["message"] == "no Ascend NPU: no PCI function of vendor 0x19e5 class 0x1200, no /dev/davinci*, npu-smi not installed"


@pytest.mark.parametrize("text", ["There is no NPU card on this server.\n", "Usage: npu-smi info <watch|proc>\n"])
def test_no_hardware_but_a_tool(host: Host, text: str) -> None:
    host.answers = {"info": text}
    result = host.gather()
    assert (result["available"], result["reason"]) == (False, "no_npu")
    assert result["message"].endswith("no /dev/davinci*, npu-smi lists none")


def test_an_empty_table_is_no_healthy_host(host: Host) -> None:
    lines = read("info_L6_910B1_23.0.rc2_no-processes.txt").splitlines()
    host.eight().answers["info"] = "\n".join(lines[1:7]) + "\n"
    result = host.gather()
    assert (result["available"], result["reason"], result["chip_count"]) == (False, "devices_not_listed", 0)
    assert (result["generation"], result["missing_bus_ids"] is not None) == ("A2", True)


def test_fewer_chips_than_pci_functions(host: Host) -> None:
    lines = read(EIGHT).splitlines()
    host.eight().answers["info"] = "\n".join(lines[:14] + lines[17:]) + "\n"
    result = host.gather()
    assert (result["available"], result["complete"], result["npu_count"], result["pci_count"]) == (True, False, 7, 8)
    assert result["missing_bus_ids"] == ["0000:02:00.0"]
    assert result["warnings"] == [
        "npu-smi info -m knows NPU 3 chip 0, which the device table lacks",
        "npu-smi lists no chip at 0000:02:00.0, where PCI has one",
    ]
    assert [(chip["phy_id"], chip["phy_id_source"]) for chip in result["chips"]][3] == (4, "npu_id")


def test_a_dead_chip_among_living_ones(host: Host) -> None:
    for bus in ("c1", "01"):
        host.add_function("0000:{0}:00.0".format(bus))
    host.answers = {"info": read("info_L6_910B4_24.1.rc2_dead-chip.txt")}
    result = host.gather()
    assert (result["available"], result["complete"], result["responding_count"], result["healthy_count"]) == (True, False, 1, 1)
    assert result["missing_bus_ids"] == ["0000:01:00.0"]
    assert result["warnings"][-1] == "chips that do not respond, on NPU 1"


def test_only_dead_chips(host: Host) -> None:
    lines = read("info_L6_910B4_24.1.rc2_dead-chip.txt").splitlines()
    host.answers = {"info": "\n".join(lines[:6] + lines[9:]) + "\n"}
    result = host.gather()
    assert (result["available"], result["reason"], result["chip_count"]) == (False, "no_chip_responding", 1)
    assert len(result["chips"]) == 1


def test_an_alarm_is_not_healthy(host: Host) -> None:
    host.answers = {"info": read("info_L7_Ascend910_25.3.rc1.txt"), "info -m": read("map_A3.txt")}
    result = host.gather()
    assert (result["chip_count"], result["npu_count"], result["healthy_count"], result["complete"]) == (4, 2, 2, True)
    assert (result["generation"], result["image_suffix"], result["soc"], result["missing_bus_ids"]) == ("A3", "-a3", None, None)


def test_a_failure_beside_a_table_is_a_warning(host: Host) -> None:
    host.eight().answers["info"] = (read(EIGHT) + "Failed to query card total info.\n", 208)
    result = host.gather()
    assert (result["available"], result["complete"]) == (True, False)
    assert result["warnings"][0] == "Failed to query card total info."
    assert result["warnings"][1].startswith("npu-smi failed while it read a card. ")


def test_a_mapping_that_hangs_ends_the_queries(host: Host) -> None:
    host.eight().answers["info -m"] = (None, None)
    result = host.gather("board", "health", "topo")
    assert host.calls == ["info", "info -m"]
    assert (result["available"], result["topology"]) == (True, None)
    assert result["warnings"] == ["npu-smi info -m: npu-smi did not answer within the time limit"]


def test_lines_of_the_driver_and_another_version_on_disk(host: Host) -> None:
    host.add_driver("25.5.1")
    host.answers = {"info": read("info_L6_910B4-1_25.2.0_warning.txt")}
    result = host.gather()
    assert (result["tool_version"], result["driver_version"], result["driver_matches_installed"]) == ("25.2.0", "25.2.1", False)
    assert result["warnings"] == [
        "The driver package may not be completely installed.",
        "npu-smi info -m: this NPU does not support the query it",
        "driver 25.2.1 runs and 25.5.1 is installed: reboot to load it",
    ]


def test_extra_calls_on_request(host: Host) -> None:
    host.eight()
    host.answers.update(
        {
            "info": read(EIGHT).replace("| OK            | 91.5", "| Alarm         | 91.5"),
            "info -t topo": read("topo_A2.txt"),
            "info -t board -i 0": read("board_A2.txt"),
            "info -t board -i 0 -c 0": read("board-c_A2.txt"),
            "info -t health -i 1 -c 0": read("health-c_alarm.txt"),
        }
    )
    (host.root / "Ascend" / "firmware" / "version.info").unlink()
    result = host.gather("topo", "board", "health")
    assert host.calls[:2] == ["info", "info -m"]
    assert len(host.calls) == 2 + 9 + 1 + 1
    assert result["topology"]["links"]["0-1"] == "HCCS"
    assert result["chips"][0]["board"]["firmware_version"] == "7.5.0.3.220"
    assert result["chips"][1]["errors"]["codes"] == ["80C98000", "80E18401"]
    assert result["chips"][0]["cpu_affinity"] == "24-47"  # sysfs comes first


@pytest.mark.parametrize(
    ("info", "mapping", "topo", "expected"),
    [
        ("info_L5_310P3-duo_24.1.0.txt", "map_310P-duo.txt", "topo_A2.txt", ["0-23", "24-47", "48-71,96-119", "72-95"]),  # logic ids
        ("info_L6_910B4_24.1.rc2_dead-chip.txt", "map_A2.txt", "topo_nic.txt", ["0-23", "24-47"]),  # NPU ids
        ("info_L7_Ascend910_25.3.rc1.txt", "map_A3.txt", "topo_A3.txt", [None, None, None, None]),
        (EIGHT, "map_A2.txt", "topo_A2.txt", [None] * 8),  # four devices cannot be eight NPUs
    ],
)
def test_topology_tells_the_cpus_where_sysfs_does_not(host: Host, info: str, mapping: str, topo: str, expected: t.List[t.Any]) -> None:
    host.answers = {"info": read(info), "info -m": read(mapping), "info -t topo": read(topo)}
    assert [chip["cpu_affinity"] for chip in host.gather("topo")["chips"]] == expected


def test_own_cpu_time_on_eight_npus(host: Host) -> None:
    host.eight()
    before = time.process_time()
    host.gather()
    assert time.process_time() - before < 0.1


def test_firmware_from_the_board_where_no_file_tells(host: Host) -> None:
    host.answers = {"info": read("info_L6_910B4-1_25.2.0_warning.txt"), "info -t board -i 6": read("board_A2.txt")}
    assert host.gather("board")["firmware_version"] == "7.5.0.3.220"


def test_different_products_and_generations(host: Host) -> None:
    host.add_function("0000:01:00.0", "d500", "0100")
    host.add_function("0000:02:00.0", "d802", "4000")
    lines = read("info_L6_910B1_23.0.rc2_no-processes.txt").replace("910B1 ", "310P3 ", 1)
    host.answers = {"info": lines}
    result = host.gather()
    assert (result["product"], result["generation"], result["image_suffix"]) == ("Atlas 300I A2, Atlas 300I Pro", None, None)
    assert "the NPUs of this host are of different generations" in result["warnings"]


def test_virtual_functions_do_not_count(host: Host) -> None:
    host.add_function("0000:01:00.0")
    host.add_function("0000:01:00.1", "d805", virtual=True)
    host.tool = None
    result = host.gather()
    assert (result["pci_count"], len(result["pci"]), result["generation"]) == (1, 2, "A2")


@pytest.mark.parametrize(
    ("pci", "chips", "expected"),
    [
        (["0000:01:00.0"], ["0000:01:00.0", "0000:01:00.0"], []),  # Atlas 300I Duo
        (["0000:01:00.0", "0000:c2:00.0"], ["0000:01:00.0"], ["0000:c2:00.0"]),
        (["0000:01:00.0", "0000:c2:00.0"], ["0000:C2:00.0", "0000:00:00.0"], ["0000:01:00.0"]),
        (["0000:01:00.0"], ["0000:00:07.0"], None),  # a virtual NPU
        (["0000:01:00.0"], [None], None),  # a SoC board
        ([], ["0000:01:00.0"], None),
        ([], [], []),
    ],
)
def test_missing_bus_ids(pci: t.List[str], chips: t.List[t.Optional[str]], expected: t.Optional[t.List[str]]) -> None:
    functions = [{"bus_id": bus_id, "virtual_function": False} for bus_id in pci]
    assert missing_bus_ids(functions, [{"bus_id": bus_id} for bus_id in chips]) == expected


def test_the_tool_is_looked_for_beside_the_path_and_below_the_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    asked: t.List[str] = []

    def runner(argv: t.List[str], **kwargs: t.Any) -> CommandResult:
        asked.append(argv[0])
        return CommandResult(argv, 0, read(EIGHT), "")

    settings = Settings(
        npu_smi_dirs=[str(tmp_path / "mounted")],
        sysfs_root=str(tmp_path),
        dev_root=str(tmp_path),
        driver_root=str(tmp_path),
        install_info=str(tmp_path / "none"),
    )
    (tmp_path / "mounted" / "npu-smi").mkdir(parents=True)  # a folder where a file should be mounted
    assert gather(settings, runner)["reason"] == "no_npu"
    tools = tmp_path / "driver" / "tools"
    tools.mkdir(parents=True)
    (tools / "npu-smi").write_text("#!/bin/sh\n", encoding="utf-8")
    (tools / "npu-smi").chmod(0o755)
    assert gather(settings, runner)["available"] is True
    assert set(asked) == {str(tools / "npu-smi")}


def test_each_option_is_a_setting() -> None:
    spec = argument_spec()
    assert set(spec) == set(Settings._fields)
    defaults = Settings()._asdict()
    for name, option in spec.items():
        default = option.get("default")
        assert default == (list(defaults[name]) if isinstance(default, list) else defaults[name])
