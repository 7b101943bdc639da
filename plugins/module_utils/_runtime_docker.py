# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Docker adapter: one container an engine, over the Docker SDK for Python. Podman answers the same calls on its own socket."""

from __future__ import annotations

import calendar
import os
import re
import time
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._clock import Clock
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_docker_client import Docker
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_docker_render import (
    KEY_NAME,
    LABEL_ENGINE,
    LABEL_SPEC,
    all_mounts,
    container_of,
    create_body,
    spec_hash,
)
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_spec import EngineSpec
from ansible_collections.npufleet.ascend.plugins.module_utils._service import (
    Runtime,
    RuntimeAdapterError,
    ServiceFile,
    ServiceState,
    delete_files,
    files_current,
    write_files,
)

# An image of vllm-ascend is 16 GB unpacked; writing it to a slow disk takes minutes in which the engine says nothing.
LOAD_SECONDS = 3600
# Networks that every engine has, and that need no looking for.
OWN_NETWORKS = ("host", "bridge", "none", "default")
# A replaced container keeps this name until its successor is made.
REPLACED = "-replaced"
# What Podman adds to the name of an image that has no registry.
QUALIFIERS = ("docker.io/library/", "docker.io/", "localhost/")
# Podman calls a container that died so until it has looked at the restart policy, and then starts it whoever said stop meanwhile (4.3.1, tried).
UNDECIDED = ("stopped", "stopping")
DECIDE_SECONDS = 20
DECIDE_PAUSE = 0.2
# Beginning of a line of `docker logs --timestamps`.
STAMP = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?Z ?")


