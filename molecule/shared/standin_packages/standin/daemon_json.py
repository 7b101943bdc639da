# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The one file of Docker that Ascend Docker Runtime changes (mind-cluster, install/process/docker_process.go; tried)."""

from __future__ import annotations

import json
import typing as t


def with_runtime(text: t.Optional[str], runtime: str) -> str:
    """Return daemon.json with the runtime "ascend", which becomes the default in place of any other.

    :param text: the file as it is, None when there is none
    :raises ValueError: when it is no JSON object, or its runtimes are none
    """
    daemon = _load(text) if text is not None else {}
    runtimes = daemon.setdefault("runtimes", {})
    if not isinstance(runtimes, dict) or not isinstance(runtimes.setdefault("ascend", {}), dict):
        raise ValueError("runtimes is no object")
    runtimes["ascend"]["path"] = runtime
    runtimes["ascend"].setdefault("runtimeArgs", [])
    daemon["default-runtime"] = "ascend"
    return _dump(daemon)


def without_runtime(text: str) -> str:
    """Return daemon.json without the runtime. The default that was there before does not come back.

    :raises ValueError: when it is no JSON object
    """
    daemon = _load(text)
    if isinstance(daemon.get("runtimes"), dict):
        daemon["runtimes"].pop("ascend", None)
    if daemon.get("default-runtime") == "ascend":
        del daemon["default-runtime"]
    return _dump(daemon)


def _load(text: str) -> t.Dict[str, t.Any]:
    daemon = json.loads(text)
    if not isinstance(daemon, dict):
        raise ValueError("no JSON object")
    return daemon


def _dump(daemon: t.Dict[str, t.Any]) -> str:
    return json.dumps(daemon, indent=8, sort_keys=True, ensure_ascii=False)
