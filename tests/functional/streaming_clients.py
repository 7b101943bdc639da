# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A few clients that ask a gateway for one streamed answer after the other, and say of each whether it came whole."""

from __future__ import annotations

import http.client
import json
import threading
import time
import typing as t

CLIENTS = 4
TOKENS = 20
PAUSE_SECONDS = 0.3


class Clients:
    """``with Clients(port, model) as clients``: from the first answer of each until the end of the block. Every request is waited for."""

    def __init__(self, port: int, model: str) -> None:
        self._port = port
        self._model = model
        self._stop = threading.Event()
        # What is wrong with each answer; empty for one that came whole.
        self.answers: t.List[str] = []
        self._threads = [threading.Thread(target=self._ask_again_and_again, daemon=True) for _number in range(CLIENTS)]

    def __enter__(self) -> Clients:
        for thread in self._threads:
            thread.start()
        deadline = time.monotonic() + 60
        while len(self.answers) < CLIENTS:
            assert time.monotonic() < deadline, self.answers
            time.sleep(0.1)
        return self

    def __exit__(self, *_exception: t.Any) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(60)
        assert not any(thread.is_alive() for thread in self._threads), "a client hangs"
        print("{0} requests, {1} failed or cut off".format(len(self.answers), len(self.failed())))

    def failed(self) -> t.List[str]:
        return [answer for answer in self.answers if answer]

    def _ask_again_and_again(self) -> None:
        while not self._stop.is_set():
            try:
                self.answers.append(self._ask())
            except (OSError, http.client.HTTPException, ValueError) as exc:
                self.answers.append(repr(exc))
            self._stop.wait(PAUSE_SECONDS)

    def _ask(self) -> str:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
        try:
            body = json.dumps({"model": self._model, "prompt": "What is an NPU?", "max_tokens": TOKENS, "stream": True})
            connection.request("POST", "/v1/completions", body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            text = response.read().decode()
        finally:
            connection.close()
        if response.status != 200:
            return "{0}: {1}".format(response.status, text[:200])
        return "" if text.endswith("data: [DONE]\n\n") and text.count("data: {") == TOKENS else "cut off: " + text[-100:]
