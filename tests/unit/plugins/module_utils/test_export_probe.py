# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The script of the probe runs as the container would run it, against an engine of a few lines."""

from __future__ import annotations

import http.server
import json
import os
import subprocess
import sys
import threading

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._export_probe import probe_command
from ansible_collections.npufleet.ascend.plugins.module_utils._readiness import COMPLETION_TOKENS, PROMPT

GOOD = {"usage": {"completion_tokens": 3}}


class Engine:
    """Answers by path; keeps what it was asked."""

    def __init__(self, **answers):
        self.asked = []
        engine = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])).decode())
                engine.asked.append((self.path, self.headers.get("Authorization"), body))
                status, answer = answers[self.path.rpartition("/")[2]]
                self.send_response(status)
                self.end_headers()
                self.wfile.write(json.dumps(answer).encode())

            def log_message(self, format, *args):
                """Nothing."""

        self.server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def probe(engine, host="", key_file=None):
    command = probe_command(host, engine.port, "q", key_file)
    assert command[0] == "python3"
    # A proxy of the image must not be asked.
    env = dict(os.environ, POD_IP="127.0.0.1", http_proxy="http://127.0.0.1:9")
    try:
        done = subprocess.run(
            [sys.executable, *command[1:]], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, check=False
        )
    finally:
        engine.server.shutdown()
        engine.server.server_close()
    return done.returncode, done.stderr


def test_one_completion(tmp_path):
    key = tmp_path / "api-key"
    key.write_text("sk-probe\n")
    engine = Engine(completions=(200, GOOD))
    assert probe(engine, key_file=str(key)) == (0, "")
    ((path, authorization, body),) = engine.asked
    assert (path, authorization) == ("/v1/chat/completions", "Bearer sk-probe")
    message = {"role": "user", "content": PROMPT}
    assert body == {"model": "q", "messages": [message], "max_tokens": COMPLETION_TOKENS, "temperature": 0}


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ((503, {}), "no completion yet: HTTP Error 503"),
        ((401, {}), "no completion yet: HTTP Error 401"),
        ((400, {}), "no completion yet: HTTP Error 400"),
        ((200, {"usage": {"completion_tokens": 0}}), "an empty completion"),
        ((200, {}), "no completion yet: 'usage'"),
    ],
)
def test_no_completion(answer, words):
    engine = Engine(completions=answer)
    code, said = probe(engine, host="127.0.0.1")
    assert code == 1
    assert said.startswith(words)
    assert engine.asked[0][1] is None


def test_a_model_without_chat_template_completes_text():
    engine = Engine(completions=(400, {}))
    probe(engine)
    assert [path for path, _key, _body in engine.asked] == ["/v1/chat/completions", "/v1/completions"]
    assert engine.asked[1][2] == {"model": "q", "prompt": PROMPT, "max_tokens": COMPLETION_TOKENS, "temperature": 0}


def test_no_engine():
    engine = Engine()
    engine.server.shutdown()
    engine.server.server_close()
    command = probe_command("127.0.0.1", engine.port, "q", None)
    done = subprocess.run([sys.executable, *command[1:]], stderr=subprocess.PIPE, universal_newlines=True, check=False)
    assert (done.returncode, "no completion yet: " in done.stderr) == (1, True)
