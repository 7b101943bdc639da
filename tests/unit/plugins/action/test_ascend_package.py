# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.action import ascend_package
from ansible_collections.npufleet.ascend.plugins.action.ascend_package import ActionModule, with_actions
from ansible_collections.npufleet.ascend.plugins.plugin_utils._progress import ProgressActionBase


def row(name, action, installed=None, file="/x", reason=""):
    return {"name": name, "action": action, "installed": installed, "file": file, "reason": reason}


def test_the_last_result_says_what_the_first_call_set_out_to_do():
    planned = [row("driver", "install", reason="not there"), row("firmware", "install"), row("ops", "none")]
    last = [row("driver", "none", "25.5.0"), row("firmware", "none", "7.8.0.5.220"), row("ops", "none", "9.0.0")]
    assert with_actions(last, planned) == [
        row("driver", "install", "25.5.0", reason="not there"),
        row("firmware", "install", "7.8.0.5.220"),
        row("ops", "none", "9.0.0"),
    ]


def test_the_same_kind_for_two_architectures():
    planned = [row("driver", "download", file="/a"), row("driver", "none", file="/b")]
    last = [row("driver", "none", file="/a"), row("driver", "none", file="/b")]
    assert [one["action"] for one in with_actions(last, planned)] == ["download", "none"]


def test_a_package_that_was_not_there_at_first_keeps_its_own():
    assert with_actions([row("driver", "repair")], []) == [row("driver", "repair")]
    assert with_actions(None, []) is None


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        ([{"pending": True, "packages": [row("driver", "install")]}, {"packages": [row("driver", "none", "25.5.0")]}], "install"),
        ([{"packages": [row("driver", "none", "25.5.0")]}], "none"),
        ([{"failed": True, "msg": "x"}], None),
    ],
)
def test_the_plugin_calls_until_nothing_is_pending(monkeypatch, results, expected):
    answers = [dict(result) for result in results]
    monkeypatch.setattr(ProgressActionBase, "_call", lambda _self, _again, _vars: answers.pop(0))

    def run(self, _tmp=None, task_vars=None):
        result = self._call(False, task_vars)
        while result.get("pending"):
            result = self._call(True, task_vars)
        return result

    monkeypatch.setattr(ProgressActionBase, "run", run)
    result = ActionModule.run(object.__new__(ActionModule), None, {})
    assert [one["action"] for one in result.get("packages", [])] == ([expected] if expected else [])
    assert answers == []


def test_no_state_of_the_module_acts_again_at_every_call():
    assert ascend_package.ActionModule.ONCE_STATES == ()
