# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The log of executions, and the faults that the host's /etc/standin-packages/faults.json asks for."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import stat
import sys
import time
import typing as t

from standin.host import Host

EXECUTIONS = "/var/log/standin-packages/executions.jsonl"
FAULTS = "/etc/standin-packages/faults.json"
CHANGES = ("install", "upgrade", "uninstall")
_ACTIONS = {
    "--install": "install",
    "--full": "install",
    "--run": "install",
    "--devel": "install",
    "--docker": "install",
    "--debug": "install",
    "--upgrade": "upgrade",
    "--uninstall": "uninstall",
}

Fault = t.Dict[str, t.Any]


class Finish(Exception):  # noqa: N818
    """The installer ends with this exit code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def action_of(words: t.Sequence[str]) -> str:
    """Return install, upgrade or uninstall, or the first word of a call that changes nothing."""
    for word in words:
        if word in _ACTIONS:
            return _ACTIONS[word]
    return words[0].lstrip("-") if words else "none"


class Journal:
    """One execution: its lines in the log and its fault."""

    def __init__(self, host: Host, kind: str, version: str) -> None:
        self._host, self._kind, self._version = host, kind, version
        self.fault: Fault = {}

    def begin(self, argv: t.Sequence[str], words: t.Sequence[str]) -> None:
        """Choose the fault and write the first line."""
        action = action_of(words)
        self.fault = self._choose(action)
        self._append(
            {
                "event": "start",
                "argv": list(argv),
                "cwd": os.getcwd(),
                "action": action,
                "stdin": stdin_kind(),
                "uid": os.geteuid(),
                "time": time.time(),
                "fault": self.fault or None,
            }
        )

    def end(self, code: int) -> None:
        """Write the second line. An execution that was killed has none."""
        self._append({"event": "end", "exit_code": code, "time": time.time()})

    def _append(self, entry: t.Dict[str, t.Any]) -> None:
        entry.update(pid=os.getpid(), kind=self._kind, version=self._version)
        self._host.append(EXECUTIONS, json.dumps(entry, sort_keys=True) + "\n", 0o666)
        with contextlib.suppress(OSError):
            os.chmod(self._host.at(os.path.dirname(EXECUTIONS)), 0o1777)

    def _choose(self, action: str) -> Fault:
        text = self._host.read(FAULTS)
        table = json.loads(text) if text else {}
        fault: Fault = table.get(self._kind, table.get("*", {}))
        if action not in fault.get("on", CHANGES):
            return {}
        if "first" in fault and self._seen(fault) >= int(fault["first"]):
            return {}
        return fault

    def _seen(self, fault: Fault) -> int:
        lines = [json.loads(line) for line in self._host.read(EXECUTIONS).splitlines()]
        return sum(1 for line in lines if line.get("fault") == fault and line["kind"] == self._kind)


def stdin_kind() -> str:
    """What the installer got as standard input: closed, null, terminal, pipe, file, or other."""
    try:
        mode = os.fstat(0).st_mode
    except OSError:
        return "closed"
    if stat.S_ISCHR(mode):
        return "terminal" if os.isatty(0) else "null"
    return {stat.S_IFIFO: "pipe", stat.S_IFSOCK: "pipe", stat.S_IFREG: "file"}.get(stat.S_IFMT(mode), "other")


def strike(fault: Fault) -> None:
    """Do what a fault does before anything on the host has changed.

    :raises Finish: for a fault with an exit code
    """
    if fault.get("endless_output"):
        while True:
            say("waiting for the device to start")
    if fault.get("hang"):
        if fault["hang"] == "ignore_sigterm":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True:
            time.sleep(3600)
    if "exit_code" in fault:
        raise Finish(int(fault["exit_code"]))


def work(steps: t.Sequence[t.Callable[[], None]], fault: Fault) -> None:
    """Do the steps of an installation: spread over ``slow`` seconds, and with ``die`` only half of them before SIGKILL."""
    pause = float(fault.get("slow", 0)) / max(1, len(steps))
    for number, step in enumerate(steps):
        if fault.get("die") and number == len(steps) // 2:
            sys.stdout.flush()
            os.kill(os.getpid(), signal.SIGKILL)
        step()
        if pause:
            time.sleep(pause)


def say(text: str) -> None:
    """Print one line at once, as a shell script does."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def ask(question: str, yes: str, no: str) -> bool:
    """Ask until somebody answers. The scripts do not notice the end of standard input: then they ask forever (mind-cluster, tried; driver-src)."""
    say(question)
    while True:
        answer = sys.stdin.readline().strip() if sys.stdin else ""
        if answer and answer in yes:
            return True
        if answer and answer in no:
            return False
        say(question)
