# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""vllm-router between the door and the engines: on, used, drained around, killed, and off again. One test goes on where the one before ended."""

from __future__ import annotations

import json
import random
import threading

import openai
import pytest
from gateway_door import ALICE

ENGINE_KEY = "sk-engine-'\"$HOME`%n\\t#;{}[]"
OTHER = {"one": "two", "two": "one"}
UNIT = "/etc/systemd/system/npufleet-router.service"
CHAT = "https://127.0.0.1:8443/v1/chat/completions"


def text(seed, size=3000):
    return "".join(random.Random(seed).choices("abcdefgh ", k=size))


def talk(seed, turns=0):
    """A conversation with a beginning of its own."""
    messages = [{"role": "system", "content": text(seed)}, {"role": "user", "content": "What is an NPU?"}]
    for turn in range(turns):
        messages += [
            {"role": "assistant", "content": text("{0} {1}".format(seed, turn), 200)},
            {"role": "user", "content": "And number {0}?".format(turn)},
        ]
    return messages


def ask(door, messages):
    """Name of the engine that answered."""
    answer = door.client().chat.completions.create(model="tiny", messages=messages, max_tokens=1)
    return answer.choices[0].message.content.strip()


def share(door, first):
    """How many of the later turns went to the engine that had the first one, and which engines those were."""
    seeds = range(first, first + 12)
    streams = [door.stream(20, messages=talk(seed)) for seed in seeds]
    homes = [stream.engine() for stream in streams]
    for stream in streams:
        stream.check()
    hits = [ask(door, talk(seed, turns)) == home for seed, home in zip(seeds, homes) for turns in (1, 2)]
    return sum(hits) / len(hits), homes


def router_is(server, operational):
    rows = server("router", backend="router").get("servers", [{}])
    return rows[0].get("operational") == operational


def test_on_and_the_same_beginning_gets_the_same_engine(door, converge):
    without, _homes = share(door, 100)
    stream = door.stream(600)
    done = converge(vllm_gateway_router=True)
    assert done.returncode == 0, done.stdout[-3000:]
    within, homes = share(door, 200)
    print("share of later turns at the engine of the first one: {0:.2f} without the router, {1:.2f} with it".format(without, within))
    assert within == 1 and without < 0.85
    assert sorted(homes) == ["one"] * 6 + ["two"] * 6
    stream.check()


def test_a_second_run_changes_nothing(converge):
    done = converge(vllm_gateway_router=True)
    assert done.returncode == 0 and "changed=0" in done.stdout, done.stdout[-3000:]


def test_nobody_else_talks_to_the_router_and_it_knows_no_key(door):
    host = door.host
    pid = host.check_output("systemctl show -p MainPID --value npufleet-router")
    assert host.check_output("ps -o user= -p %s", pid).strip() not in ("root", "haproxy")
    said = host.check_output("tr '\\0' '\\n' < /proc/{0}/cmdline; tr '\\0' '\\n' < /proc/{0}/environ; cat {1}".format(pid, UNIT))
    inner = host.file("/etc/npufleet-gateway/inner.map").content_string.split()[1]
    for key in (ALICE, ENGINE_KEY, inner):
        assert key not in said + host.check_output("journalctl --no-pager -o cat -u npufleet-router -u npufleet-gateway")
    assert door.requests("one")[-1]["authorization"] == "Bearer " + ENGINE_KEY
    assert host.file("/etc/npufleet-gateway/inner.map").mode == 0o600
    code = "curl -s -o /dev/null -w '%{{http_code}}' {0}"
    assert host.check_output(code.format("127.0.0.1:8406/list_workers")) == "401"
    assert host.check_output(code.format("-X POST '127.0.0.1:8406/add_worker?url=http://127.0.0.1:9'")) == "401"
    assert host.check_output(code.format("127.0.0.1:8407/to/one/v1/models")) == "403"
    for port in (8406, 8407, 8408):
        assert host.run("curl -s -m 3 http://{0}:{1}/".format(door.address, port)).rc == 7


