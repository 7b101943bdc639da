# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.


"""Ask the vLLM of an image which options it accepts: a command runner whose commands run in a container that goes away again.

The container has the driver of the host, as the plugin loads its libraries when it is imported, but no NPU and no network.
"""

from __future__ import annotations

import hashlib
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._command import CommandResult
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_docker_client import Docker
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_docker_render import (
    LABEL_ENGINE,
    container_of,
    create_body,
)
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_spec import EngineSpec
from ansible_collections.npufleet.ascend.plugins.module_utils._service import RuntimeAdapterError

# Of an engine's container only these mounts: below /usr/local and /etc lie the files of the driver.
DRIVER_PLACES = ("/usr/local/", "/etc/")
LEFT = ("Privileged", "CapDrop", "SecurityOpt", "Runtime")


def probe_body(spec: EngineSpec, argv: t.Sequence[str], env: t.Mapping[str, str]) -> t.Dict[str, t.Any]:
    """Return the body of the container that asks: the engine's image and entrypoint, ``python`` of its PATH, and nothing to reach."""
    full = create_body(spec)
    host = {key: value for key, value in full["HostConfig"].items() if key in LEFT}
    host["Mounts"] = [row for row in full["HostConfig"]["Mounts"] if row["ReadOnly"] and row["Target"].startswith(DRIVER_PLACES)]
    host.update(NetworkMode="none", CapAdd=[])
    body = {
        "Image": full["Image"],
        "Cmd": ["python", *argv[1:]],
        "Env": ["{0}={1}".format(*item) for item in sorted(env.items())] + [one for one in full["Env"] if one.startswith("ASCEND_VISIBLE")],
        "Labels": {LABEL_ENGINE: spec.working_directory},
        "HostConfig": host,
    }
    if "Entrypoint" in full:
        body["Entrypoint"] = full["Entrypoint"]
    return body


class ImageOptions:
    """The image of a spec. ``folder`` is where the answer is kept (an id never means another image); empty where the host has no such image."""

    def __init__(self, spec: EngineSpec, docker: Docker, home: str) -> None:
        """:raises RuntimeAdapterError: the container engine does not tell"""
        self._spec = spec
        self._docker = docker
        image = docker.ask("inspect_image", container_of(spec).image, missing_ok=True)
        name = hashlib.sha256(image["Id"].encode()).hexdigest()[:16] if image else ""
        self.folder = "{0}/images/options-{1}".format(home.rstrip("/"), name) if name else ""

    def run(self, argv: t.Sequence[str], timeout: float, env: t.Optional[t.Mapping[str, str]] = None) -> CommandResult:
        """A Runner (see _command.py) for the interpreter of the image; the first word of a command is replaced by it.

        :raises RuntimeAdapterError: the container cannot be made or started
        """
        made = self._docker.ask("create_container_from_config", probe_body(self._spec, argv, env or {}))["Id"]
        try:
            self._docker.ask("start", made)
            try:
                rc = int(self._docker.ask("wait", made, timeout=timeout)["StatusCode"])
            except RuntimeAdapterError:
                return CommandResult(list(argv), None, "", "", timed_out=True)
            out, err = (self._docker.ask("logs", made, stdout=wanted, stderr=not wanted) for wanted in (True, False))
            return CommandResult(list(argv), rc, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))
        finally:
            self._docker.ask("remove_container", made, v=True, force=True, missing_ok=True)
