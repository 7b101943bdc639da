# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A server of a scenario that the layers below the engine are tried on: what the stand-ins of its packages did, and what a run changed."""

from __future__ import annotations

import json
import re

EXECUTIONS = "/var/log/standin-packages/executions.jsonl"
RECAP = re.compile(r"^(\S+)\s+: ok=(\d+)\s+changed=(\d+)\s+unreachable=(\d+)\s+failed=(\d+)", re.MULTILINE)


class PreparedHost:
    """One server, seen through its testinfra host."""

    def __init__(self, host):
        self._host = host

    def executions(self):
        """Every start of a package on the host, oldest first: (kind, action, version)."""
        record = self._host.file(EXECUTIONS)
        lines = [json.loads(line) for line in record.content_string.splitlines()] if record.exists else []
        return [(line["kind"], line["action"], line["version"]) for line in lines if line["event"] == "start"]

    def acts(self):
        """Those of them that changed the host; a package that only checked itself did not."""
        return [(kind, action) for kind, action, _version in self.executions() if action not in ("check", "version", "help")]

    def fault(self, **faults):
        """Make stand-ins fail, by kind; none puts them right again."""
        self._host.check_output(
            "mkdir -p /etc/standin-packages && printf '%s' '{0}' > /etc/standin-packages/faults.json".format(json.dumps(faults))
        )


def recap(done):
    """``changed`` and ``failed`` of each host in the output of ansible-playbook."""
    return {name: {"changed": int(changed), "failed": int(failed)} for name, _ok, changed, _gone, failed in RECAP.findall(done.stdout)}
