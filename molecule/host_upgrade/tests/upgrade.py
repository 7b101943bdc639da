# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The servers of this scenario, the store of the packages, and the play that is killed."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import time
import typing as t

import testinfra
from prepared_host import EXECUTIONS, PreparedHost

# Ansible starts its workers in sessions of their own, so a signal for the group reaches the first process alone.
PLAY, EVERYTHING = "the play", "everything"
# How long the log of the stand-ins was each time somebody killed an installer.
KILLED = "/var/log/standin-packages/killed"
COLOURS = re.compile("\x1b\\[[0-9;]*m")
# Ansible's own log: the number of the process comes before what it says.
SAID = re.compile(r"[0-9-]{10} [0-9:,]{12} p=([0-9]+) u=\S+ n=\S+ [A-Z]+\| ")
PACKAGE = re.compile(r"[-+](?:driver|firmware|docker_runtime|toolkit|ops|nnal) ")


def _counted_anew(faults: t.Dict[str, t.Any]) -> t.Dict[str, t.Any]:
    """Stand-ins and store count how often they did the very same thing; tests may run twice on the same hosts."""
    return {name: dict(fault, made=time.time()) for name, fault in faults.items()}


class Server(PreparedHost):
    """One server with NPUs."""

    def __init__(self, name: str, container: str) -> None:
        super().__init__(testinfra.get_host("docker://" + container))
        self.name = name
        self.container = container

    def fault(self, **faults: t.Any) -> None:
        super().fault(**_counted_anew(faults))

    def sh(self, command: str) -> str:
        """What a command that has to succeed prints."""
        return self._host.check_output(command)

    def fails(self, command: str) -> str:
        """What a command that must not succeed says."""
        done = self._host.run(command)
        assert done.rc != 0, done.stdout
        return done.stderr

    def text(self, path: str) -> str:
        """The content of a file."""
        return self._host.file(path).content_string

    def exists(self, path: str) -> bool:
        """Is there a file of that name?"""
        return self._host.file(path).exists

    def lose_power(self) -> None:
        """Everything on it is killed, and it boots again."""
        subprocess.run(["docker", "restart", "--time", "0", self.container], stdout=subprocess.DEVNULL, check=True)

    def note_killed(self) -> None:
        """Let overlaps() know that an installer was killed, before anything is started again."""
        self.sh("wc -l <{0} >>{1}".format(EXECUTIONS, KILLED))

    def is_up(self) -> bool:
        """Has it booted? A connection that finds it in the middle of that is what an unreachable host is."""
        return self._host.run("systemctl is-system-running").stdout.strip() in ("running", "degraded")

    def lines(self) -> t.List[t.Dict[str, t.Any]]:
        """The log of the stand-ins."""
        return [json.loads(line) for line in self.text(EXECUTIONS).splitlines()]

    def unfinished(self) -> t.List[str]:
        """What the collection has not brought to an end on it: packages whose installer is to do something yet, and installers that lie unpacked."""
        folder = "/var/lib/npufleet/ascend_package"
        kinds = ("driver", "firmware", "docker_runtime", "toolkit", "ops", "nnal")
        found = [kind for kind in kinds if json.loads(self.text("{0}/{1}.json".format(folder, kind)))["phase"] != "done"]
        return found + self.sh("ls -A {0}/unpacked 2>/dev/null || true".format(folder)).split()

    def overlaps(self) -> t.List[str]:
        """Kinds that began while another installer ran. Of those that were killed the log has no end."""
        killed = set(map(int, self.text(KILLED).split())) if self.exists(KILLED) else set()
        found: t.List[str] = []
        running: t.Optional[t.Dict[str, t.Any]] = None
        for number, line in enumerate(self.lines()):
            if running and number not in killed and line["pid"] != running["pid"] and "die" not in (running["fault"] or {}):
                found.append(line["kind"])
            running = line if line["event"] == "start" else None
        return found

    def ends(self, kind: str, action: str) -> t.List[int]:
        """The exit codes of these executions; of those that were killed the log has none."""
        asked: t.Dict[int, bool] = {}
        codes = []
        for line in self.lines():
            if line["event"] == "start":
                asked[line["pid"]] = (line["kind"], line["action"]) == (kind, action)
            elif asked[line["pid"]]:
                codes.append(line["exit_code"])
        return codes

    def driver(self) -> t.Tuple[str, bool]:
        """The version that runs, and whether the one on the disk is it and complete."""
        shown = self.sh("npu-smi info").split("Version:", 1)[1].split()[0]
        on_disk = "Version={0}\n".format(shown) in self.text("/usr/local/Ascend/driver/version.info")
        return shown, on_disk and "Driver_Install_Status=complete" in self.text("/etc/ascend_install.info")

    def cann(self) -> t.Tuple[str, str, str]:
        """Versions of toolkit, operators and NNAL in the trees that are used."""
        tree = os.path.basename(self.sh("readlink -f /usr/local/Ascend/cann"))
        infos = " ".join("/usr/local/Ascend/cann/*/ascend_{0}_install.info".format(kind) for kind in ("toolkit", "ops"))
        versions = [line.partition("=")[2] for line in self.sh("grep -h ^version= " + infos).splitlines()]
        assert tree == "cann-" + versions[0], tree
        return versions[0], versions[1], os.path.basename(self.sh("readlink -f /usr/local/Ascend/nnal/atb/latest"))


