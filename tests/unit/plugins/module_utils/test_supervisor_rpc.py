# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
import shutil
import socket
import socketserver
import tempfile
import threading
import xmlrpc.client
import xmlrpc.server

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._supervisor_rpc import UNANSWERED, unix_rpc


class Handler(xmlrpc.server.SimpleXMLRPCRequestHandler):
    rpc_paths = ("/RPC2",)
    disable_nagle_algorithm = False  # there is none on a Unix socket

    def log_message(self, *_args):
        pass

    def do_POST(self):  # noqa: N802 - the name is that of http.server
        if not self.is_rpc_path_valid():
            # All of the question is read first, so that the client gets to hear the answer.
            self.rfile.read(int(self.headers["Content-Length"]))
        super().do_POST()


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer, xmlrpc.server.SimpleXMLRPCDispatcher):
    daemon_threads = True
    logRequests = False  # noqa: N815 - the name is that of xmlrpc.server

    def __init__(self, path):
        xmlrpc.server.SimpleXMLRPCDispatcher.__init__(self, allow_none=True)
        socketserver.UnixStreamServer.__init__(self, path, Handler)


@pytest.fixture()
def path():
    """A short one: the kernel takes no long paths of sockets."""
    folder = tempfile.mkdtemp(prefix="npuf-")
    yield os.path.join(folder, "socket")
    shutil.rmtree(folder)


@pytest.fixture()
def server(path):
    server = Server(path)

    def fail():
        raise xmlrpc.client.Fault(10, "BAD_NAME: demo")

    server.register_function(lambda *args: list(args), "supervisor.echo")
    server.register_function(fail, "supervisor.fail")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def test_methods_of_supervisor_are_called_over_the_socket(path, server):
    call = unix_rpc(path)
    assert call("echo", "demo", True) == ["demo", True]
    assert call("echo", timeout=5.0) == []


def test_a_refusal_is_a_fault(path, server):
    with pytest.raises(xmlrpc.client.Fault, match="BAD_NAME: demo"):
        unix_rpc(path)("fail")


def test_without_a_socket_nobody_answers(path):
    with pytest.raises(UNANSWERED):
        unix_rpc(path)("echo")


def test_something_else_that_answers_is_no_supervisord(path, server, monkeypatch):
    monkeypatch.setattr(Handler, "rpc_paths", ("/other",))
    with pytest.raises(UNANSWERED, match="404"):
        unix_rpc(path)("echo")


def test_a_supervisord_that_is_silent_is_left_at_the_time_limit(path):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(1)
        with pytest.raises(UNANSWERED) as caught:
            unix_rpc(path)("echo", timeout=0.1)
    assert "timed out" in str(caught.value)
