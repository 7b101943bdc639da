# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later


"""Runs the module group_info, and measures the clock of the host against that of the controller from both ends of the call."""

from __future__ import annotations

import time
import typing as t

from ansible.plugins.action import ActionBase
from ansible_collections.npufleet.ascend.plugins.module_utils._host_clock import bounds


class ActionModule(ActionBase):
    """See plugins/modules/group_info.py."""

    _supports_async = False
    _supports_check_mode = True
    _supports_diff = True

    def run(self, tmp: t.Any = None, task_vars: t.Optional[t.Dict[str, t.Any]] = None) -> t.Dict[str, t.Any]:
        super().run(tmp, task_vars)
        try:
            return timed(lambda: self._execute_module(module_args=dict(self._task.args), task_vars=task_vars), time.time)
        finally:
            self._remove_tmp_path(self._connection._shell.tmpdir)


def timed(execute: t.Callable[[], t.Dict[str, t.Any]], now: t.Callable[[], float]) -> t.Dict[str, t.Any]:
    """Return the result with ``ahead`` beside its clock."""
    asked = now()
    result = execute()
    answered = now()
    group = result.get("group")
    if isinstance(group, dict) and isinstance(group.get("clock"), dict):
        clock = group["clock"]
        clock["ahead"] = bounds(clock["time"], clock["age"], asked, answered)
    return result
