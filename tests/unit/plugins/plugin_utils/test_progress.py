# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from unittest import mock

import pytest
from ansible_collections.npufleet.ascend.plugins.action import vllm_engine, vllm_venv
from ansible_collections.npufleet.ascend.plugins.plugin_utils import _progress
from ansible_collections.npufleet.ascend.plugins.plugin_utils._progress import follow


class Module:
    """Gives its results in turn; the last one stays."""

    def __init__(self, *results):
        self.results = [dict(result) for result in results]
        self.calls = []
        self.shown = []

    def execute(self, again):
        self.calls.append(again)
        return self.results.pop(0) if len(self.results) > 1 else self.results[0]

    def follow(self):
        return follow(self.execute, self.shown.append)


PENDING = {"changed": False, "pending": True, "seconds": 9.6, "progress": "starting: Loading weights"}
READY = {"changed": False, "pending": False}


def test_a_module_that_is_done_is_called_once_and_nothing_shown():
    module = Module({"changed": True, "pending": False, "diff": "d"})
    assert module.follow() == {"changed": True, "pending": False, "diff": "d"}
    assert (module.calls, module.shown) == ([False], [])


def test_progress_is_shown_between_the_slices():
    module = Module(dict(PENDING, changed=True), dict(PENDING, seconds=None, progress=""), READY)
    module.follow()
    assert module.calls == [False, True, True]
    assert module.shown == ["10 s, starting: Loading weights", "0 s, waiting"]


@pytest.mark.parametrize(("first", "last", "changed"), [(True, False, True), (False, True, True), (False, False, False)])
def test_a_change_in_any_slice_is_a_change(first, last, changed):
    assert Module(dict(PENDING, changed=first), dict(READY, changed=last)).follow()["changed"] is changed


def test_the_first_slice_says_what_was_done():
    first = dict(PENDING, changed=True, diff={"before": "a", "after": "b"}, engine={"action": "create"})
    last = dict(READY, diff={"before": "b", "after": "b"}, engine={"action": "keep", "pid": 42})
    result = Module(first, last).follow()
    assert result["diff"] == {"before": "a", "after": "b"}
    assert result["engine"] == {"action": "create", "pid": 42}


def test_results_without_diff_and_engine_stay_as_they_are():
    assert Module(PENDING, dict(READY, engine="x")).follow() == {"changed": False, "pending": False, "engine": "x"}


def test_a_failure_ends_the_loop_and_keeps_what_was_changed():
    first = dict(PENDING, changed=True, diff={"before": "a", "after": "b"})
    module = Module(first, {"failed": True, "pending": True, "msg": "dead"})
    result = module.follow()
    assert result == {"failed": True, "pending": True, "msg": "dead", "changed": True}
    assert module.calls == [False, True]


def test_a_failure_at_once_is_handed_on():
    assert Module({"failed": True, "pending": True}).follow() == {"failed": True, "pending": True}


def test_a_module_that_never_ends_is_left(monkeypatch):
    monkeypatch.setattr(_progress, "MOST_SLICES", 3)
    module = Module(PENDING)
    assert module.follow()["pending"] is True
    assert module.calls == [False, True, True]


class Action:
    """An action plugin on a connection that does nothing, with a module that gives ``results``."""

    def __init__(self, plugin, monkeypatch, *results, **args):
        module = Module(*results)
        self.called = []
        self.shown = []
        self.removed = []
        self.action = plugin.ActionModule(
            task=mock.MagicMock(args=args, async_val=0),
            connection=mock.MagicMock(),
            play_context=None,
            loader=None,
            templar=None,
            shared_loader_obj=None,
        )
        monkeypatch.setattr(self.action, "_execute_module", self._execute(module))
        monkeypatch.setattr(self.action, "_remove_tmp_path", self.removed.append)
        monkeypatch.setattr(_progress, "Display", lambda: mock.MagicMock(display=self.shown.append))
        monkeypatch.setattr(_progress.ActionBase, "run", lambda *_args, **_options: {})

    def _execute(self, module):
        def execute(module_args, task_vars):
            self.called.append((module_args, task_vars))
            return module.execute(len(self.called) > 1)

        return execute

    def run(self):
        return self.action.run(None, {"inventory_hostname": "node1"})


