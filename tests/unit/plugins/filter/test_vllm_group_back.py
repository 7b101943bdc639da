# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import base64
import json

from ansible_collections.npufleet.ascend.plugins.filter.vllm_group_back import FilterModule
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.engine_fakes import params

vllm_group_back = FilterModule().filters()["vllm_group_back"]
MISSING = {"failed": False, "msg": "file not found: /srv/history.json"}


def slurped(document):
    return {"content": base64.b64encode(json.dumps(document).encode()).decode(), "encoding": "base64"}


def kept(*digests):
    rows = [{"digest": one, "since": 1000.0 * place, "options": params(env={"SPEC": one})} for place, one in enumerate(digests)]
    return [slurped(rows), slurped({"digest": digests[-1]})]


def test_what_was_read_on_the_hosts():
    back = vllm_group_back(iter(["a", "b"]), "q", [kept("1", "2"), kept("3", "4")])
    assert ([one["env"]["SPEC"] for one in back["target"]], back["earlier"], back["problem"]) == (["1", "3"], True, "")
    assert [one["env"]["SPEC"] for one in back["answered"]] == ["2", "4"]


def test_a_host_without_files():
    back = vllm_group_back(["a", "b"], "q", [kept("1", "2"), [MISSING, MISSING]])
    assert (back["target"], back["answered"]) == ([], []) and "never answered on b" in back["problem"]
