# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._clock import Clock
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._gateway_task import GatewayTask, Wanted

WORD_OF_BITS = {"ready": 0, "drain": 8, "maint": 1}


class FakeHaproxy:
    """A master with one worker, and old ones as (pid, sessions of "a"); each sleep ends one session. ``at`` does something at a time."""

    def __init__(self, sessions=0, old=(), uptime=100, master=True):
        self.bits = {"a": 0, "b": 0}
        self.status = {"a": "UP", "b": "UP"}
        self.sessions = sessions
        self.old = dict(old)
        self.uptime = uptime
        self.master = master
        self.time = 1000.0
        self.commands = []
        self.saved = []
        self.refusal = ""
        self.at = {}

    def now(self):
        return self.time

    def sleep(self, seconds):
        self.time += seconds
        self.sessions = max(self.sessions - 1, 0)
        self.old = {pid: sessions - 1 for pid, sessions in self.old.items() if sessions > 0}
        for moment in [moment for moment in self.at if self.time >= moment]:
            self.at.pop(moment)()

    def ask(self, command):
        if command == "show proc":
            return self.processes() if self.master else "Unknown command: 'show proc'\n"
        pid, _blank, rest = command.partition(" ") if command.startswith("@") else ("", "", command)
        if pid and int(pid[2:]) not in (1, *self.old):
            return "Can't find the target PID matching the prefix '{0}'\n".format(pid)
        if rest.startswith("set"):
            self.commands.append(command)
            _set, _server, name, _state, word = rest.split()
            self.bits[name.partition("/")[2]] = WORD_OF_BITS[word]
            return self.refusal or "\n"
        return self.stats(self.old.get(int(pid[2:])) if pid else None) if rest.startswith("show stat ") else self.states()

    def processes(self):
        old = "".join("{0} worker 1 0d00h09m00s 2.6\n".format(pid) for pid in self.old)
        return "#<PID> <type>\n9 master 0 0d 2.6\n# workers\n1 worker 0 {0}s 2.6\n# old workers\n{1}# programs\n".format(self.uptime, old)

    def stats(self, sessions):
        row = "engines,{0},0,{1},{2},L7OK,,192.0.2.1:8000\n"
        rows = [
            row.format(name, (self.sessions if sessions is None else sessions) if name == "a" else 0, self.status[name])
            for name in self.bits
        ]
        return "# pxname,svname,qcur,scur,status,check_status,last_chk,addr\n" + "".join(rows)

    def states(self):
        rows = "".join("engines {0} {1}\n".format(name, bits) for name, bits in self.bits.items())
        return "\n1\n# be_name srv_name srv_admin_state\n" + rows + "\n"

    def run(self, server="a", state="drain", wait_timeout=10, check=False):
        wanted = Wanted("engines", server, state, wait_timeout)
        return GatewayTask(wanted, self.ask, self.saved.append, Clock(self.now, self.sleep)).execute(check)


@pytest.mark.parametrize(("state", "word"), [("drain", "drain"), ("maintenance", "maint")])
def test_waits_for_the_last_request(state, word):
    haproxy = FakeHaproxy(sessions=3)
    done = haproxy.run(state=state)
    assert haproxy.commands == ["@!1 set server engines/a state " + word]
    assert (done["changed"], done["server"]["state"], done["server"]["sessions"], done["waited_seconds"]) == (True, state, 0, 0.3)
    assert done["diff"] == {"before": {"a": "ready"}, "after": {"a": state}} and [row["name"] for row in done["servers"]] == ["a"]
    assert haproxy.saved == ["1\n# be_name srv_name srv_admin_state\nengines a {0}\nengines b 0\n".format(WORD_OF_BITS[word])]


def test_a_second_time_changes_nothing_and_saves_again():
    haproxy = FakeHaproxy()
    haproxy.bits["a"] = 8
    assert not haproxy.run()["changed"] and haproxy.commands == [] and len(haproxy.saved) == 1


def test_check_mode_tells():
    haproxy = FakeHaproxy(sessions=3)
    done = haproxy.run(check=True)
    assert done["changed"] and done["server"]["state"] == "drain" and done["server"]["sessions"] == 3
    assert (haproxy.commands, haproxy.saved, haproxy.bits["a"], haproxy.time) == ([], [], 0, 1000.0)


