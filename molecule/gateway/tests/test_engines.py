# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Engines that are drained, killed, and all gone; streams go on meanwhile."""

from __future__ import annotations

import time

import openai
import pytest
from gateway_door import MESSAGES, NAME, PORT

STATE = "/var/lib/npufleet-gateway/servers.state"
OTHER = {"one": "two", "two": "one"}


@pytest.fixture(autouse=True)
def engines(door, server):
    """Both engines serve again after each test."""
    yield
    door.host.check_output("systemctl start engine-one engine-two")
    for name in OTHER:
        assert not server(name, state="ready", wait_timeout=20).get("failed")


def reload(door):
    door.host.check_output("systemctl reload npufleet-gateway")


def test_both_engines_work(door):
    """The engine with the fewest requests gets the next one."""
    streams = [door.stream(40) for _number in range(6)]
    engines = sorted(stream.engine() for stream in streams)
    assert engines == ["one"] * 3 + ["two"] * 3
    for stream in streams:
        stream.check()


def test_no_stream_is_cut_by_reloads(door):
    """20 streams over three reloads, while other clients come on kept and on new connections."""
    before = door.workers()
    streams = [door.stream(160) for _number in range(20)]
    client = door.client()
    for _number in range(3):
        reload(door)
        assert client.models.list().data
        assert door.client().models.list().data
    assert before < door.workers() and len(door.workers()) > len(before)
    for stream in streams:
        stream.check()


def test_check_mode_drains_nothing(door, run_tasks):
    options = {"npufleet.ascend.gateway_server": {"server": "one", "state": "drain"}}
    told, now = run_tasks([NAME], [dict(options, check_mode=True, diff=True), {"npufleet.ascend.gateway_server": {"server": "one"}}])[NAME]
    assert told["changed"] and told["diff"] == {"before": {"one": "ready"}, "after": {"one": "drain"}}
    assert now["servers"][0]["state"] == "ready" and not now["changed"]


def test_drain(door, server):
    """The running stream ends well, new requests go to the other engine, and the task ends right after the stream."""
    stream = door.stream(300)
    engine = stream.engine()
    done = server(engine, state="drain", wait_timeout=60)
    ended = time.monotonic()
    stream.check()
    assert time.monotonic() - ended < 1 and done["waited_seconds"] > 1, done
    assert done["changed"] and (done["server"]["state"], done["server"]["sessions"], done["server"]["operational"]) == ("drain", 0, "up")
    begun = len(door.requests(engine))
    for _number in range(6):
        assert (
            OTHER[engine] in door.client().chat.completions.create(model="tiny", messages=MESSAGES, max_tokens=1).choices[0].message.content
        )
    assert len(door.requests(engine)) == begun
    assert not server(engine, state="drain")["changed"]
    assert server(engine, state="ready")["changed"]


def test_a_drain_counts_streams_from_before_a_reload(door, server):
    """They live in an older process of HAProxy, of which the newer one knows nothing."""
    stream = door.stream(300)
    engine = stream.engine()
    reload(door)
    late = server(engine, state="drain", wait_timeout=1)
    assert late["failed"] and "still has 1 requests after 1 s" in late["msg"]
    assert server(engine)["servers"][0]["sessions"] == 1
    assert not server(engine, state="drain", wait_timeout=60).get("failed")
    stream.check()


def test_drained_over_reload_and_restart(door, server):
    server("two", state="drain")
    reload(door)
    assert server("two")["servers"][0]["state"] == "drain"
    door.host.check_output("systemctl restart npufleet-gateway")
    assert [row["state"] for row in server()["servers"]] == ["ready", "drain"]
    # A process that is killed tells nobody its states, and is back with those that were saved.
    server("two", state="ready")
    server("one", state="maintenance")
    door.host.check_output("systemctl kill -s KILL npufleet-gateway")
    time.sleep(3)
    assert [row["state"] for row in server()["servers"]] == ["maintenance", "ready"]


