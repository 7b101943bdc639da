# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
import socket
import threading

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._gateway_socket import socket_ask


class Listener(threading.Thread):
    """A socket that answers one command, when its whole line and the end of the questions have come."""

    def __init__(self, path, parts):
        super().__init__(daemon=True)
        self.parts, self.heard = parts, b""
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(path)
        self.socket.listen(1)
        self.start()

    def run(self):
        connection, _peer = self.socket.accept()
        with connection:
            self.heard = b"".join(iter(lambda: connection.recv(100), b""))
            for part in self.parts:
                connection.sendall(part)


@pytest.fixture
def path(tmp_path):
    """A path that is short enough for a socket."""
    os.chdir(str(tmp_path))
    return "admin.sock"


def test_one_command_and_the_whole_answer(path):
    listener = Listener(path, [b"a" * 70000, b"\xff\n", b"end"])
    assert socket_ask(path)("show proc") == "a" * 70000 + "\ufffd\nend"
    listener.join(5)
    assert listener.heard == b"show proc\n"


def test_nobody_there(path):
    with pytest.raises(NpufleetError) as caught:
        socket_ask(path)("show proc")
    assert str(caught.value).startswith("the gateway does not answer: No such file or directory. Where: admin.sock. What to do: Start it")
