# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.
"""A container as ``docker run`` makes it: the words, and a script for people. Pure."""

from __future__ import annotations

import shlex
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._engine_docker_options import SUBOPTIONS
from ansible_collections.npufleet.ascend.plugins.module_utils._export_document import Bind, Document

HEAD = """\
#!/bin/sh
# Starts in containers what npufleet.ascend runs on this host, without Ansible.
set -eu
"""
KEY_MISSING = "test -s {0} || {{ echo 'The key of the clients belongs into this file, mode 0600:' {0} >&2; exit 1; }}"


def run_words(document: Document) -> t.List[str]:
    """Return the ``docker run`` line as a list of words."""
    return [word for group in _groups(document) for word in group]


def run_script(documents: t.Iterable[Document]) -> str:
    """Return a shell script: what must be there first, then one ``docker run`` an engine, an option a line."""
    return HEAD + "".join(map(_part, documents))


def _part(document: Document) -> str:
    lines = ["", "# Engine {0}".format(document.engine), "mkdir -p -m 0700 {0}".format(shlex.quote(document.work))]
    if document.key_source:
        lines.append(KEY_MISSING.format(shlex.quote(document.key_source)))
    groups = [" ".join(shlex.quote(word) for word in group) for group in _groups(document)]
    return "\n".join([*lines, " \\\n  ".join(groups)]) + "\n"


def _groups(document: Document) -> t.List[t.List[str]]:
    """Words that belong on one line: the program, each option with its value, the image, the command."""
    entrypoint = [""] if document.entrypoint == [] else document.entrypoint or []
    options: t.List[t.Tuple[str, t.Iterable[t.Any]]] = [
        ("--name", [document.name]),
        ("--network", [document.network]),
        ("--ip6" if ":" in (document.address or "") else "--ip", [document.address] if document.address else []),
        ("--restart", [document.restart]),
        ("--label", _assignments(document.labels)),
        ("--cap-drop", document.cap_drop),
        ("--cap-add", document.cap_add),
        ("--security-opt", document.security_opt),
        ("--runtime", [document.oci_runtime] if document.oci_runtime else []),
        ("--device", ["{0}:{1}".format(device.source, device.target) for device in document.devices]),
        ("--mount", [_mount(mount) for mount in document.mounts]),
        ("--cpuset-cpus", [document.cpuset] if document.cpuset else []),
        ("--publish", [published(*pair) for pair in document.ports]),
        ("--shm-size", [document.shm_bytes]),
        ("--stop-timeout", [document.stop_timeout]),
        ("--log-driver", [document.log_driver]),
        ("--log-opt", _assignments(document.log_options)),
        ("--env", _assignments(document.env)),
        ("--entrypoint", entrypoint[:1]),
    ]
    usual = document.docker_host == SUBOPTIONS["docker_host"]["default"]
    head = ["docker"] if usual else ["docker", "--host", document.docker_host]
    groups = [[flag, str(value)] for flag, values in options for value in values]
    return [[*head, "run", "--detach"], *groups, [document.image], [*entrypoint[1:], *document.command]]


def published(address: str, port: int) -> str:
    """``ADDRESS:PORT:PORT``, the same port on the host and in the container."""
    return "{0}:{1}:{1}".format("[{0}]".format(address) if ":" in address else address, port)


def _assignments(values: t.Mapping[str, str]) -> t.List[str]:
    return ["{0}={1}".format(name, values[name]) for name in sorted(values)]


def _mount(mount: Bind) -> str:
    return "type=bind,source={0},target={1}{2}".format(mount.source, mount.target, ",readonly" if mount.read_only else "")
