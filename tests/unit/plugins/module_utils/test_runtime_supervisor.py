# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import glob
import os
import re
import shutil
import tempfile
import xmlrpc.client

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._command import CommandResult
from ansible_collections.npufleet.ascend.plugins.module_utils._files import file_mode
from ansible_collections.npufleet.ascend.plugins.module_utils._runtime_supervisor import SPAWN_POLLS, SupervisorRuntime
from ansible_collections.npufleet.ascend.plugins.module_utils._service import MANAGER_SECONDS, RuntimeAdapterError, ServiceState
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.engine_fakes import spec

PID = 4321


class Supervisord:
    """A supervisord in memory: it reads conf.d when it starts and when told so, and starts what it loaded at its next turn."""

    def __init__(self, home):
        self.folder = home + "/supervisor"
        self.alive = False
        self.programs = {}
        self.calls = []
        self.limits = {}
        self.faults = {}
        self.refuses_to_start = None
        self.stays = False
        self.spawns = True
        self.argv = []
        self.read = None

    def _defined(self):
        return [os.path.basename(path)[: -len(".conf")] for path in glob.glob(self.folder + "/conf.d/*.conf")]

    # What the command line does.

    def run(self, argv, timeout, **_options):
        if "-c" in argv and argv[-1].endswith("/supervisord.conf"):
            self.argv = list(argv)
            if self.refuses_to_start is not None:
                return CommandResult(list(argv), 2, "", self.refuses_to_start)
            assert not self.alive, "another supervisord holds the socket"
            with open(argv[-1], encoding="utf-8") as stream:
                self.read = (stream.read(), self._defined())
            self.alive = True
            self.programs = {name: "new" for name in self._defined()}
            return CommandResult(list(argv), 0, "", "")
        assert argv[:2] == ["/bin/sh", "-c"]
        assert "kill -0 {0} ".format(PID) in argv[2]
        self.limits["wait"] = timeout
        return CommandResult(list(argv), None if self.stays else 0, "", "", timed_out=self.stays)

    # What the socket does.

    def rpc(self, method, *args, timeout=MANAGER_SECONDS):
        if not self.alive:
            raise ConnectionRefusedError(111, "Connection refused")
        if method not in ("getState", "getProcessInfo"):
            self.calls.append(" ".join([method, *(str(arg) for arg in args)]))
        self.limits[method] = timeout
        if method in self.faults:
            raise self.faults[method]
        return getattr(self, "_" + re.sub("[A-Z]+", lambda word: "_" + word.group().lower(), method))(*args)

    def _get_state(self):
        return {"statename": "RUNNING", "statecode": 1}

    def _get_process_info(self, name):
        if name not in self.programs:
            raise xmlrpc.client.Fault(10, "BAD_NAME: " + name)
        state = self.programs[name]
        if state == "new":
            self.programs[name] = "RUNNING" if self.spawns else "new"
            state = "STOPPED"
        return {
            "statename": state,
            "pid": 42 if state in ("RUNNING", "STARTING", "STOPPING") else 0,
            "spawnerr": "",
            "description": "as told",
        }

    def _reload_config(self):
        return [[[], [], []]]

    def _add_process_group(self, name):
        if name in self.programs:
            raise xmlrpc.client.Fault(90, "ALREADY_ADDED: " + name)
        assert name in self._defined()
        self.programs[name] = "new"
        return True

    def _start_process(self, name, wait):
        if self.programs[name] != "STOPPED":
            raise xmlrpc.client.Fault(60, "ALREADY_STARTED: " + name)
        self.programs[name] = "RUNNING"
        return True

    def _stop_process(self, name, wait):
        if self.programs.get(name) is None:
            raise xmlrpc.client.Fault(10, "BAD_NAME: " + name)
        if self.programs[name] not in ("RUNNING", "new"):
            raise xmlrpc.client.Fault(70, "NOT_RUNNING: " + name)
        self.programs[name] = "STOPPED"
        return True

    def _remove_process_group(self, name):
        if name not in self.programs:
            raise xmlrpc.client.Fault(10, "BAD_NAME: " + name)
        assert self.programs.pop(name) == "STOPPED"
        return True

    def _get_pid(self):
        return PID

    def _shutdown(self):
        self.alive = False
        self.programs = {}
        return True


