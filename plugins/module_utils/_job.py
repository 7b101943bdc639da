# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""One long job on the host that outlives the call that started it: a shell script, its log, its exit code.

A call starts the job or finds it running, watches it for a while and says how far it is; so a play that is interrupted loses nothing,
and the person who runs it sees what is going on.
"""

from __future__ import annotations

import contextlib
import glob
import os
import re
import signal
import subprocess
import time
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._clock import Clock
from ansible_collections.npufleet.ascend.plugins.module_utils._files import read_text, tail, write_text

STAGE_PATTERN = re.compile(r"^npufleet: stage (\d+)/(\d+) (.*)$")

# Enough to find the last stage in the output of a pip that names every wheel.
LOG_LINES = 5000

# pip gets this long to end by itself, in seconds.
STOP_SECONDS = 5.0
POLL_SECONDS = 0.1
WATCH_SECONDS = 0.5

# The first line waits for the word that job.pid is written; without it, as when the call is killed just then, nothing runs.
WRAPPER = """\
read -r go || exit 1
/bin/sh "$0/job.sh" </dev/null
echo $? > "$0/job.rc.new"
mv "$0/job.rc.new" "$0/job.rc"
"""


class JobStatus(t.NamedTuple):
    """``state`` is none, running or finished; ``rc`` is the exit code of a finished job, None when it was killed."""

    state: str
    rc: t.Optional[int]
    digest: str
    stage: str
    last_line: str
    seconds: float


class Job:
    """A job in a folder of its own: job.sh, job.log, job.rc, job.pid."""

    def __init__(self, folder: str, now: t.Callable[[], float] = time.time, sleep: t.Callable[[float], None] = time.sleep) -> None:
        self._folder = folder
        self._now = now
        self._sleep = sleep

    def _path(self, name: str) -> str:
        return os.path.join(self._folder, name)

    def start(self, script: str, digest: str) -> None:
        """Run ``script`` in a session of its own. The script may name mirrors with credentials, so it and its log are 0600."""
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        for name in ("job.rc", "job.log"):
            if os.path.exists(self._path(name)):
                os.unlink(self._path(name))
        write_text(self._path("job.sh"), script, 0o600)
        with open(os.open(self._path("job.log"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as log:
            # run_command waits for its command, and this job outlives the call.
            process = subprocess.Popen(  # pylint: disable=ansible-bad-function
                ["/bin/sh", "-c", WRAPPER, self._folder],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                cwd=self._folder,
            )
        write_text(self._path("job.pid"), "{0} {1} {2} {3}\n".format(process.pid, start_ticks(process.pid), digest, self._now()), 0o600)
        with t.cast(t.IO[bytes], process.stdin) as go:
            go.write(b"go\n")

    def status(self) -> JobStatus:
        """Look at the job without waiting."""
        words = (read_text(self._path("job.pid")) or "").split()
        if len(words) != 4:
            return JobStatus("none", None, "", "", "", 0.0)
        pid, ticks, digest, started = int(words[0]), words[1], words[2], float(words[3])
        lines = [line.strip() for line in self.log(LOG_LINES) if line.strip()]
        stages = [match for match in map(STAGE_PATTERN.match, lines) if match]
        stage = "{0}/{1} {2}".format(*stages[-1].groups()) if stages else ""
        last = next((line for line in reversed(lines) if not STAGE_PATTERN.match(line) and not line.startswith("WARNING:")), "")
        seconds = self._now() - started
        # In this order: a job that ends between the two has written its code.
        running = start_ticks(pid) == ticks
        rc = read_text(self._path("job.rc"))
        if rc is not None:
            return JobStatus("finished", int(rc.strip() or 1), digest, stage, last, seconds)
        if running:
            return JobStatus("running", None, digest, stage, last, seconds)
        return JobStatus("finished", None, digest, stage, last, seconds)

    def log(self, limit: int) -> t.List[str]:
        """The last ``limit`` lines of the job's output."""
        return tail(self._path("job.log"), 0, limit)

    def stop(self) -> None:
        """End a running job with all its children, and wait until they are gone."""
        words = (read_text(self._path("job.pid")) or "").split()
        if len(words) != 4 or start_ticks(int(words[0])) != words[1]:
            return
        group = int(words[0])
        for signum in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, signum)
            for _turn in range(int(STOP_SECONDS / POLL_SECONDS)):
                if not group_alive(group):
                    return
                self._sleep(POLL_SECONDS)


def watch(job: Job, clock: Clock, wait_slice: float, wait_timeout: float) -> t.Tuple[JobStatus, bool]:
    """Watch a job until it runs no more, for at most ``wait_slice`` seconds.

    Return its status, and True when it ran for longer than ``wait_timeout`` seconds and was therefore stopped; the status is from before that.
    """
    deadline = clock.now() + wait_slice
    while True:
        status = job.status()
        if status.state != "running":
            return status, False
        if status.seconds > wait_timeout:
            job.stop()
            return status, True
        if clock.now() >= deadline:
            return status, False
        clock.sleep(WATCH_SECONDS)


def start_ticks(pid: int) -> str:
    """Start time of a process in clock ticks since boot, which tells it from a later one of the same number; '' when it is gone.

    A zombie is gone: nobody waits for a job but the init of the host.
    """
    text = read_text("/proc/{0}/stat".format(pid)) or ""
    fields = text.rpartition(")")[2].split()
    return fields[19] if len(fields) > 19 and fields[0] != "Z" else ""


def group_alive(group: int) -> bool:
    """True while a process of that process group runs; zombies do not count (proc(5), fields 3 and 5 of stat)."""
    for path in glob.glob("/proc/[0-9]*/stat"):
        fields = (read_text(path) or "").rpartition(")")[2].split()
        if len(fields) > 2 and fields[0] != "Z" and int(fields[2]) == group:
            return True
    return False
