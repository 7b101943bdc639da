# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Progress for modules that know only at their end what they change: the diff is that of the last call."""

from __future__ import annotations

import typing as t

from ansible_collections.npufleet.ascend.plugins.plugin_utils._progress import ProgressActionBase


class LastDiffActionBase(ProgressActionBase):
    """Runs the module of the same name; every call asks for the same."""

    ONCE_STATES = ()
    _last_diff: t.Any = None

    def run(self, tmp: t.Any = None, task_vars: t.Optional[t.Dict[str, t.Any]] = None) -> t.Dict[str, t.Any]:
        result = super().run(tmp, task_vars)
        if "diff" in result:
            result["diff"] = self._last_diff
        return result

    def _call(self, again: bool, task_vars: t.Optional[t.Dict[str, t.Any]]) -> t.Dict[str, t.Any]:
        result = super()._call(again, task_vars)
        self._last_diff = result.get("diff")
        return result
