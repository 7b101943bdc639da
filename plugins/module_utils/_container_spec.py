# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""What is wanted of a container engine: values only, checked before anything is looked at."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError

# Where each engine keeps what this collection changes.
CONFIG_PATHS = {
    "docker": "/etc/docker/daemon.json",
    "containerd": "/etc/containerd/config.toml",
    "podman": "/etc/containers/containers.conf.d/npufleet.conf",
}
# The name of the binary of the Ascend Docker Runtime (its installer, MindCluster 26.0.0).
ADR_BINARY = "ascend-docker-runtime"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")

# Options of daemon.json whose type is known (dockerd reference, 28.x). A wrong one is only found when the daemon refuses the whole file.
_TYPES: t.Dict[str, t.Tuple[type, ...]] = {
    "bip": (str,),
    "data-root": (str,),
    "debug": (bool,),
    "default-ulimits": (dict,),
    "dns": (list,),
    "exec-opts": (list,),
    "features": (dict,),
    "insecure-registries": (list,),
    "ip-forward": (bool,),
    "iptables": (bool,),
    "labels": (list,),
    "live-restore": (bool,),
    "log-driver": (str,),
    "log-level": (str,),
    "log-opts": (dict,),
    "max-concurrent-downloads": (int,),
    "max-concurrent-uploads": (int,),
    "mtu": (int,),
    "registry-mirrors": (list,),
    "shutdown-timeout": (int,),
    "storage-driver": (str,),
    "storage-opts": (list,),
}
_OWN_OPTIONS = {"runtimes": "runtimes", "default-runtime": "default_runtime"}


class RuntimeEntry(t.NamedTuple):
    """An OCI runtime: the name that containers ask for, its program, and the arguments it is given."""

    name: str
    path: str
    args: t.Tuple[str, ...] = ()

    @property
    def is_adr(self) -> bool:
        """Is it the Ascend Docker Runtime?"""
        return self.path.rpartition("/")[2] == ADR_BINARY


class Wanted(t.NamedTuple):
    """One call of container_engine. ``restart`` is the consent: None, True or False."""

    engine: str
    state: str
    runtimes: t.Tuple[RuntimeEntry, ...]
    default_runtime: t.Optional[str]
    options: t.Dict[str, t.Any]
    defaults: t.Dict[str, t.Any]
    restart: t.Optional[bool]
    config_path: t.Optional[str]
    record_folder: str
    timeout: float


def wanted_of(params: t.Mapping[str, t.Any]) -> Wanted:
    """Return what the options of the module ask for.

    :raises NpufleetError: names the option that cannot be
    """
    engine = params["engine"]
    runtimes = tuple(_runtime(name, value) for name, value in sorted(params["runtimes"].items()))
    wanted = Wanted(
        engine=engine,
        state=params["state"],
        runtimes=runtimes,
        default_runtime=params["default_runtime"] or None,
        options=_options("daemon_options", params["daemon_options"]),
        defaults=_options("daemon_defaults", params["daemon_defaults"]),
        restart=params["restart"],
        config_path=params["config_path"],
        record_folder=params["record_folder"],
        timeout=float(params["wait_timeout"]),
    )
    _check_engine(wanted)
    return wanted


def _runtime(name: str, value: t.Any) -> RuntimeEntry:
    where = "runtimes"
    if not _NAME.fullmatch(name):
        raise NpufleetError("{0!r} is no name of a runtime".format(name), where=where, remedy="Use letters, digits, '.', '_' and '-'")
    if name == "runc":
        raise NpufleetError("the name runc belongs to the engine itself", where=where, remedy="Give the runtime another name")
    fields = {"path": value} if isinstance(value, str) else value
    if not isinstance(fields, dict) or not isinstance(fields.get("path"), str) or set(fields) - {"path", "args"}:
        raise NpufleetError(
            "the runtime {0} needs a path, and may have args".format(name),
            where=where,
            remedy="Write {0}: {{path: /usr/bin/...}}".format(name),
        )
    path, args = fields["path"], fields.get("args") or []
    if not isinstance(args, list) or not all(isinstance(item, str) for item in args):
        raise NpufleetError("args of the runtime {0} is no list of texts".format(name), where=where, remedy="Quote each argument")
    if not re.fullmatch(r"/[^\s\"'\\]+", path):
        raise NpufleetError(
            "{0!r} is no absolute path of a program".format(path),
            where="{0}, {1}".format(where, name),
            remedy="Give the whole path on the host",
        )
    return RuntimeEntry(name, path, tuple(args))


def _options(where: str, options: t.Mapping[str, t.Any]) -> t.Dict[str, t.Any]:
    """The options that are set, log-opts as texts: dockerd reads no numbers there (tried with 20.10)."""
    result = {key: value for key, value in options.items() if value is not None}
    for key, value in result.items():
        if key in _OWN_OPTIONS:
            raise NpufleetError("{0} has an option of its own".format(key), where=where, remedy="Use {0}".format(_OWN_OPTIONS[key]))
        allowed = _TYPES.get(key)
        if allowed and (not isinstance(value, allowed) or (isinstance(value, bool) and bool not in allowed)):
            kind = {str: "a text", bool: "true or false", dict: "a mapping", list: "a list", int: "a whole number"}[allowed[0]]
            raise NpufleetError("{0} must be {1}, not {2!r}".format(key, kind, value), where=where, remedy="Correct it")
    if "log-opts" in result:
        result["log-opts"] = {key: _text(value) for key, value in result["log-opts"].items()}
    return result


def _text(value: t.Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _check_engine(wanted: Wanted) -> None:
    if wanted.engine == "docker":
        return
    given = [name for name, value in (("daemon_options", wanted.options), ("daemon_defaults", wanted.defaults)) if value]
    if given:
        raise NpufleetError(
            "{0} is for Docker alone".format(given[0]),
            where="engine: " + wanted.engine,
            remedy="Leave it out, or configure the engine by hand",
        )
    if wanted.engine == "containerd" and wanted.default_runtime:
        raise NpufleetError(
            "the default runtime of containerd is not changed by this module",
            where="default_runtime",
            remedy="Choose the runtime for each container: nerdctl run --runtime PATH, or a RuntimeClass of Kubernetes",
        )
    if any(entry.args for entry in wanted.runtimes):
        raise NpufleetError(
            "{0} gives no arguments to a runtime".format(wanted.engine),
            where="runtimes",
            remedy="Leave args out, or name a script that adds them",
        )
