# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""One question to HAProxy over its Unix socket: a line there, everything until the end of the connection back."""

from __future__ import annotations

import socket
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError

Ask = t.Callable[[str], str]
ANSWER_SECONDS = 10.0


def socket_ask(path: str) -> Ask:
    """A function that sends one command to the socket ``path`` and returns the answer; it raises NpufleetError where nobody answers."""

    def ask(command: str) -> str:
        parts: t.List[bytes] = []
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
                connection.settimeout(ANSWER_SECONDS)
                connection.connect(path)
                connection.sendall(command.encode() + b"\n")
                # The master process waits for more commands otherwise.
                connection.shutdown(socket.SHUT_WR)
                while True:
                    part = connection.recv(65536)
                    if not part:
                        return b"".join(parts).decode("utf-8", "replace")
                    parts.append(part)
        except OSError as exc:
            raise NpufleetError(
                "the gateway does not answer: {0}".format(exc.strerror or exc),
                where=path,
                remedy="Start it (systemctl start npufleet-gateway), name its socket, and run this as root on its host",
            ) from exc

    return ask
