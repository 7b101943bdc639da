# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import http.server
import json
import socket
import struct
import threading

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils import _http
from ansible_collections.npufleet.ascend.plugins.module_utils._http import HttpAnswer, fetch


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_args):
        pass

    def _answer(self, status, body, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _echo(self):
        length = int(self.headers.get("Content-Length") or 0)
        names = ("Accept", "Authorization", "Content-Type")
        seen = {"method": self.command, "path": self.path, "body": self.rfile.read(length).decode()}
        seen.update({name: self.headers[name] for name in names if self.headers[name]})
        self.server.seen.append(seen)
        return json.dumps(seen).encode()

    def do_GET(self):
        echo = self._echo()
        if self.path == "/redirect":
            self._answer(302, b"moved", Location="/stolen")
        elif self.path == "/error":
            self._answer(503, b'{"error": "busy"}')
        elif self.path == "/bytes":
            self._answer(200, b"\xff{}")
        elif self.path == "/nothing":
            self.connection.close()
        elif self.path == "/garbage":
            self.wfile.write(b"SSH-2.0-OpenSSH\r\n\r\n")
        elif self.path in ("/reset", "/reset-error"):
            self.send_response(200 if self.path == "/reset" else 500)
            self.send_header("Content-Length", "100")
            self.end_headers()
            self.wfile.write(b"half")
            self.server.gate.wait(5)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
        elif self.path == "/silent":
            self.server.gate.wait(5)
        else:
            self._answer(200, echo)

    do_POST = do_GET  # noqa: N815 - the name is that of http.server


@pytest.fixture(scope="module")
def server():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.seen = []
    server.gate = threading.Event()
    server.url = "http://127.0.0.1:{0}".format(server.server_address[1])
    # A connection that is closed under its own handler is what some tests are about.
    server.handle_error = lambda _request, _address: None
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield server
    server.gate.set()
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize(
    ("options", "seen"),
    [
        ({}, {"method": "GET", "path": "/a", "body": "", "Accept": "application/json"}),
        ({"api_key": "sk-1"}, {"method": "GET", "path": "/a", "body": "", "Accept": "application/json", "Authorization": "Bearer sk-1"}),
        (
            {"payload": {"a": "\u00e9"}},
            {"method": "POST", "path": "/a", "body": '{"a": "\\u00e9"}', "Accept": "application/json", "Content-Type": "application/json"},
        ),
        (
            {"payload": {}},
            {"method": "POST", "path": "/a", "body": "{}", "Accept": "application/json", "Content-Type": "application/json"},
        ),
    ],
)
def test_what_is_sent(server, options, seen):
    answer = fetch(server.url + "/a", **options)
    assert (answer.status, answer.json(), answer.error) == (200, seen, "")


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("/error", HttpAnswer(503, '{"error": "busy"}')),
        ("/bytes", HttpAnswer(200, "\ufffd{}")),
        ("/redirect", HttpAnswer(302, "moved")),
    ],
)
def test_what_comes_back(server, path, answer):
    assert fetch(server.url + path, api_key="sk-secret") == answer


def test_the_key_is_not_sent_on_to_where_an_answer_points(server):
    del server.seen[:]
    fetch(server.url + "/redirect", api_key="sk-secret")
    assert [seen["path"] for seen in server.seen] == ["/redirect"]


def test_no_proxy_is_asked(server, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    assert fetch(server.url + "/a").status == 200


def test_a_long_answer_is_cut(server, monkeypatch):
    monkeypatch.setattr(_http, "MAX_BYTES", 5)
    assert fetch(server.url + "/error").body == '{"err'
    assert fetch(server.url + "/a").body == '{"met'


@pytest.mark.parametrize("path", ["/nothing", "/garbage"])
def test_no_http_answer_has_no_status_and_says_why(server, path):
    answer = fetch(server.url + path)
    assert (answer.status, answer.body, answer.json()) == (None, "", None)
    assert answer.error


@pytest.mark.parametrize("path", ["/silent", "/reset", "/reset-error"])
def test_a_server_that_falls_silent_is_left_at_the_time_limit(server, path):
    answer = fetch(server.url + path, timeout=0.2)
    assert answer.status is None
    assert "timed out" in answer.error


def test_a_connection_that_breaks_in_mid_answer(server):
    server.gate.set()
    try:
        for path in ("/reset", "/reset-error"):
            answer = fetch(server.url + path, timeout=5.0)
            assert answer.status is None
            assert "reset" in answer.error.lower()
    finally:
        server.gate.clear()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.mark.parametrize(
    ("url", "error"),
    [("http://127.0.0.1:{port}/", "refused"), ("nonsense", "unknown url type"), ("http://[::1", "IPv6"), ("http://127.0.0.1:x/", "port")],
)
def test_an_address_that_leads_nowhere_says_so(url, error):
    answer = fetch(url.format(port=free_port()))
    assert answer.status is None
    assert error in answer.error


@pytest.mark.parametrize("key", ["sk-secret\n", "sk secret", "sk-secr\u00e9t", "\u5bc6"])
def test_a_key_that_no_header_can_hold_is_not_repeated(server, key):
    del server.seen[:]
    answer = fetch(server.url + "/a", api_key=key)
    assert answer.status is None
    assert "API key" in answer.error
    assert not [part for part in key.split() if part in answer.error]
    assert server.seen == []


@pytest.mark.parametrize(("body", "value"), [('{"a": 1}', {"a": 1}), ("<html>", None), ("", None), ("null", None), ("[1]", [1])])
def test_the_body_as_json(body, value):
    assert HttpAnswer(200, body).json() == value
