# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""supervisor adapter, for hosts where systemd is not PID 1: one supervisord (PyPI) a home folder, one program an engine."""

from __future__ import annotations

import glob
import http.client
import os
import shutil
import socket
import time
import typing as t
import xmlrpc.client

from ansible_collections.npufleet.ascend.plugins.module_utils._command import Runner
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_spec import EngineSpec
from ansible_collections.npufleet.ascend.plugins.module_utils._service import (
    MANAGER_SECONDS,
    Runtime,
    RuntimeAdapterError,
    ServiceFile,
    ServiceState,
    delete_files,
    files_current,
    tail,
    write_files,
)

# The kernel's limit for the path of a Unix socket is 108 bytes with its end (unix(7)); supervisord adds .PID while it binds.
SOCKET_PATH_BYTES = 96
SPAWN_POLLS = 100
SPAWN_POLL_SECONDS = 0.1

SUPERVISORD_TEMPLATE = """\
; Managed by npufleet.ascend: changes made here are replaced by the next run.
[unix_http_server]
file={folder}/supervisor.sock
chmod=0700

[supervisord]
logfile={folder}/supervisord.log
logfile_maxbytes=10MB
logfile_backups=1
pidfile={folder}/supervisord.pid
childlogdir={folder}
directory={folder}
umask=027

[rpcinterface:supervisor]
supervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface

[supervisorctl]
serverurl=unix://{folder}/supervisor.sock

[include]
files={folder}/conf.d/*.conf
"""

# After a crash, workers of the engine live on and hold memory (seen with kill -9 of vLLM 0.32.0); systemd ends them with the cgroup,
# supervisor does not know them. So the launcher ends what is left of the process group that it led before, then becomes the engine.
LAUNCHER = """\
#!/bin/sh
# Managed by npufleet.ascend: ends what a crashed engine left behind, then becomes the engine.
cd "$(dirname "$0")" || exit 1
folder=$(pwd -P)

group_of() { # the process group of a /proc/PID folder (proc(5), field 5 of stat)
  read -r line < "$1/stat" || return
  set -- ${line##*) }
  echo "$3"
}

old=$(cat engine.pgid 2>/dev/null)
if [ -n "$old" ]; then
  for process in /proc/[0-9]*; do
    if [ "$(readlink "$process/cwd")" = "$folder" ] && [ "$(group_of "$process")" = "$old" ]; then kill -KILL "${process#/proc/}"; fi
  done 2>/dev/null
fi
echo $$ > engine.pgid
exec "$@"
"""

PROGRAM_TEMPLATE = """\
; Managed by npufleet.ascend: changes made here are replaced by the next run.
[program:{name}]
command={command}
directory={folder}
environment={environment}
{user}autostart=true
autorestart=true
startsecs=1
startretries=3
stopsignal=TERM
stopwaitsecs={stop_seconds}
killasgroup=true
redirect_stderr=true
stdout_logfile={folder}/engine.log
stdout_logfile_maxbytes=50MB
stdout_logfile_backups=2
"""


def quote(word: str) -> str:
    """Quote one word of ``command``, which supervisor splits like a shell and in which it expands ``%(...)s``."""
    return '"{0}"'.format(word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%"))


def quote_env(value: str) -> str:
    """Quote one value of ``environment``: its lexer is shlex without POSIX rules, so a double quote decides the other kind."""
    mark = "'" if '"' in value else '"'
    if mark in value:
        raise RuntimeAdapterError(
            "an environment value holds both kinds of quotes, which supervisor cannot read", where="env", remedy="Use one kind of quotes"
        )
    return mark + value.replace("%", "%%") + mark


def render_program(spec: EngineSpec) -> str:
    """Return the program section. It holds the secrets, so its file has mode 0600."""
    return PROGRAM_TEMPLATE.format(
        name=spec.name,
        command=" ".join(quote(word) for word in ("/bin/sh", spec.working_directory + "/launch.sh", *spec.argv)),
        folder=spec.working_directory,
        environment=",".join("{0}={1}".format(key, quote_env(value)) for key, value in sorted(spec.env + spec.secret_env)),
        user="user={0}\n".format(spec.user) if spec.user else "",
        stop_seconds=spec.stop_seconds,
    )


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=MANAGER_SECONDS)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class _UnixTransport(xmlrpc.client.Transport):
    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path

    def make_connection(self, host: t.Any) -> http.client.HTTPConnection:
        return _UnixConnection(self._path)


Rpc = t.Callable[..., t.Any]


