# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""What every runtime adapter has in common: five verbs (inspect, define, start, stop, remove) and the logs."""

from __future__ import annotations

import abc
import os
import pwd
import shutil
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._engine_spec import TEMPORARY, EngineSpec
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._files import file_mode, make_folders, read_text, write_text

# How long one call of a service manager may take, in seconds; stopping an engine has its own limit on top.
MANAGER_SECONDS = 60.0

# Beginnings of the names of what is ours, or the service manager's, in the folder of an engine.
OURS = ("engine.log", "launch.", "secret.")


class RuntimeAdapterError(NpufleetError):
    """A service manager did not do as told."""


class UnreachableError(RuntimeAdapterError):
    """There is no service manager to ask, yet. In check mode an earlier task would have brought it."""


class ServiceFile(t.NamedTuple):
    """One file of a service: where, what, and its permission bits."""

    path: str
    text: str
    mode: int


class ServiceState(t.NamedTuple):
    """What a service manager says now. ``pid`` is 0 when nothing runs; ``restarting`` is True when it is about to start a dead engine again."""

    defined: bool = False
    running: bool = False
    enabled: bool = False
    pid: int = 0
    detail: str = ""
    restarting: bool = False


class Runtime(abc.ABC):
    """The verbs of an adapter. None of them waits for the engine to be ready."""

    kind = ""

    @abc.abstractmethod
    def files(self, spec: EngineSpec) -> t.List[ServiceFile]:
        """Every file of the service, as it should be."""

    @abc.abstractmethod
    def inspect(self, spec: EngineSpec) -> ServiceState:
        """Ask the service manager."""

    def check(self, spec: EngineSpec) -> None:  # noqa: B027 - systemd needs nothing of the engine's environment
        """Look, before anything is touched, whether the service manager can be had.

        :raises RuntimeAdapterError: says what is missing
        """

    def doubts(self, spec: EngineSpec) -> t.List[str]:
        """What the operator should know of a service that will run."""
        return []

    def as_written(self, spec: EngineSpec) -> bool:
        """Whether a defined service is as this spec defines it. Called after inspect()."""
        return files_current(self.files(spec))

    def drift(self, spec: EngineSpec) -> t.List[str]:
        """Differences of a defined service that its files do not show, in words. Called after inspect()."""
        return []

    def holds_port(self, spec: EngineSpec) -> bool:
        """Whether the service manager itself holds the port of the service that runs, and gives it back when that ends."""
        return False

    def prepare(self, spec: EngineSpec) -> None:  # noqa: B027 - only containers need anything
        """Fetch what define() will need and what takes long, while the old service still runs.

        :raises RuntimeAdapterError: it cannot be had
        """

    @abc.abstractmethod
    def define(self, spec: EngineSpec) -> None:
        """Write the files into folders that are there, load them and let the service start with the host; nothing is started now."""

    @abc.abstractmethod
    def enable(self, spec: EngineSpec) -> None:
        """Let a defined service start with the host."""

    @abc.abstractmethod
    def start(self, spec: EngineSpec) -> None:
        """Start a defined service."""

    @abc.abstractmethod
    def stop(self, spec: EngineSpec) -> None:
        """Stop the service and wait until it is gone."""

    @abc.abstractmethod
    def remove(self, spec: EngineSpec) -> None:
        """Delete the definition of a stopped service."""

    @abc.abstractmethod
    def log_mark(self, spec: EngineSpec) -> str:
        """A place in the log that logs() can begin at."""

    @abc.abstractmethod
    def logs(self, spec: EngineSpec, mark: str, limit: int) -> t.List[str]:
        """The last ``limit`` lines since ``mark``."""


def files_current(files: t.Iterable[ServiceFile]) -> bool:
    """True when each file is there with the wanted text and mode."""
    return all(read_text(item.path) == item.text and file_mode(item.path) == item.mode for item in files)


def write_files(files: t.Iterable[ServiceFile]) -> None:
    """Write each file atomically, its folder made first."""
    for item in files:
        os.makedirs(os.path.dirname(item.path), exist_ok=True)
        write_text(item.path, item.text, item.mode)


def delete_files(files: t.Iterable[ServiceFile]) -> None:
    """Delete each file that is there."""
    for item in files:
        if os.path.lexists(item.path):
            os.unlink(item.path)


def make_folder(spec: EngineSpec) -> None:
    """Make the engine's own folder, readable by its user alone.

    :raises OSError: the home is not this user's to write to
    """
    folder = spec.working_directory
    if spec.user:
        make_folders(os.path.dirname(folder))
    os.makedirs(folder, mode=0o750, exist_ok=True)
    if os.geteuid() == 0:
        owner = pwd.getpwnam(spec.user).pw_uid if spec.user else 0
        if os.stat(folder).st_uid != owner:
            _empty(folder)
            os.chown(folder, owner, -1)


def empty_temporary(spec: EngineSpec) -> None:
    """Make the folder of temporary files anew, for the user of the engine. Only while the engine does not run."""
    folder = os.path.join(spec.working_directory, TEMPORARY)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    if os.geteuid() == 0:
        os.chown(folder, os.stat(spec.working_directory).st_uid, -1, follow_symlinks=False)


def _empty(folder: str) -> None:
    """Remove what an engine of another user left, caches all of it: this one could not write to them."""
    for name in os.listdir(folder):
        if not name.startswith(OURS):
            path = os.path.join(folder, name)
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path, ignore_errors=True)
            else:
                os.unlink(path)
