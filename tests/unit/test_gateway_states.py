# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The program of the role vllm_gateway that keeps drained engines drained, and the tables of the role."""

from __future__ import annotations

import importlib.util
import pathlib
import signal

import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROLE = ROOT / "roles" / "vllm_gateway"
STATES = (ROOT / "tests" / "unit" / "fixtures" / "haproxy" / "states_2.6.12.txt").read_text(encoding="utf-8").strip() + "\n"
CONFIG = "backend engines\n    server two engine.example.com:8002 weight 2\n    server one [2001:db8::1]:9001 backup\n    server new 192.0.2.1:1\n"
PROCESSES = "#<PID>\n9 master 1 0d00h00m01s 2.6\n# workers\n{0}# old workers\n{1}# programs\n"
VARS = yaml.safe_load((ROLE / "vars" / "main.yml").read_text(encoding="utf-8"))


@pytest.fixture
def program(tmp_path, monkeypatch):
    spec = importlib.util.spec_from_file_location("gateway_servers", ROLE / "files" / "servers.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name in ("CONFIG", "STATES", "LOADED"):
        monkeypatch.setattr(module, name, str(tmp_path / name))
    (tmp_path / "CONFIG").write_text(CONFIG)
    return module


def rows(text):
    return {line.split()[3]: line.split() for line in text.splitlines()[2:]}


def test_addresses_and_ports_are_those_of_the_configuration(program):
    found = program.fit(STATES, CONFIG)
    assert found.startswith("1\n# be_id")
    places = {name: (row[4], row[17], row[18]) for name, row in rows(found).items()}
    assert places == {"one": ("2001:db8::1", "-", "9001"), "two": ("127.0.0.1", "engine.example.com", "8002")}
    # All else stays, above all what somebody wants of the engine.
    assert [row[6] for row in rows(found).values()] == [row[6] for row in rows(STATES).values()]


@pytest.mark.parametrize("text", ["", "1\n", "nonsense", "1\n3 engines 1 one\n"])
def test_nothing_saved_is_a_file_that_haproxy_reads(program, text):
    assert program.fit(text, CONFIG) == "1\n"


def test_engines_that_are_gone_are_forgotten(program):
    assert list(rows(program.fit(STATES, CONFIG.replace("server two", "server three")))) == ["one"]


def test_a_server_of_another_backend_with_the_same_name_is_another_one(program):
    config = CONFIG + "\nbackend router\n    server one 127.0.0.1:8406 check\n\nfrontend routed\n    bind 127.0.0.1:8407\n"
    assert rows(program.fit(STATES, config))["one"][18] == "9001"


def test_start(program, tmp_path):
    program.start()
    assert (tmp_path / "STATES").read_text() == "1\n" and (tmp_path / "LOADED").exists()


class Master:
    """Answers of the master; after the signal, ``after`` one by one, the last one for ever."""

    def __init__(self, program, monkeypatch, after, states="\n" + STATES):
        self.after, self.states, self.signals = list(after), states, []
        monkeypatch.setattr(program, "ask", self.ask)
        monkeypatch.setattr(program.os, "kill", lambda *what: self.signals.append(what))
        clock = iter(range(1000))
        monkeypatch.setattr(program.time, "monotonic", lambda: next(clock))
        monkeypatch.setattr(program.time, "sleep", lambda _seconds: None)

    def ask(self, command):
        if command != "show proc":
            return self.states
        if not self.signals:
            return PROCESSES.format("5 worker 0 0d00h00m09s 2.6\n", "")
        answer = self.after.pop(0) if len(self.after) > 1 else self.after[0]
        if answer is None:
            raise ConnectionRefusedError
        return answer


def test_reload(program, monkeypatch, tmp_path):
    old = "5 worker 1 0d00h00m09s 2.6\n"
    master = Master(
        program,
        monkeypatch,
        [None, PROCESSES.format(old, ""), PROCESSES.format("", old), PROCESSES.format("6 worker 0 0d00h00m00s 2.6\n", old)],
    )
    assert program.reload() is None
    assert master.signals == [(9, signal.SIGUSR2)]
    assert rows((tmp_path / "STATES").read_text())["one"][18] == "9001"
    assert (tmp_path / "LOADED").exists() and not (tmp_path / "LOADED.new").exists()


def test_a_reload_that_fails_says_so(program, monkeypatch, tmp_path):
    Master(program, monkeypatch, [PROCESSES.format("5 worker 1 0d00h00m09s 2.6\n", "")])
    assert "old configuration" in program.reload()
    assert not (tmp_path / "LOADED").exists()


def test_no_reload_without_the_states(program, monkeypatch):
    master = Master(program, monkeypatch, [None], states="Permission denied\n")
    assert "Permission denied" in program.reload() and master.signals == []


def test_paths_have_reasons_and_stand_in_the_guide():
    guide = (ROOT / "docs" / "gateway.md").read_text(encoding="utf-8")
    table = VARS["__vllm_gateway_paths"]
    assert len({row["path"] for row in table}) == len(table)
    for row in table:
        assert set(row) == {"path", "method", "open", "reason"} and row["reason"]
        assert "| `{0} {1}` | {2} | {3} |".format(row["method"], row["path"], "open" if row["open"] else "closed", row["reason"]) in guide
    assert [row["path"] for row in table if row["open"] and not row["path"].startswith("/v1/")] == []


@pytest.mark.parametrize("status", sorted(VARS["__vllm_gateway_errors"]))
def test_errors_have_the_format_of_openai(status):
    error = VARS["__vllm_gateway_errors"][status]
    assert {"type", "code", "message"} <= set(error) and "'" not in error["message"]
    assert "| {0} | `{1}` |".format(status, error["code"]) in (ROOT / "docs" / "gateway.md").read_text(encoding="utf-8")
