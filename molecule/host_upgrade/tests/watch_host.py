# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Wait on a server for one event; runs there, from standard input: watch_host.py JSON. Keys:

event, kind, action   a line of the stand-ins' log: start or end of an installer
path, has             a file is there (shell pattern), with this text
gone                  this file is not there
boot                  nothing: the end of the container ends this program, too
since                 so many lines of the log are old
freeze                then stop what came into the container from outside: modules of Ansible, but not the jobs that they have started
installer             then kill the installer that runs
seconds               how long to wait

Prints its process id, and then {"seen": true, "frozen": [process ids]}. Frozen, not killed: a play whose module is killed fails, and may end
before somebody kills it.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
import signal
import sys
import time

LOG = "/var/log/standin-packages/executions.jsonl"


def main() -> int:
    asked = json.loads(sys.argv[1])
    print(os.getpid(), flush=True)
    end = time.time() + asked["seconds"]
    while time.time() < end:
        if happened(asked):
            frozen = freeze_sessions() if asked["freeze"] else []
            if asked["installer"]:
                os.kill(json.loads(text(LOG).splitlines()[-1])["pid"], signal.SIGKILL)
            print(json.dumps({"seen": True, "frozen": frozen}))
            return 0
        time.sleep(0.01)
    print("nothing happened in {0} s".format(asked["seconds"]))
    return 1


def happened(asked: dict) -> bool:
    if "gone" in asked:
        return not os.path.exists(asked["gone"])
    if "path" in asked:
        return any(asked["has"] in text(path) for path in glob.glob(asked["path"]))
    return "kind" in asked and is_logged(asked)


def is_logged(asked: dict) -> bool:
    pids = set()
    for line in map(json.loads, text(LOG).splitlines()[asked["since"] :]):
        if line["event"] == "start" and (line["kind"], line["action"]) == (asked["kind"], asked["action"]):
            pids.add(line["pid"])
            if asked["event"] == "start":
                return True
        elif line["event"] == asked["event"] and line["pid"] in pids:
            return True
    return False


def text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read()
    except OSError:
        return ""


def freeze_sessions() -> list:
    """Processes of `docker exec` have no parent inside; a job has a session of its own."""
    table = {int(name): text("/proc/{0}/stat".format(name)).rpartition(")")[2].split() for name in os.listdir("/proc") if name.isdigit()}
    table = {pid: fields for pid, fields in table.items() if len(fields) > 3}
    outside = {fields[3] for pid, fields in table.items() if fields[1] == "0" and pid not in (1, os.getpid())}
    frozen = [pid for pid, fields in table.items() if fields[3] in outside]
    for pid in frozen:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
    return frozen


if __name__ == "__main__":
    sys.exit(main())
