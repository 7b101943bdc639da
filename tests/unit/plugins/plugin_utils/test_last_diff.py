# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from unittest import mock

import pytest
from ansible_collections.npufleet.ascend.plugins.action import bundle_content, bundle_host, bundle_manifest


@pytest.mark.parametrize("plugin", [bundle_content, bundle_host, bundle_manifest])
@pytest.mark.parametrize(
    "results, changed, diff",
    [
        ([{"changed": True, "diff": "only"}], True, "only"),
        ([{"changed": True, "pending": True, "diff": "early"}, {"changed": False, "diff": "late"}], True, "late"),
        ([{"changed": False, "pending": True, "diff": "early"}, {"failed": True, "msg": "x"}], False, None),
    ],
)
def test_the_diff_is_that_of_the_last_call(plugin, results, changed, diff):
    task = mock.Mock(args={"path": "/srv", "state": "present"}, async_val=0)
    action = plugin.ActionModule(task, mock.Mock(), mock.Mock(), mock.Mock(), mock.Mock(), mock.Mock())
    calls = [dict(result) for result in results]
    with mock.patch.object(action, "_execute_module", side_effect=calls) as execute, mock.patch.object(action, "_remove_tmp_path"):
        result = action.run(task_vars={"inventory_hostname": "npu-01"})
    assert (bool(result.get("changed")), result.get("diff")) == (changed, diff)
    # Going on asks for the same state.
    assert [call[1]["module_args"]["state"] for call in execute.call_args_list] == ["present"] * len(results)
