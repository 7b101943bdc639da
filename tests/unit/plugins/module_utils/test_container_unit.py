# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._command import CommandResult
from ansible_collections.npufleet.ascend.plugins.module_utils._container_unit import EngineUnit
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError

SHOWN = """\
LoadState=loaded
ActiveState=active
SubState=running
MainPID=42
UnitFileState=enabled
InvocationID=abc
ExecMainStartTimestampMonotonic=5500000
KillMode=process
Result=success
BoundBy=docker.service
RequiredBy=docker.service kubelet.service x.target
"""


class Systemd:
    """systemctl and journalctl."""

    def __init__(self, shown=SHOWN):
        self.shown = shown
        self.answers = {}
        self.calls = []
        self.log = ""

    def __call__(self, argv, timeout):
        assert timeout > 0
        self.calls.append(argv[1:])
        if argv[0] == "/journalctl":
            return CommandResult(argv, 0, self.log, "")
        rc, text = self.answers.get(argv[1], (0, self.shown if argv[1] == "show" else ""))
        return CommandResult(argv, rc, text, "", timed_out=rc is None)


def unit(systemd):
    return EngineUnit(systemd, ("/systemctl", "/journalctl"), "docker.service", lambda: 1000.0, lambda: 100.0)


def test_a_daemon_that_runs():
    state = unit(Systemd()).look()
    assert (state.found, state.running, state.enabled, state.can_enable, state.pid) == (True, True, True, False, 42)
    # Up for 100 s, started 5.5 s after boot.
    assert (state.start, state.started, state.outlives) == ("abc:5500000", pytest.approx(905.5), True)
    assert state.dependents == ("docker.service", "kubelet.service")


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("LoadState=not-found\nActiveState=inactive\n", (False, False, False, False)),
        ("LoadState=loaded\nActiveState=failed\nUnitFileState=disabled\n", (True, False, False, True)),
        ("LoadState=masked\nActiveState=inactive\nUnitFileState=masked\n", (True, False, False, False)),
        ("LoadState=loaded\nActiveState=reloading\nUnitFileState=static\nKillMode=mixed\n", (True, True, True, False)),
        ("", (False, False, False, False)),
    ],
)
def test_other_states(lines, expected):
    state = unit(Systemd(lines)).look()
    assert (state.found, state.running, state.enabled, state.can_enable) == expected
    assert not state.outlives and state.dependents == ()
    assert state.running or (state.start, state.started) == ("", 0.0)


def test_the_verbs():
    systemd = Systemd()
    found = unit(systemd)
    found.enable()
    found.start(30)
    found.restart(30)
    found.reload()
    verbs = [words[0] for words in systemd.calls]
    assert verbs == ["enable", "reset-failed", "start", "reset-failed", "restart", "reload"]
    assert all(words[-1] == "docker.service" for words in systemd.calls)


def test_a_start_that_fails_says_why():
    systemd = Systemd()
    systemd.answers["start"] = (1, "Job for docker.service failed.\nSee journalctl.\n")
    systemd.log = "level=info msg=hello\nfailed to start daemon: no driver\nMain process exited\n"
    with pytest.raises(NpufleetError) as caught:
        unit(systemd).start(30)
    text = str(caught.value)
    assert text.startswith(
        "systemctl start docker.service failed: Job for docker.service failed; its log says: failed to start daemon: no driver."
    )
    assert "journalctl --unit docker.service" in text and "Main process exited" in text
    assert systemd.calls[-1][-2:] == ["--since=@999.000", "--lines=200"]


@pytest.mark.parametrize(
    ("answer", "words"),
    [((None, ""), "it did not end in time"), ((1, ""), "no message"), ((1, "Access denied\n"), "failed: Access denied")],
)
def test_a_systemd_that_does_not_do_as_told(answer, words):
    systemd = Systemd()
    systemd.answers["restart"] = systemd.answers["show"] = answer
    for act in (lambda: unit(systemd).restart(30), unit(systemd).look):
        with pytest.raises(NpufleetError) as caught:
            act()
        assert words in str(caught.value) and "its log says" not in str(caught.value)


def test_the_log_without_empty_lines():
    systemd = Systemd()
    systemd.log = "one\n\ntwo\n"
    assert unit(systemd).log(12.5) == ["one", "two"]
    assert "--since=@12.500" in systemd.calls[0]