def test_another_port_counts_although_states_were_saved(door, server, converge):
    """HAProxy believes the port of its state file and not that of its configuration; servers.py sees to it."""
    server("one", state="drain")
    door.host.check_output(
        "systemd-run --unit=engine-moved sh -c 'STANDIN_KEY=\"$(cat /etc/standin-key)\" exec python3 /opt/engine.py --name moved --port 8003'"
    )
    engines = [{"name": "two", "address": "127.0.0.1", "port": 8002}, {"name": "one", "address": "127.0.0.1", "port": 8003}]
    done = converge(vllm_gateway_engines=engines)
    assert done.returncode == 0, done.stdout
    rows = {row["name"]: row for row in server()["servers"]}
    assert {name: row["address"] for name, row in rows.items()} == {"one": "127.0.0.1:8003", "two": "127.0.0.1:8002"}
    assert rows["one"]["state"] == "drain"
    assert converge().returncode == 0
    door.host.run("systemctl stop engine-moved")


def test_killed_engine(door, server, wait_for):
    """Nobody notices but the streams that it had; it gets no request after its first failed check, and is back by itself."""
    streams = [door.stream(100) for _number in range(4)]
    door.host.check_output("systemctl kill -s KILL engine-one")
    begun = len(door.requests("one"))
    answers = [door.client().completions.create(model="tiny", prompt="NPU", max_tokens=1).choices[0].text.strip() for _number in range(10)]
    assert answers == ["two"] * 10
    for stream in streams:
        if stream.engine() == "two":
            stream.check()
        else:
            stream.join(20)
            assert isinstance(stream.error, Exception)
    assert server("one")["servers"][0]["operational"] == "down"
    assert "engines/one is DOWN" in door.host.check_output("journalctl -u npufleet-gateway -o cat --no-pager")
    assert len(door.requests("one")) == begun
    door.host.check_output("systemctl start engine-one")
    wait_for(lambda: server("one")["servers"][0]["operational"] == "up", 20)
    assert {door.stream(10).engine() for _number in range(4)} == {"one", "two"}


def test_another_model_is_no_engine(door, server, wait_for):
    """An engine that answers, but serves something else, gets nothing."""
    door.host.check_output("systemctl stop engine-two")
    door.host.check_output(
        "systemd-run --unit=engine-other sh -c 'STANDIN_KEY=\"$(cat /etc/standin-key)\" exec python3 /opt/engine.py --name other --port 8002 --model tiny-2'"
    )
    time.sleep(4)
    row = server("two")["servers"][0]
    door.host.check_output("systemctl stop engine-other")
    assert (row["operational"], row["check"]) == ("down", "L7RSP"), row


def test_no_engine(door, server):
    """503 in the format of OpenAI, also as health; the module says why an engine is down."""
    door.host.check_output("systemctl stop engine-one engine-two")
    time.sleep(3)
    with pytest.raises(openai.InternalServerError) as caught:
        door.client().chat.completions.create(model="tiny", messages=MESSAGES)
    error = caught.value.response.json()["error"]
    assert (caught.value.status_code, error["code"], error["type"]) == (503, "no_engine", "server_error")
    assert door.ask("/health")[0] == 503
    late = server("one", state="ready", wait_timeout=1)
    assert late["failed"] and "is not up after 1 s (one: DOWN L4CON" in late["msg"]


def test_wrong_names(server, door):
    assert "Use one of one, two" in server("three", state="drain")["msg"]
    assert "no backend 'nobody'" in server("one", state="drain", backend="nobody")["msg"]
    assert "does not answer" in server("one", state="drain", socket="/run/nobody.sock")["msg"]


def test_the_socket_of_a_worker_does_as_well(server, door):
    row = server("one", state="drain", socket="/run/npufleet-gateway/admin.sock")["server"]
    assert (row["state"], row["address"]) == ("drain", "127.0.0.1:8001")
    assert str(PORT) not in row["address"] and door.host.file(STATE).exists
