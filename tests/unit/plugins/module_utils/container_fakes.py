# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A host with container engines: systemd, dockerd, containerd and Podman that read real files, and time that passes with every command.

The daemon behaves as Docker 20.10 and 26.1 were seen to: a reload takes what the file names and leaves what it does not name, a start reads
everything, live-restore counts at the stop and at the start.
"""

from __future__ import annotations

import json
import os
import re
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._clock import Clock
from ansible_collections.npufleet.ascend.plugins.module_utils._command import CommandResult
from ansible_collections.npufleet.ascend.plugins.module_utils._container_adapter import Host
from ansible_collections.npufleet.ascend.plugins.module_utils._container_task import ContainerTask

BOOTED = 900_000.0
HELP = """
Options:
      --add-runtime runtime          Register an additional OCI compatible runtime
      --bip string                   Specify network bridge IP
      --data-root string             Root directory of persistent Docker state
  -D, --debug                        Enable debug mode
      --insecure-registry list       Enable insecure registry communication
      --label list                   Set key=value labels to the daemon
      --live-restore                 Enable live restore
      --log-driver string            Default driver for container logs
      --log-opt map                  Default log driver options
      --registry-mirror list         Preferred registry mirror
      --shutdown-timeout int         Set the default shutdown timeout
      --storage-driver string        Storage driver to use
