# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Bring one server of the gateway to a state and wait until it is true in every process of HAProxy, also those that only finish their streams."""

from __future__ import annotations

import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._clock import Clock
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._gateway_socket import Ask
from ansible_collections.npufleet.ascend.plugins.module_utils._gateway_stats import (
    Server,
    Worker,
    parse_processes,
    parse_servers,
    parse_states,
    unreadable,
)

POLL_SECONDS = 0.1
# "timeout http-keep-alive" of the gateway: as long after a reload an idle client may bring one more request to an old worker, and an old
# worker takes no orders ("Proxy is disabled.", HAProxy 2.6, tried).
OLD_WORKER_SECONDS = 10
WORDS = {"ready": "ready", "drain": "drain", "maintenance": "maint"}


class Wanted(t.NamedTuple):
    """A server and its state; ``wait_timeout`` of 0 does not wait."""

    backend: str
    server: t.Optional[str]
    state: t.Optional[str]
    wait_timeout: int = 600


class Gateway:
    """One HAProxy behind its master socket, or behind the socket of its only process."""

    def __init__(self, ask: Ask, backend: str) -> None:
        self._ask = ask
        self._backend = backend

    def workers(self) -> t.List[Worker]:
        """The processes; one without a prefix where there is no master to ask."""
        answer = self._ask("show proc")
        if answer.lstrip().startswith("Unknown command"):
            return [Worker("", 0, 0, False)]
        return parse_processes(answer)

    def servers(self, worker: Worker) -> t.Dict[str, Server]:
        return parse_servers(self._ask("{0}show stat {1} 4 -1".format(worker.prefix, self._backend)), self._backend)

    def states_text(self, worker: Worker) -> str:
        return self._ask("{0}show servers state".format(worker.prefix)).strip() + "\n"

    def set(self, worker: Worker, server: str, state: str) -> None:
        """:raises NpufleetError: HAProxy does not do it"""
        command = "set server {0}/{1} state {2}".format(self._backend, server, WORDS[state])
        answer = self._ask(worker.prefix + command)
        if answer.strip():
            raise unreadable(command, answer)


class GatewayTask:
    """``save`` keeps the states of all servers for the next start of HAProxy."""

    def __init__(self, wanted: Wanted, ask: Ask, save: t.Callable[[str], None], clock: Clock) -> None:
        self._wanted = wanted
        self._gateway = Gateway(ask, wanted.backend)
        self._save = save
        self._clock = clock

    def execute(self, check_mode: bool) -> t.Dict[str, t.Any]:
        """:raises NpufleetError: no such server, or the time is up"""
        name, state = self._wanted.server, self._wanted.state
        rows = self._look()
        if name is not None and name not in rows:
            raise NpufleetError(
                "the gateway has no server {0!r}".format(name), where="server", remedy="Use one of {0}".format(", ".join(sorted(rows)))
            )
        if name is None or state is None:
            return {"changed": False, "servers": self._shown(rows)}
        before = rows[name]["state"]
        began = self._clock.now()
        if not check_mode:
            worker = self._current()
            if before != state:
                self._gateway.set(worker, name, state)
            # Also where nothing changed: a run may have ended between the two.
            self._save(self._gateway.states_text(worker))
            rows = self._wait(name, state, began)
        else:
            rows[name]["state"] = state
        result: t.Dict[str, t.Any] = {"changed": before != state, "servers": self._shown(rows), "server": rows[name]}
        result["waited_seconds"] = round(self._clock.now() - began, 1)
        result["diff"] = {"before": {name: before}, "after": {name: state}}
        return result

    def _shown(self, rows: t.Dict[str, t.Dict[str, t.Any]]) -> t.List[t.Dict[str, t.Any]]:
        return [row for name, row in rows.items() if self._wanted.server in (None, name)]

    def _current(self) -> Worker:
        return next(worker for worker in self._gateway.workers() if not worker.old)

    def _look(self) -> t.Dict[str, t.Dict[str, t.Any]]:
        """Rows of all servers, with the sessions of all processes."""
        workers = self._gateway.workers()
        current = next(worker for worker in workers if not worker.old)
        states = parse_states(self._gateway.states_text(current), self._wanted.backend)
        rows = {name: self._row(server, states) for name, server in self._gateway.servers(current).items()}
        young = current.uptime <= OLD_WORKER_SECONDS
        for worker in (worker for worker in workers if worker.old):
            for name, server in self._of_old(worker).items():
                if name in rows:
                    rows[name]["sessions"] += server.sessions
                    rows[name]["settling"] = young
        return rows

    def _of_old(self, worker: Worker) -> t.Dict[str, Server]:
        """Servers of a process that may end at any moment, or that had another backend."""
        try:
            return self._gateway.servers(worker)
        except NpufleetError:
            if any(other.pid == worker.pid for other in self._gateway.workers()):
                raise
            return {}

    def _row(self, server: Server, states: t.Dict[str, str]) -> t.Dict[str, t.Any]:
        return {
            "name": server.name,
            "state": states.get(server.name, "ready"),
            "operational": server.operational,
            "status": server.status,
            "check": server.check,
            "reason": "{0}: {1}".format(server.name, server.reason),
            "address": server.address,
            "sessions": server.sessions,
            "settling": False,
        }

    def _wait(self, name: str, state: str, began: float) -> t.Dict[str, t.Dict[str, t.Any]]:
        """:raises NpufleetError: requests do not end, or the server does not come up"""
        while True:
            rows = self._look()
            if name not in rows:
                raise NpufleetError(
                    "server {0!r} left the configuration".format(name), where="server", remedy="Look who changed the gateway"
                )
            row = rows[name]
            done = row["operational"] == "up" if state == "ready" else row["sessions"] == 0 and not row["settling"]
            if done or self._wanted.wait_timeout <= 0:
                return rows
            if self._clock.now() - began >= self._wanted.wait_timeout:
                raise self._late(name, state, row)
            self._clock.sleep(POLL_SECONDS)

    def _late(self, name: str, state: str, row: t.Dict[str, t.Any]) -> NpufleetError:
        seconds = self._wanted.wait_timeout
        if state == "ready":
            what = "server {0!r} is not up after {1} s ({2})".format(name, seconds, row["reason"])
            return NpufleetError(what, where="backend " + self._wanted.backend, remedy="Look at the engine, or wait longer (wait_timeout)")
        what = "server {0!r} still has {1} requests after {2} s; it gets no new ones".format(name, row["sessions"], seconds)
        return NpufleetError(
            what,
            where="backend " + self._wanted.backend,
            remedy="Wait longer (wait_timeout), end them, or let it serve again (state: ready)",
        )