class DockerRuntime(Runtime):
    """The verbs over Docker Engine's API."""

    kind = "docker"

    def __init__(self, docker: Docker, clock: t.Optional[Clock] = None) -> None:
        self.docker = docker
        self._clock = clock or Clock(time.time, time.sleep)
        self._found: t.Dict[str, t.Any] = {}

    def files(self, spec: EngineSpec) -> t.List[ServiceFile]:
        """The file of the API key, mode 0600; everything else is in the container."""
        return [ServiceFile(_key_path(spec), value, 0o600) for _name, value in spec.secret_env]

    def inspect(self, spec: EngineSpec) -> ServiceState:
        """Ask the engine, one call.

        :raises UnreachableError: no library, or no engine
        :raises RuntimeAdapterError: the name belongs to a container of somebody else
        """
        self._found = self._look(spec, container_of(spec).name) or {}
        if not self._found:
            return ServiceState(detail="there is no container {0}".format(container_of(spec).name))
        state = self._found["State"]
        restarting = bool(state.get("Restarting"))
        pid = int(state.get("Pid") or 0)
        return ServiceState(
            defined=True,
            running=bool(state.get("Running")) and not restarting and pid > 0,
            enabled=_policy(self._found) == container_of(spec).restart,
            pid=pid,
            detail=_detail(state),
            restarting=restarting,
        )

    def as_written(self, spec: EngineSpec) -> bool:
        """Whether the container was made from this spec, by this version of the collection, and the key's file is right."""
        labels = self._found.get("Config", {}).get("Labels") or {}
        return labels.get(LABEL_SPEC) == spec_hash(spec) and files_current(self.files(spec))

    def drift(self, spec: EngineSpec) -> t.List[str]:
        """What a tag that moved, or `docker update`, made another than the wanted."""
        container, words = container_of(spec), []
        if self._found.get("Config", {}).get("Image") in [container.image, *(word + container.image for word in QUALIFIERS)]:
            image, runs = self._image(container.image), self._found.get("Image")
            if image and runs and image != runs:
                words.append("container.image: {0} is {1} now, and the container runs {2}".format(container.image, image[:19], runs[:19]))
            cpus = self._found.get("HostConfig", {}).get("CpusetCpus") or None
            if spec_hash(spec) == (self._found["Config"].get("Labels") or {}).get(LABEL_SPEC) and cpus != container.cpuset:
                words.append("container.cpuset: {0} -> {1}, as somebody changed it".format(cpus, container.cpuset))
        return words

    def holds_port(self, spec: EngineSpec) -> bool:
        """Whether the container that runs publishes the port: then a process of the engine listens, and not one of the container."""
        bindings = self._found.get("HostConfig", {}).get("PortBindings") or {}
        taken = {str(row.get("HostPort")) for rows in bindings.values() for row in rows or ()}
        return bool(self._found.get("State", {}).get("Running")) and str(spec.port) in taken

    def check(self, spec: EngineSpec) -> None:
        """Look, before anything is touched, for image, network, runtime, device nodes and what is mounted."""
        container = container_of(spec)
        if not self._image(container.image) and not (container.archive and os.path.isfile(container.archive)):
            raise RuntimeAdapterError(
                "the image {0} is not on this host".format(container.image),
                where=container.archive or container.docker_host,
                remedy="Fetch it first (state fetched, or docker pull {0}), or name an archive of docker save in container.archive".format(
                    container.image
                ),
            )
        if container.oci_runtime and container.oci_runtime not in (self.docker.ask("info").get("Runtimes") or {}):
            raise RuntimeAdapterError(
                "the container engine knows no runtime {0}".format(container.oci_runtime),
                where=container.docker_host,
                remedy="Register it in daemon.json and restart the engine (role container_runtime), or leave oci_runtime out",
            )
        if container.network not in OWN_NETWORKS and self.docker.ask("inspect_network", container.network, missing_ok=True) is None:
            raise RuntimeAdapterError(
                "there is no network {0}".format(container.network),
                where="container.network",
                remedy="Make it first (docker network create {0}), or use host".format(container.network),
            )
        _check_paths(spec)

    def doubts(self, spec: EngineSpec) -> t.List[str]:
        """Root in a container of Docker is root of the host for the files that it writes."""
        if os.geteuid() == 0:
            return []
        text = "logs and caches of the engine in {0}/work may belong to root, and removing the engine then needs root (become)"
        return [text.format(spec.working_directory)]

    def prepare(self, spec: EngineSpec) -> None:
        """Load the image from its archive where the host does not have it."""
        container = container_of(spec)
        if self._image(container.image) or not container.archive:
            return
        self.docker.load(container.archive, LOAD_SECONDS)
        if not self._image(container.image):
            raise RuntimeAdapterError(
                "the archive holds another image than {0}".format(container.image),
                where=container.archive,
                remedy="Give the name that it was saved under (docker image ls), or the right archive",
            )

    def define(self, spec: EngineSpec) -> None:
        """Create the container, not started. One that is there is kept under another name until its successor exists."""
        name = container_of(spec).name
        if not spec.secret_env:
            delete_files([ServiceFile(_key_path(spec), "", 0o600)])
        write_files(self.files(spec))
        os.makedirs(spec.working_directory + "/work", mode=0o700, exist_ok=True)
        old = self._look(spec, name)
        if old:
            self._delete(spec, name + REPLACED)
            self.docker.ask("rename", old["Id"], name + REPLACED)
        try:
            self.docker.ask("create_container_from_config", create_body(spec), name)
        except RuntimeAdapterError:
            if old:
                self.docker.ask("rename", old["Id"], name)
            raise
        self._delete(spec, name + REPLACED)

    def enable(self, spec: EngineSpec) -> None:
        """Give the container its restart policy back."""
        container = container_of(spec)
        self.docker.ask("update_container", container.name, restart_policy={"Name": container.restart, "MaximumRetryCount": 0})

    def start(self, spec: EngineSpec) -> None:
        """Start the container."""
        self.docker.ask("start", container_of(spec).name)

    def stop(self, spec: EngineSpec) -> None:
        """Stop the container and wait for it; its restart policy does not start it again.

        :raises RuntimeAdapterError: it is started again and again
        """
        name, deadline = container_of(spec).name, self._clock.now() + spec.stop_seconds + DECIDE_SECONDS
        while True:
            self.docker.ask("stop", name, timeout=spec.stop_seconds, missing_ok=True)
            state = (self.docker.ask("inspect_container", name, missing_ok=True) or {}).get("State") or {}
            if not state.get("Running") and state.get("Status") not in UNDECIDED:
                return
            if self._clock.now() > deadline:
                raise RuntimeAdapterError(
                    "the container {0} does not stay stopped".format(name),
                    where=container_of(spec).docker_host,
                    remedy="Look who starts it, and run again",
                )
            self._clock.sleep(DECIDE_PAUSE)

    def remove(self, spec: EngineSpec) -> None:
        """Delete the stopped container. The image stays."""
        for suffix in ("", REPLACED):
            self._delete(spec, container_of(spec).name + suffix)

    def log_mark(self, spec: EngineSpec) -> str:
        """Seconds since the epoch."""
        return "{0:.6f}".format(self._clock.now())

    def logs(self, spec: EngineSpec, mark: str, limit: int) -> t.List[str]:
        """The last ``limit`` lines since ``mark``. Docker itself only selects by whole seconds, and Podman stamps with whole seconds (4.3.1, tried)."""
        since = float(mark or 0)
        options = {"since": int(since)} if since >= 1 else {}
        raw = self.docker.ask("logs", container_of(spec).name, timestamps=True, tail=limit, missing_ok=True, **options)
        lines = []
        for line in (raw or b"").decode("utf-8", "replace").splitlines():
            stamp = STAMP.match(line)
            if stamp is None:
                lines.append(line)
            elif _seconds(stamp) >= (since if stamp.group(2) else int(since)):
                lines.append(line[stamp.end() :])
        return lines[-limit:]

    def _look(self, spec: EngineSpec, name: str) -> t.Optional[t.Dict[str, t.Any]]:
        found = self.docker.ask("inspect_container", name, missing_ok=True)
        if found and (found["Config"].get("Labels") or {}).get(LABEL_ENGINE) != spec.working_directory:
            raise RuntimeAdapterError(
                "there is a container {0} that is not this engine's".format(name),
                where=container_of(spec).docker_host,
                remedy="Rename or remove it (docker rename, docker rm), or give container.name",
            )
        return found or None

    def _delete(self, spec: EngineSpec, name: str) -> None:
        if self._look(spec, name):
            self.docker.ask("remove_container", name, v=True, force=True, missing_ok=True)

    def _image(self, reference: str) -> str:
        """Id of an image of this host; empty where there is none."""
        image = self.docker.ask("inspect_image", reference, missing_ok=True)
        return str(image["Id"]) if image else ""