class Host:
    def __init__(self, home):
        self.home = home
        self.daemon = Supervisord(home)
        self.naps = []
        self.runtime = SupervisorRuntime(self.daemon.run, home + "/venv/bin/supervisord", home + "/", self.daemon.rpc, self.naps.append)

    def spec(self, name="demo", **changes):
        wanted = spec(home=self.home, name=name, **changes)
        os.makedirs(wanted.working_directory, exist_ok=True)
        return wanted

    def launch(self, name="demo"):
        self.runtime.define(self.spec(name))
        self.runtime.start(self.spec(name))
        del self.daemon.calls[:]

    def path(self, name):
        return self.home + "/supervisor/" + name


@pytest.fixture()
def host():
    """In a short folder, as the socket's path is limited."""
    folder = tempfile.mkdtemp(prefix="npuf-")
    yield Host(folder)
    shutil.rmtree(folder)


def test_a_bare_host_runs_nothing(host):
    assert host.runtime.inspect(host.spec()) == ServiceState(detail="supervisord does not run")
    host.runtime.stop(host.spec())
    assert not os.path.exists(host.path(""))


def test_defining_starts_nothing(host):
    mask = os.umask(0)
    try:
        host.runtime.define(host.spec())
    finally:
        os.umask(mask)
    assert file_mode(host.path("")) == 0o750
    assert host.runtime.inspect(host.spec()) == ServiceState(defined=True, enabled=True, detail="supervisord does not run")
    assert not host.daemon.alive


def test_the_first_start_starts_supervisord_with_a_clean_environment(host):
    host.runtime.define(host.spec())
    host.runtime.start(host.spec())
    assert host.daemon.argv == [
        "/usr/bin/env",
        "-i",
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME=" + host.home + "/supervisor",
        "LANG=C.UTF-8",
        host.home + "/venv/bin/supervisord",
        "-c",
        host.path("supervisord.conf"),
    ]
    assert host.runtime.inspect(host.spec()) == ServiceState(True, True, True, 42, "RUNNING as told")


def test_a_second_engine_leaves_the_first_alone(host):
    host.launch()
    host.runtime.define(host.spec("two"))
    assert not host.runtime.inspect(host.spec("two")).running
    host.runtime.start(host.spec("two"))
    assert host.daemon.calls == [
        "reloadConfig",
        "stopProcess two True",
        "removeProcessGroup two",
        "reloadConfig",
        "addProcessGroup two",
    ]
    assert host.daemon.programs == {"demo": "RUNNING", "two": "RUNNING"}


def test_a_changed_program_is_taken_out_before_it_is_started_anew(host):
    host.launch()
    host.runtime.stop(host.spec())
    host.runtime.define(host.spec(port=9000))
    assert not host.runtime.inspect(host.spec()).running
    host.runtime.start(host.spec(port=9000))
    assert host.daemon.calls == [
        "stopProcess demo True",
        "reloadConfig",
        "stopProcess demo True",
        "removeProcessGroup demo",
        "reloadConfig",
        "addProcessGroup demo",
    ]


@pytest.mark.parametrize("state", ["STOPPED", "BACKOFF"])
def test_starting_what_is_loaded(host, state):
    host.launch()
    host.daemon.programs["demo"] = state
    host.runtime.start(host.spec())
    assert host.daemon.calls == ["reloadConfig", "addProcessGroup demo", "startProcess demo False"]


def test_changed_settings_of_supervisord_restart_it_without_starting_the_program(host):
    host.launch()
    host.launch("two")
    with open(host.path("supervisord.conf"), "a", encoding="utf-8") as stream:
        stream.write("; of an earlier version\n")
    host.runtime.define(host.spec(port=9000))
    assert host.daemon.calls[:2] == ["getPID", "shutdown"]
    assert host.daemon.read == (host.runtime.files(host.spec())[0].text, ["two"])
    assert host.daemon.programs == {"two": "new"}
    assert [item.path for item in host.runtime.files(host.spec(port=9000)) if not os.path.exists(item.path)] == []
    assert host.runtime.inspect(host.spec("two")).detail == "STOPPED as told"
    host.runtime.start(host.spec(port=9000))
    assert host.runtime.inspect(host.spec()).running


