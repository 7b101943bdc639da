# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Keep what is drained over reloads and restarts of the gateway. Called by npufleet-gateway.service.

servers.py start    before HAProxy starts: make the saved states fit the configuration
servers.py reload   save the states, let HAProxy reload, and fail unless a new worker runs with the new configuration
"""

from __future__ import annotations

import os
import re
import signal
import socket
import sys
import tempfile
import time

CONFIG = "/etc/npufleet-gateway/haproxy.cfg"
STATES = "/var/lib/npufleet-gateway/servers.state"
MASTER = "/run/npufleet-gateway/master.sock"
LOADED = "/run/npufleet-gateway/loaded"
SECONDS = 30

SECTION = re.compile(r"^backend (\S+)$", re.MULTILINE)
SERVER = re.compile(r"^\s+server (\S+) (\S+):(\d+)(?:\s|$)", re.MULTILINE)
# Columns of a row of `show servers state`, version 1 of the format.
BACKEND, ENGINE, ADDRESS, NAME, PORT, COLUMNS = 1, 3, 4, 17, 18, 19


def fit(text, config):
    """Saved states with the addresses and ports of the configuration: HAProxy believes the file and not the configuration (2.6, tried)."""
    # A server of the router may have the name of an engine.
    _head, *sections = SECTION.split(config)
    servers = {
        (backend, name): (address.strip("[]"), port)
        for backend, section in zip(sections[::2], sections[1::2])
        for name, address, port in SERVER.findall(section)
    }
    lines = ["1"]
    for line in text.splitlines()[1:]:
        row = line.split()
        if row[:1] == ["#"]:
            lines.append(line)
        elif len(row) >= COLUMNS and (row[BACKEND], row[ENGINE]) in servers:
            address, port = servers[row[BACKEND], row[ENGINE]]
            if re.match(r"[0-9.]+$|.*:", address):
                row[ADDRESS], row[NAME] = address, "-"
            else:
                # The address stays what HAProxy resolved it to; it resolves the name again.
                row[NAME] = address
            row[PORT] = port
            lines.append(" ".join(row))
    return "\n".join(lines) + "\n"


def ask(command):
    """Answer of the master process to one command."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(10)
        connection.connect(MASTER)
        connection.sendall(command.encode() + b"\n")
        # The master process waits for more commands otherwise.
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(65536), b"")).decode("utf-8", "replace")


def read(path):
    try:
        with open(path, encoding="utf-8") as stream:
            return stream.read()
    except FileNotFoundError:
        return ""


def save(text):
    """Replace the saved states at once."""
    handle, name = tempfile.mkstemp(dir=os.path.dirname(STATES))
    with os.fdopen(handle, "w", encoding="utf-8") as stream:
        stream.write(text)
    os.rename(name, STATES)


def processes():
    """Process id of the master, and those of the workers that take connections."""
    head, _sign, rest = ask("show proc").partition("# workers")
    master = re.search(r"^(\d+)\s+master\s", head, re.MULTILINE)
    workers = re.findall(r"^(\d+)\s+worker\s", rest.partition("# old workers")[0], re.MULTILINE)
    return int(master.group(1)) if master else 0, {int(pid) for pid in workers}


def touch(path):
    with open(path, "w", encoding="utf-8"):
        pass


def reload():
    # Before HAProxy reads anything: what is written from now on counts as not loaded.
    touch(LOADED + ".new")
    states = ask("@1 show servers state").lstrip()
    if not states.startswith("1\n"):
        return "HAProxy does not tell the states of its servers: {0}".format(states[:200].strip())
    save(fit(states, read(CONFIG)))
    master, before = processes()
    os.kill(master, signal.SIGUSR2)
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        time.sleep(0.05)
        try:
            workers = processes()[1]
        except OSError:
            continue  # the master starts again
        if workers and not workers & before:
            os.rename(LOADED + ".new", LOADED)
            return None
    return "HAProxy goes on with the old configuration; see journalctl -u npufleet-gateway"


def start():
    save(fit(read(STATES), read(CONFIG)))
    touch(LOADED)


if __name__ == "__main__":
    sys.exit({"start": start, "reload": reload}[sys.argv[1]]())