def _key_path(spec: EngineSpec) -> str:
    return spec.working_directory + "/" + KEY_NAME


def _policy(found: t.Mapping[str, t.Any]) -> str:
    return str((found.get("HostConfig", {}).get("RestartPolicy") or {}).get("Name") or "no")


def _detail(state: t.Mapping[str, t.Any]) -> str:
    words = [str(state.get("Status") or "unknown")]
    if not state.get("Running"):
        words.append("exit code {0}".format(state.get("ExitCode")))
    if state.get("OOMKilled"):
        words.append("the kernel killed it for want of memory")
    if state.get("Error"):
        words.append(str(state["Error"]))
    return ", ".join(words)


def _seconds(stamp: t.Match[str]) -> float:
    whole = calendar.timegm(time.strptime(stamp.group(1), "%Y-%m-%dT%H:%M:%S"))
    return whole + float((stamp.group(2) or ".0")[:7])


def _check_paths(spec: EngineSpec) -> None:
    """:raises RuntimeAdapterError: a device node or the source of a mount is not there"""
    container = container_of(spec)
    devices = [device.split(":") for device in container.devices]
    if spec.accelerator == "ascend" and not container.oci_runtime and "/dev/davinci_manager" not in [inside for _host, inside in devices]:
        raise RuntimeAdapterError(
            "the container gets no /dev/davinci_manager, without which no chip can be opened",
            where="container.control_devices",
            remedy="Install or repair the driver (role ascend_driver), or name the control nodes",
        )
    own = spec.working_directory + "/"
    paths = [host for host, _inside in devices] + [source for source, _target, _mode in all_mounts(spec) if not source.startswith(own)]
    missing = [path for path in paths if not os.path.exists(path)]
    if missing:
        raise RuntimeAdapterError(
            "{0} does not exist, and the container needs it".format(", ".join(missing)),
            where="container",
            remedy="Install or repair the driver (role ascend_driver), or correct devices, driver_root or mounts",
        )