@pytest.mark.parametrize(
    ("state", "running", "pid"),
    [
        ("RUNNING", True, 42),
        ("STARTING", True, 42),
        ("STOPPING", False, 42),
        ("BACKOFF", False, 0),
        ("FATAL", False, 0),
        ("EXITED", False, 0),
    ],
)
def test_what_supervisord_says(host, state, running, pid):
    host.launch()
    host.daemon.programs["demo"] = state
    assert host.runtime.inspect(host.spec()) == ServiceState(True, running, True, pid, state + " as told", state == "BACKOFF")


def test_the_error_of_a_spawn_is_shown(host, monkeypatch):
    host.launch()
    monkeypatch.setattr(
        host.daemon, "_get_process_info", lambda _name: {"statename": "FATAL", "pid": 0, "spawnerr": "no such file", "description": ""}
    )
    assert host.runtime.inspect(host.spec()).detail == "FATAL no such file"


def test_a_program_that_is_not_loaded(host):
    host.launch()
    assert host.runtime.inspect(host.spec("two")) == ServiceState(detail="BAD_NAME: two")


def test_a_supervisord_of_another_user_is_not_taken_for_none(host, monkeypatch):
    def forbidden(*_args, **_options):
        raise PermissionError(13, "Permission denied")

    host.runtime = SupervisorRuntime(host.daemon.run, "/v/supervisord", host.home, forbidden)
    with pytest.raises(RuntimeAdapterError) as caught:
        host.runtime.inspect(host.spec())
    assert str(caught.value) == (
        "supervisord belongs to another user. Where: {0}/supervisor. "
        "What to do: Run as that user or as root (become), or use another home.".format(host.home)
    )


def test_stopping_gets_the_time_of_running_requests_on_top(host):
    host.launch()
    host.runtime.stop(host.spec(stop_timeout=500))
    assert host.daemon.limits["stopProcess"] == MANAGER_SECONDS + 500
    host.runtime.stop(host.spec())
    assert host.daemon.programs == {"demo": "STOPPED"}


def test_removing_one_of_two(host):
    host.launch()
    host.launch("two")
    host.runtime.stop(host.spec())
    host.runtime.remove(host.spec())
    assert (host.daemon.alive, host.daemon.programs) == (True, {"two": "RUNNING"})
    assert os.listdir(host.path("conf.d")) == ["two.conf"]
    assert not os.path.exists(host.spec().working_directory + "/launch.sh")


@pytest.mark.parametrize("alive", [True, False])
def test_the_last_one_takes_supervisord_with_it(host, alive):
    host.launch()
    host.runtime.stop(host.spec())
    host.daemon.alive = alive
    host.runtime.remove(host.spec(stop_timeout=7))
    assert not host.daemon.alive
    assert not os.path.exists(host.path(""))
    assert host.daemon.limits.get("wait") == (MANAGER_SECONDS + 7 if alive else None)


def test_a_supervisord_that_does_not_end_keeps_its_folder(host):
    host.launch()
    host.runtime.stop(host.spec())
    host.daemon.stays = True
    with pytest.raises(RuntimeAdapterError) as caught:
        host.runtime.remove(host.spec())
    assert caught.value.what == "supervisord (process 4321) does not end"
    assert caught.value.where == host.path("supervisord.log")
    assert os.path.exists(host.path("supervisord.conf"))


def test_enabling_needs_nothing(host):
    host.launch()
    host.runtime.enable(host.spec())
    assert host.daemon.calls == []


def test_a_supervisord_that_does_not_start_says_why(host):
    host.runtime.define(host.spec())
    for said, shown in (("Error: no such user\n", "Error: no such user"), ("", "no message")):
        host.daemon.refuses_to_start = said
        with pytest.raises(RuntimeAdapterError) as caught:
            host.runtime.start(host.spec())
        assert str(caught.value) == (
            "supervisord does not start: {0}. Where: {1}. What to do: Read that log, correct what it names, and run again.".format(
                shown, host.path("supervisord.log")
            )
        )


def test_a_program_that_is_never_started_is_given_up(host):
    host.runtime.define(host.spec())
    host.daemon.spawns = False
    with pytest.raises(RuntimeAdapterError, match="supervisord did not start the program demo"):
        host.runtime.start(host.spec())
    assert len(host.naps) == SPAWN_POLLS


