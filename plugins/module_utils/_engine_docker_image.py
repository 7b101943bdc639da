# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.


"""Bring an image to the host, apart from any engine: from an archive of ``docker save``, or from a registry. Minutes, so it is a job.

A pull whose client goes away is cancelled by Docker Engine, so the job outlives the call that began it, and the next call goes on watching.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._clock import Clock
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_docker_client import Docker
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_docker_spec import Container
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._files import make_folders
from ansible_collections.npufleet.ascend.plugins.module_utils._job import Job, JobStatus, watch
from ansible_collections.npufleet.ascend.plugins.module_utils._service import UnreachableError

# Runs alone, with nothing but the SDK: its own words are one line a second at most, and the engine's last word when that refuses.
FETCH_SOURCE = r"""
import sys
import time

import docker

host, image, archive = sys.argv[1:4]
client = docker.APIClient(base_url=host, version="auto", timeout=3600)
layers, said = {}, 0.0
rows = client.load_image(open(archive, "rb")) if archive else client.pull(image, stream=True, decode=True)
for row in rows or ():
    if "error" in row:
        sys.exit(row["error"])
    detail = row.get("progressDetail") or {}
    if detail.get("total"):
        layers[row.get("id")] = (row["status"], detail.get("current", 0), detail["total"])
    if layers and time.time() - said >= 1:
        said = time.time()
        done, total = (sum(layer[place] for layer in layers.values()) / 1e9 for place in (1, 2))
        print("{0}, {1:.2f} of {2:.2f} GB in {3} layers".format(row.get("status", "").lower(), done, total, len(layers)), flush=True)
"""


class ImageError(NpufleetError):
    """The image cannot be brought to the host."""


class Fetching:
    """One image of one host. The job lies in ``home``/images, under the hash of the name."""

    def __init__(self, container: Container, home: str, python: str, docker: Docker, job: t.Optional[Job] = None) -> None:
        self._container = container
        self._docker = docker
        self._python = python
        self._folder = os.path.join(home.rstrip("/"), "images", hashlib.sha256(container.image.encode()).hexdigest()[:16])
        self._job = job or Job(self._folder)

    def present(self) -> bool:
        """Whether the host has the image."""
        return self._docker.ask("inspect_image", self._container.image, missing_ok=True) is not None

    def begin(self) -> None:
        """Start the job where none was begun. What an earlier one has to say, watch() tells."""
        if self._job.status().state == "none":
            make_folders(os.path.dirname(self._folder))
            self._job.start(self._script(), "image")

    def clean(self) -> None:
        """Forget a job that is over."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _script(self) -> str:
        container = self._container
        archive = container.archive if container.archive and os.path.isfile(container.archive) else ""
        words = [self._python, "-c", FETCH_SOURCE, container.docker_host, container.image, archive]
        return "exec {0}\n".format(" ".join(shlex.quote(word) for word in words))

    def watch(
        self, now: t.Callable[[], float], sleep: t.Callable[[float], None], slice_seconds: float, timeout: float
    ) -> t.Optional[JobStatus]:
        """Watch the job for a slice. Return its status while it runs, None once the image is there.

        :raises ImageError: it failed, or is not finished after ``timeout`` seconds; the next call begins anew
        """
        status, overdue = watch(self._job, Clock(now, sleep), slice_seconds, timeout)
        if overdue:
            raise self._failure("is not here after {0:.0f} s".format(status.seconds), status)
        if status.state == "running":
            return status
        if status.rc != 0 or not self.present():
            raise self._failure("cannot be had", status)
        return None

    def _failure(self, how: str, status: JobStatus) -> ImageError:
        self.clean()
        said = status.last_line or ("the archive holds another image" if status.rc == 0 else "the job was killed")
        return ImageError(
            "the image {0} {1}: {2}".format(self._container.image, how, said),
            where=self._container.archive or self._container.docker_host,
            remedy="Look at name, registry and login (docker login) or the archive, and run again: layers that are here are not fetched again",
        )


def fetch_image(
    fetching: Fetching,
    now: t.Callable[[], float],
    sleep: t.Callable[[float], None],
    params: t.Mapping[str, t.Any],
    check_mode: bool,
) -> t.Dict[str, t.Any]:
    """Do the work of ``state: fetched`` and return the result of the module. No engine is looked at.

    :raises NpufleetError: the image cannot be had, or there is no container engine
    """
    warn: t.List[str] = []
    try:
        present = fetching.present()
    except UnreachableError as exc:
        if not check_mode:
            raise
        warn.append(str(exc))
        present = False
    status = None
    if not present and not check_mode:
        fetching.begin()
        status = fetching.watch(now, sleep, params["wait_slice"], params["wait_timeout"])
    if status is None and not check_mode:
        fetching.clean()
    image = params["container"]["image"]
    return {
        "changed": not present,
        "engine": {"name": params["name"], "action": "keep" if present else "fetch", "runtime": "docker"},
        "diff": {"before": "image: {0}\n".format(image if present else "absent"), "after": "image: {0}\n".format(image)},
        "pending": status is not None,
        "progress": status.last_line if status else "",
        "seconds": round(status.seconds, 1) if status else 0.0,
        "warn": warn,
    }
