# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""What every adapter of a container engine has in common: look, compose the configuration, act, confirm."""

from __future__ import annotations

import abc
import contextlib
import os
import time
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._clock import Clock
from ansible_collections.npufleet.ascend.plugins.module_utils._command import Runner, find_tool
from ansible_collections.npufleet.ascend.plugins.module_utils._container_files import ConfigFile, modified
from ansible_collections.npufleet.ascend.plugins.module_utils._container_json import Config
from ansible_collections.npufleet.ascend.plugins.module_utils._container_record import Record
from ansible_collections.npufleet.ascend.plugins.module_utils._container_spec import RuntimeEntry, Wanted
from ansible_collections.npufleet.ascend.plugins.module_utils._container_unit import EngineUnit, UnitState
from ansible_collections.npufleet.ascend.plugins.module_utils._container_versions import adr_doubts
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError

# Where administrators' programs lie that a session without root's PATH does not see.
EXTRA_DIRS = ("/usr/sbin", "/sbin", "/usr/local/sbin", "/usr/local/bin", "/usr/bin", "/bin")
ASK_SECONDS = 30.0

Find = t.Callable[..., t.Optional[str]]


class Host(t.NamedTuple):
    """
    The collaborators of an adapter.

    :param owner: user id that configuration files have to belong to: root's, outside of tests
    :param up: seconds on the clock that systemd reports (CLOCK_MONOTONIC)
    :param modified: when a file was last changed
    """

    run: Runner
    clock: Clock
    find: Find = find_tool
    proc: str = "/proc"
    owner: int = 0
    up: t.Callable[[], float] = time.monotonic
    modified: t.Callable[[str], t.Optional[float]] = modified

    def tool(self, name: str) -> t.Optional[str]:
        """Path of a program, or None."""
        return self.find(name, EXTRA_DIRS)

    def unit(self, name: str) -> EngineUnit:
        """The systemd unit of that name.

        :raises NpufleetError: the host has no systemd
        """
        systemctl, journalctl = self.tool("systemctl"), self.tool("journalctl")
        if not systemctl or not journalctl:
            raise NpufleetError("the host has no systemd", where=name, remedy="Configure the container engine by hand on this host")
        return EngineUnit(self.run, (systemctl, journalctl), name, self.clock.now, self.up)


class Look(t.NamedTuple):
    """
    What there is of an engine now.

    :param program: path of the engine, empty where it is not installed
    :param missing: why it is not there
    :param runs: does it answer? An engine without a daemon always does
    :param data: what only its adapter understands
    """

    program: str = ""
    missing: str = ""
    version: str = ""
    unit: t.Optional[UnitState] = None
    runs: bool = False
    data: t.Optional[Config] = None

    @property
    def installed(self) -> bool:
        """Is the engine there?"""
        return bool(self.program)


class Composed(t.NamedTuple):
    """
    The configuration as it is and as it shall be.

    :param before: text of the file, None where there is none
    :param after: text that it shall have, None where it shall be gone
    :param action: what lets the engine take it over: none, reload or restart
    :param keys: settings that the engine runs without; due: the same in words, one for each
    :param waits: those of the keys that only a restart brings
    :param left: keys that it will run without after this task
    :param record: what to remember; None forgets
    :param default_runtime: default of the engine when all is done; None where the file names none
    :param site_default: default of the site
    :param bridge: text to load before ``after``
    """

    file: ConfigFile
    before: t.Optional[str]
    after: t.Optional[str]
    record: t.Optional[Record]
    action: str = "none"
    keys: t.Tuple[str, ...] = ()
    due: t.Tuple[str, ...] = ()
    waits: t.Tuple[str, ...] = ()
    left: t.Tuple[str, ...] = ()
    default_runtime: t.Optional[str] = None
    site_default: t.Optional[str] = None
    bridge: t.Optional[str] = None
    runtimes: t.Tuple[str, ...] = ()
    warnings: t.Tuple[str, ...] = ()

    @property
    def differs(self) -> bool:
        """Is the file to be changed?"""
        return self.before != self.after


class EngineAdapter(abc.ABC):
    """The verbs of an engine."""

    unit_name = ""

    def __init__(self, host: Host, wanted: Wanted) -> None:
        self._host = host
        self._wanted = wanted

    @abc.abstractmethod
    def look(self) -> Look:
        """Look what there is. Reads only.

        :raises NpufleetError: it is there and cannot be asked
        """

    @abc.abstractmethod
    def compose(self, look: Look, record: t.Optional[Record]) -> Composed:
        """Compare the configuration with what is wanted. Reads only.

        :raises NpufleetError: the file is not one that may be changed, or what is wanted cannot be
        """

    @abc.abstractmethod
    def validate(self, look: Look, composed: Composed) -> None:
        """Let the engine check the new file, before it replaces the old one.

        :raises NpufleetError: it refuses it
        """

    def in_use(self, look: Look, composed: Composed) -> t.List[str]:
        """Names of the running containers that the action would end."""
        return []

    def bound(self, look: Look, composed: Composed) -> t.List[str]:
        """Names of the running containers that use a runtime which is to go."""
        return []

    @abc.abstractmethod
    def act(self, look: Look, composed: Composed, action: str) -> None:
        """Write the file, and let the engine take it over: none, reload, restart or start.

        :raises NpufleetError: it did not
        """

    def begin(self, composed: Composed, action: str) -> None:
        """Restart or start the unit of the engine. Where it does not come up with a new file, the old one is put back.

        :raises NpufleetError: it did not come up
        """
        unit = self._host.unit(self.unit_name)
        try:
            if action == "restart":
                unit.restart(self._wanted.timeout)
            elif action == "start":
                unit.start(self._wanted.timeout)
        except NpufleetError as exc:
            raise self._put_back(composed, action, exc) from exc

    def _put_back(self, composed: Composed, action: str, error: NpufleetError) -> NpufleetError:
        if not composed.differs:
            return error
        composed.file.write(composed.before)
        again = "it was not running before, and was left like that"
        if action == "restart":
            unit = self._host.unit(self.unit_name)
            with contextlib.suppress(NpufleetError):
                unit.restart(self._wanted.timeout)
            again = "it runs with that again" if unit.look().running else "it does not start with that either"
        what = "{0}. The old {1} was put back; {2}".format(error.what, composed.file.path, again)
        return NpufleetError(what, where=error.where, remedy=error.remedy)

    @abc.abstractmethod
    def confirm(self, look: Look, composed: Composed) -> None:
        """Check a look that was taken afterwards.

        :raises NpufleetError: the engine does not have what is wanted
        """

    def acknowledged(self, look: Look, composed: Composed) -> t.Optional[Record]:
        """The record after an action that ended well."""
        return composed.record

    def missing_programs(self) -> t.List[str]:
        """Runtimes that are wanted and whose programs are not there."""
        entries = self._wanted.runtimes if self._wanted.state == "present" else ()
        gone = [entry for entry in entries if not os.access(entry.path, os.X_OK) or os.path.isdir(entry.path)]
        return ["{0} ({1})".format(entry.name, entry.path) for entry in gone]

    def doubts(self, look: Look, entries: t.Sequence[RuntimeEntry]) -> t.List[str]:
        """What to say of this engine with these runtimes.

        :raises NpufleetError: the engine is too old for one
        """
        return adr_doubts(self._wanted.engine, look.version) if any(entry.is_adr for entry in entries) and look.installed else []
