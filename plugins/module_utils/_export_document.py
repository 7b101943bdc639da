# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""The document of a container that vllm_engine returns (``engine.container``), read back: known keys of known types, or one message. Pure.

Exports are rendered from it by _export_docker_run.py, _export_compose.py and _export_kubernetes.py. It holds no secret: the key of the
clients is a file, named by ``key_file`` in the container and by a mount on the host.
"""

from __future__ import annotations

import re
import typing as t
from collections.abc import Mapping, Sequence

from ansible_collections.npufleet.ascend.plugins.module_utils._engine_docker_spec import NAME_PATTERN
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError

ENGINE_PATTERN = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}\Z")


class ExportError(NpufleetError):
    """What cannot be exported."""


class Bind(t.NamedTuple):
    """A path of the host and where the container has it; a device node where ``read_only`` says nothing."""

    source: str
    target: str
    read_only: bool = False


class Document(t.NamedTuple):
    """One engine in a container. ``entrypoint`` None keeps that of the image, an empty one clears it; ``work`` is the path it may write to."""

    engine: str
    name: str
    image: str
    entrypoint: t.Optional[t.List[str]]
    command: t.List[str]
    env: t.Dict[str, str]
    devices: t.List[Bind]
    chips: int
    mounts: t.List[Bind]
    work: str
    shm_bytes: int
    cpuset: t.Optional[str]
    network: str
    address: t.Optional[str]
    ports: t.List[t.Tuple[str, int]]
    cap_drop: t.List[str]
    cap_add: t.List[str]
    security_opt: t.List[str]
    oci_runtime: t.Optional[str]
    restart: str
    stop_timeout: int
    log_driver: str
    log_options: t.Dict[str, str]
    labels: t.Dict[str, str]
    docker_host: str
    host: str
    port: int
    model: str
    model_path: str
    key_file: t.Optional[str]
    headless: bool
    group: bool

    @property
    def key_source(self) -> t.Optional[str]:
        """The file on the host that holds the key."""
        return next((mount.source for mount in self.mounts if self.key_file and mount.target == self.key_file), None)


def read_documents(given: t.Any) -> t.List[Document]:
    """Read one document or a list of them.

    :raises ExportError: names the document and the key that is wrong
    """
    rows = [given] if isinstance(given, Mapping) else given
    if not _is_list(rows) or not rows:
        raise ExportError(
            "there is no container to export",
            where="input",
            remedy="Give engine.container of npufleet.ascend.vllm_engine with runtime docker, or a list of them",
        )
    documents = [_document(row, "input[{0}]".format(place)) for place, row in enumerate(rows)]
    names = [document.name for document in documents]
    for name in names:
        if names.count(name) > 1:
            raise ExportError("two containers have the name {0}".format(name), where="input", remedy="Export each in a call of its own")
    return documents


def _document(row: t.Any, where: str) -> Document:
    if not isinstance(row, Mapping):
        raise _wrong(where, "a mapping")
    values: t.Dict[str, t.Any] = {}
    for key, kind in FIELDS.items():
        value = row.get(key)
        if value is None and kind.may_be_null and key in row:
            values[key] = None
        elif kind.check(value):
            values[key] = kind.plain(value)
        else:
            raise _wrong(where + "." + key, kind.what)
    return Document(**values)


def _wrong(where: str, what: str) -> ExportError:
    return ExportError(
        "the container that is to be exported does not have {0} here".format(what),
        where=where,
        remedy="Give engine.container of npufleet.ascend.vllm_engine as it was returned",
    )


class Kind(t.NamedTuple):
    """What a value is. ``plain`` makes it one of Python's own types: ansible-core hands filters classes that no YAML writer knows."""

    what: str
    check: t.Callable[[t.Any], bool]
    plain: t.Callable[[t.Any], t.Any]
    may_be_null: bool = False


def plain_text(value: str) -> str:
    """The same text of Python's own type. ``str()`` does not do, as the texts of ansible-core 2.17 return themselves then."""
    return str.__str__(value)


def _is_list(value: t.Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _is_text(value: t.Any) -> bool:
    return isinstance(value, str) and bool(value)


def _is_number(value: t.Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_map(value: t.Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(one, str) for pair in value.items() for one in pair)


def _is_bind(value: t.Any) -> bool:
    return isinstance(value, Mapping) and _is_text(value.get("source")) and _is_text(value.get("target"))


def _is_port(value: t.Any) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("address"), str) and _is_number(value.get("port"))


def _list_of(check: t.Callable[[t.Any], bool]) -> t.Callable[[t.Any], bool]:
    return lambda value: _is_list(value) and all(check(one) for one in value)


def _like(pattern: t.Pattern[str]) -> t.Callable[[t.Any], bool]:
    return lambda value: isinstance(value, str) and pattern.match(value) is not None


def _bind(value: t.Mapping[str, t.Any]) -> Bind:
    return Bind(plain_text(value["source"]), plain_text(value["target"]), bool(value.get("read_only", False)))


TEXT = Kind("a text", _is_text, plain_text)
TEXTS = Kind("a list of texts", _list_of(lambda one: isinstance(one, str)), lambda value: [plain_text(one) for one in value])
NUMBER = Kind("a number", _is_number, int)
FLAG = Kind("a boolean", lambda value: isinstance(value, bool), bool)
MAP = Kind("a mapping of texts", _is_map, lambda value: {plain_text(key): plain_text(one) for key, one in value.items()})
BINDS = Kind("a list of source and target", _list_of(_is_bind), lambda value: [_bind(one) for one in value])
PORTS = Kind(
    "a list of address and port", _list_of(_is_port), lambda value: [(plain_text(one["address"]), int(one["port"])) for one in value]
)

FIELDS: t.Dict[str, Kind] = {
    "engine": Kind("the name of an engine", _like(ENGINE_PATTERN), plain_text),
    "name": Kind("the name of a container", _like(NAME_PATTERN), plain_text),
    "image": TEXT,
    "entrypoint": TEXTS._replace(may_be_null=True),
    "command": TEXTS,
    "env": MAP,
    "devices": BINDS,
    "chips": NUMBER,
    "mounts": BINDS,
    "work": TEXT,
    "shm_bytes": NUMBER,
    "cpuset": TEXT._replace(may_be_null=True),
    "network": TEXT,
    "address": TEXT._replace(may_be_null=True),
    "ports": PORTS,
    "cap_drop": TEXTS,
    "cap_add": TEXTS,
    "security_opt": TEXTS,
    "oci_runtime": TEXT._replace(may_be_null=True),
    "restart": TEXT,
    "stop_timeout": NUMBER,
    "log_driver": TEXT,
    "log_options": MAP,
    "labels": MAP,
    "docker_host": TEXT,
    "host": Kind("a text", lambda value: isinstance(value, str), plain_text),
    "port": NUMBER,
    "model": TEXT,
    "model_path": TEXT,
    "key_file": TEXT._replace(may_be_null=True),
    "headless": FLAG,
    "group": FLAG,
}
