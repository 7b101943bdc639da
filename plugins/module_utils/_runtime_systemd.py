# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""systemd adapter: a system unit as root, a user unit otherwise."""

from __future__ import annotations

import os
import pwd
import time
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._command import CommandResult, Runner
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_spec import EngineSpec
from ansible_collections.npufleet.ascend.plugins.module_utils._files import tail
from ansible_collections.npufleet.ascend.plugins.module_utils._service import (
    MANAGER_SECONDS,
    Runtime,
    RuntimeAdapterError,
    ServiceFile,
    ServiceState,
    delete_files,
    write_files,
)

# systemd-logind keeps a file there for each user whose services run without a session (loginctl(1), enable-linger).
LINGER_FOLDER = "/var/lib/systemd/linger"
# systemd only ever appends to the log of a user unit, so it is put aside at a start, once it is larger than this.
LOG_BYTES = 50 * 1024 * 1024

UNIT_TEMPLATE = """\
# Managed by npufleet.ascend: changes made here are replaced by the next run.
[Unit]
Description=vLLM engine {name}
Documentation=https://docs.vllm.ai/
After=network-online.target
Wants=network-online.target
StartLimitIntervalSec=600
StartLimitBurst=5

[Service]
Type=simple
ExecStart={command}
WorkingDirectory={folder}
{environment}{user}Restart=always
RestartSec=5
TimeoutStopSec={stop_seconds}
KillMode=mixed
NoNewPrivileges=true
UMask=0027
{output}
[Install]
WantedBy={target}
"""


# The processes that would delete vLLM's shared memory, hundreds of MiB in /dev/shm, are killed with the engine, in an orderly stop as well
# (tried with vLLM 0.32). systemd deletes it with the last service of the user; that of root it never touches (systemd.exec, RemoveIPC).
USER_LINES = """\
User={0}
RemoveIPC=true
"""


def unit_name(name: str) -> str:
    """Name of the unit of an engine."""
    return "npufleet-engine-{0}.service".format(name)


