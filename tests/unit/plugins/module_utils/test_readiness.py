# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._http import HttpAnswer
from ansible_collections.npufleet.ascend.plugins.module_utils._readiness import (
    COMPLETION_TOKENS,
    POLL_SECONDS,
    PROMPT,
    SETTLE_SECONDS,
    Outcome,
    Target,
    completion_sample,
    listed_models,
    probe,
    probe_head,
    settled,
    wait,
)
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.engine_fakes import COMPLETION, FakeClock, FakeFetch

TARGET = Target("http://127.0.0.1:8000", "tiny", "sk-1")
CHAT, PLAIN = "/v1/chat/completions", "/v1/completions"
SAMPLE = {"path": CHAT, "prompt": PROMPT, "text": "An NPU.", "completion_tokens": 3}


def test_a_good_engine_is_asked_in_order_and_with_its_key():
    fetch = FakeFetch()
    assert probe(TARGET, fetch) == Outcome("ready", "ready", completion=SAMPLE)
    chat = {"model": "tiny", "messages": [{"role": "user", "content": PROMPT}], "max_tokens": COMPLETION_TOKENS, "temperature": 0}
    assert fetch.calls == [("/health", None, None), ("/v1/models", None, "sk-1"), (CHAT, chat, "sk-1")]


def test_a_model_without_a_chat_template_completes_plain_text():
    fetch = FakeFetch().set(CHAT, 400, {"error": "no chat template"})
    fetch.set(PLAIN, 200, {"choices": [{"text": "yes"}], "usage": {"completion_tokens": 1}})
    outcome = probe(TARGET, fetch)
    assert outcome.completion == {"path": PLAIN, "prompt": PROMPT, "text": "yes", "completion_tokens": 1}
    plain = {"model": "tiny", "prompt": PROMPT, "max_tokens": COMPLETION_TOKENS, "temperature": 0}
    assert fetch.calls[-1] == (PLAIN, plain, "sk-1")


@pytest.mark.parametrize(
    ("path", "answer", "status", "phase", "detail"),
    [
        ("/health", ("connection refused",), "pending", "starting", "connection refused"),
        ("/health", (503, ""), "pending", "unhealthy", "/health answered 503"),
        ("/v1/models", ("timed out",), "pending", "models", "timed out"),
        ("/v1/models", (500, ""), "pending", "models", "/v1/models answered 500"),
        ("/v1/models", (401, ""), "refused", "models", "/v1/models answered 401: the API key is not the engine's"),
        ("/v1/models", (403, ""), "refused", "models", "/v1/models answered 403: the API key is not the engine's"),
        ("/v1/models", (200, {"data": [{"id": "a"}, {"id": 7}]}), "refused", "models", "the engine lists a, 7, not tiny"),
        ("/v1/models", (200, "<html>"), "refused", "models", "the engine lists no model, not tiny"),
        (CHAT, ("reset",), "pending", "completion", CHAT + " answered None: reset"),
        (CHAT, (500, "boom"), "pending", "completion", CHAT + " answered 500: boom"),
        (CHAT, (404, "none"), "refused", "completion", CHAT + " answered 404: none"),
        (CHAT, (200, "x" * 400), "refused", "completion", CHAT + " answered 200: " + "x" * 300),
        (CHAT, (400, "bad"), "pending", "completion", PLAIN + " answered None: connection refused"),
    ],
)
def test_each_way_not_to_be_ready(path, answer, status, phase, detail):
    assert probe(TARGET, FakeFetch().set(path, *answer)) == Outcome(status, phase, detail)


def test_without_a_name_any_listed_model_is_missed():
    fetch = FakeFetch().set("/v1/models", 200, {"data": []})
    assert probe(TARGET._replace(model=""), fetch).detail == "the engine lists no model"


def test_completions_without_tokens_do_not_count():
    empty = dict(COMPLETION, usage={"completion_tokens": 0})
    assert probe(TARGET, FakeFetch().set(CHAT, 200, empty)).status == "refused"


