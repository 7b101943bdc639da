# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""supervisor adapter, for hosts where systemd is not PID 1: one supervisord (PyPI) a home folder, one program an engine."""

from __future__ import annotations

import glob
import os
import shutil
import time
import typing as t
import xmlrpc.client

from ansible_collections.npufleet.ascend.plugins.module_utils._command import Runner
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_spec import EngineSpec
from ansible_collections.npufleet.ascend.plugins.module_utils._files import tail
from ansible_collections.npufleet.ascend.plugins.module_utils._service import (
    MANAGER_SECONDS,
    Runtime,
    RuntimeAdapterError,
    ServiceFile,
    ServiceState,
    delete_files,
    files_current,
    write_files,
)
from ansible_collections.npufleet.ascend.plugins.module_utils._supervisor_files import render_files
from ansible_collections.npufleet.ascend.plugins.module_utils._supervisor_rpc import UNANSWERED, Rpc, unix_rpc

# The kernel's limit for the path of a Unix socket is 108 bytes with its end (unix(7)); supervisord adds .PID while it binds.
SOCKET_PATH_BYTES = 96
SPAWN_POLLS = 100
SPAWN_POLL_SECONDS = 0.1
READ = "Read that log, correct what it names, and run again"


class SupervisorRuntime(Runtime):
    """The verbs over supervisord's XML-RPC interface."""

    kind = "supervisor"

    def __init__(
        self, run: Runner, supervisord: str, home: str, rpc: t.Optional[Rpc] = None, sleep: t.Callable[[float], None] = time.sleep
    ) -> None:
        self._run = run
        self._sleep = sleep
        self._supervisord = supervisord
        self._folder = home.rstrip("/") + "/supervisor"
        self._log = self._folder + "/supervisord.log"
        socket_path = self._folder + "/supervisor.sock"
        if len(socket_path.encode()) > SOCKET_PATH_BYTES:
            raise RuntimeAdapterError(
                "the path of supervisor's socket is longer than {0} bytes".format(SOCKET_PATH_BYTES),
                where=socket_path,
                remedy="Use a shorter home",
            )
        self._rpc = rpc or unix_rpc(socket_path)

    def files(self, spec: EngineSpec) -> t.List[ServiceFile]:
        """supervisord's settings, the program, the launcher."""
        return render_files(self._folder, spec)

    def inspect(self, spec: EngineSpec) -> ServiceState:
        """Ask supervisord; without one, nothing runs.

        :raises RuntimeAdapterError: this user may not ask it
        """
        defined = os.path.exists(self.files(spec)[1].path)
        try:
            info = self._rpc("getProcessInfo", spec.name)
        except PermissionError as exc:
            raise RuntimeAdapterError(
                "supervisord belongs to another user",
                where=self._folder,
                remedy="Run as that user or as root (become), or use another home",
            ) from exc
        except UNANSWERED:
            return ServiceState(defined=defined, enabled=defined, detail="supervisord does not run")
        except xmlrpc.client.Fault as exc:
            return ServiceState(defined=defined, enabled=defined, detail=exc.faultString)
        return ServiceState(
            defined=True,
            running=info["statename"] in ("STARTING", "RUNNING") and info["pid"] > 0,
            enabled=defined,
            pid=info["pid"],
            detail="{0} {1}".format(info["statename"], info["spawnerr"] or info["description"]).strip(),
            restarting=info["statename"] == "BACKOFF",
        )

    def check(self, spec: EngineSpec) -> None:
        """Look whether there is a supervisord, running or to be started."""
        if not (os.access(self._supervisord, os.X_OK) or self._alive()):
            raise RuntimeAdapterError(
                "there is no supervisord in the virtual environment",
                where=self._supervisord,
                remedy="Install supervisor in it (npufleet.ascend.vllm_venv does), or set vllm_engine_runtime to systemd",
            )

    def define(self, spec: EngineSpec) -> None:
        """Write the program and take an earlier one out of a running supervisord, so that nothing is started before start()."""
        os.makedirs(self._folder, mode=0o750, exist_ok=True)
        wanted = self.files(spec)
        if self._alive() and not files_current(wanted[:1]):
            # It reads its own settings only at its start, and then starts every program that it finds: all but this one.
            delete_files(wanted[1:2])
            self._shutdown(spec)
            write_files(wanted[:1])
            self._start_supervisord()
        write_files(wanted)
        if self._alive():
            self._unload(spec)

    def enable(self, spec: EngineSpec) -> None:
        """A program that is defined starts with supervisord; there is nothing to switch."""

    def start(self, spec: EngineSpec) -> None:
        """Start supervisord where it does not run, else the program."""
        if self._alive():
            self._load(spec)
        else:
            self._start_supervisord()  # starts every program it finds
        # supervisord starts what it loaded on the next turn of its loop, at most a second later.
        for _turn in range(SPAWN_POLLS):
            if self._state(spec) != "STOPPED":
                return
            self._sleep(SPAWN_POLL_SECONDS)
        raise RuntimeAdapterError("supervisord did not start the program {0}".format(spec.name), where=self._log, remedy=READ)

    def stop(self, spec: EngineSpec) -> None:
        """Stop the program and wait for it."""
        if self._alive():
            self._stop(spec)

    def remove(self, spec: EngineSpec) -> None:
        """Unload the program and delete its file; the last one takes supervisord with it."""
        delete_files(self.files(spec)[1:])
        if self._alive():
            self._unload(spec)
        if glob.glob(self._folder + "/conf.d/*.conf"):
            return
        if self._alive():
            self._shutdown(spec)
        shutil.rmtree(self._folder, ignore_errors=True)

    def log_mark(self, spec: EngineSpec) -> str:
        """Size of the log now, in bytes."""
        try:
            return str(os.path.getsize(spec.working_directory + "/engine.log"))
        except OSError:
            return "0"

    def logs(self, spec: EngineSpec, mark: str, limit: int) -> t.List[str]:
        """The last ``limit`` lines since ``mark``."""
        return tail(spec.working_directory + "/engine.log", int(mark or 0), limit)

    def _alive(self) -> bool:
        try:
            return bool(self._rpc("getState")["statename"] == "RUNNING")
        except (*UNANSWERED, xmlrpc.client.Fault):
            return False

    def _state(self, spec: EngineSpec) -> str:
        try:
            return str(self._rpc("getProcessInfo", spec.name)["statename"])
        except (*UNANSWERED, xmlrpc.client.Fault):
            return "STOPPED"  # supervisord itself is still starting

    def _load(self, spec: EngineSpec) -> None:
        self._ask("reloadConfig")
        # Adding starts it (autostart); ADDED is None where it was there already.
        if self._ask("addProcessGroup", spec.name, harmless=("ALREADY_ADDED",)) is None:
            self._ask("startProcess", spec.name, False, harmless=("ALREADY_STARTED",))

    def _unload(self, spec: EngineSpec) -> None:
        self._ask("reloadConfig")
        self._stop(spec)
        self._ask("removeProcessGroup", spec.name, harmless=("BAD_NAME",))

    def _stop(self, spec: EngineSpec) -> None:
        """Wait for the end, which may take as long as the engine's stop limit."""
        self._ask("stopProcess", spec.name, True, harmless=("NOT_RUNNING", "BAD_NAME"), timeout=MANAGER_SECONDS + spec.stop_seconds)

    def _ask(self, method: str, *args: t.Any, harmless: t.Sequence[str] = (), timeout: float = MANAGER_SECONDS) -> t.Any:
        """Call supervisord; a fault named in ``harmless`` says that the wanted state is there already, and gives None."""
        what = "supervisord refused {0}: {1}"
        try:
            return self._rpc(method, *args, timeout=timeout)
        except xmlrpc.client.Fault as exc:
            said = exc.faultString
            if any(word in said for word in harmless):
                return None
        except UNANSWERED as exc:
            what, said = "supervisord does not answer {0}: {1}", str(exc) or type(exc).__name__
        raise RuntimeAdapterError(what.format(method, said), where=self._log, remedy=READ)

    def _start_supervisord(self) -> None:
        # A clean environment: proxies and tokens of the session that runs Ansible are none of the engine's business.
        clean = [
            "/usr/bin/env",
            "-i",
            "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME=" + self._folder,
            "LANG=C.UTF-8",
        ]
        result = self._run([*clean, self._supervisord, "-c", self._folder + "/supervisord.conf"], timeout=MANAGER_SECONDS)
        if result.rc != 0:
            raise RuntimeAdapterError("supervisord does not start: " + (result.text.strip() or "no message"), where=self._log, remedy=READ)

    def _shutdown(self, spec: EngineSpec) -> None:
        pid = int(self._ask("getPID"))
        self._ask("shutdown")
        # shutdown answers before supervisord is gone, and it deletes files in the folder while it goes.
        gone = ["/bin/sh", "-c", "while kill -0 {0} 2>/dev/null; do sleep 0.1; done".format(pid)]
        if self._run(gone, timeout=MANAGER_SECONDS + spec.stop_seconds).timed_out:
            raise RuntimeAdapterError("supervisord (process {0}) does not end".format(pid), where=self._log, remedy=READ)
