# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The simulated hccn_tool answers what the parsers of the collection read."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils import _hccn_tool
from ansible_collections.npufleet.ascend.plugins.module_utils._clock import Clock
from ansible_collections.npufleet.ascend.plugins.module_utils._command import run
from ansible_collections.npufleet.ascend.plugins.module_utils._hccn_tool import HccnTool

SIMULATOR = pathlib.Path(__file__).resolve().parents[2] / "molecule" / "shared" / "simulator"


@pytest.fixture
def host(tmp_path, monkeypatch):
    """A function that makes a host with these settings of hccn, and returns its tool and how long it slept."""

    def make(product="atlas-800i-a2", timeout=60.0, **hccn):
        path = tmp_path / "state.json"
        words = ["--state", str(path), "--product", product, "--call-log", str(tmp_path / "calls")]
        subprocess.run([sys.executable, str(SIMULATOR / "make_state.py"), *words], check=True)
        path.write_text(json.dumps(dict(json.loads(path.read_text()), hccn=hccn)))
        monkeypatch.setenv("NPU_SIMULATOR_STATE", str(path))
        tool = tmp_path / "hccn_tool"
        tool.write_text('#!/bin/sh\nexec {0} {1} "$@"\n'.format(sys.executable, SIMULATOR / "hccn_tool"))
        tool.chmod(0o755)
        slept = []
        return HccnTool(str(tool), run, Clock(lambda: 0.0, slept.append), timeout), slept

    return make


def test_a_healthy_device(host):
    tool, _slept = host("atlas-800-a3")
    assert tool.device(3, vnic=True) == {
        "link": "UP",
        "health": "Success",
        "address": "192.0.2.4",
        "gateway": "192.0.2.254",
        "tls": False,
        "vnic_address": "198.51.100.4",
        "errors": [],
    }


def test_faults_of_a_device(host):
    changes = {"link": "DOWN", "health": "Detect ip set", "address": None, "tls": 1, "gateway": None}
    tool, slept = host(devices={"2": changes}, busy_calls=2)
    said = tool.device(2)
    assert [said[key] for key in ("link", "health", "address", "tls", "gateway", "errors")] == [
        "DOWN",
        "Detect ip set",
        None,
        True,
        None,
        [],
    ]
    assert len(slept) == 2


@pytest.mark.parametrize("command", ["ping", "hccs_ping"])
def test_pings(host, command):
    tool, _slept = host(silent=["192.0.2.7"], lossy=["192.0.2.8"])
    assert [tool.ping(0, "192.0.2." + last, command)["received"] for last in "678"] == [3, 0, 2]


def test_what_is_not_there(host):
    tool, _slept = host(unsupported=["-tls", "-ping"])
    assert tool.device(0)["tls"] is None and tool.ping(0, "192.0.2.7", "ping")["sent"] is None
    assert "Cmd execute failed!" in tool.device(8)["errors"][0]


def test_a_question_that_hangs(host, monkeypatch):
    monkeypatch.setattr(_hccn_tool, "QUESTIONS", _hccn_tool.QUESTIONS[2:4])
    tool, _slept = host(hang=["-ip"], timeout=1.0)
    assert "did not answer within 1 s" in tool.device(0)["errors"][0]


def test_hosts_get_the_tool_where_the_driver_has_it(host, tmp_path):
    """The lines of install.sh about it, with a folder in the place of /."""
    host()
    lines = [line for line in (SIMULATOR / "install.sh").read_text().splitlines() if "Ascend/driver/tools" in line]
    script = "\n".join(["set -eu", "here='{0}'".format(SIMULATOR), *lines]).replace("/usr/local/Ascend", str(tmp_path / "Ascend"))
    subprocess.run(["sh", "-c", script], check=True)
    folder = tmp_path / "Ascend" / "driver" / "tools"
    assert [str(folder).replace(str(tmp_path), "/usr/local")] == [path for path in _hccn_tool.TOOL_DIRS if "Ascend" in path]
    assert HccnTool(str(folder / "hccn_tool"), run, Clock(lambda: 0.0, lambda _seconds: None), 60.0).device(0)["link"] == "UP"


def test_a_simulator_that_cannot_work(tmp_path, monkeypatch):
    monkeypatch.setenv("NPU_SIMULATOR_STATE", str(tmp_path / "none"))
    done = subprocess.run(
        [sys.executable, str(SIMULATOR / "hccn_tool"), "-i", "0", "-link", "-g"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 70 and done.stderr.startswith("npu-simulator: ")
