# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Wait until an engine really answers: process alive, /health, the model listed, one completion. Clock and HTTP are injected.

/health alone proves little: without a C++ compiler, or with a dead data-parallel peer, it says 200 and the first request fails.
A member of a group has no API: it is asked for at the head of the group, or it only has to live for a while.
"""

from __future__ import annotations

import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._http import Fetch, HttpAnswer

POLL_SECONDS = 0.25
# A process that nobody can ask counts as started after this time. One that vLLM's parser refuses ends after 10 to 20 s (CPU engine, two cores).
SETTLE_SECONDS = 30.0
HEALTH_SECONDS = 5.0
# The first completion may compile kernels (30 s were seen on a CPU engine with two cores), whatever the time left.
COMPLETION_SECONDS = 60.0
PROMPT = "What is an NPU?"
COMPLETION_TOKENS = 8


class Target(t.NamedTuple):
    """Where an engine listens, the name clients ask for, and the key they need."""

    base_url: str
    model: str
    api_key: t.Optional[str] = None


class Outcome(t.NamedTuple):
    """``status`` is ready, pending (time is up, still starting), dead (no process) or refused (alive, but answers wrongly)."""

    status: str
    phase: str
    detail: str = ""
    completion: t.Optional[t.Dict[str, t.Any]] = None


def probe(target: Target, fetch: Fetch) -> Outcome:
    """Ask once, in the order health, models, completion; stop at the first that does not answer."""
    health = fetch(target.base_url + "/health", timeout=HEALTH_SECONDS)
    if health.status != 200:
        phase = "starting" if health.status is None else "unhealthy"
        return Outcome("pending", phase, health.error or "/health answered {0}".format(health.status))
    models = fetch(target.base_url + "/v1/models", api_key=target.api_key, timeout=HEALTH_SECONDS)
    if models.status in (401, 403):
        return Outcome("refused", "models", "/v1/models answered {0}: the API key is not the engine's".format(models.status))
    if models.status is None or models.status >= 500:
        return Outcome("pending", "models", models.error or "/v1/models answered {0}".format(models.status))
    listed = listed_models(models)
    if target.model not in listed:
        wanted = ", not " + target.model if target.model else ""
        return Outcome("refused", "models", "the engine lists {0}{1}".format(", ".join(listed) or "no model", wanted))
    return complete(target, fetch)


def probe_head(target: Target, fetch: Fetch) -> Outcome:
    """Ask the head of a group for one of its members; the completion is the head's and not told again."""
    outcome = probe(target, fetch)
    if outcome.status == "ready":
        return Outcome("ready", "ready")
    return outcome._replace(phase="waiting for the head", detail="the head {0}: {1}".format(target.base_url, outcome.detail))


def settled(seconds: float) -> Outcome:
    """What a process that cannot be asked is after so many seconds of life."""
    if seconds >= SETTLE_SECONDS:
        return Outcome("ready", "ready")
    return Outcome("pending", "starting", "it lives for {0:.0f} s, of {1:.0f}".format(seconds, SETTLE_SECONDS))


def listed_models(answer: HttpAnswer) -> t.List[str]:
    """Return the model ids of an answer of /v1/models; empty for any other text."""
    body = answer.json()
    rows = body.get("data") if isinstance(body, dict) else None
    return [str(row["id"]) for row in rows if isinstance(row, dict) and "id" in row] if isinstance(rows, list) else []


def complete(target: Target, fetch: Fetch) -> Outcome:
    """Ask for one short completion: a chat, or plain text where the model has no chat template."""
    chat = {"model": target.model, "messages": [{"role": "user", "content": PROMPT}], "max_tokens": COMPLETION_TOKENS, "temperature": 0}
    answer = fetch(target.base_url + "/v1/chat/completions", payload=chat, api_key=target.api_key, timeout=COMPLETION_SECONDS)
    path = "/v1/chat/completions"
    if answer.status == 400:
        plain = {"model": target.model, "prompt": PROMPT, "max_tokens": COMPLETION_TOKENS, "temperature": 0}
        path = "/v1/completions"
        answer = fetch(target.base_url + path, payload=plain, api_key=target.api_key, timeout=COMPLETION_SECONDS)
    if answer.status == 200:
        sample = completion_sample(path, answer.json())
        if sample is not None:
            return Outcome("ready", "ready", completion=sample)
    # 5xx right after /health may be an engine that just died; the caller looks at the process before it believes this.
    status = "pending" if answer.status is None or answer.status >= 500 else "refused"
    return Outcome(status, "completion", "{0} answered {1}: {2}".format(path, answer.status, (answer.error or answer.body)[:300]))


def completion_sample(path: str, body: t.Any) -> t.Optional[t.Dict[str, t.Any]]:
    """Return path, text and token count of a completion, or None when the body is none."""
    try:
        choice = body["choices"][0]
        text = choice["message"]["content"] if "message" in choice else choice["text"]
        tokens = int(body["usage"]["completion_tokens"])
    except (KeyError, IndexError, TypeError, ValueError):
        return None
    return {"path": path, "prompt": PROMPT, "text": text or "", "completion_tokens": tokens} if tokens > 0 else None


def wait(
    ask: t.Callable[[], Outcome],
    alive: t.Callable[[], bool],
    now: t.Callable[[], float],
    sleep: t.Callable[[float], None],
    deadline: float,
) -> Outcome:
    """Ask until ready, dead, or ``deadline`` (in the seconds of ``now``). A wrong answer counts only if it stays until then."""
    while True:
        if not alive():
            return Outcome("dead", "dead")
        outcome = ask()
        if outcome.status == "ready":
            return outcome
        if now() >= deadline:
            return outcome if alive() else Outcome("dead", "dead")
        sleep(POLL_SECONDS)
