# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Fixtures: the servers, the store, and plays of one layer on one server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import typing as t

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from upgrade import Play, Server, Store

SERVERS = ("ubuntu-a2", "openeuler-a2")
WATCHER = os.path.join(HERE, "watch_host.py")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """All tests of a server go to one process, in their order. (The groups of pytest-xdist 3.8.0 have no effect under pytest 9.2.)"""
    from xdist.scheduler import LoadScopeScheduling

    class ByServer(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return next(name for name in SERVERS if name in nodeid)

    return ByServer(config, log)


@pytest.fixture(scope="session")
def servers(variables):
    """All servers, by name."""
    hosts = variables["molecule"]["hosts"]
    return {name: Server(name, hosts[name]["ansible_host"]) for name in variables["engines"]["hosts"]}


@pytest.fixture(scope="session")
def _store(variables):
    return Store(variables["molecule"]["hosts"]["files"]["ansible_host"])


@pytest.fixture(params=SERVERS)
def server(request, servers):
    """Each of them, as it is."""
    return servers[request.param]


@pytest.fixture
def store(_store):
    """The store, without faults after the test."""
    yield _store
    _store.fault()


def _checked(server):
    server.fault()
    yield server
    server.fault()


@pytest.fixture(params=SERVERS[:1])
def ubuntu(request, servers):
    """A server whose stand-ins do well again after the test. A parameter, so that the name of the test has the server."""
    yield from _checked(servers[request.param])


@pytest.fixture(params=SERVERS[1:])
def openeuler(request, servers):
    """The other one."""
    yield from _checked(servers[request.param])


@pytest.fixture
def begin(tmp_path):
    """Start prepare.yml for one layer on one server, or for all of them."""
    logs = []

    def begin(server: t.Optional[Server], layer: str, **variables: t.Any) -> Play:
        logs.append(str(tmp_path / "play-{0}.log".format(len(logs))))
        words = ["--limit", "localhost," + server.name] if server else []
        if layer:
            variables["npufleet_layers"] = [layer]
        inventory = os.path.join(os.environ["MOLECULE_SCENARIO_DIRECTORY"], "inventory")
        return Play(["ansible-playbook", "-i", inventory, "npufleet.ascend.prepare", *words, "-e", json.dumps(variables)], logs[-1])

    return begin


@pytest.fixture
def prepare(begin):
    """The same, to its end."""
    return lambda *words, **variables: begin(*words, **variables).end()


@pytest.fixture
def watch():
    """Wait on a server for an event, and do there what watch_host.py can do at that moment; return the ids of the processes that it froze."""

    def watch(
        server: Server, play: Play, event: t.Mapping[str, t.Any], freeze: bool = False, installer: bool = False, seconds: float = 90
    ) -> t.List[int]:
        words = json.dumps(dict(event, freeze=freeze, installer=installer, seconds=seconds, since=len(server.lines())))
        argv = ["docker", "exec", "--interactive", server.container, "python3", "-", words]
        with open(WATCHER, encoding="utf-8") as script:
            watcher = subprocess.Popen(argv, stdin=script, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        pid = watcher.stdout.readline().strip()
        while watcher.poll() is None and not play.has_ended():
            time.sleep(0.02)
        if watcher.poll() is None and "boot" not in event:
            # The end of `docker exec` is not the end of what it runs, and that would freeze the next play.
            server.sh("kill -9 {0} || true".format(pid))
        watcher.kill()
        said = watcher.communicate()[0]
        if "boot" in event:  # the watcher ends with the container
            return []
        assert '"seen"' in said, said + (play.end().stdout if play.has_ended() else "the play still runs")
        return json.loads(said)["frozen"]

    return watch
