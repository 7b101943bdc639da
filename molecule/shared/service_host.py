# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One host whose engines are services of systemd, as the tests look at it: system units of root, or units of another user."""

from __future__ import annotations

import typing as t

import testinfra


class ServiceHost:
    """``variables`` are those of the host in the inventory: ansible_host, ansible_user, npufleet_home."""

    def __init__(self, name: str, variables: t.Mapping[str, t.Any]) -> None:
        self.name = name
        self.user = variables["ansible_user"]
        self.home = variables["npufleet_home"]
        self.is_root = self.user == "root"
        self.host = testinfra.get_host("docker://{0}@{1}".format(self.user, variables["ansible_host"]))
        self.root = testinfra.get_host("docker://{0}".format(variables["ansible_host"]))

    def folder(self, engine: str) -> str:
        """Working folder of an engine."""
        return "{0}/engines/{1}".format(self.home, engine)

    def unit_path(self, engine: str) -> str:
        """Where the unit file of an engine lies."""
        folder = "/etc/systemd/system" if self.is_root else "/home/{0}/.config/systemd/user".format(self.user)
        return "{0}/npufleet-engine-{1}.service".format(folder, engine)

    def systemctl(self, words: str) -> str:
        """Standard output of systemctl, with --user where the engines are user units; the exit code does not matter."""
        scope = "systemctl" if self.is_root else "XDG_RUNTIME_DIR=/run/user/$(id -u) systemctl --user"
        return self.host.run("{0} --no-pager {1}".format(scope, words)).stdout.strip()

    def unit(self, engine: str, name: str) -> str:
        """One property of the unit of an engine."""
        return self.systemctl("show --value --property={0} npufleet-engine-{1}".format(name, engine))

    def pid(self, engine: str) -> int:
        """Process id of the engine, 0 when it does not run."""
        return int(self.unit(engine, "MainPID"))

    def processes(self, engine: str) -> t.Set[int]:
        """All processes of the unit, by their cgroup."""
        scope = "unit" if self.is_root else "uunit"
        lines = self.root.check_output("ps -A -o pid=,{0}=".format(scope)).splitlines()
        return {int(line.split()[0]) for line in lines if line.split()[1] == "npufleet-engine-{0}.service".format(engine)}

    def alive(self, pids: t.Iterable[int]) -> t.List[int]:
        """Those of the processes that are still there."""
        return [pid for pid in pids if self.root.file("/proc/{0}".format(pid)).exists]

    def log(self, engine: str) -> str:
        """The log of an engine, where its README says it is."""
        if self.is_root:
            return self.host.check_output("journalctl --no-pager --output=cat --unit npufleet-engine-{0}".format(engine))
        return self.host.file(self.folder(engine) + "/engine.log").content_string
