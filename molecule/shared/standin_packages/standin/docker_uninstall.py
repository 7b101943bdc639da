# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Removal of Ascend Docker Runtime (mind-cluster, build/scripts/uninstall.sh)."""

from __future__ import annotations

import typing as t

from standin import daemon_json
from standin.host import Host
from standin.journal import Finish, say

CONFIG = "/etc/ascend-docker-runtime.d"


def uninstall(host: Host, folder: str, config: str, check: t.Callable[[Host, str], str]) -> str:
    """Remove runtime, mount list and the keys of daemon.json, and return what to log.

    Without the folder, or without daemon.json, nothing is removed and the exit code is 0 all the same.

    :raises Finish: with 1 when daemon.json is not root's alone or no JSON
    """
    if not host.exists(folder):
        return "uninstall skipping, the specified install path does not exist"
    if not host.exists(config):
        return "uninstall skipping, {0} does not exist".format(config)
    reason = check(host, config)
    if not reason:
        try:
            text = daemon_json.without_runtime(host.read(config))
        except ValueError as exc:
            reason = str(exc)
    if reason:
        say("[ERROR] uninstall failed, {0} is invalid: {1}".format(config, reason))
        raise Finish(1)
    host.write(config, text, host.mode(config))
    host.remove(CONFIG)
    host.remove(folder)
    return "ascend-docker-runtime uninstall success"