def test_a_supervisord_that_is_still_starting_is_waited_for(host):
    host.runtime.define(host.spec())
    answers = []
    host.daemon.faults["getProcessInfo"] = OSError("refused")
    sleep = host.naps.append

    def wake(seconds):
        sleep(seconds)
        answers.append(host.daemon.faults.pop("getProcessInfo", None))

    host.runtime._sleep = wake
    host.runtime.start(host.spec())
    assert answers[0] is not None
    assert host.runtime.inspect(host.spec()).running


@pytest.mark.parametrize(
    ("method", "error", "what"),
    [
        ("reloadConfig", xmlrpc.client.Fault(92, "CANT_REREAD: bad file"), "supervisord refused reloadConfig: CANT_REREAD: bad file"),
        ("addProcessGroup", xmlrpc.client.Fault(6, "SHUTDOWN_STATE"), "supervisord refused addProcessGroup: SHUTDOWN_STATE"),
        ("reloadConfig", OSError(104, "Connection reset"), "supervisord does not answer reloadConfig: [Errno 104] Connection reset"),
        ("addProcessGroup", TimeoutError(), "supervisord does not answer addProcessGroup: TimeoutError"),
        (
            "addProcessGroup",
            xmlrpc.client.ProtocolError("localhost/RPC2", 500, "Internal", {}),
            "supervisord does not answer addProcessGroup: <ProtocolError for localhost/RPC2: 500 Internal>",
        ),
    ],
)
def test_what_supervisord_refuses_is_one_clear_error(host, method, error, what):
    host.launch()
    host.runtime.define(host.spec("two"))
    host.daemon.faults[method] = error
    with pytest.raises(RuntimeAdapterError) as caught:
        host.runtime.start(host.spec("two"))
    assert (caught.value.what, caught.value.where) == (what, host.path("supervisord.log"))
    assert caught.value.remedy


def test_one_that_is_shutting_down_counts_as_gone(host):
    host.launch()
    host.daemon.faults["getState"] = xmlrpc.client.Fault(6, "SHUTDOWN_STATE")
    host.runtime.stop(host.spec())
    assert host.daemon.calls == []


@pytest.mark.parametrize(("installed", "alive", "fits"), [(True, False, True), (False, True, True), (False, False, False)])
def test_a_supervisord_must_be_there_or_run(host, installed, alive, fits):
    path = host.home + "/venv/bin/supervisord"
    if installed:
        os.makedirs(os.path.dirname(path))
        with open(path, "w", encoding="utf-8"):
            os.chmod(path, 0o755)
    host.daemon.alive = alive
    if fits:
        host.runtime.check(host.spec())
        return
    with pytest.raises(RuntimeAdapterError) as caught:
        host.runtime.check(host.spec())
    assert (caught.value.what, caught.value.where) == ("there is no supervisord in the virtual environment", path)
    assert "vllm_venv" in caught.value.remedy


def test_the_log_from_a_mark(host):
    wanted = host.spec()
    assert host.runtime.log_mark(wanted) == "0"
    with open(wanted.working_directory + "/engine.log", "w", encoding="utf-8") as stream:
        stream.write("old\n")
        stream.flush()
        mark = host.runtime.log_mark(wanted)
        stream.write("new\nlines\n")
    assert mark == "4"
    assert host.runtime.logs(wanted, mark, 10) == ["new", "lines"]
    assert host.runtime.logs(wanted, "", 10) == ["old", "new", "lines"]
    assert host.runtime.logs(wanted, mark, 1) == ["lines"]


def test_a_home_that_is_too_long_for_a_socket_is_refused():
    SupervisorRuntime(None, "/v/supervisord", "/" + "h" * 68)
    with pytest.raises(RuntimeAdapterError) as caught:
        SupervisorRuntime(None, "/v/supervisord", "/" + "\u00e9" * 35)
    assert caught.value.what == "the path of supervisor's socket is longer than 96 bytes"
    assert caught.value.remedy == "Use a shorter home"


def test_the_real_socket_is_in_the_home(host):
    runtime = SupervisorRuntime(host.daemon.run, "/v/supervisord", host.home)
    assert runtime.inspect(host.spec()).detail == "supervisord does not run"
