# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""One installer as a job of its own on the host: it outlives the play, its questions are answered, and its output has a bound.

A record says BEGUN before it starts. Whoever finds it ended reads the host's files again and writes down what came of it; its exit code
alone proves nothing, since 0 is also what a refused licence leaves behind.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._clock import Clock
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._files import read_text
from ansible_collections.npufleet.ascend.plugins.module_utils._job import Job, JobStatus
from ansible_collections.npufleet.ascend.plugins.module_utils._package_flags import FLAGS, REBOOT_WORDS, explain, plain
from ansible_collections.npufleet.ascend.plugins.module_utils._package_record import BEGUN, DONE, FAILED, REMOVED, Record, Records
from ansible_collections.npufleet.ascend.plugins.module_utils._package_state import Installed, same_version
from ansible_collections.npufleet.ascend.plugins.module_utils._package_table import KINDS

# An installer of Ascend Docker Runtime 26.1.0 wrote 35 MB in 5 s when nobody answered it; the longest honest log is some hundred KB.
LOG_BYTES = 64 * 1024 * 1024
# After its time limit an installer gets so long to end by itself, in seconds.
GRACE_SECONDS = 60
# An installer that is killed so often in one boot is not started again by itself.
MOST_ATTEMPTS = 3
LOOKED_AT = 400
SHOWN = 12
# A file in which the script says that it stopped the installer, and why.
STOPPED = "stopped"
ENDLESS, LATE = "endless", "late"
# Exit codes above are those of signals (sh).
SIGNALLED = 128

# Ansible may come with a short PATH, the umask of somebody careful, and the HOME of whoever became root. Where there is a DISPLAY, a
# self-extracting file opens a terminal window (Makeself; the vendor's installer passes --nox11, which newer packages refuse). No pipe behind the installer: the
# services that a driver starts keep its output open, and a file does not mind.
SCRIPT = """\
# {title}
export PATH="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:$PATH" LC_ALL=C LANGUAGE=C HOME=/root{env}
umask 022
unset DISPLAY XAUTHORITY
rm -f {stopped}
{check}echo 'npufleet: stage {stage} {action}'
yes {answer} 2>/dev/null | timeout -k {grace} {limit} {command} &
pid=$!
begin=$(date +%s)
while kill -0 "$pid" 2>/dev/null; do
    sleep 0.2
    if [ "$(stat -c %s job.log)" -gt {bytes} ]; then
        echo {endless} > {stopped}
        kill "$pid"
        break
    fi
done
wait "$pid"
rc=$?
if [ "$rc" -eq 124 ] || {{ [ "$rc" -eq 137 ] && [ "$(($(date +%s) - begin))" -ge {limit} ]; }}; then
    echo {late} > {stopped}
fi
exit "$rc"
"""
CHECK = """\
echo 'npufleet: stage 1/2 check the file'
yes {answer} 2>/dev/null | timeout -k {grace} {limit} {file} --check || exit {rc}
"""
# Our own code for a file that does not pass its own check; no installer uses it.
DAMAGED = 90


class InstallerError(NpufleetError):
    """An installer that failed. ``where`` is its log."""


class Run(t.NamedTuple):
    """One call of an installer.

    :param argv: the file and its options
    :param limit: seconds that it may take
    :param digest: SHA-256 of the package file; '' for an uninstall script
    :param check: let the file check itself before
    :param env: further variables for the installer
    """

    kind: str
    action: str
    version: str
    number: str
    argv: t.Sequence[str]
    limit: int
    digest: str
    check: bool = False
    env: t.Sequence[t.Tuple[str, str]] = ()

    def job(self, begun: float) -> str:
        """A digest that tells this run from any other, the same call at another time included: what that left is no result of this one.

        :param begun: when it is started
        """
        return hashlib.sha256(json.dumps([self._asdict(), begun], sort_keys=True).encode()).hexdigest()

    def script(self) -> str:
        """The shell script of the job."""
        answer = FLAGS[self.kind].answer
        check = CHECK.format(answer=answer, grace=GRACE_SECONDS, limit=self.limit, file=shlex.quote(self.argv[0]), rc=DAMAGED)
        return SCRIPT.format(
            title="{0} {1}: {2}".format(self.kind, self.version, self.action).replace("\n", " "),
            check=check if self.check else "",
            env="".join(" {0}={1}".format(name, shlex.quote(value)) for name, value in self.env),
            stage="2/2" if self.check else "1/1",
            action=self.action,
            answer=answer,
            grace=GRACE_SECONDS,
            limit=self.limit,
            command=" ".join(shlex.quote(word) for word in self.argv),
            bytes=LOG_BYTES,
            stopped=STOPPED,
            endless=ENDLESS,
            late=LATE,
        )


