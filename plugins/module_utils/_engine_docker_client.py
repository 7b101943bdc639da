# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""A connection to Docker Engine, or to Podman's socket, and its refusals in the words of this collection."""

from __future__ import annotations

import importlib
import sys
import traceback
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._engine_log import match
from ansible_collections.npufleet.ascend.plugins.module_utils._service import MANAGER_SECONDS, RuntimeAdapterError, UnreachableError

# The Docker SDK for Python, the one library that a host needs beyond Python's own, and only for containers.
LIBRARY = "docker"
try:
    _docker: t.Any = importlib.import_module(LIBRARY)
    IMPORT_ERROR: t.Optional[str] = None
except ImportError:
    _docker = None
    IMPORT_ERROR = traceback.format_exc()

NOT_FOUND = 404
# What docker before 7.1 says with requests 2.32 and newer (docker/docker-py #3256), and docker 5.0.3 with urllib3 2 (tried).
MISFITS = ("http+docker", "unexpected keyword argument")


def connect(docker_host: str, library: t.Any = None) -> t.Any:
    """Return the low-level client of the SDK, its API version negotiated.

    :param library: the SDK, for tests
    :raises UnreachableError: there is no library, or nobody answers
    """
    library = library or _docker
    if library is None:
        raise UnreachableError(
            "the Python library {0} is not installed on this host".format(LIBRARY),
            where=sys.executable,
            remedy="Install the package python3-docker, or docker from PyPI, for this interpreter; vllm_engine_install_prerequisites: true installs it",
        )
    try:
        return library.APIClient(base_url=docker_host, version="auto", timeout=int(MANAGER_SECONDS))
    except Exception as exc:  # the SDK lets errors of requests and of urllib3 through
        fits = not any(words in str(exc) for words in MISFITS)
        raise UnreachableError(
            "no container engine answers: {0}".format(exc),
            where=docker_host if fits else sys.executable,
            remedy="Start Docker (role container_runtime), run as root (become), or give the socket of Podman in container.docker_host"
            if fits
            else "The libraries docker, requests and urllib3 do not fit each other: use python3-docker alone, or the newest docker from PyPI",
        ) from exc


class Docker:
    """Calls of the low-level client, connected when the first one is made. A refusal becomes a RuntimeAdapterError."""

    def __init__(self, docker_host: str, connector: t.Callable[[str], t.Any] = connect) -> None:
        self._docker_host = docker_host
        self._connector = connector
        self._client: t.Any = None

    @property
    def client(self) -> t.Any:
        if self._client is None:
            self._client = self._connector(self._docker_host)
        return self._client

    def ask(self, method: str, *args: t.Any, missing_ok: bool = False, **options: t.Any) -> t.Any:
        """Call a method of the client.

        :param missing_ok: give None where there is no such container, image or network
        :raises RuntimeAdapterError: with the engine's own words, and the failure signature that fits them
        """
        call = getattr(self.client, method)
        try:
            return call(*args, **options)
        except Exception as exc:  # the SDK lets errors of requests and of urllib3 through
            status = getattr(exc, "status_code", None)
            if missing_ok and status == NOT_FOUND:
                return None
            raise self._refusal(method, exc, status) from exc

    def load(self, path: str, seconds: int) -> None:
        """Load an archive of ``docker save``, plain or compressed.

        :param seconds: longest silence of the engine
        :raises RuntimeAdapterError: it is damaged, or no such archive
        :raises OSError: it cannot be read
        """
        usual, self.client.timeout = self.client.timeout, seconds
        try:
            with open(path, "rb") as archive:
                for row in self.ask("load_image", archive) or ():
                    if "error" in row:
                        raise RuntimeAdapterError(
                            "the archive cannot be loaded: {0}".format(row["error"]), where=path, remedy="Copy it again, or make it anew"
                        )
        finally:
            self.client.timeout = usual

    def _refusal(self, method: str, exc: Exception, status: t.Any) -> RuntimeAdapterError:
        said = str(getattr(exc, "explanation", None) or exc)
        rows = match([said])
        if rows:
            remedy = "{0} {1} [{2}; {3}]".format(rows[0].cause, rows[0].remedy, rows[0].id, rows[0].source)
        else:
            remedy = "Correct what it names" if status else "Look whether the engine runs, and at its log"
        verb = "refused" if status else "did not answer"
        return RuntimeAdapterError("the container engine {0} {1}: {2}".format(verb, method, said), where=self._docker_host, remedy=remedy)