def quote(word: str) -> str:
    """Quote one word of ExecStart or Environment: systemd expands % and, in commands, $ (systemd.syntax, systemd.service)."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return '"{0}"'.format(escaped)


def render_unit(spec: EngineSpec, secret_path: str, user_unit: bool) -> str:
    """Return the text of the unit file; secrets are only named by the path of their file."""
    lines = ["Environment=" + quote("{0}={1}".format(key, value)) for key, value in spec.env]
    if spec.secret_env:
        lines.append("EnvironmentFile=" + secret_path)
    output = ""
    if user_unit:
        # A user often may not read the journal of user units (it needs a persistent journal), so the log is a file.
        log = spec.working_directory + "/engine.log"
        output = "StandardOutput=append:{0}\nStandardError=append:{0}\n".format(log)
    return UNIT_TEMPLATE.format(
        name=spec.name,
        # $ is not expanded in the path of the program itself (systemd.service).
        command=" ".join([quote(spec.argv[0]), *(quote(word).replace("$", "$$") for word in spec.argv[1:])]),
        folder=spec.working_directory,
        environment="".join(line + "\n" for line in lines),
        user=USER_LINES.format(spec.user) if spec.user and not user_unit else "",
        stop_seconds=spec.stop_seconds,
        output=output,
        target="default.target" if user_unit else "multi-user.target",
    )


def render_secrets(spec: EngineSpec) -> str:
    """Return the text of the EnvironmentFile, quoted as systemd reads it."""
    return "".join(
        '{0}="{1}"\n'.format(key, value.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$").replace("`", "\\`"))
        for key, value in spec.secret_env
    )


class SystemdRuntime(Runtime):
    """The verbs over systemctl. ``unit_folder`` is where units of this scope lie."""

    kind = "systemd"

    def __init__(self, run: Runner, systemctl: str, journalctl: str, user_unit: bool, unit_folder: str) -> None:
        self._run = run
        self._systemctl = [systemctl] + (["--user"] if user_unit else [])
        self._journalctl = journalctl
        self._user_unit = user_unit
        self._unit_folder = unit_folder
        # `systemctl --user` needs the bus of the user's manager, which a session made by sudo or ssh may not name.
        self._env = {"XDG_RUNTIME_DIR": "/run/user/{0}".format(os.getuid())} if user_unit else {}

    def files(self, spec: EngineSpec) -> t.List[ServiceFile]:
        """Unit file, and the file of the secrets where there are any (mode 0600)."""
        secret_path = spec.working_directory + "/secret.env"
        files = [ServiceFile(os.path.join(self._unit_folder, unit_name(spec.name)), render_unit(spec, secret_path, self._user_unit), 0o644)]
        if spec.secret_env:
            files.append(ServiceFile(secret_path, render_secrets(spec), 0o600))
        return files

    def inspect(self, spec: EngineSpec) -> ServiceState:
        """Ask systemd, one call."""
        result = self._must("show", "--property=LoadState,ActiveState,SubState,MainPID,UnitFileState,Result", unit_name(spec.name))
        values = dict(line.split("=", 1) for line in result.stdout.splitlines() if "=" in line)
        pid = int(values.get("MainPID") or 0)
        return ServiceState(
            defined=values.get("LoadState") not in (None, "not-found") or os.path.exists(self.files(spec)[0].path),
            running=values.get("ActiveState") in ("active", "activating", "reloading") and pid > 0,
            enabled=values.get("UnitFileState") == "enabled",
            pid=pid,
            detail="{0}/{1} ({2})".format(values.get("ActiveState"), values.get("SubState"), values.get("Result")),
            restarting=str(values.get("SubState")).startswith("auto-restart"),
        )

    def doubts(self, spec: EngineSpec) -> t.List[str]:
        """Without lingering, the manager of a user ends with the last session of the user, as that of an SSH connection."""
        user = pwd.getpwuid(os.getuid()).pw_name if self._user_unit else ""
        if not user or os.path.exists(os.path.join(LINGER_FOLDER, user)):
            return []
        text = "the engine {0} ends with the last session of {1}, and does not start with the host. Run as root: loginctl enable-linger {1}"
        return [text.format(spec.name, user)]

    def define(self, spec: EngineSpec) -> None:
        """Write the unit, load it and enable it."""
        write_files(self.files(spec))
        if not spec.secret_env:
            delete_files([ServiceFile(spec.working_directory + "/secret.env", "", 0o600)])
        self._must("daemon-reload")
        self.enable(spec)

    def enable(self, spec: EngineSpec) -> None:
        """Start the engine with the host from now on."""
        self._must("enable", unit_name(spec.name))

    def start(self, spec: EngineSpec) -> None:
        """Start the unit, its restart counter cleared."""
        self._call("reset-failed", unit_name(spec.name))
        if self._user_unit:
            self._rotate(spec)
        self._must("start", unit_name(spec.name))

    def stop(self, spec: EngineSpec) -> None:
        """Stop the unit and wait for it. An engine that had to be killed then is no failed unit: it was meant to end."""
        self._must("stop", unit_name(spec.name), extra_seconds=spec.stop_seconds)
        self._call("reset-failed", unit_name(spec.name))

    def remove(self, spec: EngineSpec) -> None:
        """Disable the unit and delete its files."""
        self._call("disable", unit_name(spec.name))
        delete_files([*self.files(spec), ServiceFile(spec.working_directory + "/secret.env", "", 0o600)])
        self._must("daemon-reload")
        self._call("reset-failed", unit_name(spec.name))

    def log_mark(self, spec: EngineSpec) -> str:
        """A place in the log that logs() can start from."""
        return str(self._log_size(spec)) if self._user_unit else "@{0:.3f}".format(time.time())

    def logs(self, spec: EngineSpec, mark: str, limit: int) -> t.List[str]:
        """The last ``limit`` lines since ``mark``."""
        if self._user_unit:
            return tail(spec.working_directory + "/engine.log", int(mark or 0), limit)
        argv = [self._journalctl, "--unit", unit_name(spec.name), "--output=cat", "--no-pager", "--quiet", "--lines={0}".format(limit)]
        # What an engine wrote just before it died may still be on its way to the journal.
        self._run([self._journalctl, "--sync"], timeout=MANAGER_SECONDS)
        result = self._run(argv + (["--since", mark] if mark else []), timeout=MANAGER_SECONDS)
        return [line for line in result.stdout.splitlines() if line != "-- No entries --"]

    def _rotate(self, spec: EngineSpec) -> None:
        path = spec.working_directory + "/engine.log"
        if self._log_size(spec) > LOG_BYTES:
            os.replace(path, path + ".1")

    def _log_size(self, spec: EngineSpec) -> int:
        try:
            return os.path.getsize(spec.working_directory + "/engine.log")
        except OSError:
            return 0

    def _call(self, *words: str, extra_seconds: float = 0.0) -> CommandResult:
        return self._run([*self._systemctl, *words], timeout=MANAGER_SECONDS + extra_seconds, env=self._env)

    def _must(self, *words: str, extra_seconds: float = 0.0) -> CommandResult:
        result = self._call(*words, extra_seconds=extra_seconds)
        if result.rc == 0:
            return result
        said = result.text.strip() or ("time limit" if result.timed_out else "no message")
        remedy = "Look at `{0} status {1}`".format(" ".join(self._systemctl), words[-1])
        if "connect to bus" in said:
            remedy = "Let this user's systemd run (loginctl enable-linger), or set vllm_engine_runtime to supervisor"
        raise RuntimeAdapterError("systemctl {0} failed: {1}".format(words[0], said), where=" ".join(result.argv), remedy=remedy)
