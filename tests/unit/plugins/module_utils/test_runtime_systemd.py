# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
import pwd

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils import _runtime_systemd
from ansible_collections.npufleet.ascend.plugins.module_utils._files import file_mode
from ansible_collections.npufleet.ascend.plugins.module_utils._runtime_systemd import SystemdRuntime, quote, render_secrets, render_unit
from ansible_collections.npufleet.ascend.plugins.module_utils._service import RuntimeAdapterError, ServiceState
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.engine_fakes import KEY, FakeRun, spec


@pytest.mark.parametrize("substate", ["auto-restart", "auto-restart-queued"])
def test_between_two_starts_of_a_crash_loop_nothing_runs_and_it_is_not_over(tmp_path, substate):
    host = Host(tmp_path, show=(0, "LoadState=loaded\nActiveState=activating\nSubState={0}\nMainPID=0\n".format(substate), ""))
    found = host.runtime.inspect(host.spec())
    assert (found.running, found.restarting) == (False, True)


@pytest.mark.parametrize(
    ("user_unit", "lingers", "words"), [(False, False, []), (True, True, []), (True, False, ["loginctl enable-linger"])]
)
def test_a_service_that_ends_with_the_session_is_no_surprise(tmp_path, monkeypatch, user_unit, lingers, words):
    user = pwd.getpwuid(os.getuid()).pw_name
    monkeypatch.setattr(_runtime_systemd, "LINGER_FOLDER", str(tmp_path))
    if lingers:
        (tmp_path / user).write_text("")
    host = Host(tmp_path / "host", user_unit)
    doubts = host.runtime.doubts(host.spec())
    assert len(doubts) == len(words)
    assert all(word + " " + user in doubt for word, doubt in zip(words, doubts))


UNIT = "npufleet-engine-demo.service"
SYSTEM_UNIT = """\
# Managed by npufleet.ascend: changes made here are replaced by the next run.
[Unit]
Description=vLLM engine demo
Documentation=https://docs.vllm.ai/
After=network-online.target
Wants=network-online.target
StartLimitIntervalSec=600
StartLimitBurst=5

[Service]
Type=simple
ExecStart="/srv/venv/bin/vllm" "serve" "/srv/models/tiny" "--host" "127.0.0.1" "--port" "8000" "--served-model-name" "tiny"
WorkingDirectory=/srv/home/engines/demo
{environment}
EnvironmentFile=/srv/home/engines/demo/secret.env
User=vllm
RemoveIPC=true
Restart=always
RestartSec=5
TimeoutStopSec=45
KillMode=mixed
NoNewPrivileges=true
UMask=0027

[Install]
WantedBy=multi-user.target
"""


def test_the_unit_of_the_system():
    wanted = spec(api_key=KEY, user="vllm", stop_timeout=45)
    environment = "\n".join('Environment="{0}={1}"'.format(name, value) for name, value in wanted.env)
    text = render_unit(wanted, "/srv/home/engines/demo/secret.env", user_unit=False)
    assert text == SYSTEM_UNIT.format(environment=environment)
    assert "User=" not in render_unit(spec(), "/secret", user_unit=False)


def test_the_unit_of_a_user_logs_into_a_file_and_names_no_user():
    text = render_unit(spec(user="vllm"), "/secret", user_unit=True)
    log = "append:/srv/home/engines/demo/engine.log"
    assert "StandardOutput={0}\nStandardError={0}\n".format(log) in text
    assert "WantedBy=default.target\n" in text
    assert "User=" not in text
    assert "RemoveIPC" not in text
    assert "EnvironmentFile" not in text


@pytest.mark.parametrize(
    ("word", "quoted"),
    [
        ("plain", '"plain"'),
        ("", '""'),
        ("a b", '"a b"'),
        ('say "x"', '"say \\"x\\""'),
        ("back\\slash", '"back\\\\slash"'),
        ("100%", '"100%%"'),
        ("%h", '"%%h"'),
        ("$HOME ${A}", '"$HOME ${A}"'),
        (";", '";"'),
    ],
)
def test_quoting_of_the_environment(word, quoted):
    assert quote(word) == quoted
    assert 'Environment="A={0}'.format(quoted[1:]) in render_unit(spec(env={"A": word}), "/s", False)


@pytest.mark.parametrize(
    ("word", "quoted"),
    [("$HOME", '"$$HOME"'), ("a$$b", '"a$$$$b"'), ("50%$", '"50%%$$"'), ('{"a":"b c"}', '"{\\"a\\":\\"b c\\"}"')],
)
def test_quoting_of_the_command(word, quoted):
    command = render_unit(spec(args={"chat_template": word}), "/s", False).partition("ExecStart=")[2].splitlines()[0]
    assert command.endswith(' "--chat-template" ' + quoted)


