# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.action.group_info import ActionModule, timed


def clock_of(*times):
    left = list(times)
    return lambda: left.pop(0)


def test_the_clock_of_the_host_is_measured_from_both_ends():
    # Read between 100.0 and 101.5 of the controller: the host was busy for another 20 s.
    result = timed(lambda: {"group": {"clock": {"time": 103.0, "age": 20.0}}}, clock_of(100.0, 121.5))
    assert result["group"]["clock"] == {"time": 103.0, "age": 20.0, "ahead": [1.5, 3.0]}


@pytest.mark.parametrize("result", [{"failed": True, "msg": "x"}, {"group": None}, {"group": {"clock": None}}])
def test_a_result_without_a_clock(result):
    assert timed(lambda: dict(result), clock_of(1.0, 2.0)) == result


def test_the_plugin_calls_the_module_of_its_name(monkeypatch):
    removed = []
    plugin = ActionModule.__new__(ActionModule)
    plugin._task = type("Task", (), {"args": {"chips": [0]}, "async_val": 0, "check_mode": False})()
    plugin._connection = type("Connection", (), {"_shell": type("Shell", (), {"tmpdir": "/tmp/x"})()})()
    monkeypatch.setattr(ActionModule.__mro__[1], "run", lambda *_args: {})
    monkeypatch.setattr(plugin, "_remove_tmp_path", removed.append, raising=False)

    def execute(module_args, task_vars):
        return {"asked": module_args, "vars": task_vars}

    monkeypatch.setattr(plugin, "_execute_module", execute, raising=False)
    assert plugin.run(task_vars={"a": 1}) == {"asked": {"chips": [0]}, "vars": {"a": 1}}
    assert removed == ["/tmp/x"]
