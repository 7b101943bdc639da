# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""The systemd unit of a container engine: is it running, since when, with which options; start, reload, restart."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._command import CommandResult, Runner
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError

SHOW_SECONDS = 30.0
LOG_LINES = 12
# Lines in which dockerd and containerd say why they end (tried with dockerd 20.10, containerd 1.6).
REASON = re.compile(r"unable to configure|failed to (?:start|load|create)|level=(?:error|fatal)|^containerd: ")
PROPERTIES = (
    "LoadState,ActiveState,SubState,MainPID,UnitFileState,InvocationID,ExecMainStartTimestampMonotonic,KillMode,Result,BoundBy,RequiredBy"
)


class UnitState(t.NamedTuple):
    """
    :param start: names this very start of the daemon; empty when it does not run
    :param started: when that was, in seconds since the epoch
    :param outlives: do processes that the daemon started live on when it is restarted?
    :param dependents: services that systemd restarts with it
    """

    found: bool = False
    running: bool = False
    enabled: bool = False
    can_enable: bool = False
    pid: int = 0
    start: str = ""
    started: float = 0.0
    outlives: bool = False
    dependents: t.Tuple[str, ...] = ()
    detail: str = ""


class EngineUnit:
    """One unit and systemctl."""

    def __init__(self, run: Runner, tools: t.Tuple[str, str], name: str, clock: t.Callable[[], float], up: t.Callable[[], float]) -> None:
        """
        :param tools: paths of systemctl and journalctl
        :param up: seconds since boot on the clock that systemd reports (CLOCK_MONOTONIC)
        """
        self._run = run
        self._systemctl, self._journalctl = tools
        self.name = name
        self._clock = clock
        self._up = up

    def look(self) -> UnitState:
        """Ask systemd, one call.

        :raises NpufleetError: systemd does not answer
        """
        result = self._must("show", SHOW_SECONDS, "--property=" + PROPERTIES)
        values = dict(line.split("=", 1) for line in result.stdout.splitlines() if "=" in line)
        running = values.get("ActiveState") in ("active", "reloading")
        micros = int(values.get("ExecMainStartTimestampMonotonic") or 0)
        file_state = values.get("UnitFileState", "")
        return UnitState(
            found=values.get("LoadState") in ("loaded", "masked"),
            running=running,
            enabled=file_state not in ("disabled", "masked", ""),
            can_enable=file_state == "disabled",
            pid=int(values.get("MainPID") or 0),
            start="{0}:{1}".format(values.get("InvocationID", ""), micros) if running else "",
            started=self._clock() - (self._up() - micros / 1e6) if running else 0.0,
            dependents=tuple(
                sorted({name for key in ("BoundBy", "RequiredBy") for name in values.get(key, "").split() if name.endswith(".service")})
            ),
            outlives=values.get("KillMode") in ("process", "none"),
            detail="{0}/{1} ({2})".format(values.get("ActiveState"), values.get("SubState"), values.get("Result")),
        )

    def enable(self) -> None:
        """Start it with the host from now on."""
        self._must("enable", SHOW_SECONDS)

    def start(self, seconds: float) -> None:
        """Start it and wait until it says that it is ready."""
        self._begin("start", seconds)

    def restart(self, seconds: float) -> None:
        """Stop it, start it and wait until it says that it is ready."""
        self._begin("restart", seconds)

    def reload(self) -> None:
        """Let it read its configuration again, which it does by itself after this returns."""
        self._must("reload", SHOW_SECONDS)

    def log(self, since: float) -> t.List[str]:
        """The last lines of its log since a time, in seconds since the epoch."""
        argv = [self._journalctl, "--unit=" + self.name, "--output=cat", "--no-pager", "--quiet", "--since=@{0:.3f}".format(since)]
        result = self._run([*argv, "--lines=200"], timeout=SHOW_SECONDS)
        return [line for line in result.stdout.splitlines() if line.strip()]

    def _begin(self, verb: str, seconds: float) -> None:
        # Several starts in a short time are no crash loop here (StartLimitBurst is 3 in the unit of Docker).
        self._run([self._systemctl, "reset-failed", self.name], timeout=SHOW_SECONDS)
        since = self._clock() - 1
        result = self._run([self._systemctl, verb, self.name], timeout=seconds)
        if result.rc != 0:
            raise self._failure(verb, result, self.log(since))

    def _must(self, verb: str, seconds: float, *words: str) -> CommandResult:
        result = self._run([self._systemctl, verb, *words, self.name], timeout=seconds)
        if result.rc != 0:
            raise self._failure(verb, result, [])
        return result

    def _failure(self, verb: str, result: CommandResult, log: t.Sequence[str]) -> NpufleetError:
        said = "it did not end in time" if result.timed_out else (result.text.strip().splitlines() or ["no message"])[0]
        reasons = [line for line in log if REASON.search(line)]
        why = "; its log says: " + reasons[-1] if reasons else ""
        lines = ". Last lines:\n" + "\n".join(log[-LOG_LINES:]) if log else ""
        return NpufleetError(
            "systemctl {0} {1} failed: {2}{3}".format(verb, self.name, said.rstrip("."), why),
            where=self.name,
            remedy="Look at `journalctl --unit {0}`{1}".format(self.name, lines),
        )