@pytest.mark.parametrize(
    ("body", "models"),
    [
        ({"data": [{"id": "a"}, {"no": "id"}, "an id"]}, ["a"]),
        ({"data": "a"}, []),
        ({}, []),
        ([], []),
        (None, []),
    ],
)
def test_the_listed_models(body, models):
    assert listed_models(HttpAnswer(200, json.dumps(body))) == models


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (COMPLETION, "An NPU."),
        ({"choices": [{"message": {"content": None}}], "usage": {"completion_tokens": 2}}, ""),
        ({"choices": [{"text": "a"}], "usage": {"completion_tokens": "2"}}, "a"),
        ({"choices": [], "usage": {"completion_tokens": 2}}, None),
        ({"choices": [{"message": {}}], "usage": {"completion_tokens": 2}}, None),
        ({"choices": ["text"], "usage": {"completion_tokens": 2}}, None),
        ({"choices": [{"text": "a"}]}, None),
        ({"choices": [{"text": "a"}], "usage": {"completion_tokens": "two"}}, None),
        ({"choices": [{"text": "a"}], "usage": {"completion_tokens": 0}}, None),
        ({"error": "x"}, None),
        ([], None),
        (None, None),
    ],
)
def test_a_completion_has_text_and_tokens(body, text):
    sample = completion_sample(CHAT, body)
    assert (sample and sample["text"]) == text


class Engine:
    """Answers in turn; the last answer stays. ``lives`` are the looks at the process that find it alive."""

    def __init__(self, answers, lives=10**6):
        self.answers = [FakeFetch() if answer == "ready" else FakeFetch().set(*answer) for answer in answers]
        self.looks = 0
        self.lives = lives
        self.clock = FakeClock()

    def alive(self):
        self.looks += 1
        return self.looks <= self.lives

    def fetch(self, url, **options):
        if url.endswith("/health") and len(self.answers) > 1 and self.answers[0].calls:
            self.answers.pop(0)
        return self.answers[0](url, **options)

    def wait(self, seconds):
        return wait(lambda: probe(TARGET, self.fetch), self.alive, self.clock.now, self.clock.sleep, self.clock.time + seconds)


STARTING, WRONG, BROKEN = ("/health", "connection refused"), ("/v1/models", 200, {"data": []}), (CHAT, 500, "boom")


@pytest.mark.parametrize(
    ("answers", "lives", "status", "phase", "naps"),
    [
        (["ready"], 9, "ready", "ready", 0),
        ([STARTING, STARTING, "ready"], 9, "ready", "ready", 2),
        ([WRONG, "ready"], 9, "ready", "ready", 1),
        ([BROKEN, "ready"], 9, "ready", "ready", 1),
        (["ready"], 0, "dead", "dead", 0),
        ([STARTING], 2, "dead", "dead", 2),
        ([BROKEN], 1, "dead", "dead", 1),
        ([STARTING], 99, "pending", "starting", 8),
        ([WRONG], 99, "refused", "models", 8),
        ([BROKEN], 99, "pending", "completion", 8),
        ([STARTING], 9, "dead", "dead", 8),
    ],
)
def test_waiting_ends_at_the_first_certain_answer_or_at_the_deadline(answers, lives, status, phase, naps):
    engine = Engine(answers, lives)
    outcome = engine.wait(8 * POLL_SECONDS)
    assert (outcome.status, outcome.phase) == (status, phase)
    assert engine.clock.naps == [POLL_SECONDS] * naps


def test_a_deadline_in_the_past_still_asks_once():
    assert Engine(["ready"]).wait(-100).status == "ready"
    assert Engine([STARTING]).wait(-100).status == "pending"


@pytest.mark.parametrize(
    ("path", "answer", "outcome"),
    [
        (CHAT, (200, COMPLETION), Outcome("ready", "ready")),
        ("/health", ("refused",), Outcome("pending", "waiting for the head", "the head http://127.0.0.1:8000: refused")),
        (
            "/v1/models",
            (401, ""),
            Outcome(
                "refused",
                "waiting for the head",
                "the head http://127.0.0.1:8000: /v1/models answered 401: the API key is not the engine's",
            ),
        ),
    ],
)
def test_what_a_head_says_of_its_members(path, answer, outcome):
    assert probe_head(TARGET, FakeFetch().set(path, *answer)) == outcome


@pytest.mark.parametrize(("seconds", "status"), [(0, "pending"), (SETTLE_SECONDS - 1, "pending"), (SETTLE_SECONDS, "ready")])
def test_what_nobody_can_ask_settles(seconds, status):
    assert settled(seconds).status == status