@pytest.mark.parametrize(
    ("plugin", "state", "later"),
    [
        (vllm_engine, "restarted", "started"),
        (vllm_engine, "present", "started"),
        (vllm_engine, "started", "started"),
        (vllm_venv, "present", "present"),
    ],
)
def test_calls_that_only_go_on_waiting_do_not_act_again(monkeypatch, plugin, state, later):
    action = Action(plugin, monkeypatch, PENDING, PENDING, READY, state=state, name="demo")
    assert action.run()["pending"] is False
    assert [args for args, _vars in action.called] == [
        {"state": state, "name": "demo"},
        {"state": later, "name": "demo"},
        {"state": later, "name": "demo"},
    ]
    assert {task_vars["inventory_hostname"] for _args, task_vars in action.called} == {"node1"}
    assert action.shown == ["  [node1] 10 s, starting: Loading weights"] * 2


def test_the_default_state_is_left_to_the_module(monkeypatch):
    action = Action(vllm_engine, monkeypatch, PENDING, READY, name="demo")
    action.run()
    assert [args for args, _vars in action.called] == [{"name": "demo"}] * 2


def test_the_folder_on_the_host_is_removed_whatever_happens(monkeypatch):
    action = Action(vllm_venv, monkeypatch, READY)
    action.run()
    assert len(action.removed) == 1

    def lost(**_options):
        raise RuntimeError("connection lost")

    monkeypatch.setattr(action.action, "_execute_module", lost)
    with pytest.raises(RuntimeError):
        action.run()
    assert len(action.removed) == 2


ENGINE = {
    "url": "http://127.0.0.1:8000/v1",
    "model": "tiny",
    "ready_seconds": 7.5,
    "completion": {"text": 'An "NPU" \u2264 1'},
}


@pytest.mark.parametrize(("args", "header"), [({}, ""), ({"api_key": "sk-unit-secret"}, '-H "Authorization: Bearer $OPENAI_API_KEY" ')])
def test_an_engine_that_answered_is_shown_with_a_line_to_copy(monkeypatch, args, header):
    action = Action(vllm_engine, monkeypatch, dict(READY, engine=ENGINE), **args)
    action.run()
    assert action.shown == [
        "  [node1] endpoint      http://127.0.0.1:8000/v1",
        "  [node1] model         tiny",
        "  [node1] ready after   7.5 s",
        '  [node1] it answered   "An \\"NPU\\" \u2264 1"',
        "  [node1] try           curl -s http://127.0.0.1:8000/v1/chat/completions -H 'Content-Type: application/json' "
        + header
        + '-d \'{"model": "tiny", "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 16}\'',
    ]


def test_the_last_lines_of_an_engine_that_failed_are_shown(monkeypatch):
    action = Action(vllm_engine, monkeypatch, {"failed": True, "tail": ["Traceback", "OSError: x"]})
    assert action.run()["failed"]
    assert action.shown == ["  [node1] last lines of the engine's log:", "  [node1] Traceback", "  [node1] OSError: x"]


def test_an_engine_that_nobody_waits_for_tells_how_far_it_is(monkeypatch):
    waits = dict(PENDING, pending=False, engine=dict(ENGINE, completion=None, ready=False))
    action = Action(vllm_engine, monkeypatch, waits, wait=False)
    action.run()
    assert (len(action.called), action.shown) == (1, ["  [node1] 10 s, starting: Loading weights"])


@pytest.mark.parametrize("result", [{"failed": True, "msg": "bad option"}, dict(READY, engine=dict(ENGINE, completion=None)), READY])
def test_otherwise_there_is_nothing_to_show(monkeypatch, result):
    action = Action(vllm_engine, monkeypatch, result)
    action.run()
    assert action.shown == []
