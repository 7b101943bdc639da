# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""playbooks/upgrade.yml and rollback.yml with a real vLLM engine of two hosts, behind a real HAProxy and with clients that stream.

The engine that answers meanwhile is a stand-in, since two cores start two vLLM processes slowly enough. Each test goes on from the one before.
By hand, as it takes half an hour: NPUFLEET_E2E_SYSTEMD=1 .venv/bin/python -m pytest tests/e2e/test_group_upgrade.py -q -s
"""

from __future__ import annotations

import collections
import datetime
import http.client
import json
import os
import pathlib
import re
import subprocess
import time
import typing as t

import gateway_host
import pytest
from functional_host import free_port
from group_fleet import ADDRESS, BIN, HEAD, MEMBER, PORT, ROOT, Fleet, Recap, docker, fleet_of, inspect, pids
from streaming_clients import TOKENS, Clients

MODEL = "tiny-qwen2"
# The engine that is left alone.
OTHER = "npu-03"
BETTER = {"max_num_seqs": 16}
# Of a new version: vLLM's parser takes what the member gets besides, and its configuration does not, as a step has less than one token for a sequence.
BROKEN = {"max_num_seqs": 32}
BROKEN_MEMBER = {"max_num_batched_tokens": 8}
# The tests in "functional" may run at the same time.
gateway_host.NAME = "npufleet-e2e-group-gateway"


class WaitingClients(Clients):
    """vLLM sends what it has by then, which may be several tokens at once, and the first answer of a rank takes long."""

    def _ask(self) -> str:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=120)
        body = {"model": MODEL, "prompt": "What is an NPU?", "max_tokens": TOKENS, "ignore_eos": True, "stream": True}
        try:
            connection.request("POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"})
            response = connection.getresponse()
            text = response.read().decode()
        finally:
            connection.close()
        if response.status != 200:
            return f"{response.status}: {text[:200]}"
        return "" if text.endswith("data: [DONE]\n\n") and re.search(r'"finish_reason": ?"length"', text) else "cut off: " + text[-200:]


class Answered(t.NamedTuple):
    """A request, as HAProxy has noted it. ``end`` is "--" for one that came whole."""

    when: float
    status: str
    engine: str
    end: str


class UpgradedFleet(Fleet):
    """The group, another engine, and their gateway."""

    def __init__(self, folder: pathlib.Path) -> None:
        super().__init__(folder)
        self.other_port = free_port()
        self.gateway: t.Optional[gateway_host.GatewayHost] = None

    def begin(self) -> None:
        super().begin()
        make = str(ROOT / "molecule/shared/standin_engine/make_standin.py")
        subprocess.run([str(BIN / "python"), make, str(self.folder / OTHER / "venv")], check=True)
        self.gateway = gateway_host.GatewayHost(self.folder, {HEAD: PORT, OTHER: self.other_port})

    def end(self) -> None:
        docker("rm", "--force", gateway_host.NAME, check=False)
        if (self.folder / OTHER / "supervisor").exists():
            home = self.folder / OTHER
            self.module("vllm_engine", f"name=q state=absent runtime=supervisor home={home} venv={home}/venv model={self.model(MODEL)}")
        super().end()

    def other(self) -> t.Dict[str, t.Any]:
        return {
            "ansible_connection": "local",
            "ansible_python_interpreter": str(BIN / "python"),
            "vllm_engine_args": {"max_model_len": 512},
            "vllm_engine_home": str(self.folder / OTHER),
            "vllm_engine_install": False,
            "vllm_engine_port": self.other_port,
            "vllm_engine_runtime": "supervisor",
            "vllm_engine_venv": str(self.folder / OTHER / "venv"),
        }

    def playbook(
        self, name: str, args: t.Dict[str, t.Any], *options: str, member: t.Optional[dict] = None, ok: t.Optional[bool] = True
    ) -> Recap:
        """What an operator types, with ``args`` in the inventory; ``member`` are options of that one host."""
        assert self.gateway is not None
        common = dict(self.common(MODEL, args), vllm_engine_drain_timeout=300)
        engines = {"hosts": dict(self.hosts("dp", member), **{OTHER: self.other()}), "vars": common}
        inventory = self.inventory({"engines": engines, "gateways": {"hosts": {"gateway": self.gateway.variables()}}})
        began = time.monotonic()
        self.run(str(BIN / "ansible-playbook"), "-i", inventory, f"playbooks/{name}.yml", *options, ok=ok)
        load = os.getloadavg()[1]
        print(f"    {name}.yml took {time.monotonic() - began:.0f} s; load {load:.1f}", flush=True)
        return self.recap()

    def clients(self) -> WaitingClients:
        assert self.gateway is not None
        return WaitingClients(self.gateway.port, MODEL)

    def serving(self) -> t.Set[str]:
        assert self.gateway is not None
        return self.gateway.serving()

    def answered(self, since: float) -> t.List[Answered]:
        """Requests that have ended since then."""
        found = []
        for line in docker("logs", "--timestamps", "--since", f"{since:.3f}", gateway_host.NAME).splitlines():
            row = re.search(r"^(\S+?)\d{3}Z .*?(\d{3}|-1) (\S+) (\S\S)$", line)
            if row:
                when = datetime.datetime.fromisoformat(row[1]).replace(tzinfo=datetime.timezone.utc).timestamp()
                found.append(Answered(when, *row.groups()[1:]))
        return found

    def wait_for_answers(self) -> None:
        """Of the group, from now on; so many that each of its ranks has given some."""
        since = time.time()
        while sum(row.engine == HEAD for row in self.answered(since)) < 12:
            assert time.time() - since < 300, self.answered(since)
            time.sleep(1)


def away(rows: t.List[Answered]) -> float:
    """The longest time in which the group has answered nothing, in seconds."""
    mine = sorted(row.when for row in rows if row.engine == HEAD)
    return max(later - earlier for earlier, later in zip(mine, mine[1:]))


def nothing_lost(rows: t.List[Answered]) -> None:
    """As the gateway saw it: both engines have answered, all of it whole."""
    counts = collections.Counter((row.engine, row.status, row.end) for row in rows)
    print(f"    the gateway: {dict(counts)}; the group answered nothing for {away(rows):.0f} s", flush=True)
    assert set(counts) == {(HEAD, "200", "--"), (OTHER, "200", "--")}, counts


def specs() -> t.Dict[str, int]:
    """The value of --max-num-seqs by which each part runs."""
    words = {host: inspect(host)["Args"] for host in ADDRESS}
    return {host: int(row[row.index("--max-num-seqs") + 1]) for host, row in words.items()}


def changed(recap: Recap) -> t.Set[str]:
    return {host for host, counts in recap.items() if counts["changed"]}


@pytest.fixture(scope="module")
def fleet() -> t.Iterator[UpgradedFleet]:
    yield from fleet_of(UpgradedFleet)


BOTH = {HEAD, OTHER}


def test_engines_that_are_not_there_yet_are_launched(fleet: UpgradedFleet) -> None:
    assert changed(fleet.playbook("upgrade", {})) == {HEAD, MEMBER, OTHER}
    assert specs() == {HEAD: 8, MEMBER: 8} and fleet.serving() == BOTH


def test_an_upgrade_replaces_the_whole_engine_and_loses_no_request(fleet: UpgradedFleet) -> None:
    before, since = pids(), time.time()
    with fleet.clients() as clients:
        recap = fleet.playbook("upgrade", BETTER)
        fleet.wait_for_answers()
    assert clients.failed() == []
    nothing_lost(fleet.answered(since))
    assert changed(recap) == {HEAD, MEMBER} and specs() == {HEAD: 16, MEMBER: 16}
    assert not set(pids().values()) & {*before.values(), 0} and fleet.serving() == BOTH
    # Since it is new.
    finished = fleet.requests_of_engines()
    assert set(finished) == {"0", "1"} and min(finished.values()) > 0, finished


def test_a_second_upgrade_changes_nothing(fleet: UpgradedFleet) -> None:
    before = {host: inspect(host)["Id"] for host in ADDRESS}, pids()
    assert changed(fleet.playbook("upgrade", BETTER)) == set()
    assert ({host: inspect(host)["Id"] for host in ADDRESS}, pids()) == before


def test_a_version_that_dies_on_one_member_puts_the_whole_engine_back(fleet: UpgradedFleet) -> None:
    before, since = pids(), time.time()
    with fleet.clients() as clients:
        fleet.playbook("upgrade", BROKEN, member=BROKEN_MEMBER, ok=False)
        fleet.wait_for_answers()
    assert clients.failed() == []
    nothing_lost(fleet.answered(since))
    assert f"The engine q is as it was before and serves on {HEAD}, {MEMBER}, since the new one failed" in fleet.output, fleet.output
    assert f"it failed on {MEMBER}" in fleet.output and "max_num_batched_tokens" in fleet.output
    assert specs() == {HEAD: 16, MEMBER: 16} and not set(pids().values()) & {*before.values(), 0}
    assert fleet.serving() == BOTH and fleet.text(MODEL, "Again:")


def test_rollback_brings_the_whole_engine_back(fleet: UpgradedFleet) -> None:
    since = time.time()
    with fleet.clients() as clients:
        recap = fleet.playbook("rollback", BETTER)
        fleet.wait_for_answers()
    assert clients.failed() == []
    nothing_lost(fleet.answered(since))
    assert changed(recap) == {HEAD, MEMBER} and specs() == {HEAD: 8, MEMBER: 8}
    assert fleet.serving() == BOTH and fleet.text(MODEL, "As before:")
    before = pids()
    assert changed(fleet.playbook("rollback", BETTER)) == set()
    assert pids() == before
