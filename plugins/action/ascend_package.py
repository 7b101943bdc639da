# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later


"""Runs the module ascend_package, shows which installer or download it is waiting for, and tells at the end what was done."""

from __future__ import annotations

import typing as t

from ansible_collections.npufleet.ascend.plugins.plugin_utils._progress import ProgressActionBase


class ActionModule(ProgressActionBase):
    """See plugins/modules/ascend_package.py."""

    ONCE_STATES = ()

    def run(self, tmp: t.Any = None, task_vars: t.Optional[t.Dict[str, t.Any]] = None) -> t.Dict[str, t.Any]:
        self._planned: t.List[t.Dict[str, t.Any]] = []
        result = super().run(tmp, task_vars)
        result["packages"] = with_actions(result.get("packages"), self._planned)
        if result["packages"] is None:
            del result["packages"]
        return result

    def _call(self, again: bool, task_vars: t.Optional[t.Dict[str, t.Any]]) -> t.Dict[str, t.Any]:
        result = super()._call(again, task_vars)
        if not again:
            self._planned = result.get("packages") or []
        return result


def with_actions(
    packages: t.Optional[t.List[t.Dict[str, t.Any]]], planned: t.Sequence[t.Mapping[str, t.Any]]
) -> t.Optional[t.List[t.Dict[str, t.Any]]]:
    """The packages after the last call, with the actions of the first one: at the end nothing is left to do, and that is not what happened."""
    if packages is None:
        return None
    first = {(row["name"], row.get("file")): row for row in planned}
    kept = [first.get((row["name"], row.get("file")), row) for row in packages]
    return [dict(row, action=old["action"], reason=old["reason"]) for row, old in zip(packages, kept)]
