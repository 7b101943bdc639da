# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What clients get through the door, with the official client of OpenAI, and what they do not get."""

from __future__ import annotations

import openai
import pytest
from gateway_door import ALICE, MESSAGES, PORT

BOB = "sk-molecule-'\"$HOME`%n\\t#;-bob"
ENGINE_KEY = "sk-engine-'\"$HOME`%n\\t#;{}[]"
CLOSED = [
    ("POST", "/invocations"),
    ("POST", "/pause"),
    ("POST", "/start_profile"),
    ("POST", "/v1/load_lora_adapter"),
    ("POST", "/tokenize"),
    ("GET", "/metrics"),
    ("GET", "/version"),
    ("GET", "/openapi.json"),
    ("GET", "/"),
    ("GET", "/v1/chat/completions"),
    ("POST", "/v1/models"),
    ("POST", "/v1/../invocations"),
    ("POST", "//invocations"),
    ("POST", "/%69nvocations"),
    ("POST", "/v1/completions/"),
]


def error_of(caught):
    return caught.value.status_code, caught.value.response.json()["error"]


def test_models_chat_and_completions(door):
    client = door.client()
    assert [model.id for model in client.models.list()] == ["tiny"]
    chat = client.chat.completions.create(model="tiny", messages=MESSAGES, max_tokens=3)
    assert chat.choices[0].message.content.split() in (["one"] * 3, ["two"] * 3) and chat.usage.completion_tokens == 3
    text = client.completions.create(model="tiny", prompt="NPU", max_tokens=2)
    assert len(text.choices[0].text.split()) == 2


def test_tokens_come_one_by_one(door):
    """After the first token of a stream of 3 s the last one is still to come."""
    stream = door.stream(60)
    assert len(stream.words) < 30
    stream.check()


def test_every_client_has_its_key(door):
    assert door.client(BOB).models.list().data
    for wrong in ("sk-molecule-wrong-0123456789", ALICE + "x", ALICE[:-1], ALICE.upper()):
        with pytest.raises(openai.AuthenticationError) as caught:
            door.client(wrong).models.list()
        status, error = error_of(caught)
        assert (status, error["code"], error["type"]) == (401, "invalid_api_key", "invalid_request_error")
        assert wrong not in error["message"]


@pytest.mark.parametrize("header", ["Authorization;", "Authorization: Basic x", "Authorization: Bearer", "Authorization: " + ALICE])
def test_other_headers_are_no_key(door, header):
    done = door.host.run(
        "curl -sk -o /dev/null -w '%%{http_code} %%header{www-authenticate}' -H %s https://127.0.0.1:8443/v1/models", header
    )
    assert done.stdout == "401 Bearer"


def test_the_engine_gets_its_own_key_and_never_that_of_the_client(door):
    door.client().chat.completions.create(model="tiny", messages=MESSAGES, max_tokens=1)
    seen = {line["authorization"] for name in ("one", "two") for line in door.log(name) if line["event"] == "begin"}
    assert seen == {"Bearer " + ENGINE_KEY}


@pytest.mark.parametrize(("method", "path"), CLOSED)
def test_closed(door, method, path):
    status, body = door.ask(path, "-X", method, "--path-as-is", "-d", "{}")
    assert (status, body["error"]["code"]) == (403, "path_closed")
    assert set(body["error"]) == {"message", "type", "code"}


def test_closed_for_the_official_client(door):
    with pytest.raises(openai.PermissionDeniedError) as caught:
        door.client().embeddings.create(model="tiny", input="NPU")
    assert error_of(caught)[1]["code"] == "path_closed"


def test_too_large(door):
    """Also a body that is far too large gets its answer, and one that is not goes through."""
    for size in (1_000_001, 8_000_000):
        with pytest.raises(openai.APIStatusError) as caught:
            door.client().completions.create(model="tiny", prompt="x" * size)
        status, error = error_of(caught)
        assert (status, error["code"]) == (413, "request_too_large") and "1000000" in error["message"]
    assert door.client().completions.create(model="tiny", prompt="x" * 900_000, max_tokens=1).choices


def test_a_body_of_unknown_length(door):
    status, body = door.ask("/v1/completions", "-H", "Transfer-Encoding: chunked", "-d", "{}")
    assert (status, body["error"]["code"]) == (411, "length_required")


def test_health_needs_no_key(door):
    assert door.ask("/health", key="none") == (200, {"status": "ok"})


def test_tls(door):
    """TLS 1.2 and 1.3 with forward secrecy, nothing older."""
    probe = "echo | openssl s_client -connect 127.0.0.1:{0} {1} 2>&1"
    for version, answer in (
        ("-tls1_2", "Cipher is ECDHE"),
        ("-tls1_3", "Cipher is TLS_"),
        ("-tls1_1 -cipher ALL@SECLEVEL=0", "Cipher is (NONE)"),
    ):
        assert answer in door.host.run(probe.format(PORT, version)).stdout, version
    assert "Cipher is (NONE)" in door.host.run(probe.format(PORT, "-tls1_2 -cipher AES128-SHA256")).stdout


def test_metrics_on_the_host_alone(door):
    text = door.host.check_output("curl -s http://127.0.0.1:8405/metrics")
    assert 'haproxy_server_status{proxy="engines",server="one",state="UP"} 1' in text
    assert door.host.run("curl -s -m 3 http://{0}:8405/metrics".format(door.address)).rc == 7


def test_rights(door):
    """Workers are no root, keys and sockets are root's, the unit of the distribution rests."""
    users = set(door.host.check_output("ps -o user= -p {0}".format(",".join(map(str, door.workers())))).split())
    assert users == {"haproxy"}
    modes = door.host.check_output("stat -c '%a %U' /etc/npufleet-gateway /etc/npufleet-gateway/keys.map /etc/npufleet-gateway/engine.map "
                                   "/etc/npufleet-gateway/haproxy.cfg /etc/npufleet-gateway/generated/private.pem /run/npufleet-gateway "
                                   "/run/npufleet-gateway/admin.sock /run/npufleet-gateway/master.sock")  # fmt: skip
    assert modes.splitlines() == ["700 root", "600 root", "600 root", "600 root", "600 root", "700 root", "600 root", "600 root"]
    assert (door.host.service("haproxy").is_running, door.host.service("haproxy").is_enabled) == (False, False)
    assert door.host.service("npufleet-gateway").is_enabled


def test_a_client_that_leaves_ends_its_request(door, wait_for):
    """An engine does not go on with an answer that nobody waits for, streamed or not."""
    before = sum(line["event"] == "aborted" for name in ("one", "two") for line in door.log(name))
    for extra in ("", ', "stream": true'):
        body = '{"max_tokens": 400' + extra + "}"
        door.host.run("curl -sk -m 1 -H %s -d %s https://127.0.0.1:8443/v1/completions", "Authorization: Bearer " + ALICE, body)
    wait_for(lambda: sum(line["event"] == "aborted" for name in ("one", "two") for line in door.log(name)) == before + 2, 10)
