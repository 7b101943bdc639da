# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import hashlib

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils import _group_info
from ansible_collections.npufleet.ascend.plugins.module_utils._clock import Clock
from ansible_collections.npufleet.ascend.plugins.module_utils._command import CommandResult
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._group_info import Sources, distributions, look
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.test_hccn_tool import ANSWERS

# The options of the module.
DEFAULTS = {
    "chips": [], "vnic": False, "pings": [], "ping_command": "ping", "hccn_tool": None, "interfaces": [], "ports": [], "weights": [],
    "hash_all": False, "images": [], "docker_host": "unix:///var/run/docker.sock", "venvs": [], "timeout": 20.0,
}  # fmt: skip


class FakeDocker:
    """Knows one image; nobody answers on another socket."""

    def __init__(self, docker_host):
        self.docker_host = docker_host

    def ask(self, method, name, missing_ok):
        assert (method, missing_ok) == ("inspect_image", True)
        if self.docker_host != "unix:///there":
            raise NpufleetError("no container engine answers", "x", "y")
        return {"Id": "sha256:1"} if name == "here:1" else None


def run(argv, timeout):
    text = "3 packets transmitted, 3 received, 0.00% packet loss" if argv[3] == "-ping" else ANSWERS[argv[3]]
    return CommandResult(argv, 0, text, "")


@pytest.fixture
def ask(tmp_path):
    (tmp_path / "sys" / "class" / "net" / "eth0").mkdir(parents=True)
    (tmp_path / "sys" / "class" / "net" / "eth0" / "mtu").write_text("9000\n")
    (tmp_path / "proc" / "net").mkdir(parents=True)
    listening = "  0: 0100007F:1F40 00000000:0000 0A 0:0 0:0 0 0 0 77 1\n"
    (tmp_path / "proc" / "net" / "tcp").write_text("head\n" + listening)
    sources = Sources(run, Clock(lambda: 0.0, lambda _seconds: None), FakeDocker, str(tmp_path / "proc"), str(tmp_path / "sys"))
    base = dict(DEFAULTS, driver_root=str(tmp_path), install_info=str(tmp_path / "none"), hccn_conf=str(tmp_path / "hccn.conf"))
    return lambda **wanted: look(dict(base, **wanted), sources)


def test_nothing_is_asked(ask):
    assert ask() == {
        "npus": {}, "pings": [], "hccn_conf": None, "mtu": {}, "ports": {}, "weights": {}, "images": {}, "venvs": {}, "errors": [],
        "versions": {"driver": None, "firmware": None, "cann": None},
    }  # fmt: skip


def test_npus(ask, tmp_path):
    (tmp_path / "hccn.conf").write_text("address_0=192.0.2.1\n")
    said = ask(chips=[0, 3], vnic=True, pings=[{"chip": 0, "address": "192.0.2.9"}], hccn_tool="/t/hccn_tool")
    assert list(said["npus"]) == ["0", "3"] and said["npus"]["3"]["vnic_address"] == "198.51.100.1"
    assert said["hccn_conf"] == {"0": "192.0.2.1"}
    assert said["pings"] == [{"chip": 0, "address": "192.0.2.9", "sent": 3, "received": 3, "error": None}]
    assert said["errors"] == []


def test_the_tool_of_the_driver_is_found(ask, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(_group_info, "TOOL_DIRS", (str(tmp_path),))
    assert "hccn_tool is not installed" in ask(chips=[0])["errors"][0]
    (tmp_path / "hccn_tool").write_text("")
    (tmp_path / "hccn_tool").chmod(0o755)
    assert ask(chips=[0])["npus"]["0"]["link"] == "UP"


def test_a_file_that_says_something_else(ask, tmp_path):
    (tmp_path / "hccn.conf").write_text("what\n")
    said = ask(chips=[0], hccn_tool="/t/hccn_tool")
    assert said["hccn_conf"] is None and "line 1 is no setting" in said["errors"][0]
    # Pings alone have nothing to do with it.
    assert ask(pings=[{"chip": 0, "address": "192.0.2.9"}], hccn_tool="/t/hccn_tool")["errors"] == []


def test_the_host(ask, tmp_path):
    said = ask(interfaces=["eth0", "eth9"], ports=[8000, 8001], images=["here:1", "gone:1"], docker_host="unix:///there")
    assert said["mtu"] == {"eth0": 9000, "eth9": None}
    assert said["ports"] == {"8000": "a process of another user", "8001": None}
    assert said["images"] == {
        "here:1": {"id": "sha256:1", "reason": None},
        "gone:1": {"id": None, "reason": "the host does not have it yet"},
    }
    assert ask(images=["here:1"])["images"] == {"here:1": {"id": None, "reason": "no container engine answers"}}


def test_weights(ask, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}")
    said = ask(weights=["~/model", "/none"])
    assert said["weights"] == {"~/model": {"config.json": {"size": 2, "sha256": hashlib.sha256(b"{}").hexdigest()}}, "/none": None}
    (tmp_path / "model" / "gone").symlink_to("nowhere")
    said = ask(weights=["~/model"])
    assert said["weights"] == {"~/model": None} and "cannot be read" in said["errors"][0]


def test_versions(ask, tmp_path):
    for part, version in (("driver", "25.5.1"), ("firmware", "7.8.0.5.220")):
        (tmp_path / part).mkdir()
        (tmp_path / part / "version.info").write_text("Version={0}\n".format(version))
    assert ask()["versions"] == {"driver": "25.5.1", "firmware": "7.8.0.5.220", "cann": None}
    site = tmp_path / "venv" / "lib" / "python3.11" / "site-packages"
    for name in ("vllm-0.23.0+empty", "vllm_ascend-0.23.0.post1", "torch_npu-2.9.0", "vllm_other-1", "broken"):
        (site / (name + ".dist-info")).mkdir(parents=True)
    expected = {"vllm": "0.23.0+empty", "vllm_ascend": "0.23.0.post1", "torch_npu": "2.9.0"}
    assert distributions(str(tmp_path / "venv")) == expected
    assert ask(venvs=[str(tmp_path / "venv")])["venvs"] == {str(tmp_path / "venv"): expected}
