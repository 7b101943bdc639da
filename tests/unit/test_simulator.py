# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The simulated npu-smi answers what the parsers of the collection read: every layout, every sub-command, every fault."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import struct
import subprocess
import sys

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._command import run
from ansible_collections.npufleet.ascend.plugins.module_utils._npu_facts import Settings, gather
from ansible_collections.npufleet.ascend.plugins.module_utils._npu_pci import read_driver_files, scan_pci
from ansible_collections.npufleet.ascend.plugins.module_utils._npu_smi_errors import NpuSmiFormatError, classify
from ansible_collections.npufleet.ascend.plugins.module_utils._npu_smi_matrix import is_chip, parse_mapping, parse_topology
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

SIMULATOR = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "molecule", "shared", "simulator")
NPU_SMI = os.path.join(SIMULATOR, "npu_smi")
# Far above any answer of the simulator; a call that needs it is a failure.
LIMIT = 60

# Whole width of a line, from public captures (L6b: from the published source).
WIDTHS = {
    "L1": 80, "L2": 86, "L3": 93, "L4": 94, "L4b": 98, "L5": 106, "L5b": 106, "L6": 98, "L6b": 99, "L7": 98, "L8": 116, "L8-phy": 116, "L9": 99,
    "L10": 116,
}  # fmt: skip
EXAMPLES = {
    "L1": ("atlas-300i-3010", "21.0.3.1"),
    "L2": ("atlas-300t-9000", "21.0.3.2"),
    "L3": ("atlas-800-9000", "21.0.4"),
    "L4": ("atlas-300i-pro", "22.0.0"),
    "L4b": ("atlas-300i-pro", "22.0.2"),
    "L5": ("atlas-300i-pro", "23.0.rc2"),
    "L5b": ("atlas-300i-duo", "25.5.0"),
    "L6": ("atlas-800i-a2", "25.5.1"),
    "L6b": ("atlas-800t-a2", "25.7.rc1"),
    "L7": ("atlas-800-a3", "25.5.0"),
    "L8": ("atlas-800i-a2", "26.0.rc1"),
    "L8-phy": ("atlas-800-a3", "26.0.rc1"),
    "L9": ("atlas-350", "25.7.rc1"),
    "L10": ("atlas-950", "25.6.rc1.b218"),
}
SOCS = {
    "atlas-800i-a2": "Ascend910B4",
    "atlas-800-a3": "Ascend910_9391",
    "atlas-300i-duo": "Ascend310P3",
    "atlas-800-9000": "Ascend910A",
    "atlas-350": "Ascend950PR_9579",
    "atlas-950": "Ascend950DT_9582",
}
FAULTS = {
    "missing_library": "missing_library",
    "dcmi_8005": "dcmi_init_failed",
    "dcmi_8020": "device_in_use",
    "permission": "permission_denied",
    "root_only": "root_required",
    "query_failed": "query_failed",
    "help": "help_printed",
    "no_npu": "help_printed",
}


