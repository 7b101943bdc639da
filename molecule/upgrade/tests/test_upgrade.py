# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Upgrades, rollback, a crash and scaling while clients ask: no request is lost but those of a killed engine. Each test goes on from the one before."""

from __future__ import annotations

import json
import time

import pytest

testinfra_hosts = ["local://"]

NAME = "tiny"
SERVERS = {"engine-a", "engine-b"}
# In the place of those of the inventory: a larger batch.
BETTER = {"shutdown_timeout": 30, "max_num_seqs": 16}
# vLLM's parser takes it, and its configuration does not: fewer tokens in a step than sequences.
BROKEN = dict(BETTER, max_num_batched_tokens=8, enable_chunked_prefill=False)
REFUSED = "no other one serves at the gateway gateway, so that clients would get 503"
# A host whose engine is taken away.
WITHOUT_B = {"engines": {"hosts": {"engine-b": {"vllm_engine_state": "absent"}}}}


def pids(engines):
    return {name: place.pid(NAME) for name, place in engines.items()}


def batch_size(place):
    """The value of --max-num-seqs with which the engine runs."""
    words = place.root.check_output("tr '\\0' ' ' < /proc/{0}/cmdline".format(place.pid(NAME))).split()
    return int(words[words.index("--max-num-seqs") + 1])


def history(place):
    return json.loads(place.root.file(place.folder(NAME) + "/history.json").content_string)


@pytest.fixture
def serving(run_module):
    """Names of the engines that the gateway sends requests to."""

    def look():
        rows = run_module("gateway", "npufleet.ascend.gateway_server")["servers"]
        return {row["name"] for row in rows if (row["state"], row["operational"]) == ("ready", "up")}

    return look


def away(rows, name):
    """The longest time without a request of an engine, in seconds."""
    mine = sorted((row["began"], row["ended"]) for row in rows if row["engine"] == name)
    return max(later[0] - earlier[1] for earlier, later in zip(mine, mine[1:]))


def test_check_mode_touches_nothing(engines, play):
    before = pids(engines)
    done = play("upgrade", "--check", vllm_engine_args=BETTER)
    assert done.code == 0, done.output[-6000:]
    assert all(done.changed()[name] for name in engines)
    assert "--max-num-seqs" in done.output and pids(engines) == before


def test_an_upgrade_loses_no_request(gateway, engines, play, serving):
    before, since = pids(engines), time.time()
    with gateway.load() as load:
        done = play("upgrade", vllm_engine_args=BETTER)
    assert done.code == 0, done.output[-6000:]
    assert load.failed() == []
    rows = gateway.requests(since)
    assert {row["engine"] for row in rows} == SERVERS and {(row["status"], row["end"]) for row in rows} == {(200, "--")}
    for name, place in engines.items():
        assert (place.pid(NAME) not in (0, before[name]), batch_size(place)) == (True, 16)
        print("    {0} was away for {1:.0f} s".format(name, away(rows, name)))
    assert serving() == SERVERS


def test_a_second_upgrade_changes_nothing(engines, play):
    before = pids(engines)
    done = play("upgrade", vllm_engine_args=BETTER)
    assert (done.code, set(done.changed().values())) == (0, {0}), done.output[-6000:]
    assert pids(engines) == before


def test_an_interrupted_upgrade_is_finished_by_the_next(engines, play, run_module, serving):
    """Whoever interrupts a run between the new engine and its return leaves it drained."""
    before = pids(engines)
    run_module("gateway", "npufleet.ascend.gateway_server", server="engine-a", state="drain")
    assert serving() == {"engine-b"}
    done = play("upgrade", vllm_engine_args=BETTER)
    assert (done.code, done.changed()["engine-a"], done.changed()["engine-b"]) == (0, 1, 0), done.output[-6000:]
    assert serving() == SERVERS and pids(engines) == before


@pytest.mark.parametrize(("playbook", "args"), [("upgrade", BROKEN), ("rollback", BETTER)], ids=["upgrade", "rollback"])
def test_the_last_one_that_serves_is_not_taken_away(engines, play, run_module, serving, playbook, args):
    """The other engine is there, but somebody has drained it."""
    before = pids(engines)
    run_module("gateway", "npufleet.ascend.gateway_server", server="engine-b", state="drain")
    done = play(playbook, vllm_engine_args=args)
    run_module("gateway", "npufleet.ascend.gateway_server", server="engine-b", state="ready")
    assert done.code != 0 and REFUSED in done.output, done.output[-3000:]
    assert "vllm_engine_replace=true" in done.output
    assert (pids(engines), serving()) == (before, SERVERS)


def test_a_bad_version_goes_back_by_itself(gateway, engines, play, serving):
    before, since = pids(engines), time.time()
    known = history(engines["engine-a"])
    with gateway.load() as load:
        done = play("upgrade", vllm_engine_args=BROKEN)
    assert done.code != 0
    assert load.failed() == []
    assert "The engine tiny is as it was before and serves, since the new one failed" in done.output
    assert "max_num_batched_tokens" in done.output.partition("since the new one failed")[2][:600]
    assert engines["engine-b"].pid(NAME) == before["engine-b"], "the second must not be touched"
    assert engines["engine-a"].pid(NAME) not in (0, before["engine-a"]) and batch_size(engines["engine-a"]) == 16
    assert history(engines["engine-a"]) == known
    print("    engine-a was away for {0:.0f} s".format(away(gateway.requests(since), "engine-a")))
    assert serving() == SERVERS


