# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An engine of a few lines: `vllm serve` with /health, /v1/models, /version and completions, and the faults that tests need.

The fault is read from fault.json beside bin/: {"mode": "die" | "hang" | "broken_completion" | "wrong_model", "log": [lines], "after": seconds},
and with "when": [words] only where the command has all of them, so that a new version fails and the old one does not.
A streamed answer has max_tokens events, TOKEN_SECONDS apart; an engine that is stopped cuts it off, as vLLM does without --shutdown-timeout.
STANDIN_WORKERS processes named standin-worker outlive an engine that is killed, unless its service manager ends them.
"""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from vllm.entrypoints.launchers.cli_args import make_arg_parser
from vllm.utils.argparse_utils import FlexibleArgumentParser

START_SECONDS = float(os.environ.get("STANDIN_START_SECONDS", "0.5"))
TOKEN_SECONDS = 0.05
WORKERS = int(os.environ.get("STANDIN_WORKERS", "0"))


def read_fault() -> dict:
    path = pathlib.Path(__file__).resolve().parents[2] / "fault.json"
    fault = json.loads(path.read_text()) if path.exists() else {}
    return fault if set(fault.get("when", [])) <= set(sys.argv) else {}


class Handler(BaseHTTPRequestHandler):
    """The routes; /v1 wants the key, the others do not, as in vLLM 0.30 to 0.33."""

    model = ""
    fault: dict = {}
    started = 0.0

    def do_GET(self) -> None:
        if self.path == "/health":
            self.answer(200, None)
        elif self.path == "/version":
            self.answer(200, {"version": "0.32.0"})
        elif self.path == "/v1/models" and self.allowed():
            name = "another-model" if self.fault.get("mode") == "wrong_model" else self.model
            self.answer(200, {"object": "list", "data": [{"id": name, "object": "model"}]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        if not self.allowed():
            return
        if self.fault.get("mode") == "broken_completion":
            self.answer(500, {"error": {"message": "EngineCore encountered an issue.", "code": 500}})
        elif body.get("model") != self.model:
            self.answer(404, {"error": {"message": "The model does not exist.", "code": 404}})
        elif body.get("stream"):
            self.stream(int(body.get("max_tokens") or 16))
        else:
            choice = {"index": 0, "message": {"role": "assistant", "content": "stand-in"}, "finish_reason": "stop"}
            self.answer(200, {"model": self.model, "choices": [choice], "usage": {"prompt_tokens": 4, "completion_tokens": 2}})

    def stream(self, tokens: int) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for place in range(tokens):
            choice = {"index": 0, "text": "stand-in ", "finish_reason": "length" if place == tokens - 1 else None}
            self.wfile.write("data: {0}\n\n".format(json.dumps({"model": self.model, "choices": [choice]})).encode())
            time.sleep(TOKEN_SECONDS)
        self.wfile.write(b"data: [DONE]\n\n")

    def allowed(self) -> bool:
        key = os.environ.get("VLLM_API_KEY")
        if key and self.headers.get("Authorization") != "Bearer " + key:
            self.answer(401, {"error": "Unauthorized"})
            return False
        return True

    def answer(self, status: int, body: dict | None) -> None:
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        print("(APIServer pid={0}) INFO:     {1}".format(os.getpid(), format % args), flush=True)


def main() -> None:
    parser = make_arg_parser(FlexibleArgumentParser(prog="vllm serve"))
    if sys.argv[1:2] != ["serve"]:
        sys.exit("vllm: error: this stand-in only knows serve")
    args = parser.parse_args(sys.argv[2:])
    fault = read_fault()
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    prefix = "(APIServer pid={0}) INFO 11-30 12:00:00 [api_server.py:1] ".format(os.getpid())
    print(prefix + "vLLM API server version 0.32.0", flush=True)
    for _number in range(WORKERS):
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(86400)", "standin-worker"])
    for line in fault.get("log", []):
        print(line, flush=True)
    time.sleep(float(fault.get("after", START_SECONDS)))
    if fault.get("mode") == "die":
        sys.exit(1)
    if fault.get("mode") == "hang":
        threading.Event().wait()
    if args.headless:
        print("(EngineCore pid={0}) INFO 11-30 12:00:00 [core.py:1] waits for the head".format(os.getpid()), flush=True)
        threading.Event().wait()
    Handler.model = (args.served_model_name or [args.model_tag])[0]
    Handler.fault = fault
    server = ThreadingHTTPServer((args.host or "127.0.0.1", args.port), Handler)
    print(prefix + "Application startup complete.", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
