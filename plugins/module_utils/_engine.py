# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""One engine on this host: look, carry out a plan, wait until it answers. The collaborators (adapter, HTTP, clock) are injected."""

from __future__ import annotations

import json
import os
import shutil
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._clock import Clock
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_history import LAUNCH_NAME
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_log import explain, last_meaningful, redact
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_plan import Actual, Plan
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_spec import EngineSpec
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._files import read_text, write_text
from ansible_collections.npufleet.ascend.plugins.module_utils._http import Fetch
from ansible_collections.npufleet.ascend.plugins.module_utils._readiness import Outcome, Target, probe, probe_head, settled, wait
from ansible_collections.npufleet.ascend.plugins.module_utils._service import (
    Runtime,
    ServiceState,
    empty_temporary,
    make_folder,
)

# Lines of the log that are searched for the first error and the signatures.
LOG_LINES = 2000
# A task that waits looks again within this time, in seconds: a slice of waiting, and the way to the host.
WATCH_SECONDS = 60.0

# What the record says of a launch that is to live.
WATCHED = ("starting", "ready")

# What to say of an outcome of _readiness.wait, for an engine that was never ready since its launch, and for one that was.
STARTING_WORDS = {
    "dead": "the engine {0} died while starting, after {1:.0f} s",
    "pending": "the engine {0} is not ready after {1:.0f} s",
    "refused": "the engine {0} answers, but not as asked, after {1:.0f} s",
}
READY_WORDS = {
    "dead": "the engine {0} was ready and has died",
    "pending": "the engine {0} was ready before and does not answer for {1:.0f} s",
    "refused": "the engine {0} was ready before and answers, but not as asked",
}


class EngineFailedError(NpufleetError):
    """The engine does not answer. ``report`` is what its log says (see _engine_log.explain), ``changed`` whether anything was touched."""

    def __init__(self, what: str, where: str, remedy: str, report: t.Dict[str, t.Any], changed: bool) -> None:
        super().__init__(what, where, remedy)
        self.report = report
        self.changed = changed


