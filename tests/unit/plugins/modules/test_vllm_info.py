# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
import yaml
from ansible_collections.npufleet.ascend.plugins.modules import vllm_info
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.engine_fakes import COMPLETION, FakeFetch
from ansible_collections.npufleet.ascend.tests.unit.plugins.modules.module_runner import run_module

URL = "http://127.0.0.1:8000"


def ask(monkeypatch, fetch, check=False, **options):
    monkeypatch.setattr(vllm_info, "fetch", fetch)
    return run_module(vllm_info.main, dict({"url": URL}, **options), check=check)


@pytest.mark.parametrize("check", [True, False])
def test_an_engine_that_answers(monkeypatch, check):
    result = ask(monkeypatch, FakeFetch(), check)
    assert result == {
        "failed": False,
        "changed": False,
        "engine": {
            "ready": True,
            "phase": "ready",
            "detail": "",
            "models": ["tiny"],
            "version": "0.32.0",
            "completion": {"path": "/v1/chat/completions", "prompt": "What is an NPU?", "text": "An NPU.", "completion_tokens": 3},
        },
    }


@pytest.mark.parametrize("url", [URL, URL + "/", URL + "/v1", URL + "/v1/"])
def test_the_address_with_and_without_v1(monkeypatch, url):
    fetch = FakeFetch()
    assert ask(monkeypatch, fetch, url=url)["engine"]["ready"]
    assert fetch.paths() == ["/v1/models", "/version", "/health", "/v1/models", "/v1/chat/completions"]


def test_only_the_end_of_an_address_is_cut():
    assert vllm_info.base_of("https://gateway.example/v1/deepseek") == "https://gateway.example/v1/deepseek"
    assert vllm_info.base_of("https://gateway.example/llm/v1") == "https://gateway.example/llm"


def test_the_key_goes_where_it_is_wanted_and_nowhere_else(monkeypatch):
    fetch = FakeFetch()
    ask(monkeypatch, fetch, api_key="sk-1")
    assert {(path, key) for path, _payload, key in fetch.calls} == {
        ("/v1/models", "sk-1"),
        ("/v1/chat/completions", "sk-1"),
        ("/health", None),
        ("/version", None),
    }


@pytest.mark.parametrize(("model", "asked"), [(None, "one"), ("two", "two")])
def test_which_model_is_asked(monkeypatch, model, asked):
    fetch = FakeFetch().set("/v1/models", 200, {"data": [{"id": "one"}, {"id": "two"}]})
    engine = ask(monkeypatch, fetch, model=model)["engine"]
    assert fetch.calls[-1][1]["model"] == asked
    assert engine["models"] == ["one", "two"]


@pytest.mark.parametrize(
    ("path", "answer", "phase", "detail"),
    [
        ("/health", ("connection refused",), "starting", "connection refused"),
        ("/health", (500, ""), "unhealthy", "/health answered 500"),
        ("/v1/models", (401, ""), "models", "/v1/models answered 401: the API key is not the engine's"),
        ("/v1/models", (200, {"data": []}), "models", "the engine lists no model"),
        ("/v1/chat/completions", (500, "boom"), "completion", "/v1/chat/completions answered 500: boom"),
        ("/v1/chat/completions", (200, dict(COMPLETION, usage=None)), "completion", None),
    ],
)
def test_an_engine_that_is_not_ready_is_no_failure_of_the_question(monkeypatch, path, answer, phase, detail):
    result = ask(monkeypatch, FakeFetch().set(path, *answer))
    engine = result["engine"]
    assert (result["failed"], result["changed"]) == (False, False)
    assert (engine["ready"], engine["phase"], engine["completion"]) == (False, phase, None)
    assert detail is None or engine["detail"] == detail


def test_another_model_than_asked_for(monkeypatch):
    assert ask(monkeypatch, FakeFetch(), model="other")["engine"]["detail"] == "the engine lists tiny, not other"


@pytest.mark.parametrize("answer", [("timed out",), (404, "Not Found"), (200, "[]"), (200, "{}")])
def test_an_engine_that_does_not_say_its_version(monkeypatch, answer):
    engine = ask(monkeypatch, FakeFetch().set("/version", *answer))["engine"]
    assert (engine["version"], engine["ready"]) == (None, True)


def test_the_documentation_names_every_option_and_every_value(monkeypatch):
    documented = yaml.safe_load(vllm_info.DOCUMENTATION)["options"]
    assert sorted(documented) == ["api_key", "model", "url"]
    returned = yaml.safe_load(vllm_info.RETURN)["engine"]["contains"]
    assert sorted(returned) == sorted(ask(monkeypatch, FakeFetch())["engine"])


def test_the_address_is_required(monkeypatch):
    result = run_module(vllm_info.main, {})
    assert result["failed"]
    assert "url" in result["msg"]