@pytest.mark.parametrize("name", [None, "a"])
def test_without_a_state_it_only_tells(name):
    haproxy = FakeHaproxy(sessions=1, old={7: 2})
    done = haproxy.run(server=name, state=None)
    assert [row["name"] for row in done["servers"]] == (["a"] if name else ["a", "b"])
    assert done["servers"][0]["sessions"] == 3 and not done["changed"] and haproxy.saved == []


def test_requests_in_old_processes_count():
    haproxy = FakeHaproxy(old={7: 5})
    assert haproxy.run()["waited_seconds"] == pytest.approx(0.5)


def test_an_idle_client_of_an_old_process_may_come_once_more():
    haproxy = FakeHaproxy(old={7: 90}, uptime=10)
    haproxy.stats = lambda sessions: FakeHaproxy.stats(haproxy, 0)
    haproxy.at = {1002.0: lambda: setattr(haproxy, "uptime", 11)}
    assert haproxy.run()["waited_seconds"] == pytest.approx(2.0)


def test_an_old_process_that_ends_meanwhile():
    haproxy = FakeHaproxy(old={7: 1})
    known = haproxy.processes()
    haproxy.old.clear()
    answers = [known]
    ask = haproxy.ask
    haproxy.ask = lambda command: answers.pop() if command == "show proc" and answers else ask(command)
    assert haproxy.run(state=None)["servers"][0]["sessions"] == 0


def test_an_old_process_that_answers_something_else():
    haproxy = FakeHaproxy(old={7: 1})
    ask = haproxy.ask
    haproxy.ask = lambda command: "nonsense" if command.startswith("@!7") else ask(command)
    with pytest.raises(NpufleetError, match="something else"):
        haproxy.run(state=None)


def test_an_old_process_with_another_server():
    haproxy = FakeHaproxy(old={7: 1})
    ask = haproxy.ask
    haproxy.ask = lambda command: ask(command).replace("engines,b", "engines,gone") if command.startswith("@!7") else ask(command)
    assert [row["name"] for row in haproxy.run(server=None, state=None)["servers"]] == ["a", "b"]


def test_no_master():
    haproxy = FakeHaproxy(sessions=1, master=False)
    assert haproxy.run()["changed"] and haproxy.commands == ["set server engines/a state drain"]


def test_too_late():
    with pytest.raises(NpufleetError, match="server 'a' still has 4900 requests after 10 s; it gets no new ones"):
        FakeHaproxy(sessions=5000).run()


def test_no_waiting():
    assert FakeHaproxy(sessions=5).run(wait_timeout=0)["server"]["sessions"] == 5


def test_ready_waits_for_the_checks():
    haproxy = FakeHaproxy()
    haproxy.bits["a"], haproxy.status["a"] = 1, "DOWN 1/2"
    haproxy.at = {1003.0: lambda: haproxy.status.update(a="UP")}
    done = haproxy.run(state="ready")
    assert (done["changed"], done["server"]["operational"], done["waited_seconds"]) == (True, "up", pytest.approx(3.0, abs=0.11))
    haproxy.status["a"] = "DOWN"
    with pytest.raises(NpufleetError, match=r"server 'a' is not up after 10 s \(a: DOWN L7OK\)"):
        haproxy.run(state="ready")


def test_a_server_that_goes_while_somebody_waits():
    haproxy = FakeHaproxy(sessions=50)
    haproxy.at = {1001.0: lambda: haproxy.bits.pop("a")}
    with pytest.raises(NpufleetError, match="left the configuration"):
        haproxy.run()


def test_refused():
    haproxy = FakeHaproxy()
    haproxy.refusal = "Permission denied\n"
    with pytest.raises(NpufleetError, match="Permission denied"):
        haproxy.run()


def test_unknown_server():
    with pytest.raises(NpufleetError) as caught:
        FakeHaproxy().run(server="c")
    assert str(caught.value) == "the gateway has no server 'c'. Where: server. What to do: Use one of a, b."
