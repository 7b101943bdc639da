# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Serve a folder as the vendor's object store and as plain repositories, with faults and a log of the requests. See README.md.

server.py --root DIR [--packages DIR] [--bind 127.0.0.1] [--port 0] [--faults FILE] [--log FILE] [--ready FILE]

The first line on stdout is JSON: the address of the server and the paths of the packages.
"""

from __future__ import annotations

import argparse
import html
import http.server
import json
import os
import signal
import sys
import threading
import time
import typing as t
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

from layout import is_vendor, lay_out, needs_referer
from transfer import Fault, Faults, Span, chunks, requested

DENIED = b'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>\n'
MISSING = b'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>NoSuchKey</Code></Error>\n'


class Server(http.server.ThreadingHTTPServer):
    """A server that knows its folder, its faults and its log."""

    daemon_threads = True

    def __init__(self, address: t.Tuple[str, int], root: str, faults: t.Optional[str] = None, log: t.Optional[str] = None) -> None:
        super().__init__(address, Handler)
        self.root = os.path.realpath(root)
        self.faults = Faults(faults)
        self._log, self._lock = log, threading.Lock()

    @property
    def url(self) -> str:
        """Where the server answers, without a slash at the end."""
        host, port = self.socket.getsockname()[:2]
        return "http://{0}:{1}".format(host, port)

    def record(self, entry: t.Dict[str, t.Any]) -> None:
        """Append one line to the log."""
        if self._log:
            with self._lock, open(self._log, "a", encoding="utf-8") as stream:
                stream.write(json.dumps(entry, sort_keys=True) + "\n")


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers GET and HEAD."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        """Answer, and log what was answered."""
        self._sent, self._status, self._fault = 0, 0, {}  # type: t.Tuple[int, int, Fault]
        begin = time.time()
        path = urllib.parse.unquote(urllib.parse.urlsplit(self.path).path).lstrip("/")
        try:
            self._answer(path)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        self.server.record(
            {
                "time": begin,
                "seconds": round(time.time() - begin, 3),
                "client": self.client_address[0],
                "method": self.command,
                "path": "/" + path,
                "referer": self.headers.get("Referer"),
                "range": self.headers.get("Range"),
                "agent": self.headers.get("User-Agent"),
                "status": self._status,
                "sent": self._sent,
                "fault": self._fault or None,
            }
        )

    def do_HEAD(self) -> None:
        """The same without a body."""
        self.do_GET()

    def _answer(self, path: str) -> None:
        full = os.path.realpath(os.path.join(self.server.root, path))
        if full != self.server.root and not full.startswith(self.server.root + os.sep):
            self._short(404, MISSING)
        elif needs_referer(path) and not is_vendor(self.headers.get("Referer")):
            self._short(403, DENIED)
        elif os.path.isdir(full) and not needs_referer(path):
            self._folder(path, full)
        elif not os.path.isfile(full):
            self._short(404, MISSING)
        else:
            self._fault = self.server.faults.take(path, counts=self.command == "GET")
            self._file(full, self._fault)

    def _folder(self, path: str, full: str) -> None:
        """A list of links, which is all that a simple index of Python packages or a plain repository needs."""
        if path and not path.endswith("/"):
            self._short(301, b"", [("Location", urllib.parse.quote("/" + path + "/"))])
            return
        index = os.path.join(full, "index.html")
        if os.path.isfile(index):
            self._file(index, {})
            return
        names = [name + ("/" if os.path.isdir(os.path.join(full, name)) else "") for name in sorted(os.listdir(full))]
        links = ['<a href="{0}">{1}</a><br>\n'.format(urllib.parse.quote(name), html.escape(name)) for name in names]
        self._short(200, ("<!DOCTYPE html>\n" + "".join(links)).encode(), [("Content-Type", "text/html; charset=utf-8")])

    def _file(self, full: str, fault: Fault) -> None:
        if "status" in fault:
            self._short(int(fault["status"]), b"fault\n")
            return
        info = os.stat(full)
        tag = '"{0:x}-{1:x}"'.format(info.st_size, int(info.st_mtime * 1000))
        span = None
        if not fault.get("no_range") and self.headers.get("If-Range", tag) == tag:
            try:
                span = requested(self.headers.get("Range"), info.st_size)
            except ValueError:
                self._short(416, b"", [("Content-Range", "bytes */{0}".format(info.st_size))])
                return
        self._head(info, tag, span, fault)
        if self.command != "HEAD":
            self._body(full, span or Span(0, info.st_size), fault)

    def _head(self, info: os.stat_result, tag: str, span: t.Optional[Span], fault: Fault) -> None:
        length = (span.stop - span.start if span else info.st_size) + int(fault.get("wrong_length", 0))
        self._begin(206 if span else 200)
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Content-Length", str(max(0, length)))
        self.send_header("ETag", tag)
        self.send_header("Last-Modified", self.date_time_string(int(info.st_mtime)))
        if not fault.get("no_range"):
            self.send_header("Accept-Ranges", "bytes")
        if span:
            self.send_header("Content-Range", "bytes {0}-{1}/{2}".format(span.start, span.stop - 1, info.st_size))
        self.end_headers()

    def _body(self, full: str, span: Span, fault: Fault) -> None:
        for chunk in chunks(full, span, fault):
            self.wfile.write(chunk)
            self._sent += len(chunk)
            if fault.get("slow"):
                self.wfile.flush()
                time.sleep(len(chunk) / float(fault["slow"]))
        if "cut_after" in fault or fault.get("wrong_length"):
            self.close_connection = True

    def _short(self, status: int, body: bytes, headers: t.Sequence[t.Tuple[str, str]] = ()) -> None:
        self._begin(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
            self._sent += len(body)

    def _begin(self, status: int) -> None:
        self._status = status
        self.send_response(status)

    def log_message(self, format: str, *args: t.Any) -> None:
        """Nothing on stderr: the log is the JSON file."""


def arguments() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--root", required=True, help="folder to serve, made when missing")
    add("--packages", help="folder with packages, which are put where the store has them")
    add("--bind", default="127.0.0.1", help="address (default: %(default)s)")
    add("--port", type=int, default=0, help="0: a free one")
    add("--faults", help="JSON file, may change or come into being while the server runs")
    add("--log", help="file, one JSON object for each request")
    add("--ready", help="file for the line that is printed at start")
    return parser


def main(argv: t.Sequence[str]) -> int:
    """Serve until SIGTERM or SIGINT."""
    options = arguments().parse_args(argv)
    os.makedirs(options.root, exist_ok=True)
    places = lay_out(options.packages, options.root) if options.packages else {}
    server = Server((options.bind, options.port), options.root, options.faults, options.log)
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
    line = json.dumps({"url": server.url, "pid": os.getpid(), "packages": places}, sort_keys=True)
    if options.ready:
        with open(options.ready + ".part", "w", encoding="utf-8") as stream:
            stream.write(line + "\n")
        os.replace(options.ready + ".part", options.ready)
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
    try:
        server.serve_forever(poll_interval=0.2)
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