class Store:
    """The host that serves the packages."""

    def __init__(self, container: str) -> None:
        self._host = testinfra.get_host("docker://" + container)

    def fault(self, **faults: t.Any) -> None:
        """Let the server misbehave for files of these names, shell patterns; none puts it right again."""
        self._host.check_output("printf '%s' '{0}' > /srv/faults.json".format(json.dumps(_counted_anew(faults))))

    def requests(self) -> t.List[t.Dict[str, t.Any]]:
        """What the server was asked for."""
        return [json.loads(line) for line in self._host.file("/srv/requests.jsonl").content_string.splitlines()]


class Play:
    """ansible-playbook as it runs."""

    def __init__(self, argv: t.Sequence[str], log: str) -> None:
        self._log = log
        plain = {"ANSIBLE_NOCOLOR": "true", "ANSIBLE_FORCE_COLOR": "false", "ANSIBLE_CALLBACK_RESULT_FORMAT": "json"}
        # The log is for the plays of Molecule.
        inherited = {name: value for name, value in os.environ.items() if name != "ANSIBLE_LOG_PATH"}
        with open(log, "w", encoding="utf-8") as stream:
            self._process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=dict(inherited, **plain),
            )

    def end(self, seconds: float = 240) -> subprocess.CompletedProcess:
        """Wait for the end of it, but not for ever."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        hangs = not self.has_ended()
        if hangs:
            self.kill(EVERYTHING)
        with open(self._log, encoding="utf-8") as stream:
            text = stream.read()
        assert not hangs, text
        return subprocess.CompletedProcess([], self._process.returncode, text)

    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def kill(self, whom: str) -> None:
        """SIGKILL for its process group, or for everything that descends from it."""
        os.kill(self._process.pid, signal.SIGSTOP)  # no more workers from now on
        others = _descendants(self._process.pid) if whom == EVERYTHING else []
        os.killpg(self._process.pid, signal.SIGKILL)
        for pid in others:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()


def foretold(log: str) -> t.Dict[str, t.List[str]]:
    """What the first run in check mode said of packages, by server, from Ansible's log: lines of the differences it showed."""
    runs: t.Dict[str, t.List[str]] = {}
    pid, first = "", ""
    for line in COLOURS.sub("", log).splitlines():
        head = SAID.match(line)
        pid, words = (head.group(1), line[head.end() :]) if head else (pid, line)
        runs.setdefault(pid, []).append(words)
        if not first and re.match(r"PLAY \[.*\] \[CHECK MODE\]", words):
            first = pid
    found: t.Dict[str, t.List[str]] = {}
    shown: t.List[str] = []
    for words in runs.get(first, []):
        if PACKAGE.match(words):
            shown.append(words.rstrip())
        changed = re.match(r"changed: \[(\S+)\]", words)
        if changed:
            found.setdefault(changed.group(1), []).extend(shown)
            shown = []
    return found


def _descendants(pid: int) -> t.List[int]:
    parents = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open("/proc/{0}/stat".format(name), encoding="utf-8") as stream:
            parents[int(name)] = int(stream.read().rpartition(")")[2].split()[1])
    found = [pid]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found[1:]