def unix_rpc(path: str) -> Rpc:
    """Return call(method, *args) for the XML-RPC interface of a supervisord (supervisord.org, "XML-RPC API Documentation")."""

    def call(method: str, *args: t.Any) -> t.Any:
        proxy = xmlrpc.client.ServerProxy("http://localhost/RPC2", transport=_UnixTransport(path))
        return getattr(proxy.supervisor, method)(*args)

    return call


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
        socket_path = self._folder + "/supervisor.sock"
        if len(socket_path.encode()) > SOCKET_PATH_BYTES:
            raise RuntimeAdapterError(
                "the path of supervisor's socket is longer than {0} bytes".format(SOCKET_PATH_BYTES),
                where=socket_path,
                remedy="Use a shorter home",
            )
        self._rpc = rpc or unix_rpc(socket_path)

    def files(self, spec: EngineSpec) -> t.List[ServiceFile]:
        """supervisord's own configuration and the engine's program (mode 0600: it holds the secrets)."""
        return [
            ServiceFile(self._folder + "/supervisord.conf", SUPERVISORD_TEMPLATE.format(folder=self._folder), 0o644),
            ServiceFile("{0}/conf.d/{1}.conf".format(self._folder, spec.name), render_program(spec), 0o600),
            ServiceFile(spec.working_directory + "/launch.sh", LAUNCHER, 0o644),
        ]

    def inspect(self, spec: EngineSpec) -> ServiceState:
        """Ask supervisord; without one, nothing runs."""
        defined = os.path.exists(self.files(spec)[1].path)
        try:
            info = self._rpc("getProcessInfo", spec.name)
        except (OSError, http.client.HTTPException):
            return ServiceState(defined=defined, enabled=defined, detail="supervisord does not run")
        except xmlrpc.client.Fault as exc:
            return ServiceState(defined=defined, enabled=defined, detail=exc.faultString)
        return ServiceState(
            defined=True,
            running=info["statename"] in ("STARTING", "RUNNING") and info["pid"] > 0,
            enabled=defined,
            pid=info["pid"],
            detail="{0} {1}".format(info["statename"], info["spawnerr"] or info["description"]).strip(),
        )

    def define(self, spec: EngineSpec) -> None:
        """Write the program; a running supervisord loads it without starting it."""
        os.makedirs(self._folder, mode=0o750, exist_ok=True)
        wanted = self.files(spec)
        restart = self._alive() and not files_current(wanted[:1])
        write_files(wanted)
        if restart:
            self._rpc("restart")
        elif self._alive():
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
        raise RuntimeAdapterError(
            "supervisord did not start the program", where=spec.name, remedy="Read " + self._folder + "/supervisord.log"
        )

    def stop(self, spec: EngineSpec) -> None:
        """Stop the program and wait for it."""
        if self._alive():
            self._fault_free("stopProcess", spec.name, True)

    def remove(self, spec: EngineSpec) -> None:
        """Unload the program and delete its file; the last one takes supervisord with it."""
        delete_files(self.files(spec)[1:])
        if self._alive():
            self._unload(spec)
        if glob.glob(self._folder + "/conf.d/*.conf"):
            return
        if self._alive():
            self._shutdown()
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
        except (OSError, http.client.HTTPException, xmlrpc.client.Fault):
            return False

    def _state(self, spec: EngineSpec) -> str:
        try:
            return str(self._rpc("getProcessInfo", spec.name)["statename"])
        except (OSError, http.client.HTTPException):
            return "STOPPED"  # supervisord itself is still starting

    def _load(self, spec: EngineSpec) -> None:
        self._rpc("reloadConfig")
        try:
            self._rpc("addProcessGroup", spec.name)  # starts it: autostart
        except xmlrpc.client.Fault as exc:
            if "ALREADY_ADDED" not in exc.faultString:
                raise RuntimeAdapterError("supervisord refused the program: " + exc.faultString, where=spec.name) from exc
            self._fault_free("startProcess", spec.name, False)

    def _unload(self, spec: EngineSpec) -> None:
        self._rpc("reloadConfig")
        self._fault_free("stopProcess", spec.name, True)
        self._fault_free("removeProcessGroup", spec.name)

    def _fault_free(self, method: str, *args: t.Any) -> None:
        """Call a method whose only faults say that the wanted state is there already (NOT_RUNNING, BAD_NAME, ALREADY_STARTED)."""
        try:
            self._rpc(method, *args)
        except xmlrpc.client.Fault as exc:
            if not any(word in exc.faultString for word in ("NOT_RUNNING", "BAD_NAME", "ALREADY_STARTED")):
                raise RuntimeAdapterError("supervisord refused {0}: {1}".format(method, exc.faultString), where=str(args[0])) from exc

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
            raise RuntimeAdapterError(
                "supervisord does not start: " + (result.text.strip() or "no message"),
                where=self._folder + "/supervisord.log",
                remedy="Read that log",
            )

    def _shutdown(self) -> None:
        pid = int(self._rpc("getPID"))
        self._rpc("shutdown")
        # shutdown answers before supervisord is gone, and it deletes files in the folder while it goes.
        self._run(["/bin/sh", "-c", "while kill -0 {0} 2>/dev/null; do sleep 0.1; done".format(pid)], timeout=MANAGER_SECONDS)