class Engine:
    """The engine of one spec. ``launch.json`` in its folder (0600) records what the last launch was and how far it came."""

    def __init__(self, spec: EngineSpec, runtime: Runtime, fetch: Fetch, clock: Clock, head_url: t.Optional[str] = None) -> None:
        """:raises NpufleetError: only a member of a group has a head to ask"""
        if head_url and not spec.headless:
            raise NpufleetError(
                "this engine is asked itself", where="ready_url", remedy="Leave it out, or set args.headless for a member of a group"
            )
        self.spec = spec
        self._head_url = head_url.rstrip("/") if head_url else None
        self._runtime = runtime
        self._fetch = fetch
        self._clock = clock
        self._record_path = os.path.join(spec.working_directory, LAUNCH_NAME)
        self.service = ServiceState()
        # Whether the service manager started it again since the last launch: its process had died.
        self.restarted = False

    def inspect(self) -> Actual:
        """Look at the service and at the record of its last launch. Reads only."""
        self.service = self._runtime.inspect(self.spec)
        record = self._record()
        launched = record.get("pid") if record.get("status") in WATCHED else 0
        self.restarted = self.service.running and bool(launched) and launched != self.service.pid
        return Actual(
            defined=self.service.defined,
            running=self.service.running,
            enabled=self.service.enabled,
            files_current=self._runtime.as_written(self.spec),
            digest=record.get("digest"),
            applied=record.get("spec"),
            unfinished="digest" in record and record["digest"] is None,
            restarting=self.service.restarting,
            folder=os.path.isdir(self.spec.working_directory),
            drift=tuple(self._runtime.drift(self.spec)) if self.service.defined else (),
        )

    def apply(self, plan: Plan) -> None:
        """Carry out the steps in order. The record says "unfinished" until all are done, so that an interrupted run is seen by the next."""
        defines = "define" in plan.steps
        if defines:
            self._runtime.prepare(self.spec)
            make_folder(self.spec)
            self._write_record(dict(self._record(), digest=None))
        for step in plan.steps:
            getattr(self, "_" + step)()
        if defines:
            self._write_record(dict(self._record(), digest=self.spec.digest()))

    def _define(self) -> None:
        self._runtime.define(self.spec)
        self._write_record(dict(self._record(), digest=None, spec=self.spec.public()))

    def _enable(self) -> None:
        self._runtime.enable(self.spec)

    def _start(self) -> None:
        empty_temporary(self.spec)
        mark = self._runtime.log_mark(self.spec)
        started = self._clock.now()
        self._write_record(dict(self._record(), status="starting", started_at=started, log_mark=mark, pid=0, ready_seconds=None))
        self._runtime.start(self.spec)
        self.service = self._runtime.inspect(self.spec)
        self._write_record(dict(self._record(), pid=self.service.pid, watched_at=self._clock.now()))

    def _stop(self) -> None:
        self._runtime.stop(self.spec)
        record = self._record()
        if record:
            # Whoever stops an engine that is starting wants no word about its death.
            self._write_record(dict(record, status="stopped"))

    def _remove(self) -> None:
        self._runtime.remove(self.spec)
        shutil.rmtree(self.spec.working_directory, ignore_errors=True)
        if os.path.lexists(self.spec.working_directory):
            raise NpufleetError("the folder of the engine cannot be removed", where=self.spec.working_directory, remedy="Remove it by hand")

    def wait_ready(self, slice_seconds: float, timeout: float, launched: bool = False) -> t.Dict[str, t.Any]:
        """Wait at most ``slice_seconds`` of the ``timeout`` that began with the launch; an engine that was ready gets one slice.

        With ``launched`` only the process of the last launch counts, and not one that the service manager started again.

        Returns ``{"pending": bool, "seconds": s, "progress": text, "completion": {...} | None, "ready_seconds": s | None}``.

        :raises EngineFailedError: the engine died, answers wrongly, or is not ready in time
        """
        record = self._launched_record() if launched else self._watched_record(timeout)
        began = self._clock.now()
        deadline = limit = began + slice_seconds
        if record["status"] == "starting":
            began = float(record["started_at"])
            limit = began + timeout
            deadline = min(limit, deadline)
        born, pid = float(record["started_at"]), int(record["pid"])
        outcome = wait(lambda: self._ask(born), lambda: self._alive(pid), self._clock.now, self._clock.sleep, deadline)
        seconds = self._clock.now() - began
        if outcome.status == "ready":
            if record.get("ready_seconds") is None:
                record = dict(record, status="ready", ready_seconds=round(seconds, 1))
                self._write_record(record)
            return {
                "pending": False,
                "seconds": seconds,
                "progress": "ready",
                "completion": outcome.completion,
                "ready_seconds": record["ready_seconds"],
            }
        lines = self._log(record)
        if outcome.status == "pending" and self._clock.now() < limit:
            self._write_record(dict(record, watched_at=self._clock.now()))
            progress = "{0}: {1}".format(outcome.phase, last_meaningful(lines) or outcome.detail)
            return {"pending": True, "seconds": seconds, "progress": progress, "completion": None, "ready_seconds": None}
        raise self._failure(outcome, lines, seconds, record)

    def check_launch(self) -> None:
        """Look whether the launch that a call just before this one waits for is dead by now. Another start would hide why, for ever.

        :raises EngineFailedError: it is
        """
        record = self._record()
        watched = self._clock.now() - float(record.get("watched_at") or 0) < WATCH_SECONDS
        if record.get("status") == "starting" and watched and not self.service.running:
            seconds = self._clock.now() - float(record["started_at"])
            raise self._failure(Outcome("dead", "dead"), self._log(record), seconds, record)

    def ready_seconds(self) -> t.Optional[float]:
        """Seconds from the last launch to its first completion, as recorded; None before that."""
        value = self._record().get("ready_seconds")
        return float(value) if isinstance(value, (int, float)) else None

    def _ask(self, born: float) -> Outcome:
        """Ask the engine, or the head of its group; a member that knows no head has to live for a while."""
        if not self.spec.headless:
            return probe(Target(self.spec.base_url, self.spec.served_model_name, self.spec.api_key), self._fetch)
        if self._head_url:
            return probe_head(Target(self._head_url, self.spec.served_model_name, self.spec.api_key), self._fetch)
        return settled(self._clock.now() - born)

    def _launched_record(self) -> t.Dict[str, t.Any]:
        record = self._record()
        if record.get("status") in WATCHED:
            return record
        raise NpufleetError(
            "the engine {0} was not launched, or was stopped again".format(self.spec.name),
            where=self._record_path,
            remedy="Bring it to state started",
        )

    def _watched_record(self, timeout: float) -> t.Dict[str, t.Any]:
        """The record to measure from. An engine that restarted by itself since its launch was over is measured from now."""
        record = self._record()
        if {"status", "pid", "started_at"} <= set(record):
            launching = record["status"] == "starting" and record["pid"] and self._clock.now() < record["started_at"] + timeout
            if launching or record["pid"] == self.service.pid:
                return record
        mark = self._runtime.log_mark(self.spec)
        record = dict(record, pid=self.service.pid, status="starting", started_at=self._clock.now(), log_mark=mark, ready_seconds=None)
        self._write_record(record)
        return record

    def _alive(self, pid: int) -> bool:
        self.service = self._runtime.inspect(self.spec)
        return self.service.running and self.service.pid == pid

    def _log(self, record: t.Mapping[str, t.Any]) -> t.List[str]:
        lines = self._runtime.logs(self.spec, str(record.get("log_mark") or ""), LOG_LINES)
        return redact(lines, [value for _name, value in self.spec.secret_env])

    def _failure(self, outcome: Outcome, lines: t.List[str], seconds: float, record: t.Mapping[str, t.Any]) -> EngineFailedError:
        report = explain(lines, self.spec.accelerator)
        starting = record["status"] == "starting"
        if starting:
            # A service manager would start a broken engine again and again; what is left is the definition and the log.
            self._runtime.stop(self.spec)
            self._write_record(dict(record, status="failed"))
        words = STARTING_WORDS if starting else READY_WORDS
        what = words[outcome.status].format(self.spec.name, seconds)
        said = report["first_error"] or outcome.detail or self.service.detail
        signature = report.get("signature")
        if signature:
            remedy = "{0} {1} [{2}; {3}]".format(signature["cause"], signature["remedy"], signature["id"], signature["source"])
        else:
            remedy = "Read the last lines of its log, below"
        where = "{0} service {1}".format(self._runtime.kind, self.spec.name)
        return EngineFailedError("{0}: {1}".format(what, said), where, remedy, report, changed=starting)

    def _record(self) -> t.Dict[str, t.Any]:
        try:
            value = json.loads(read_text(self._record_path) or "{}")
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}

    def _write_record(self, record: t.Mapping[str, t.Any]) -> None:
        write_text(self._record_path, json.dumps(record, sort_keys=True, indent=1) + "\n", 0o600)