"""
# What `docker info` calls the settings it shows, and what they are without a file.
INFO = {
    "data-root": ("DockerRootDir", "/var/lib/docker"),
    "debug": ("Debug", False),
    "default-runtime": ("DefaultRuntime", "runc"),
    "live-restore": ("LiveRestoreEnabled", False),
    "log-driver": ("LoggingDriver", "json-file"),
    "storage-driver": ("Driver", "overlay2"),
}
RELOADED = ("debug", "default-runtime", "labels", "live-restore", "registry-mirrors", "runtimes", "shutdown-timeout")


class FakeHost:
    """Attributes are what a test changes before it runs a task; ``settings`` is what the daemon of Docker runs with."""

    def __init__(self, folder: t.Any) -> None:
        self.folder = str(folder)
        self.time = 1_000_000.0
        self.calls: t.List[str] = []
        self.naps = 0
        self.tools = {"systemctl", "journalctl", "docker", "dockerd", "containerd", "ctr", "podman", "apt-get"}
        self.path = self.folder + "/docker/daemon.json"
        self.main = self.folder + "/containerd/config.toml"
        self.podman_conf = self.folder + "/containers.conf.d/npufleet.conf"
        self.docker_version = "20.10.24+dfsg1"
        self.containerd_version = "1.6.20~ds1"
        self.running = {"docker.service": True, "containerd.service": True}
        self.enabled = {"docker.service": True, "containerd.service": True}
        self.started = {"docker.service": self.time - 500, "containerd.service": self.time - 500}
        self.starts = 1
        self.known_unit = True
        self.kill_mode = "process"
        self.dependents = ""
        self.settings: t.Dict[str, t.Any] = {}
        self.containers: t.Dict[str, str] = {}  # name -> runtime
        self.cmdline = ["dockerd", "-H", "fd://"]
        self.answers = True
        self.deaf = False  # a reload is ignored, without a word
        self.silent = False  # a reload is not logged
        self.refuses: t.Set[str] = set()  # keys with which dockerd does not start
        self.info_extra: t.Dict[str, t.Any] = {}
        self.podman_default = "crun"
        self.podman_broken = False
        self.tasks: t.Dict[str, t.List[str]] = {}
        self.log: t.List[t.Tuple[float, str]] = []
        self._seen: t.Dict[str, t.Tuple[t.Optional[str], float]] = {}
        os.makedirs(self.folder + "/docker")
        os.makedirs(self.folder + "/containerd")
        os.makedirs(self.folder + "/proc/77")
        os.makedirs(self.folder + "/etc")
        self.write(self.folder + "/etc/os-release", 'ID=debian\nVERSION_ID="12"\n')

    # --- the site's side

    def write(self, path: str, text: str) -> None:
        """Somebody else writes a file."""
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(text)
        self._observe()
        self.time += 5

    def site(self, loaded: bool = True, **settings: t.Any) -> None:
        """daemon.json as a site wrote it; ``loaded``: before Docker was started."""
        self.write(self.path, json.dumps({key.replace("_", "-"): value for key, value in settings.items()}, indent=4) + "\n")
        if loaded:
            self._start("docker.service")
        self.time += 5

    def text(self, path: t.Optional[str] = None) -> t.Optional[str]:
        try:
            with open(path or self.path, encoding="utf-8") as stream:
                return stream.read()
        except OSError:
            return None

    def config(self) -> t.Dict[str, t.Any]:
        """What daemon.json says."""
        return json.loads(self.text() or "{}")

    def program(self, name: str = "ascend") -> str:
        """The program of a runtime."""
        path = "{0}/{1}".format(self.folder, name)
        with open(path, "w", encoding="utf-8") as stream:
            stream.write("#!/bin/sh\n")
        os.chmod(path, 0o755)
        return path

    # --- the task

    @staticmethod
    def owner() -> int:
        """Who stands for root."""
        return os.getuid()

    def task(self, **changes: t.Any) -> ContainerTask:
        engine = changes.get("engine", "docker")
        options = {
            "engine": engine,
            "state": "present",
            "runtimes": {},
            "default_runtime": None,
            "daemon_options": {},
            "daemon_defaults": {},
            "restart": None,
            "config_path": {"docker": self.path, "containerd": self.main, "podman": self.podman_conf}[engine],
            "record_folder": self.folder + "/records",
            "wait_timeout": 60,
        }
        assert set(changes) <= set(options)
        host = Host(
            self.run, Clock(lambda: self.time, self._sleep), self._find, self.folder + "/proc", os.getuid(), self._up, self._modified
        )
        return ContainerTask(dict(options, **changes), host, self.folder)

    def apply(self, check: bool = False, **changes: t.Any) -> t.Dict[str, t.Any]:
        """Run a task; ``calls`` holds the commands that change something."""
        self.calls = []
        self._observe()
        return self.task(**changes).execute(check)

    def verbs(self) -> t.List[str]:
        """What was asked of systemd besides looking."""
        return [call for call in self.calls if call.split()[0] in ("start", "restart", "reload", "enable")]

    def _sleep(self, seconds: float) -> None:
        self.naps += 1
        self.time += seconds

    def _find(self, name: str, _extra: t.Sequence[str] = ()) -> t.Optional[str]:
        return "/usr/bin/" + name if name in self.tools else None

    def _up(self) -> float:
        return self.time - BOOTED

    def _observe(self) -> None:
        for path in dict.fromkeys((self.path, self.main, self.podman_conf, os.path.dirname(self.main) + "/conf.d/npufleet.toml")):
            text = self.text(path)
            if self._seen.get(path, ("", 0.0))[0] != text:
                self._seen[path] = (text, self.time)

    def _modified(self, path: str) -> t.Optional[float]:
        self._observe()
        return self._seen[path][1] if self.text(path) is not None else None

    # --- the commands

    def run(self, argv: t.Sequence[str], timeout: float, **_options: t.Any) -> CommandResult:
        assert timeout > 0
        self._observe()
        self.time += 1
        name, words = os.path.basename(argv[0]), list(argv[1:])
        rc, out, err = getattr(self, "_" + name)(words)
        return CommandResult(list(argv), rc, out, err)

    def _systemctl(self, words: t.List[str]) -> t.Tuple[int, str, str]:
        verb, unit = words[0], words[-1]
        self.calls.append(" ".join([verb, unit]))
        if verb == "show":
            return 0, self._show(unit), ""
        if verb == "enable":
            self.enabled[unit] = True
        if verb in ("start", "restart"):
            return self._start(unit)
        if verb == "reload":
            self._reload()
        return 0, "", ""

    def _show(self, unit: str) -> str:
        values = {
            "LoadState": "loaded" if self.known_unit else "not-found",
            "ActiveState": "active" if self.running[unit] else "inactive",
            "SubState": "running" if self.running[unit] else "dead",
            "MainPID": 77 if self.running[unit] else 0,
            "UnitFileState": "enabled" if self.enabled[unit] else "disabled",
            "InvocationID": "start{0}".format(self.starts),
            "ExecMainStartTimestampMonotonic": int((self.started[unit] - BOOTED) * 1e6),
            "KillMode": self.kill_mode,
            "BoundBy": self.dependents,
            "RequiredBy": "",
        }
        with open(self.folder + "/proc/77/cmdline", "w", encoding="utf-8") as stream:
            stream.write("\0".join(self.cmdline) + "\0")
        return "".join("{0}={1}\n".format(*item) for item in values.items())

    def _start(self, unit: str) -> t.Tuple[int, str, str]:
        if unit == "docker.service":
            config = self.config()
            kept = self.running[unit] and self.settings.get("live-restore") and config.get("live-restore")
            if not kept:
                self.containers = {}
            wrong = sorted(self.refuses & set(config))
            if wrong:
                self.running[unit] = False
                self.log.append((self.time, "level=info msg=starting"))
                self.log.append((self.time, "unable to configure the Docker daemon with file: wrong " + wrong[0]))
                return 1, "", "Job for docker.service failed.\n"
            self.settings = config
        self.running[unit] = True
        self.starts += 1
        self.started[unit] = self.time
        return 0, "", ""

    def _reload(self) -> None:
        config = self.config()
        wrong = sorted(self.refuses & set(config))
        if wrong:
            self.log.append((self.time, 'level=error msg="unable to configure the Docker daemon with file: wrong {0}"'.format(wrong[0])))
        elif not self.deaf:
            self.settings.update({key: config[key] for key in RELOADED if key in config})
            if not self.silent:
                self.log.append((self.time, "Reloaded configuration: {}"))

    def _journalctl(self, words: t.List[str]) -> t.Tuple[int, str, str]:
        since = next(float(word.partition("@")[2]) for word in words if word.startswith("--since=@"))
        return 0, "".join(line + "\n" for when, line in self.log if when >= since), ""

    def _docker(self, words: t.List[str]) -> t.Tuple[int, str, str]:
        if words[0] == "ps":
            return 0, "".join(name + "\n" for name in self.containers), ""
        if words[0] == "inspect":
            return 0, "".join("/{0} {1}\n".format(name, self.containers[name]) for name in words[3:]), ""
        if not self.answers:
            return 1, json.dumps({"ServerErrors": ["Cannot connect to the Docker daemon"]}), ""
        runtimes = {name: dict(value) for name, value in self.settings.get("runtimes", {}).items()}
        info = {name: self.settings.get(key, otherwise) for key, (name, otherwise) in INFO.items()}
        info.update(
            ServerVersion=self.docker_version,
            Runtimes=dict(runtimes, runc={"path": "runc"}),
            ContainersRunning=len(self.containers),
            **self.info_extra,
        )
        return 0, json.dumps(info), ""

    def _dockerd(self, words: t.List[str]) -> t.Tuple[int, str, str]:
        if words[0] == "--version":
            return 0, "Docker version {0}, build 5d6db84\n".format(self.docker_version), ""
        if words[0] == "--help":
            return 0, HELP, ""
        self.calls.append("validate")
        path = words[1].partition("=")[2]
        wrong = sorted(self.refuses & set(json.loads(self.text(path) or "{}")))
        return (1, "", "unable to configure the Docker daemon with file {0}: {1}\n".format(path, wrong[0])) if wrong else (0, "", "OK\n")

    def _containerd(self, words: t.List[str]) -> t.Tuple[int, str, str]:
        if words[0] == "--version":
            return 0, "containerd github.com/containerd/containerd {0} abc\n".format(self.containerd_version), ""
        text = (self.text(words[1]) or "") if words[0] == "--config" else "version = 2\n"
        if "!" in text:
            return 1, "", "containerd: failed to load TOML\n"
        drop_in = self.text(os.path.dirname(self.main) + "/conf.d/npufleet.toml") or ""
        if "imports" in text or words[0] != "--config":
            text += drop_in
        if not re.search(r"runtimes\.\w+\]", text) and "disabled_plugins" not in text:
            plugin = (
                "plugins.'io.containerd.cri.v1.runtime'"
                if self.containerd_version.startswith("2")
                else 'plugins."io.containerd.grpc.v1.cri"'
            )
            text += '[{0}.containerd.runtimes.runc]\n  runtime_type = "io.containerd.runc.v2"\n'.format(plugin)
            text += "[{0}.containerd.runtimes.runc.options]\n  SystemdCgroup = true\n".format(plugin)
        return 0, '      default_runtime_name = "runc"\n' + text, ""

    def _ctr(self, words: t.List[str]) -> t.Tuple[int, str, str]:
        if words[0] == "namespaces":
            return 0, "\n".join(self.tasks) + "\n", ""
        return 0, "\n".join(self.tasks[words[1]]) + "\n", ""

    def _podman(self, words: t.List[str]) -> t.Tuple[int, str, str]:
        if words[0] == "--version":
            return 0, "podman version 4.3.1\n", ""
        text = self.text(self.podman_conf) or ""
        known = {"crun", "runc", *re.findall(r"^(\w+) = \[", text, re.MULTILINE)}
        default = re.search(r'^runtime = "(\w+)"', text, re.MULTILINE)
        name = words[1] if words[0] == "--runtime" else default.group(1) if default else self.podman_default
        if name not in known or self.podman_broken:
            return 125, "", 'Error: default OCI runtime "{0}" not found: invalid argument\n'.format(name)
        return 0, json.dumps({"host": {"ociRuntime": {"name": name}}}), ""