def script(name):
    """Load one of the scripts beside npu_smi, which are no package."""
    spec = importlib.util.spec_from_file_location("npu_simulator_" + name, os.path.join(SIMULATOR, name + ".py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


make_state = script("make_state")
host_tree = script("host_tree")
boot = script("boot")


class Simulator:
    """One state file, its call log, and the scripts that use them. npu_smi itself runs as a process."""

    def __init__(self, folder):
        self.folder = str(folder)
        self.path = os.path.join(self.folder, "state.json")
        self.log = os.path.join(self.folder, "calls.jsonl")
        self.env = {"NPU_SIMULATOR_STATE": self.path}

    def make(self, *options):
        """Run make_state.py and return the state."""
        assert make_state.main(["--state", self.path, *options]) == 0
        return self.state()

    def state(self):
        with open(self.path, encoding="utf-8") as stream:
            return json.load(stream)

    def product(self, name, *options):
        return self.make("--product", name, "--call-log", self.log, *options)

    def build(self, *options):
        """Run host_tree.py below the folder of the test."""
        return host_tree.main(["--state", self.path, "--root", self.folder, *options])

    def ask(self, *words, **kwargs):
        """Run the simulated npu-smi."""
        return run([sys.executable, NPU_SMI, *words], LIMIT, self.env, **kwargs)

    def gather(self):
        """Gather the facts of the simulated host as npu_facts does, through a command such as install.sh makes, with the interpreter of this test."""
        command = os.path.join(self.folder, "npu-smi")
        host_tree.write(command, '#!/bin/sh\nexec "{0}" "{1}" "$@"\n'.format(sys.executable, NPU_SMI), 0o755)
        settings = Settings(
            npu_smi=command,
            timeout=LIMIT,
            sysfs_root=os.path.join(self.folder, "sys"),
            dev_root=os.path.join(self.folder, "dev"),
            driver_root=os.path.join(self.folder, "usr/local/Ascend"),
            install_info=os.path.join(self.folder, "etc/ascend_install.info"),
        )

        def runner(argv, timeout, env=None, **kwargs):
            return run(argv, timeout, dict(env or {}, **self.env))

        return gather(settings, runner)

    def calls(self):
        with open(self.log, encoding="utf-8") as stream:
            return [json.loads(line)["argv"] for line in stream]


@pytest.fixture
def simulator(tmp_path):
    return Simulator(tmp_path)


def flat(chip):
    """The chip of a state file as the parser names its values; markers become None."""
    marker = {"NA": None, "-": None}
    return {
        "npu_id": chip["npu"],
        "name": chip["name"],
        "health": chip["health"],
        "power_w": marker.get(chip["power"], chip["power"]),
        "temp_c": chip["temp"],
        "bus_id": chip["bus"],
        "util_pct": chip["util"],
        "memory_used_mb": chip["memory"][0],
        "memory_total_mb": chip["memory"][1],
    }


KEYS = ("npu_id", "name", "health", "power_w", "temp_c", "bus_id", "util_pct", "memory_used_mb", "memory_total_mb")


def picked(row):
    return {key: row[key] for key in KEYS}


@pytest.mark.parametrize("layout", sorted(WIDTHS))
def test_table_of_each_layout_is_read_back(simulator, layout):
    product, version = EXAMPLES[layout]
    state = simulator.product(product, "--layout", layout, "--version", version)
    first = state["chips"][0]
    place = "{0}.{1}".format(first["npu"], first["chip"])
    table = state["processes"] is not None
    state = simulator.make("--set", place + ".health=Alarm", "--set", place + ".util=97", "--set", place + ".hugepages=[15, 16]")
    if table:
        state = simulator.make("--process", place + ".10031=worker_tp0:2500")
    result = simulator.ask("info")
    info = parse_info(result.stdout)
    assert (result.rc, result.stderr, info.tool_version, info.driver_version) == (0, "", version, version)
    assert {len(line) for line in result.stdout.splitlines() if "10031" not in line} == {WIDTHS[layout]}
    assert [picked(row) for row in info.chips] == [flat(chip) for chip in state["chips"]]
    assert (info.chips[0]["health"], info.chips[0]["util_pct"]) == ("Alarm", 97)
    if layout not in ("L1", "L2"):
        assert (info.chips[0]["hugepages_used"], info.chips[0]["hugepages_total"]) == (15, 16)
    if "HBM-Usage" in result.stdout:
        assert [[row["hbm_used_mb"], row["hbm_total_mb"]] for row in info.chips] == [chip["hbm"] for chip in state["chips"]]
    if table:
        found = [(row["npu_id"], row["pid"], row["name"], row["memory_mb"]) for row in info.processes]
        assert found == [(first["npu"], 10031, "worker_tp0", 2500)]
        assert info.idle_npus == [npu for npu in dict.fromkeys(chip["npu"] for chip in state["chips"]) if npu != first["npu"]]
    else:
        assert info.processes is None


def test_process_row_of_a5_is_one_column_short(simulator):
    simulator.product("atlas-350", "--process", "5.0.10012=python:5139")
    rows = [line for line in simulator.ask("info").stdout.splitlines() if "10012" in line]
    assert [len(row) for row in rows] == [WIDTHS["L9"] - 1]


@pytest.mark.parametrize("product", ["atlas-300i-3010", "atlas-300i-duo", "atlas-800-9000", "atlas-800i-a2", "atlas-800-a3", "atlas-350"])
def test_mapping_and_list_name_every_chip(simulator, product):
    state = simulator.product(product)
    rows = [row for row in parse_mapping(simulator.ask("info", "-m").stdout) if is_chip(row)]
    assert [(row["npu_id"], row["chip_id"]) for row in rows] == [(chip["npu"], chip["chip"]) for chip in state["chips"]]
    listed = parse_list(simulator.ask("info", "-l").stdout)
    npus = list(dict.fromkeys(chip["npu"] for chip in state["chips"]))
    assert (listed["total"], [card["npu_id"] for card in listed["cards"]]) == (len(npus), npus)


@pytest.mark.parametrize("product", sorted(SOCS))
def test_board_names_the_soc(simulator, product):
    first = simulator.product(product)["chips"][0]
    words = ["info", "-t", "board", "-i", str(first["npu"])]
    if product not in ("atlas-350", "atlas-950"):
        words += ["-c", "0"]
    board = parse_pairs(simulator.ask(*words).stdout)
    assert soc_version(board) == SOCS[product]
    assert board["PCIe Bus Info"] == (first["bus"] or "NA")


@pytest.mark.parametrize("identity, expected", [("shown", "OK"), ("hidden", "NOT SUPPORT")])
def test_board_hides_the_identity_from_other_users(simulator, identity, expected):
    state = simulator.product("atlas-800i-a2")
    with open(simulator.path, "w", encoding="utf-8") as stream:
        json.dump(dict(state, identity=identity), stream)
    board = parse_pairs(simulator.ask("info", "-t", "board", "-i", "3").stdout)
    assert (board["Compatibility"], board["Serial Number"] == "NA") == (expected, identity == "hidden")


@pytest.mark.parametrize("kind", ["usages", "common", "temp", "memory", "power", "health", "device-share"])
def test_blocks_belong_to_their_chip(simulator, kind):
    simulator.product("atlas-800-a3")
    blocks = parse_blocks(simulator.ask("info", "-t", kind, "-i", "3").stdout)
    assert blocks.head == {"NPU ID": "3", "Chip Count": "2"}
    assert [block["Chip ID"] for block in blocks.chips] == ["0", "1"]


def test_power_of_310p_belongs_to_the_card(simulator):
    simulator.product("atlas-300i-duo")
    blocks = parse_blocks(simulator.ask("info", "-t", "power", "-i", "96").stdout)
    assert (blocks.chips, blocks.mcu["Power Dissipation(W)"]) == ([], "45.2")


def test_error_codes_of_one_chip(simulator):
    errors = [{"code": "80E3A203", "text": "node type=LPM, event state=abnormal"}, {"code": "80E01801", "text": "second: text"}]
    simulator.product("atlas-800i-a2", "--set", "3.0.health=Critical", "--set", "3.0.errors=" + json.dumps(errors))
    health = parse_health(simulator.ask("info", "-t", "health", "-i", "3", "-c", "0").stdout)
    assert (health.state, health.codes) == ("Critical", ["80E3A203", "80E01801"])


def test_process_memory(simulator):
    simulator.product("atlas-800i-a2", "--process", "1.0.10031=worker_tp0:5118")
    busy, idle = (parse_process_memory(simulator.ask("info", "-t", "proc-mem", "-i", npu).stdout) for npu in ("1", "2"))
    assert busy["chips"][0]["processes"] == [{"pid": 10031, "name": "worker_tp0", "memory_mb": 5118}]
    assert idle["chips"][0]["processes"] == []


@pytest.mark.parametrize(
    "product, label, link, affinity",
    [("atlas-800i-a2", "NPU", "HCCS", "144-167"), ("atlas-800-a3", "Phy-ID", "SIO", None), ("atlas-300i-duo", "NPU", "PIX", "0-31")],
)
def test_topology(simulator, product, label, link, affinity):
    state = simulator.product(product)
    topology = parse_topology(simulator.ask("info", "-t", "topo").stdout)
    assert (topology.label, len(topology.devices), topology.links["0-1"]) == (label, len(state["chips"]), link)
    assert topology.cpu_affinity[0] == affinity if affinity else topology.cpu_affinity is None


def test_version(simulator):
    simulator.product("atlas-800i-a2")
    assert parse_version(simulator.ask("-v").stdout) == "25.5.1"


@pytest.mark.parametrize(
    "words, reason, code",
    [
        (["status"], "unknown_command", 211),
        (["info", "-x"], "unknown_command", 211),
        (["info", "-t", "board"], "invalid_card_id", 215),
        (["info", "-t", "board", "-i", "99"], "invalid_card_id", 215),
        (["info", "-t", "health", "-i", "0", "-c", "7"], "invalid_card_id", 215),
        (["info", "-t", "spod-info", "-i", "0"], "not_supported", 0),
        (["set", "-t", "device-share", "-i", "0", "-c", "0", "-d", "1"], "confirmation_required", 200),
    ],
)
def test_refusals(simulator, words, reason, code):
    simulator.product("atlas-800i-a2")
    result = simulator.ask(*words)
    assert (classify(result.stdout, result.stderr, result.rc).reason, result.rc) == (reason, code)


def test_device_share_is_set_after_a_yes(simulator):
    simulator.product("atlas-800i-a2")
    simulator.ask("set", "-t", "device-share", "-i", "0", "-c", "0", "-d", "1", stdin="Y\n")
    blocks = parse_blocks(simulator.ask("info", "-t", "device-share", "-i", "0").stdout)
    assert blocks.chips[0]["Device-share Status"] == "True"


@pytest.mark.parametrize("fault, reason", sorted(FAULTS.items()))
def test_faults_are_told_apart(simulator, fault, reason):
    simulator.product("atlas-800i-a2", "--fault", fault)
    result = simulator.ask("info")
    assert classify(result.stdout, result.stderr, result.rc).reason == reason


@pytest.mark.parametrize("fault", ["garbage", "partial"])
def test_broken_tables_are_no_tables(simulator, fault):
    simulator.product("atlas-800i-a2", "--fault", fault)
    with pytest.raises(NpuSmiFormatError):
        parse_info(simulator.ask("info").stdout)


def test_fault_ends_after_its_calls_and_is_for_its_commands(simulator):
    simulator.product("atlas-800i-a2", "--fault", "dcmi_8005", "--fault-option", "first_calls=2", "--fault-option", 'commands=["info -m"]')
    codes = [simulator.ask(*words).rc for words in (["info"], ["info", "-m"], ["info", "-m"])]
    assert codes == [0, 187, 0]


@pytest.mark.parametrize("words, lines", [(["info"], 3), (["info", "watch", "-i", "2", "-d", "60"], 2)])
def test_hang_and_watch_print_and_stay(simulator, words, lines):
    options = ["--fault", "hang", "--fault-option", "lines=3"] if len(words) == 1 else []
    simulator.product("atlas-800i-a2", *options)
    process = subprocess.Popen([sys.executable, NPU_SMI, *words], env=dict(os.environ, **simulator.env), stdout=subprocess.PIPE)
    try:
        printed = [process.stdout.readline() for _number in range(lines)]
        assert all(printed)
        assert process.poll() is None
    finally:
        process.kill()
        process.communicate(timeout=LIMIT)


def test_log_lines_around_the_table_are_warnings(simulator):
    simulator.product("atlas-800i-a2", "--preamble", "DrvMngGetConsoleLogLevel failed. (ret=4)", "--trailing", "[WARNING]Reinstall it.")
    info = parse_info(simulator.ask("info").stdout)
    assert (len(info.chips), info.warnings) == (8, ["DrvMngGetConsoleLogLevel failed. (ret=4)", "Reinstall it."])


def test_invalid_health_leaves_out_the_first_row(simulator):
    simulator.product("atlas-800i-a2", "--set", "2.0.health=null")
    assert "| 2     910B4" not in simulator.ask("info").stdout
    assert "0000:C2:00.0" in simulator.ask("info").stdout


def test_gather_reads_a_whole_simulated_host(simulator):
    simulator.product("atlas-800i-a2")
    assert simulator.build("sysfs", "driver") == 0
    host = simulator.gather()
    assert (host["available"], host["complete"], host["warnings"]) == (True, True, [])
    assert (host["product"], host["soc"], host["chip_count"], host["image_suffix"]) == ("Atlas 800I A2", "Ascend910B4", 8, "")
    assert (host["driver_version"], host["driver_matches_installed"]) == ("25.5.1", True)
    assert [chip["numa_node"] for chip in host["chips"]] == [6, 0, 6, 0, 4, 2, 4, 2]
    assert simulator.calls() == [["info"], ["info", "-m"]]


def test_gather_notices_a_table_that_ends_after_one_card(simulator):
    simulator.product("atlas-800i-a2", "--fault", "partial", "--fault-option", "lines=9", "--fault-option", 'commands=["info"]')
    simulator.build("sysfs", "driver")
    host = simulator.gather()
    assert (host["chip_count"], host["complete"], len(host["missing_bus_ids"])) == (1, False, 7)


@pytest.mark.parametrize("product, count", [("atlas-800-a3", 16), ("atlas-300i-duo", 4), ("atlas-950", 0)])
def test_sysfs_has_one_function_a_bus_id_and_a_network_card(simulator, product, count):
    simulator.product(product)
    simulator.build("sysfs")
    folder = os.path.join(simulator.folder, "sys/bus/pci/devices")
    assert (len(scan_pci(os.path.join(simulator.folder, "sys"))), len(os.listdir(folder))) == (count, count + 1)


def test_driver_files_come_and_go(simulator, tmp_path):
    simulator.product("atlas-800i-a2")
    (tmp_path / "dev").mkdir()
    root = os.path.join(simulator.folder, "usr/local/Ascend")
    record = os.path.join(simulator.folder, "etc/ascend_install.info")
    simulator.build("driver")
    assert read_driver_files(root, record)[:3] == ("25.5.1", "7.8.0.6.201", "complete")
    simulator.build("no-driver", "--dev", str(tmp_path / "dev"))
    assert read_driver_files(root, record)[:3] == (None, None, None)


def test_device_nodes_that_cannot_be_made_are_an_error(simulator, capsys):
    simulator.product("atlas-800i-a2")
    # /proc takes no node, whoever asks.
    assert simulator.build("devices", "--dev", "/proc/self/fdinfo") == 1
    assert "cannot make /proc/self/fdinfo/davinci0" in capsys.readouterr().err


@pytest.mark.parametrize(
    "options, text",
    [
        (["--product", "atlas-300i-a2", "--npus", "0,1"], "has 1 NPUs, 2 were asked for"),
        (["--product", "atlas-800i-a2", "--chip", "910Z"], "unknown chip 910Z"),
        (["--product", "atlas-800i-a2", "--set", "9.0.util=1"], "no chip 0 of NPU 9"),
        (["--product", "atlas-800i-a2", "--set", "0.0.mood=1"], "no key mood"),
        (["--product", "atlas-800i-a2", "--fault-option", "lines"], "expected KEY=VALUE"),
        (["--set", "0.0.util=1"], "No such file"),
    ],
)
def test_wrong_options_of_make_state(simulator, capsys, options, text):
    assert make_state.main(["--state", simulator.path, *options]) == 2
    assert text in capsys.readouterr().err


@pytest.mark.parametrize(
    "options, npus",
    [
        (["--npus", "0,2,5"], [0, 2, 5]),
        (["--drop", "7"], [0, 1, 2, 3, 4, 5, 6]),
    ],
)
def test_npu_ids_may_have_gaps(simulator, options, npus):
    simulator.product("atlas-800i-a2", *options)
    assert [row["npu_id"] for row in parse_info(simulator.ask("info").stdout).chips] == npus


def test_dead_chip_prints_zeros(simulator):
    simulator.product("atlas-800i-a2", "--dead", "5.0")
    dead = parse_info(simulator.ask("info").stdout).chips[5]
    assert (dead["power_w"], dead["temp_c"], dead["bus_id"], dead["hbm_total_mb"]) == (0.0, 0, "0000:00:00.0", 0)


@pytest.mark.parametrize("text", ["", "{", "{}"])
def test_broken_simulator_is_not_taken_for_a_fault(simulator, text):
    with open(simulator.path, "w", encoding="utf-8") as stream:
        stream.write(text)
    result = simulator.ask("info")
    assert (result.rc, result.stdout, result.stderr.startswith("npu-simulator: state file")) == (70, "", True)


def test_unwritable_call_log_is_loud(simulator):
    simulator.product("atlas-800i-a2", "--call-log", os.path.join(simulator.folder, "missing", "calls"))
    assert simulator.ask("info").rc == 70


# Boots


class Server:
    """A simulated server below a folder: its state, its disk and its /dev. Only root can make device nodes, so files pose as them."""

    def __init__(self, simulator, monkeypatch):
        self.simulator, self.dev = simulator, os.path.join(simulator.folder, "dev")
        monkeypatch.setattr(os, "mknod", lambda path, mode, number: open(path, "w", encoding="utf-8").close())

    def install(self, version):
        self.simulator.build("driver")
        with open(os.path.join(self.simulator.folder, "usr/local/Ascend/driver/version.info"), "w", encoding="utf-8") as stream:
            stream.write("Version={0}\n".format(version))

    def boot(self):
        words = ["--state", self.simulator.path, "--root", self.simulator.folder, "--no-mounts"]
        assert boot.main(words) == 0
        return self.simulator.state()

    def nodes(self):
        return sorted(os.listdir(self.dev))

    def change(self, **keys):
        state = dict(self.simulator.state(), **keys)
        with open(self.simulator.path, "w", encoding="utf-8") as stream:
            json.dump(state, stream)


@pytest.fixture
def server(simulator, monkeypatch):
    simulator.product("atlas-800i-a2", "--no-driver")
    return Server(simulator, monkeypatch)


COMMON = ["davinci_manager", "devmm_svm", "hisi_hdc"]


def test_server_without_a_driver(simulator, server):
    server.boot()
    assert server.nodes() == []
    for words in (["info"], ["info", "-m"], ["-v"]):
        result = simulator.ask(*words)
        assert result.rc == 187
        assert classify(result.stdout, result.stderr, result.rc).reason == "dcmi_init_failed"


@pytest.mark.parametrize(("version", "line"), [("25.5.1", "(ret=4)"), ("23.0.5", "g_conLogLevel=3")])
def test_words_of_npu_smi_without_a_driver(simulator, version, line):
    simulator.product("atlas-800i-a2", "--no-driver", "--version", version)
    assert line in simulator.ask("info").stdout


def test_boot_makes_the_driver_on_disk_the_running_one(simulator, server):
    server.install("26.0.rc1")
    server.change(firmware_flashed="8.0.0.1.220")
    state = server.boot()
    assert (state["driver_version"], state["tool_version"], state["firmware_version"]) == ("26.0.rc1", "26.0.rc1", "8.0.0.1.220")
    assert server.nodes() == ["davinci{0}".format(number) for number in range(8)] + COMMON
    assert parse_info(simulator.ask("info").stdout).driver_version == "26.0.rc1"


@pytest.mark.parametrize(
    "missing", ["usr/local/Ascend/driver/version.info", "usr/local/Ascend/driver/tools/upgrade-tool", "etc/ascend_install.info"]
)
def test_boot_with_a_driver_that_is_not_whole(simulator, server, missing):
    server.install("26.0.rc1")
    os.unlink(os.path.join(simulator.folder, missing))
    assert server.boot()["loaded"] is False
    assert server.nodes() == []


def test_boot_after_an_uninstallation(simulator, server):
    server.install("25.5.0")
    server.boot()
    simulator.build("no-driver", "--dev", server.dev)
    assert server.boot()["loaded"] is False
    assert server.nodes() == []
    assert simulator.ask("info").rc == 187


def test_boot_that_loses_an_npu_and_one_that_finds_it_again(simulator, server):
    server.install("25.5.0")
    simulator.make("--boot-missing", "3")
    server.boot()
    simulator.build("sysfs")
    assert len(scan_pci(os.path.join(simulator.folder, "sys"))) == 7
    assert "davinci3" not in server.nodes() and len(server.nodes()) == 7 + len(COMMON)
    assert [row["npu_id"] for row in parse_info(simulator.ask("info").stdout).chips] == [0, 1, 2, 4, 5, 6, 7]
    assert simulator.ask("info", "-t", "health", "-i", "3").rc != 0
    simulator.make("--boot-well")
    server.boot()
    assert len(parse_info(simulator.ask("info").stdout).chips) == 8


def test_boot_that_does_not_start_the_driver(simulator, server):
    server.install("25.5.0")
    simulator.make("--boot-not-up")
    server.boot()
    assert server.nodes() == COMMON
    assert simulator.ask("info").rc == 187


def test_boot_fault_of_an_npu_that_is_not_there(simulator, capsys):
    simulator.product("atlas-800i-a2")
    assert make_state.main(["--state", simulator.path, "--boot-missing", "9"]) == 2
    assert "no NPU 9" in capsys.readouterr().err


def test_device_share_is_kept_while_an_npu_is_missing(simulator, server):
    server.install("25.5.0")
    simulator.make("--boot-missing", "3")
    server.boot()
    simulator.ask("set", "-t", "device-share", "-i", "0", "-c", "0", "-d", "1", stdin="Y\n")
    assert len(simulator.state()["chips"]) == 8


def test_boot_keeps_the_old_id_until_it_is_over(simulator, tmp_path, monkeypatch):
    simulator.product("atlas-800i-a2", "--no-driver")
    store, mounts = tmp_path / "boot_id", []
    monkeypatch.setattr(boot, "is_mounted", lambda target: target in [each[1] for each in mounts])
    monkeypatch.setattr(boot, "bind", lambda source, target: mounts.append((source, target)))
    monkeypatch.setattr(boot.mount_boot_id, "__defaults__", (str(tmp_path),))
    monkeypatch.setattr(boot.change_boot_id, "__defaults__", (str(tmp_path),))
    monkeypatch.setattr(boot.mount_pci, "__defaults__", (str(tmp_path),))
    words = ["--state", simulator.path, "--root", simulator.folder]
    assert boot.main(words) == 0
    assert mounts == [(str(store), boot.BOOT_ID), (str(tmp_path / "pci-devices"), boot.PCI)]
    first, inode = store.read_text(), store.stat().st_ino
    assert len(first) == 37
    assert boot.main(words) == 0
    assert (store.read_text(), mounts.count((str(store), boot.BOOT_ID))) == (first, 1)
    assert boot.main([*words, "--finish"]) == 0
    assert store.read_text() != first and len(store.read_text()) == 37
    assert store.stat().st_ino == inode


def test_mount_that_fails(tmp_path):
    with pytest.raises(boot.SimulatorError, match="cannot mount"):
        boot.bind(str(tmp_path), str(tmp_path / "missing"))


def test_boot_without_a_state(tmp_path, capsys):
    assert boot.main(["--state", str(tmp_path / "none"), "--root", str(tmp_path), "--no-mounts"]) == 1
    assert "state file" in capsys.readouterr().err


def test_pci_folders_for_a_mount(simulator):
    simulator.product("atlas-800i-a2")
    assert simulator.build("pci") == 0
    folder = os.path.join(simulator.folder, "pci-devices")
    names = os.listdir(folder)
    assert len(names) == 9 and not any(os.path.islink(os.path.join(folder, name)) for name in names)
    with open(os.path.join(folder, "0000:c1:00.0", "config"), "rb") as stream:
        config = stream.read()
    assert struct.unpack_from("<HH", config) == (0x19E5, 0xD802)
    assert config[9:12] == bytes([0, 0, 0x12])
    assert struct.unpack_from("<HH", config, 0x2C) == (0x19E5, 0x3002)
    shutil.rmtree(os.path.join(simulator.folder, "sys"), ignore_errors=True)
    os.makedirs(os.path.join(simulator.folder, "sys", "bus", "pci"))
    os.rename(folder, os.path.join(simulator.folder, "sys", "bus", "pci", "devices"))
    assert len(scan_pci(os.path.join(simulator.folder, "sys"))) == 8


@pytest.mark.parametrize(
    ("words", "line", "count"),
    [
        (["--system_version"], '\t{"device_id":7, "version":25.5.1}', 8),
        (["--boot_status"], '\t{"device_id":7, boot status:16}', 8),
        (["--hw_base_version"], '\t{"device_id":7, "version":7.8.0.6.201}', 8),
        (["--component", "-1", "--version"], '\t{"device_id":7, "component":tee, "version":7.8.0.6.201}', 40),
    ],
)
def test_upgrade_tool(simulator, words, line, count):
    simulator.product("atlas-800i-a2")
    tool = os.path.join(SIMULATOR, "upgrade_tool")
    result = run([sys.executable, tool, "--device_index", "-1", *words], LIMIT, simulator.env)
    lines = result.stdout.splitlines()
    assert (result.rc, lines[0], lines[-1]) == (0, "{", "}")
    assert line in lines and sum(1 for each in lines if "device_id" in each) == count
    simulator.make("--no-driver")
    assert run([sys.executable, tool, "--device_index", "-1", *words], LIMIT, simulator.env).rc == 1


@pytest.mark.parametrize("words", [["--device_index", "-1", "--what"], ["--help"]])
def test_upgrade_tool_does_not_know_everything(simulator, words):
    simulator.product("atlas-800i-a2", "--firmware", "7.1.0.3.220")
    assert run([sys.executable, os.path.join(SIMULATOR, "upgrade_tool"), *words], LIMIT, simulator.env).rc == 1


def test_upgrade_tool_of_a_broken_simulator(simulator):
    assert run([sys.executable, os.path.join(SIMULATOR, "upgrade_tool")], LIMIT, simulator.env).rc == 70
