# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later


"""Runs the module vllm_engine and shows what it is waiting for."""

from __future__ import annotations

import json
import typing as t

from ansible_collections.npufleet.ascend.plugins.plugin_utils._progress import ProgressActionBase

# Printed as it is, so that the curl line can be copied; a result is printed as JSON, with every quote escaped.
CURL = """curl -s {url}/chat/completions -H 'Content-Type: application/json' {key}-d '{body}'"""
KEY_HEADER = """-H "Authorization: Bearer $OPENAI_API_KEY" """


class ActionModule(ProgressActionBase):
    """See plugins/modules/vllm_engine.py."""

    def run(self, tmp: t.Any = None, task_vars: t.Optional[t.Dict[str, t.Any]] = None) -> t.Dict[str, t.Any]:
        result = super().run(tmp, task_vars)
        engine = result.get("engine")
        show = self._show(task_vars or {})
        if isinstance(engine, dict) and engine.get("completion"):
            for line in summary(engine, bool(self._task.args.get("api_key"))):
                show(line)
        elif isinstance(engine, dict) and engine.get("ready") is False:
            # With wait: false; whoever calls again has a task between.
            show("{0:.0f} s, {1}".format(float(result["seconds"]), result["progress"]))
        if result.get("failed") and result.get("tail"):
            for line in ["last lines of the engine's log:", *result["tail"]]:
                show(line)
        return result


def summary(engine: t.Mapping[str, t.Any], has_key: bool) -> t.List[str]:
    """Lines that tell how to reach an engine that answered."""
    body = {"model": engine["model"], "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 16}
    return [
        "endpoint      {0}".format(engine["url"]),
        "model         {0}".format(engine["model"]),
        "ready after   {0} s".format(engine["ready_seconds"]),
        "it answered   {0}".format(json.dumps(engine["completion"]["text"], ensure_ascii=False)),
        "try           " + CURL.format(url=engine["url"], key=KEY_HEADER if has_key else "", body=json.dumps(body)),
    ]
