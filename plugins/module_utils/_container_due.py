# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""What the Docker daemon still has to learn: the settings of daemon.json against those it runs with. Pure, no I/O.

`docker info` shows some settings. Of the others it is known that the daemon read them when it started after the file was written, or when
the record says that this collection let this very start of the daemon read them.
"""

from __future__ import annotations

import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._container_json import BUILT_IN_DRIVER, BUILT_IN_RUNTIME, Config
from ansible_collections.npufleet.ascend.plugins.module_utils._container_record import Record
from ansible_collections.npufleet.ascend.plugins.module_utils._container_spec import RuntimeEntry

# What dockerd takes over when it gets SIGHUP, in every version from 18.09 on (dockerd reference, "Configuration reload behavior";
# daemon/reload.go of 18.09, 20.10 and 24.0), with what it does when it is not told. A reload leaves a setting as it is when its key is gone
# from the file (tried with 20.10 and 26.1), so a file that says the same in other words is loaded first. The reference names more settings,
# which older versions leave as they are.
RELOADABLE: Config = {
    "debug": False,
    "default-runtime": BUILT_IN_RUNTIME,
    "features": {},
    "insecure-registries": [],
    "labels": [],
    "live-restore": False,
    "max-concurrent-downloads": 3,
    "max-concurrent-uploads": 5,
    "registry-mirrors": [],
    "runtimes": {},
    "shutdown-timeout": 15,
}
# With another of these a restarted daemon does not find its containers again, live-restore or not (Docker manual, "Live restore").
ENDS_CONTAINERS = {"bip", "bridge", "data-root", "exec-opts", "exec-root", "fixed-cidr", "storage-driver", "storage-opts", "userns-remap"}

# Keys that `docker info` shows: its name for them, and what holds where the file says nothing (None: whatever it is).
OBSERVED: t.Dict[str, t.Tuple[str, t.Any]] = {
    "data-root": ("DockerRootDir", None),
    "debug": ("Debug", False),
    "default-runtime": ("DefaultRuntime", BUILT_IN_RUNTIME),
    "live-restore": ("LiveRestoreEnabled", False),
    "log-driver": ("LoggingDriver", BUILT_IN_DRIVER),
    "storage-driver": ("Driver", None),
}


class Daemon(t.NamedTuple):
    """The daemon that runs: what `docker info` says, which start of it this is, when that was."""

    info: Config
    start: str
    started: float


class Due(t.NamedTuple):
    """
    :param keys: settings that the daemon runs without
    :param action: none, reload or restart
    :param waits: those of them that only a restart brings
    :param bridge: the settings to reload first, where a key is to go
    """

    keys: t.Tuple[str, ...] = ()
    action: str = "none"
    waits: t.Tuple[str, ...] = ()
    bridge: t.Optional[Config] = None


def unread(before: Config, ours: t.Collection[str], daemon: Daemon, record: Record, modified: t.Optional[float]) -> t.Set[str]:
    """Return those of our keys in the file that the daemon is not known to have read."""
    if modified is None or daemon.started >= modified:
        return set()
    if record.daemon == daemon.start:
        known = record.values or {}
        return {key for key in ours if known.get(key) != before.get(key)}
    return {key for key in ours if key in before}


def runtime_missing(info: Config, entry: RuntimeEntry) -> bool:
    """Does the daemon not know the runtime as it is wanted?"""
    have = (info.get("Runtimes") or {}).get(entry.name)
    return not have or have.get("path") != entry.path or list(have.get("runtimeArgs") or []) != list(entry.args)


def disagrees(info: Config, key: str, config: Config) -> bool:
    """Does the daemon run with another value of an observed key than ``config`` asks for?"""
    name, otherwise = OBSERVED[key]
    value = config.get(key, otherwise)
    return value is not None and info.get(name) != value


def plan_due(
    before: Config,
    after: Config,
    ours: t.Collection[str],
    entries: t.Sequence[RuntimeEntry],
    daemon: Daemon,
    record: Record,
    modified: t.Optional[float],
) -> Due:
    """Return what the daemon has to learn and how.

    :param before: the file as it is; :param after: as it shall be
    :param ours: keys that this call asks for
    :param entries: runtimes that it asks for
    :param modified: when the file was last changed
    """
    touched = {key for key in {*before, *after} if before.get(key) != after.get(key)}
    keys = touched | unread(before, ours, daemon, record, modified)
    for key in OBSERVED:
        if key in keys or key in ours:
            keys = keys | {key} if disagrees(daemon.info, key, after) else keys - {key}
    if "runtimes" in keys or "runtimes" in ours:
        known = daemon.info.get("Runtimes") or {}
        # An uninstaller may have taken one of ours out of the file already, but not out of the daemon.
        removed = {*(before.get("runtimes") or {}), *record.managed} - set(after.get("runtimes") or {})
        stale = any(runtime_missing(daemon.info, entry) for entry in entries) or any(name in known for name in removed)
        keys = keys | {"runtimes"} if stale else keys - {"runtimes"}
    if not keys:
        return Due()
    waits = tuple(sorted(keys - set(RELOADABLE)))
    gone = {key: RELOADABLE[key] for key in keys if key in RELOADABLE and key not in after}
    return Due(tuple(sorted(keys)), "restart" if waits else "reload", waits, dict(after, **gone) if gone else None)


def restart_ends_containers(info: Config, keys: t.Collection[str], after: Config) -> bool:
    """Would a restart of the daemon end its containers? A daemon that starts without live-restore ends those that it finds (tried with 20.10)."""
    if not info.get("ContainersRunning"):
        return False
    # Where the file says nothing, a command line may; where it just stopped to say so, it will not be on.
    stays_on = info.get("LiveRestoreEnabled") and after.get("live-restore", "live-restore" not in keys)
    return not stays_on or bool(ENDS_CONTAINERS.intersection(keys))


def describe(keys: t.Iterable[str], after: Config) -> t.List[str]:
    """Say what the daemon runs without, one text for each key."""
    return ["{0}: {1}".format(key, after[key]) if not isinstance(after.get(key), (dict, list)) and key in after else key for key in keys]


def remaining(info: Config, after: Config, ours: t.Collection[str], entries: t.Sequence[RuntimeEntry]) -> t.List[str]:
    """Return what `docker info` shows otherwise than it should be; empty when all is well."""
    unknown = ["it does not know the runtime {0} ({1})".format(entry.name, entry.path) for entry in entries if runtime_missing(info, entry)]
    wrong = [key for key in sorted(OBSERVED) if key in ours and disagrees(info, key, after)]
    return unknown + ["{0} is {1!r}, not {2!r}".format(key, info.get(OBSERVED[key][0]), after.get(key, OBSERVED[key][1])) for key in wrong]
