# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The door as a client on another machine sees it, and what its host and the engines know."""

from __future__ import annotations

import json
import os
import ssl
import subprocess
import threading

import openai

NAME = "gateway-host"
CONTAINER = "npufleet-molecule-gateway"
PORT = 8443
ALICE = "sk-molecule-alice-0123456789"
SCENARIO = os.environ["MOLECULE_SCENARIO_DIRECTORY"]
MESSAGES = [{"role": "user", "content": "What is an NPU?"}]
MASTER = "/run/npufleet-gateway/master.sock"


class Stream(threading.Thread):
    """One streamed chat in the background; ``words`` grows, ``error`` is what ended it too early."""

    def __init__(self, client, tokens, messages=None):
        super().__init__(daemon=True)
        self.client, self.tokens, self.messages = client, tokens, messages or MESSAGES
        self.words, self.error = [], None
        self.first = threading.Event()
        self.start()
        assert self.first.wait(20), self.error

    def run(self):
        try:
            for chunk in self.client.chat.completions.create(model="tiny", messages=self.messages, max_tokens=self.tokens, stream=True):
                self.words.append(chunk.choices[0].delta.content.strip())
                self.first.set()
        except Exception as exc:  # whatever it is, the test shows it
            self.error = exc
            self.first.set()

    def engine(self):
        return self.words[0]

    def check(self):
        """It came whole, and from one engine."""
        self.join(120)
        assert not self.is_alive() and self.error is None, self.error
        assert (len(self.words), len(set(self.words))) == (self.tokens, 1)


class Door:
    """The gateway, by its address on the network of the scenario."""

    def __init__(self, host):
        self.host = host
        inspected = subprocess.run(
            ["docker", "inspect", "-f", "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}", CONTAINER],
            stdout=subprocess.PIPE, text=True, check=True,
        )  # fmt: skip
        self.address = inspected.stdout.strip()
        self.url = "https://{0}:{1}".format(self.address, PORT)
        certificate = host.file("/etc/npufleet-gateway/generated/certificate.pem").content_string
        self.trust = ssl.create_default_context(cadata=certificate)
        # The address of the container is not in the certificate.
        self.trust.check_hostname = False

    def client(self, key=ALICE):
        """The official client, without its repeated tries."""
        http = openai.DefaultHttpxClient(verify=self.trust, trust_env=False)
        return openai.OpenAI(base_url=self.url + "/v1", api_key=key, max_retries=0, timeout=60, http_client=http)

    def stream(self, tokens, key=ALICE, messages=None):
        return Stream(self.client(key), tokens, messages)

    def ask(self, path, *options, key=ALICE):
        """Status and JSON of a request by curl on the host itself."""
        words = ["curl", "-sk", "-o", "/tmp/answer", "-w", "%{http_code}", "-H", "Authorization: Bearer " + key, *options]
        status = self.host.run(" ".join(["%s"] * (len(words) + 1)), *words, "https://127.0.0.1:{0}{1}".format(PORT, path)).stdout
        return int(status), json.loads(self.host.file("/tmp/answer").content_string or "null")

    def log(self, engine):
        """What an engine noted, oldest first."""
        return [json.loads(line) for line in self.host.file("/var/log/{0}.jsonl".format(engine)).content_string.splitlines()]

    def requests(self, engine):
        """Requests of clients in that."""
        return [line for line in self.log(engine) if line["event"] == "begin" and line["path"] != "/v1/models"]

    def workers(self):
        """Process ids of HAProxy's workers, those that only finish their streams included."""
        children = self.host.check_output("pgrep -P $(systemctl show -p MainPID --value npufleet-gateway) haproxy").split()
        return {int(pid) for pid in children}

    def config(self):
        return self.host.file("/etc/npufleet-gateway/haproxy.cfg").content_string
