# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Show progress of a module that waits on the host in slices: run it again until it says that nothing is pending."""

from __future__ import annotations

import typing as t

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

# A module that always says "pending" has its own time limit; this one only ends a loop that such a module would never end.
MOST_SLICES = 10000


class ProgressActionBase(ActionBase):
    """Runs the module of the same name; its result holds ``pending``, ``progress`` and ``seconds``."""

    _supports_async = False
    _supports_check_mode = True
    _supports_diff = True
    # States that act at every call; the calls that only go on waiting ask for started.
    ONCE_STATES: t.Tuple[str, ...] = ("restarted", "present")

    def run(self, tmp: t.Any = None, task_vars: t.Optional[t.Dict[str, t.Any]] = None) -> t.Dict[str, t.Any]:
        super().run(tmp, task_vars)
        try:
            return follow(lambda again: self._call(again, task_vars), self._show(task_vars or {}))
        finally:
            self._remove_tmp_path(self._connection._shell.tmpdir)

    def _call(self, again: bool, task_vars: t.Optional[t.Dict[str, t.Any]]) -> t.Dict[str, t.Any]:
        args = dict(self._task.args)
        if again and args.get("state") in self.ONCE_STATES:
            args["state"] = "started"
        result: t.Dict[str, t.Any] = self._execute_module(module_args=args, task_vars=task_vars)
        return result

    def _show(self, task_vars: t.Mapping[str, t.Any]) -> t.Callable[[str], None]:
        host = task_vars.get("inventory_hostname", "?")
        display = Display()

        def show(line: str) -> None:
            # A line that is never silent is the purpose; verbosity does not decide.
            display.display("  [{0}] {1}".format(host, line))

        return show


def follow(execute: t.Callable[[bool], t.Dict[str, t.Any]], show: t.Callable[[str], None]) -> t.Dict[str, t.Any]:
    """Call ``execute(again)`` until its result is not pending. The first result says what changed: later ones only wait."""
    result = execute(False)
    changed, diff, action = bool(result.get("changed")), result.get("diff"), _action_of(result)
    slices = 1
    while result.get("pending") and not result.get("failed") and slices < MOST_SLICES:
        show("{0:.0f} s, {1}".format(float(result.get("seconds") or 0), result.get("progress") or "waiting"))
        result = execute(True)
        slices += 1
    if slices > 1:
        result["changed"] = changed or bool(result.get("changed"))
        if diff is not None and not result.get("failed"):
            result["diff"] = diff
        if action and isinstance(result.get("engine"), dict):
            result["engine"]["action"] = action
    return result


def _action_of(result: t.Mapping[str, t.Any]) -> t.Optional[str]:
    engine = result.get("engine")
    return engine.get("action") if isinstance(engine, dict) else None