def test_rollback_returns_to_the_spec_before(gateway, engines, play, serving):
    with gateway.load() as load:
        done = play("rollback")
    assert done.code == 0, done.output[-6000:]
    assert load.failed() == []
    assert [batch_size(place) for place in engines.values()] == [8, 8]
    assert serving() == SERVERS
    before = pids(engines)
    again = play("rollback")
    assert (again.code, set(again.changed().values())) == (0, {0}), again.output[-6000:]
    assert pids(engines) == before


def test_a_killed_engine_loses_its_own_requests_only(gateway, engines, serving):
    since, place = time.time(), engines["engine-a"]
    old = place.pid(NAME)
    with gateway.load() as load:
        killed = time.time()
        place.root.check_output("kill -KILL {0}".format(old))
        deadline = time.monotonic() + 400
        while serving() != SERVERS or place.pid(NAME) in (0, old):
            assert time.monotonic() < deadline, gateway.journal(killed)[-5:]
            print("    {0:.0f} s, engine-a is away".format(time.time() - killed), flush=True)
            time.sleep(3)
        back = time.time()
        while not any(row["engine"] == "engine-a" for row in gateway.requests(back)):
            assert time.monotonic() < deadline, "no request for the engine that is back"
            time.sleep(1)
    news = [(when, text) for when, text in gateway.journal(since) if "engine-a is" in text]
    down = min(when for when, text in news if "is DOWN" in text)
    up = min(when for when, text in news if "is UP" in text)
    assert killed - 1 < down < killed + 15 and down < up
    rows = gateway.requests(since)
    late = [row for row in rows if row["engine"] == "engine-a" and down + 0.1 < row["began"] < up - 0.1]
    assert late == [], "sent to an engine that is down"
    lost = [row for row in rows if (row["status"], row["end"]) != (200, "--")]
    assert all(row["engine"] == "engine-a" and row["began"] < down + 0.1 for row in lost), lost
    assert len(load.failed()) == len(lost), load.failed()
    print("    {0} requests were in flight on the killed engine; it was away for {1:.0f} s".format(len(lost), up - down))


def test_taking_an_engine_away_touches_no_other(gateway, engines, play, run_module, serving):
    pid = engines["engine-a"].pid(NAME)
    with gateway.load() as load:
        assert run_module("gateway", "npufleet.ascend.gateway_server", server="engine-b", state="drain")["changed"]
        taken = play("gateway", inventory=WITHOUT_B)
        removed = play("site", "--limit", "engine-b", inventory=WITHOUT_B)
    assert (taken.code, removed.code) == (0, 0), taken.output[-3000:] + removed.output[-3000:]
    assert load.failed() == []
    assert serving() == {"engine-a"}
    assert engines["engine-b"].unit(NAME, "LoadState") == "not-found"
    assert engines["engine-a"].pid(NAME) == pid


def test_the_only_engine_is_not_taken_away(engines, play, serving):
    before = engines["engine-a"].pid(NAME)
    done = play("upgrade", inventory=WITHOUT_B, vllm_engine_args=BETTER)
    assert done.code != 0 and REFUSED in done.output, done.output[-3000:]
    assert (engines["engine-a"].pid(NAME), serving()) == (before, {"engine-a"})


def test_adding_an_engine_touches_no_other(gateway, engines, play, serving):
    pid, since = engines["engine-a"].pid(NAME), time.time()
    with gateway.load() as load:
        added = play("site", "--limit", "engine-b")
        known = play("gateway")
    assert (added.code, known.code) == (0, 0), added.output[-3000:] + known.output[-3000:]
    assert load.failed() == []
    assert serving() == SERVERS
    assert engines["engine-a"].pid(NAME) == pid
    with gateway.load():
        pass
    assert "engine-b" in {row["engine"] for row in gateway.requests(since)}
    # All that was brought is what the inventory says.
    assert set(play("site").changed().values()) == {0} and set(play("gateway").changed().values()) == {0}


def test_no_key_shows(gateway, engines, variables, secrets):
    """Process lists, journals, configuration, what is kept of an engine; the fixture play looks at the output of every run."""
    for host in [gateway.host, *(place.root for place in engines.values())]:
        seen = host.check_output("ps axww -o args") + host.check_output("journalctl --no-pager --all --output=json | cat")
        assert [secret for secret in secrets if secret in seen] == []
    assert [secret for secret in secrets if secret in gateway.host.file("/etc/npufleet-gateway/haproxy.cfg").content_string] == []
    for place in engines.values():
        where = place.root.run("grep -rlF -e %s -e %s {0} /etc/systemd".format(place.home), *secrets).stdout.split()
        assert not any(path.endswith((".json", ".service", ".log")) for path in where), where
        modes = {place.root.file(path).mode for path in where}
        assert modes == {0o600}, where