def test_the_path_of_the_program_is_not_expanded():
    text = render_unit(spec(venv="/srv/a$b%c"), "/s", False)
    assert 'ExecStart="/srv/a$b%%c/bin/vllm" "serve"' in text


@pytest.mark.parametrize(
    ("key", "line"),
    [
        ("sk-1", 'VLLM_API_KEY="sk-1"\n'),
        ("a$b`c", 'VLLM_API_KEY="a\\$b\\`c"\n'),
        ('a"b\\c%d', 'VLLM_API_KEY="a\\"b\\\\c%d"\n'),
    ],
)
def test_quoting_of_the_secrets(key, line):
    assert render_secrets(spec(api_key=key)) == line


class Host:
    """A system scope in a folder."""

    def __init__(self, folder, user_unit=False, **answers):
        self.run = FakeRun(**answers)
        self.units = folder / "units"
        self.runtime = SystemdRuntime(self.run, "/bin/systemctl", "/bin/journalctl", user_unit, str(self.units))
        self.home = str(folder / "home")

    def spec(self, **changes):
        wanted = spec(home=self.home, **changes)
        os.makedirs(wanted.working_directory, exist_ok=True)
        return wanted

    def verbs(self):
        return [" ".join(call[1:]) for call in self.run.calls]


def test_the_secrets_lie_in_a_file_of_their_own(tmp_path):
    host = Host(tmp_path)
    wanted = host.spec(api_key=KEY)
    host.runtime.define(wanted)
    unit, secret = host.runtime.files(wanted)
    assert (unit.path, unit.mode) == (str(host.units / UNIT), 0o644)
    assert (secret.path, file_mode(secret.path)) == (wanted.working_directory + "/secret.env", 0o600)
    assert KEY not in unit.text
    assert "EnvironmentFile={0}\n".format(secret.path) in unit.text
    host.runtime.define(host.spec())
    assert not os.path.exists(secret.path)
    assert len(host.runtime.files(host.spec())) == 1


SHOW = "LoadState={0}\nActiveState={1}\nSubState=x\nMainPID={2}\nUnitFileState={3}\nResult=success\ngarbage\n"


@pytest.mark.parametrize(
    ("values", "state"),
    [
        (("not-found", "inactive", 0, ""), (False, False, False, 0)),
        (("loaded", "active", 42, "enabled"), (True, True, True, 42)),
        (("loaded", "activating", 42, "disabled"), (True, True, False, 42)),
        (("loaded", "reloading", 42, "enabled"), (True, True, True, 42)),
        (("loaded", "activating", 0, "enabled"), (True, False, True, 0)),
        (("loaded", "deactivating", 42, "enabled"), (True, False, True, 42)),
        (("loaded", "failed", 0, "enabled"), (True, False, True, 0)),
    ],
)
def test_what_systemd_says(tmp_path, values, state):
    host = Host(tmp_path, show=(0, SHOW.format(*values), ""))
    found = host.runtime.inspect(host.spec())
    assert found == ServiceState(*state, detail="{0}/x (success)".format(values[1]))
    assert host.verbs() == ["show --property=LoadState,ActiveState,SubState,MainPID,UnitFileState,Result " + UNIT]


def test_a_unit_file_that_was_not_loaded_yet_counts_as_defined(tmp_path):
    host = Host(tmp_path, show=(0, SHOW.format("not-found", "inactive", 0, ""), ""))
    host.runtime.define(host.spec())
    assert host.runtime.inspect(host.spec()).defined


BUS = "Failed to connect to bus: No such file or directory"


@pytest.mark.parametrize(
    ("user_unit", "answer", "what", "remedy"),
    [
        (False, (1, "", "Access denied\n"), "Access denied", "Look at `/bin/systemctl status {0}`".format(UNIT)),
        (False, (1, "", ""), "no message", "Look at `/bin/systemctl status {0}`".format(UNIT)),
        (False, (None, "", ""), "time limit", "Look at `/bin/systemctl status {0}`".format(UNIT)),
        (False, (None, "", "waiting"), "waiting", "Look at `/bin/systemctl status {0}`".format(UNIT)),
        (True, (1, "", BUS), BUS, "Let this user's systemd run (loginctl enable-linger), or set vllm_engine_runtime to supervisor"),
    ],
)
def test_a_systemd_that_does_not_answer_is_no_empty_state(tmp_path, user_unit, answer, what, remedy):
    host = Host(tmp_path, user_unit, show=answer)
    with pytest.raises(RuntimeAdapterError) as caught:
        host.runtime.inspect(host.spec())
    assert (caught.value.what, caught.value.remedy) == ("systemctl show failed: " + what, remedy)
    assert caught.value.where == " ".join(host.run.calls[0])


