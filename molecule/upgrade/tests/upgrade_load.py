# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Clients that ask for one streamed answer after the other, through the gateway, and say of each whether it came whole."""

from __future__ import annotations

import http.client
import json
import ssl
import threading
import time
import typing as t

MODEL = "tiny-qwen2"
# So many that requests are always in flight when an engine is drained or dies.
CLIENTS = 20
TOKENS = 32
# Between two requests of a client: the engines have two cores.
PAUSE_SECONDS = 3.0


class Answer(t.NamedTuple):
    """One request; ``began`` and ``ended`` as of time.time(). ``problem`` is empty for one that came whole."""

    began: float
    ended: float
    tokens: int
    problem: str


def read_stream(lines: t.Iterable[bytes]) -> t.Tuple[int, str]:
    """Tokens of a stream of events, and what is wrong with it: it has to give a reason for its end, and then [DONE]."""
    tokens, finished, done = 0, None, False
    for line in lines:
        text = line.decode().strip()
        if not text.startswith("data: "):
            continue
        if text == "data: [DONE]":
            done = True
            continue
        event = json.loads(text[6:])
        if "choices" not in event:
            return tokens, "an error as event: " + text[:200]
        tokens += 1
        finished = event["choices"][0]["finish_reason"] or finished
    if finished != "length" or not done:
        return tokens, "cut off after {0} events: finish_reason {1}, [DONE] {2}".format(tokens, finished, done)
    return tokens, ""


class Load:
    """``with Load(address, trust, key) as load``: from the first answer of every client on until the end of the block."""

    def __init__(self, address: str, port: int, trust: ssl.SSLContext, key: str, clients: int = CLIENTS) -> None:
        self._where = (address, port)
        self._trust = trust
        self._key = key
        self._stop = threading.Event()
        self.answers: t.List[Answer] = []
        self._threads = [threading.Thread(target=self._client, daemon=True) for _number in range(clients)]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        deadline = time.monotonic() + 120
        while len(self.answers) < len(self._threads):
            assert time.monotonic() < deadline, self.failed()[:3] or "no answers"
            time.sleep(0.2)
        return self

    def __exit__(self, *_exception: t.Any) -> None:
        """Every request that has begun is waited for."""
        self._stop.set()
        for thread in self._threads:
            thread.join(180)
        assert not any(thread.is_alive() for thread in self._threads), "a client hangs"
        print(
            "    {0} clients, {1} requests, {2} failed, the longest took {3:.1f} s".format(
                len(self._threads), len(self.answers), len(self.failed()), max(one.ended - one.began for one in self.answers)
            ),
            flush=True,
        )

    def failed(self) -> t.List[Answer]:
        return [one for one in self.answers if one.problem]

    def _client(self) -> None:
        while not self._stop.is_set():
            began = time.time()
            try:
                tokens, problem = self._ask()
            except (OSError, http.client.HTTPException, ValueError) as exc:
                tokens, problem = 0, repr(exc)
            self.answers.append(Answer(began, time.time(), tokens, problem))
            self._stop.wait(PAUSE_SECONDS)

    def _ask(self) -> t.Tuple[int, str]:
        connection = http.client.HTTPSConnection(*self._where, timeout=120, context=self._trust)
        body = {"model": MODEL, "prompt": "What is an NPU?", "max_tokens": TOKENS, "ignore_eos": True, "stream": True, "temperature": 0}
        headers = {"Authorization": "Bearer " + self._key, "Content-Type": "application/json"}
        try:
            connection.request("POST", "/v1/completions", json.dumps(body), headers)
            response = connection.getresponse()
            if response.status != 200:
                return 0, "{0}: {1!r}".format(response.status, response.read(300))
            return read_stream(response)
        finally:
            connection.close()
