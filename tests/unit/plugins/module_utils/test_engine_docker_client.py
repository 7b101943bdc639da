# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import sys
import types

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils import _engine_docker_client
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_docker_client import Docker, connect
from ansible_collections.npufleet.ascend.plugins.module_utils._service import MANAGER_SECONDS, RuntimeAdapterError, UnreachableError
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.docker_fakes import IMAGE, ApiError, FakeDocker

SOCKET = "unix:///var/run/docker.sock"


def docker(fake):
    return Docker(SOCKET, lambda _docker_host: fake)


def test_a_client_of_the_sdk_with_a_time_limit():
    asked = {}
    library = types.SimpleNamespace(APIClient=lambda **options: asked.update(options) or "client")
    assert connect(SOCKET, library) == "client"
    assert asked == {"base_url": SOCKET, "version": "auto", "timeout": int(MANAGER_SECONDS)}


def test_a_host_without_the_library_is_told_what_to_install(monkeypatch):
    monkeypatch.setattr(_engine_docker_client, "_docker", None)
    with pytest.raises(UnreachableError, match=r"library docker is not installed.*python3-docker"):
        connect(SOCKET)


@pytest.mark.parametrize(
    ("error", "where", "remedy"),
    [
        (OSError(111, "Connection refused"), SOCKET, "container_runtime"),
        (ApiError(0, "Not supported URL scheme http+docker"), sys.executable, "do not fit each other"),
        (TypeError("request() got an unexpected keyword argument 'chunked'"), sys.executable, "do not fit each other"),
    ],
)
def test_an_engine_that_does_not_answer_is_named(error, where, remedy):
    def refuse(**_options):
        raise error

    with pytest.raises(UnreachableError) as caught:
        connect(SOCKET, types.SimpleNamespace(APIClient=refuse))
    assert str(error) in caught.value.what
    assert caught.value.where == where
    assert remedy in caught.value.remedy


def test_nobody_is_asked_before_the_first_call():
    connections = []
    one = Docker(SOCKET, lambda docker_host: connections.append(docker_host) or FakeDocker())
    assert connections == []
    assert one.ask("inspect_image", IMAGE) == one.ask("inspect_image", IMAGE)
    assert connections == [SOCKET]


def test_what_is_not_there_is_none_only_where_that_is_an_answer():
    assert docker(FakeDocker()).ask("inspect_image", "other", missing_ok=True) is None
    with pytest.raises(RuntimeAdapterError, match="refused inspect_image: No such image: other"):
        docker(FakeDocker()).ask("inspect_image", "other")


@pytest.mark.parametrize(
    ("error", "what", "remedy"),
    [
        (ApiError(409, "Conflict"), "refused start: Conflict", "Correct what it names"),
        (ApiError(500, "server error"), "refused start: server error", "Correct what it names"),
        (OSError("Read timed out"), "did not answer start: Read timed out", "Look whether the engine runs"),
        (
            ApiError(500, 'error gathering device information while adding custom device "/dev/davinci0": no such file or directory'),
            "refused start: error gathering device",
            "[",
        ),
        (ApiError(400, "unknown or invalid runtime name: ascend"), "unknown or invalid runtime name", "["),
    ],
)
def test_a_refusal_is_explained(error, what, remedy):
    fake = FakeDocker()
    fake.refuse["start"] = error
    with pytest.raises(RuntimeAdapterError) as caught:
        docker(fake).ask("start", "x", missing_ok=True)
    assert what in caught.value.what
    assert remedy in caught.value.remedy
    assert caught.value.where == SOCKET


def test_an_archive_is_loaded_with_a_limit_of_its_own(tmp_path):
    fake = FakeDocker()
    fake.archives[b"tar"] = ("new", "")
    (tmp_path / "a.tar").write_bytes(b"tar")
    docker(fake).load(str(tmp_path / "a.tar"), 3600)
    assert "new" in fake.images
    assert (fake.timeouts, fake.timeout) == ([3600], 60)


def test_an_older_engine_says_nothing_while_it_loads(tmp_path):
    fake = FakeDocker()
    fake.load_image = lambda _archive: None
    (tmp_path / "a.tar").write_bytes(b"tar")
    docker(fake).load(str(tmp_path / "a.tar"), 3600)
    assert fake.timeout == 60


def test_a_damaged_archive_is_named(tmp_path):
    fake = FakeDocker()
    fake.archives[b"ta"] = ("", "unexpected EOF")
    (tmp_path / "a.tar").write_bytes(b"ta")
    with pytest.raises(RuntimeAdapterError, match="cannot be loaded: unexpected EOF"):
        docker(fake).load(str(tmp_path / "a.tar"), 3600)
    assert fake.timeout == 60
    with pytest.raises(OSError, match="No such file"):
        docker(fake).load(str(tmp_path / "none.tar"), 3600)