def test_the_verbs_and_their_order(tmp_path):
    host = Host(tmp_path)
    wanted = host.spec(api_key=KEY)
    host.runtime.define(wanted)
    host.runtime.start(wanted)
    host.runtime.enable(wanted)
    host.runtime.stop(wanted)
    assert len(os.listdir(str(host.units))) == 1
    host.runtime.remove(wanted)
    assert host.verbs() == [
        "daemon-reload",
        "enable " + UNIT,
        "reset-failed " + UNIT,
        "start " + UNIT,
        "enable " + UNIT,
        "stop " + UNIT,
        "reset-failed " + UNIT,
        "disable " + UNIT,
        "daemon-reload",
        "reset-failed " + UNIT,
    ]
    assert (os.listdir(str(host.units)), os.listdir(wanted.working_directory)) == ([], [])
    assert {call[0] for call in host.run.calls} == {"/bin/systemctl"}
    assert [options["env"] for options in host.run.options] == [{}] * 10


def test_stopping_gets_the_time_of_running_requests_on_top(tmp_path):
    host = Host(tmp_path)
    host.runtime.start(host.spec(stop_timeout=500))
    host.runtime.stop(host.spec(stop_timeout=500))
    limits = dict(zip(host.verbs(), (options["timeout"] for options in host.run.options)))
    assert limits["stop " + UNIT] == limits["start " + UNIT] + 500


@pytest.mark.parametrize("verb", ["start", "stop", "enable"])
def test_a_verb_that_fails_says_so(tmp_path, verb):
    host = Host(tmp_path, **{verb: (5, "", "Unit is masked.\n")})
    with pytest.raises(RuntimeAdapterError, match="systemctl {0} failed: Unit is masked".format(verb)):
        getattr(host.runtime, verb)(host.spec())


def test_removing_what_was_never_enabled_is_no_failure(tmp_path):
    host = Host(tmp_path, disable=(1, "", "no such unit"), reset_failed=(1, "", "not loaded"))
    host.runtime.remove(host.spec())
    assert "daemon-reload" in host.verbs()


def test_units_of_a_user_are_asked_for_on_the_bus_of_that_user(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "getuid", lambda: 1234)
    host = Host(tmp_path, user_unit=True)
    host.runtime.enable(host.spec())
    assert host.run.calls == [["/bin/systemctl", "--user", "enable", UNIT]]
    assert host.run.options[0]["env"] == {"XDG_RUNTIME_DIR": "/run/user/1234"}


def test_the_log_of_the_system_is_the_journal_since_the_mark(tmp_path, monkeypatch):
    host = Host(tmp_path, __unit=(0, "-- No entries --\nfirst\nsecond\n", ""))
    monkeypatch.setattr("time.time", lambda: 1700000000.25)
    mark = host.runtime.log_mark(host.spec())
    assert host.runtime.logs(host.spec(), mark, 200) == ["first", "second"]
    options = ["--unit", UNIT, "--output=cat", "--no-pager", "--quiet", "--lines=200"]
    sync = ["/bin/journalctl", "--sync"]
    assert host.run.calls == [sync, ["/bin/journalctl", *options, "--since", "@1700000000.250"]]
    host.runtime.logs(host.spec(), "", 200)
    assert host.run.calls[2:] == [sync, ["/bin/journalctl", *options]]


def test_the_log_of_a_user_is_a_file_that_starts_add_to(tmp_path):
    host = Host(tmp_path, user_unit=True)
    wanted = host.spec()
    log = wanted.working_directory + "/engine.log"
    assert host.runtime.log_mark(wanted) == "0"
    with open(log, "w", encoding="utf-8") as stream:
        stream.write("of an earlier crash\n")
    mark = host.runtime.log_mark(wanted)
    host.runtime.start(wanted)
    assert host.runtime.logs(wanted, mark, 10) == []
    with open(log, "a", encoding="utf-8") as stream:
        stream.write("new\n")
    assert host.runtime.logs(wanted, mark, 10) == ["new"]
    assert host.runtime.logs(wanted, "", 10) == ["of an earlier crash", "new"]


def test_a_log_of_a_user_that_grew_large_is_put_aside_by_a_start(tmp_path, monkeypatch):
    monkeypatch.setattr(_runtime_systemd, "LOG_BYTES", 3)
    host = Host(tmp_path, user_unit=True)
    wanted = host.spec()
    log = wanted.working_directory + "/engine.log"
    host.runtime.start(wanted)
    assert not os.path.exists(log + ".1")
    with open(log, "w", encoding="utf-8") as stream:
        stream.write("old and long enough\n")
    mark = host.runtime.log_mark(wanted)
    host.runtime.start(wanted)
    assert host.runtime.logs(wanted, mark, 10) == []
    with open(log, "w", encoding="utf-8") as stream:
        stream.write("new\nlines\n")
    assert host.runtime.logs(wanted, mark, 10) == ["new", "lines"]
    assert host.runtime.logs(wanted, "", 1) == ["lines"]
    with open(log + ".1", encoding="utf-8") as stream:
        assert stream.read() == "old and long enough\n"
