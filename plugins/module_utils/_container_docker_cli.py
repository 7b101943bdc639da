# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Ask Docker: is it there, which version, what does `docker info` say, which options was dockerd started with, which containers run."""

from __future__ import annotations

import difflib
import json
import re
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._command import CommandResult
from ansible_collections.npufleet.ascend.plugins.module_utils._container_adapter import ASK_SECONDS, Host, Look
from ansible_collections.npufleet.ascend.plugins.module_utils._container_json import Config
from ansible_collections.npufleet.ascend.plugins.module_utils._container_unit import UnitState
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._files import read_text

UNIT = "docker.service"
# The daemon of this host is meant, whatever the environment of the session says. An empty DOCKER_HOST is none.
ENVIRONMENT = {"DOCKER_HOST": "", "DOCKER_CONTEXT": "default"}

# Options of dockerd that have another name in daemon.json (cmd/dockerd/config.go of 20.10).
FLAG_KEYS = {
    "D": "debug",
    "G": "group",
    "H": "hosts",
    "add-runtime": "runtimes",
    "allow-nondistributable-artifact": "allow-nondistributable-artifacts",
    "authorization-plugin": "authorization-plugins",
    "b": "bridge",
    "default-address-pool": "default-address-pools",
    "default-ulimit": "default-ulimits",
    "dns-opt": "dns-opts",
    "exec-opt": "exec-opts",
    "g": "data-root",
    "graph": "data-root",
    "host": "hosts",
    "insecure-registry": "insecure-registries",
    "l": "log-level",
    "label": "labels",
    "log-opt": "log-opts",
    "p": "pidfile",
    "registry-mirror": "registry-mirrors",
    "s": "storage-driver",
    "storage-opt": "storage-opts",
}
# Settings that have no option on the command line (daemon/config/config.go of 20.10).
FILE_ONLY_KEYS = {"builder", "deprecated-key-path", "features"}


class DockerCli:
    """The commands `docker` and `dockerd`."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._docker = host.tool("docker") or ""
        self.dockerd = host.tool("dockerd") or ""

    def look(self, unit: t.Callable[[], UnitState]) -> Look:
        """Look at the daemon. ``unit`` is only asked where there is one.

        :raises NpufleetError: it runs and does not answer
        """
        if not self.dockerd or not self._docker:
            return Look(missing=self._missing())
        state = unit()
        if not state.found:
            raise NpufleetError(
                "systemd knows no {0}".format(UNIT),
                where=self.dockerd,
                remedy="Use Docker from packages of the distribution or of docker.com; other ways to run it are not supported",
            )
        info = self.info() if state.running else {}
        version = str(info.get("ServerVersion") or self._version())
        return Look(self.dockerd, "", version, state, bool(info), {"info": info, "flags": self._flags(state.pid)})

    def _missing(self) -> str:
        if self._docker:
            return "Docker's client is there ({0}), but no dockerd; it may be Podman's docker command".format(self._docker)
        return "Docker is not installed" if not self.dockerd else "dockerd is there ({0}), but no docker command".format(self.dockerd)

    def info(self) -> Config:
        """Return what `docker info` says.

        :raises NpufleetError: no daemon answers
        """
        result = self._ask("info", "--format", "{{json .}}")
        try:
            value = json.loads(result.stdout)
        except ValueError:
            value = None
        if result.rc == 0 and isinstance(value, dict) and value.get("ServerVersion") and not value.get("ServerErrors"):
            return value
        errors = value.get("ServerErrors") if isinstance(value, dict) else None
        said = "; ".join(errors or []) or result.text.strip()[-500:] or ("no answer in time" if result.timed_out else "no message")
        raise NpufleetError(
            "Docker does not answer: {0}".format(said), where="docker info", remedy="Look at `journalctl --unit {0}`".format(UNIT)
        )

    def containers(self) -> t.List[str]:
        """Names of the running containers."""
        return sorted(self._ask("ps", "--format", "{{.Names}}").stdout.split())

    def containers_with(self, runtimes: t.Collection[str]) -> t.List[str]:
        """Names of the running containers that use one of the runtimes."""
        names = self.containers() if runtimes else []
        if not names:
            return []
        lines = self._ask("inspect", "--format", "{{.Name}} {{.HostConfig.Runtime}}", *names).stdout.splitlines()
        pairs = [line.split() for line in lines if len(line.split()) == 2]
        return sorted(name.lstrip("/") for name, runtime in pairs if runtime in runtimes)

    def check_file(self, path: str) -> None:
        """:raises NpufleetError: dockerd refuses the file"""
        result = self._host.run([self.dockerd, "--validate", "--config-file=" + path], timeout=ASK_SECONDS)
        if result.rc != 0:
            said = (result.text.strip().splitlines() or ["no message"])[-1].replace(path, "the new file")
            raise NpufleetError(
                "dockerd refuses the new settings: {0}".format(said), where="daemon_options", remedy="Correct them; nothing was changed"
            )

    def check_keys(self, keys: t.Collection[str]) -> None:
        """For versions that cannot validate a file: a key that dockerd does not know keeps it from starting.

        :raises NpufleetError: names the nearest one that it knows
        """
        text = self._host.run([self.dockerd, "--help"], timeout=ASK_SECONDS).stdout
        known = {FLAG_KEYS.get(name, name) for name in re.findall(r"--([a-z][a-z0-9-]+)", text)} | FILE_ONLY_KEYS
        for key in sorted(keys):
            if text and key not in known:
                near = difflib.get_close_matches(key, sorted(known), 1)
                raise NpufleetError(
                    "dockerd knows no setting {0}".format(key),
                    where="daemon_options",
                    remedy="Did you mean {0}?".format(near[0]) if near else "Leave it out",
                )

    def _version(self) -> str:
        found = re.search(r"version (\S+?),", self._host.run([self.dockerd, "--version"], timeout=ASK_SECONDS).stdout)
        return found.group(1) if found else ""

    def _flags(self, pid: int) -> t.Dict[str, str]:
        """Options on the command line of the daemon, by their names in daemon.json; the last value where one is given more than once."""
        words = (read_text("{0}/{1}/cmdline".format(self._host.proc, pid)) or "").split("\0")[1:] if pid else []
        return parse_flags(words)

    def _ask(self, *words: str) -> CommandResult:
        return self._host.run([self._docker, *words], timeout=ASK_SECONDS, env=ENVIRONMENT)


def parse_flags(words: t.Sequence[str]) -> t.Dict[str, str]:
    """Return the options of a command line of dockerd by their names in daemon.json."""
    flags: t.Dict[str, str] = {}
    for word, following in zip(words, [*words[1:], ""]):
        found = re.fullmatch(r"-(?:-([a-z][a-z0-9-]*)|([A-Za-z]))(?:=(.*))?", word, re.DOTALL)
        if found:
            name = found.group(1) or found.group(2)
            value = found.group(3) if found.group(3) is not None else "" if following.startswith("-") else following
            flags[FLAG_KEYS.get(name, name)] = value
    return flags