class Installers:
    """The jobs of one host, one folder a kind, so that the log of each stays until its next run."""

    def __init__(self, records: Records, clock: Clock) -> None:
        self._records = records
        self._clock = clock

    def job(self, kind: str) -> Job:
        """Return the job of a kind."""
        return Job(os.path.join(self._records.folder, "jobs", kind), self._clock.now, self._clock.sleep)

    def log(self, kind: str) -> str:
        """Return the path of the log of its last run."""
        return os.path.join(self._records.folder, "jobs", kind, "job.log")

    def running(self) -> t.Optional[t.Tuple[str, JobStatus]]:
        """Return kind and status of an installer that runs, whoever started it."""
        for kind in KINDS:
            if self._records.read(kind).phase == BEGUN:
                status = self.job(kind).status()
                if status.state == "running":
                    return kind, status
        return None

    def start(self, run: Run) -> None:
        """Write down that it begins, and start it. Its failures so far are counted until it succeeds."""
        old = self._records.read(run.kind)
        this_boot = old.boot_id == self._records.boot_id
        attempts = old.attempts + 1 if old.phase == BEGUN and this_boot else 1
        reboot = old.reboot and this_boot
        job = run.job(self._clock.now())
        self._records.write(run.kind, Record(run.version, run.number, run.action, run.digest, BEGUN, job, reboot=reboot, attempts=attempts))
        self.job(run.kind).start(run.script(), job)

    def ended_well(self, kind: str, installed: Installed) -> t.Optional[Record]:
        """Return what is to be written down of an installer that was begun and came to a good end; None for any other."""
        record, status = self._records.read(kind), self.job(kind).status()
        if not self._ended(kind, record, status) or self._fault(kind, record, status, installed):
            return None
        return self._good_end(kind, record, status, installed)

    def settle(self, kind: str, read: t.Callable[[], Installed]) -> bool:
        """Write down what came of an installer that was begun and runs no more; True when it came to a good end.

        :param read: reads what is installed of this kind now
        :raises InstallerError: it failed, or said that all is well and the host's files do not
        """
        record, status = self._records.read(kind), self.job(kind).status()
        if not self._ended(kind, record, status):
            return False
        installed = read()
        fault = self._fault(kind, record, status, installed)
        if fault:
            self._records.write(kind, record._replace(phase=FAILED, attempts=0))
            raise self._failure(kind, record, fault)
        self._records.write(kind, self._good_end(kind, record, status, installed))
        return True

    def _good_end(self, kind: str, record: Record, status: JobStatus, installed: Installed) -> Record:
        """A boot since then was the one that it needed: no job outlives a boot."""
        phase = REMOVED if record.action == "remove" and not installed.there else DONE
        reboot = record.boot_id == self._records.boot_id and self._reboot(kind, record, status)
        return record._replace(phase=phase, attempts=0, reboot=reboot)

    def _ended(self, kind: str, record: Record, status: JobStatus) -> bool:
        """False for a job that was not the one that was begun, that runs, or that was killed and is to be started again."""
        if record.phase != BEGUN or status.state != "finished" or status.digest != record.job:
            return False  # the play was interrupted just before the start
        killed = not self._stopped(kind) and (status.rc is None or status.rc > SIGNALLED)
        # By somebody, for want of memory, or with the whole host.
        return not (killed and (record.boot_id != self._records.boot_id or record.attempts < MOST_ATTEMPTS))

    def _stopped(self, kind: str) -> str:
        """Why the script of the job stopped the installer; '' when it did not."""
        return (read_text(os.path.join(os.path.dirname(self.log(kind)), STOPPED)) or "").strip()

    def _fault(self, kind: str, record: Record, status: JobStatus, installed: Installed) -> str:
        return _fault(kind, record, status, self._stopped(kind)) or _not_as_wanted(kind, record, installed)

    def _reboot(self, kind: str, record: Record, status: JobStatus) -> bool:
        """The firmware always waits for a boot; a driver, where it says so or could not reset the NPUs, and when it was removed."""
        if kind == "firmware" or (kind == "driver" and record.action == "remove"):
            return True
        if kind != "driver":
            return False
        return status.rc == 2 or any(REBOOT_WORDS.search(plain(line)) for line in self.job(kind).log(LOOKED_AT))

    def _failure(self, kind: str, record: Record, fault: str) -> InstallerError:
        lines = [line for line in map(plain, self.job(kind).log(LOOKED_AT)) if line]
        cause, remedy = explain(lines)
        remedy = remedy or "Look at the log and at /var/log/ascend_seclog on the host"
        return InstallerError(
            "{0} of the {1} {2} {3}{4}".format(record.action, KINDS[kind].title, record.version, fault, ": " + cause if cause else ""),
            where=self.log(kind),
            remedy="{0}; then run again. Last lines:\n{1}".format(remedy, "\n".join(line[:300] for line in lines[-SHOWN:])),
        )


def _fault(kind: str, record: Record, status: JobStatus, stopped: str) -> str:
    """Say how an installer failed; '' when its exit code is a good one."""
    if stopped:
        texts = {
            ENDLESS: "printed more than {0} MB without an end".format(LOG_BYTES // 1024 // 1024),
            LATE: "did not end within its time limit",
        }
        return texts.get(stopped, "did not end") + " and was stopped"
    if status.rc is None or status.rc > SIGNALLED:
        return "was killed {0} times".format(record.attempts)
    # 2: done, and the NPUs could not be reset in place (hicann/driver).
    if status.rc == 0 or (status.rc == 2 and kind in ("driver", "firmware")):
        return ""
    if status.rc == DAMAGED:
        return "was not started, since the file does not pass its own check"
    return "failed with exit code {0}".format(status.rc)


def _not_as_wanted(kind: str, record: Record, installed: Installed) -> str:
    """Say how the files on the host differ from what an installer that ended well should have left; '' when they do not."""
    if record.action == "remove":
        # Of CANN, several versions may lie side by side: the next one is another removal.
        same = installed.there and installed.version == record.number
        return "ended well, but {0} {1} is still there".format(kind, installed.version).rstrip() if same else ""
    if installed.partial:
        return "ended well, but the installation is incomplete: " + installed.partial
    if not installed.version:
        return "ended well, but nothing is installed"
    if record.number and not same_version(installed.version, record.number):
        return "ended well, but {0} is installed and not {1}".format(installed.version, record.number)
    return ""
