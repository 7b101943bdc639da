# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""XML-RPC calls to a supervisord over its Unix socket (supervisord.org, "XML-RPC API Documentation")."""

from __future__ import annotations

import http.client
import socket
import typing as t
import xmlrpc.client

from ansible_collections.npufleet.ascend.plugins.module_utils._service import MANAGER_SECONDS

# call(method, *args, timeout=seconds)
Rpc = t.Callable[..., t.Any]

# What a call raises when nobody answers, or somebody else does.
UNANSWERED = (OSError, http.client.HTTPException, xmlrpc.client.ProtocolError)


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class _UnixTransport(xmlrpc.client.Transport):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__()
        self._path = path
        self._timeout = timeout

    def make_connection(self, host: t.Any) -> http.client.HTTPConnection:
        connection = _UnixConnection(self._path, self._timeout)
        self._connection = host, connection
        return connection


def unix_rpc(path: str) -> Rpc:
    """Return ``call(method, *args, timeout)`` for the supervisord that listens on the socket ``path``.

    :raises xmlrpc.client.Fault: supervisord refused
    :raises OSError, http.client.HTTPException, xmlrpc.client.ProtocolError: see UNANSWERED
    """

    def call(method: str, *args: t.Any, timeout: float = MANAGER_SECONDS) -> t.Any:
        with xmlrpc.client.ServerProxy("http://localhost/RPC2", transport=_UnixTransport(path, timeout)) as proxy:
            return getattr(proxy.supervisor, method)(*args)

    return call