def test_a_routed_request_looks_like_any_other(door, wait_for):
    """Tokens one by one, no headers of the router, errors in the format of OpenAI, and a client that leaves ends its request."""
    stream = door.stream(60, messages=talk(300))
    assert len(stream.words) < 30
    stream.check()
    raw = door.client().chat.completions.with_raw_response.create(model="tiny", messages=talk(300), max_tokens=1)
    names = {name.lower() for name in raw.headers}
    assert not [name for name in names if name.startswith(("access-control", "x-npufleet"))] and "vary" not in names
    with pytest.raises(openai.BadRequestError) as caught:
        door.client().chat.completions.create(model="tiny", messages=talk(300), extra_body={"temperature": "hot"})
    assert caught.value.response.json()["error"]["code"] == "bad_request"
    line = json.loads(
        [line for line in door.host.check_output("journalctl -u npufleet-gateway -o cat -n 50").splitlines() if '"routed":"' in line][-1]
    )
    assert line["engine"] == "router" and line["client"] == "alice"
    assert ask(door, [{"role": "user", "content": "short"}]) in OTHER
    assert '"engine":"router"' not in door.host.check_output("journalctl -u npufleet-gateway -o cat -n 1")
    before = sum(line["event"] == "aborted" for name in OTHER for line in door.log(name))
    for streamed in (True, False):
        body = json.dumps({"model": "tiny", "messages": talk(301), "max_tokens": 400, "stream": streamed})
        door.host.run("curl -sk -m 1 -H %s -H 'Content-Type: application/json' -d %s %s", "Authorization: Bearer " + ALICE, body, CHAT)
    wait_for(lambda: sum(line["event"] == "aborted" for name in OTHER for line in door.log(name)) == before + 2, 10)


def test_a_drained_engine_gets_nothing_from_the_router(door, server):
    """Streams of both engines end well, clients notice nothing, and the router's choice does not count, also after a reload."""
    streams = [door.stream(200, messages=talk(seed)) for seed in range(400, 408)]
    ended, failed = threading.Event(), []

    def clients():
        seed = 400
        while not ended.is_set():
            try:
                ask(door, talk(400 + seed % 8, 1))
            except openai.OpenAIError as exc:
                failed.append(exc)
            seed += 1

    thread = threading.Thread(target=clients)
    thread.start()
    done = server("one", state="drain", wait_timeout=60)
    ended.set()
    thread.join()
    for stream in streams:
        stream.check()
    assert not done.get("failed") and not failed and {stream.engine() for stream in streams} == {"one", "two"}
    begun = len(door.requests("one"))
    assert {ask(door, talk(seed, 1)) for seed in range(400, 408)} == {"two"}
    door.host.check_output("systemctl reload npufleet-gateway")
    assert {ask(door, talk(seed, 2)) for seed in range(400, 408)} == {"two"}
    assert len(door.requests("one")) == begun
    assert not server("one", state="ready", wait_timeout=20).get("failed")


def test_a_killed_router_is_done_without_and_comes_back(door, server, wait_for):
    wait_for(lambda: router_is(server, "up"), 20)
    door.host.check_output(
        "pid=$(systemctl show -p MainPID --value npufleet-router); systemctl kill -s KILL npufleet-router; while kill -0 $pid 2>/dev/null; do :; done"
    )
    assert {ask(door, talk(seed)) for seed in range(500, 506)} <= set(OTHER)
    wait_for(lambda: router_is(server, "up"), 30)
    ask(door, talk(500))
    assert '"engine":"router"' in door.host.check_output("journalctl -u npufleet-gateway -o cat -n 1")


def test_off_again_while_streams_go_through_it(door, converge, wait_for):
    stream = door.stream(900, messages=talk(600))
    done = converge()
    assert done.returncode == 0, done.stdout[-3000:]
    assert stream.is_alive() and ask(door, talk(600, 1)) in OTHER
    stream.check()
    wait_for(lambda: not door.host.run("pgrep -f '[r]outer.py'").stdout, 20)
    assert not door.host.file(UNIT).exists and not door.host.file("/etc/npufleet-gateway/inner.map").exists
    assert not door.host.run("ls -d /usr/local/lib/npufleet-gateway/router-*").stdout
    assert "router" not in door.config()
