# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""The work of the module ascend_package: look, plan, check, let one installer run as a job, look again, and so on until nothing is left to do."""

from __future__ import annotations

import functools
import os
import shutil
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._clock import Clock
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._files import make_folders, write_text
from ansible_collections.npufleet.ascend.plugins.module_utils._host import GIB, disk_free
from ansible_collections.npufleet.ascend.plugins.module_utils._job import JobStatus
from ansible_collections.npufleet.ascend.plugins.module_utils._package_flags import plain
from ansible_collections.npufleet.ascend.plugins.module_utils._package_job import InstallerError, Installers
from ansible_collections.npufleet.ascend.plugins.module_utils._package_names import HDK_KINDS
from ansible_collections.npufleet.ascend.plugins.module_utils._package_options import checked
from ansible_collections.npufleet.ascend.plugins.module_utils._package_plan import Plan, Step, plan_absent, plan_present
from ansible_collections.npufleet.ascend.plugins.module_utils._package_prerequisites import Host, Problem
from ansible_collections.npufleet.ascend.plugins.module_utils._package_reboot import reboot_reason, running_driver
from ansible_collections.npufleet.ascend.plugins.module_utils._package_record import BEGUN, BOOT_ID, Record, Records
from ansible_collections.npufleet.ascend.plugins.module_utils._package_runs import Source, Sources, make_run, runtime_config
from ansible_collections.npufleet.ascend.plugins.module_utils._package_state import Installed, Tree, read_state, same_version
from ansible_collections.npufleet.ascend.plugins.module_utils._package_table import KINDS
from ansible_collections.npufleet.ascend.plugins.module_utils._package_wanted import Wanted, read_kinds, read_packages

if t.TYPE_CHECKING:
    from ansible_collections.npufleet.ascend.plugins.module_utils._package_download import Download

POLL_SECONDS = 0.5
Row = t.Dict[str, t.Any]


class PackageTask:
    """One call with state present or absent."""

    def __init__(
        self,
        params: t.Mapping[str, t.Any],
        host: Host,
        clock: Clock,
        opener: t.Optional[t.Callable[..., t.Any]] = None,
        boot_id_file: str = BOOT_ID,
    ) -> None:
        self._params = params = checked(params)
        self._host = host
        self._clock = clock
        self._opener = opener
        self._tree = Tree(params["install_path"], host.root)
        self._records = Records(params["record_folder"], boot_id_file)
        self._installers = Installers(self._records, clock)
        self._absent = params["state"] == "absent"
        self._kinds = read_kinds(params)
        self._wanted: t.Dict[str, Wanted] = {} if self._absent else {one.kind: one for one in read_packages(params, host.machine)}
        self._sources = Sources(params, self._records)
        self._first: t.Optional[Plan] = None
        self._remembered: t.Dict[str, Record] = {}
        self._unrecorded: t.Dict[str, Record] = {}
        self._changed = False

    def execute(self, check_mode: bool) -> Row:
        """Bring the packages to their state, for at most wait_slice seconds.

        :raises NpufleetError: one message; when it comes before an installer ran, nothing was touched
        """
        deadline = self._clock.now() + self._params["wait_slice"]
        while True:
            running = self._installers.running() if check_mode else self._wait(deadline)
            state = read_state(KINDS, self._tree)
            plan = self._plan(state, running[0] if running else "", keep=not check_mode)
            self._first = self._first or plan
            if running:
                self._changed = True
                return self._result(plan, state, running=running, check_mode=check_mode)
            problems = self._problems(plan, state) if plan.steps or plan.refusals else []
            if check_mode:
                return self._foretell(plan, state, problems)
            if problems:
                raise _checks().InTheWayError(problems, _doing(plan), self._result(plan, state))
            if not plan.steps:
                self._sources.tidy()
                return self._result(plan, state)
            self._changed = True
            lacking = self._lacking(plan)
            if lacking:
                from ansible_collections.npufleet.ascend.plugins.module_utils._package_download import download

                got = download(lacking, self._params["folder"], self._clock, deadline, self._opener)
                if got.pending:
                    return self._result(plan, state, fetching=got)
                continue  # the files may tell what their names do not: a firmware's number, that an archive is damaged
            if self._start(plan, state) or self._clock.now() < deadline:
                continue
            return dict(self._result(plan, state), pending=True, progress="another task works on the packages of this host")

    def _wait(self, deadline: float) -> t.Optional[t.Tuple[str, JobStatus]]:
        """Watch the installer that runs, if any; None once there is none and what came of it is written down."""
        while True:
            running = self._installers.running()
            if running is None:
                self._settle()
                return None
            kind, status = running
            if status.seconds > self._params["wait_timeout"]:
                raise NpufleetError(
                    "the installer of the {0} still runs after {1:.0f} s; it is left alone".format(KINDS[kind].title, status.seconds),
                    where=self._installers.log(kind),
                    remedy="Run again later: it goes on where it is. Raise wait_timeout if this host is slow",
                )
            if self._clock.now() >= deadline:
                return running
            self._clock.sleep(POLL_SECONDS)

    def _settle(self) -> None:
        for kind in self._kinds:
            record = self._records.read(kind)
            if record.phase != BEGUN:
                continue
            self._drop_leftovers(kind, record)
            try:
                if self._installers.settle(kind, functools.partial(self._installed, kind)):
                    self._changed = True
                    self._sources.done(record.digest)
            except InstallerError:
                # What failed is not what is wanted now: it is written down, and the plan is made anew.
                if self._is_wanted(kind, record):
                    raise

    def _installed(self, kind: str) -> Installed:
        return read_state([kind], self._tree)[kind]

    def _is_wanted(self, kind: str, record: Record) -> bool:
        if self._absent or record.action == "remove":
            return self._absent and record.action == "remove"
        return same_version(self._wanted[kind].version, record.version)

    def _drop_leftovers(self, kind: str, record: Record) -> None:
        """The uninstaller of the Docker runtime ends well and leaves all where it is when there is no daemon.json (uninstall.sh of mind-cluster)."""
        if kind != "docker_runtime" or record.action != "remove" or os.path.exists(self._host.root + _checks().DAEMON_JSON):
            return
        status = self._installers.job(kind).status()
        if status.digest == record.job and status.rc == 0:
            shutil.rmtree(self._tree.at("Ascend-Docker-Runtime"), ignore_errors=True)

    def _plan(self, state: t.Mapping[str, Installed], running: str, keep: bool) -> Plan:
        targets = [self._sources.target(one, state[one.kind], keep) for one in self._wanted.values()]
        records = self._remembered = self._records.read_all(KINDS)
        if not keep:  # check mode cannot write down what an installer came to while nobody looked
            ended = {kind: self._installers.ended_well(kind, state[kind]) for kind in self._kinds}
            self._unrecorded = {kind: record for kind, record in ended.items() if record}
            records = dict(records, **self._unrecorded)
        if self._absent:
            return plan_absent(self._kinds, state, records, running)
        return plan_present(targets, state, records, self._params["allow_downgrade"], running)

    def _case(self, plan: Plan, state: t.Mapping[str, Installed]) -> t.Any:
        return _checks().Case(plan.steps, self._wanted, state, self._params, self._tree, self._host)

    def _problems(self, plan: Plan, state: t.Mapping[str, Installed]) -> t.List[Problem]:
        """Return everything that is in the way. Files that are still to be downloaded are not."""
        found = [Problem(what, remedy) for what, remedy in plan.refusals]
        found += _checks().check_all(self._case(plan, state))
        for step in plan.steps:
            source = self._source(step.kind, step.action, state)
            if source.unusable:
                found.append(source.unusable)
            if source.fault and not (source.missing and self._params["download"] and source.url):
                found.append(source.fault)
            elif source.size > disk_free(self._params["record_folder"]):
                what = "unpacking {0} needs {1:.1f} GiB".format(os.path.basename(source.path), source.size / GIB)
                found.append(Problem(what, "Free space in {0}".format(self._params["record_folder"])))
        return list(dict.fromkeys(found))

    def _source(self, kind: str, action: str, state: t.Mapping[str, Installed]) -> Source:
        if action == "remove":
            return self._sources.uninstaller(kind, state[kind], self._host.machine)
        return self._sources.package(self._wanted[kind])

    def _lacking(self, plan: Plan) -> t.List[Wanted]:
        """Packages of all steps whose files are not there yet, each file once; none is executed before all are."""
        found = [
            self._wanted[step.kind]
            for step in plan.steps
            if step.action != "remove" and self._sources.package(self._wanted[step.kind]).missing
        ]
        return list({one.path or one.artifact.file: one for one in found}.values())

    def _start(self, plan: Plan, state: t.Mapping[str, Installed]) -> bool:
        """Start the installer of the first step. False when another task on this host does something right now."""
        step = plan.steps[0]
        with self._records.locked() as free:
            if not free or self._remembered != self._records.read_all(KINDS):
                self._clock.sleep(POLL_SECONDS)
                return False
            source = self._source(step.kind, step.action, state)
            if step.action != "remove":
                self._prepare_path()
            # As set_env.sh has it, which never names the root that tests work below.
            toolkit = state["toolkit"].folder[len(self._host.root) :]
            self._installers.start(make_run(step, source, self._params, self._sources, toolkit))
            return True

    def _prepare_path(self) -> None:
        """Installers that make the path leave it closed to others, and then CANN and users cannot get through (Docker runtime, tried)."""
        path = self._tree.at()
        make_folders(path.rstrip("/"))
        if os.stat(path).st_mode & 0o755 != 0o755:
            os.chmod(path, 0o755)
        if not self._params["register_runtime"]:
            # The installer refuses a file that is not there (run_main.sh of mind-cluster).
            write_text(runtime_config(self._params["record_folder"]), "{}\n", 0o600)

    def _foretell(self, plan: Plan, state: t.Mapping[str, Installed], problems: t.Sequence[Problem]) -> Row:
        """What check mode says. What an earlier task of a real run puts right is told and does not stop it."""
        self._changed = bool(plan.steps)
        stopping = [problem for problem in problems if not problem.later]
        result = self._result(plan, state, check_mode=True)
        if stopping:
            raise _checks().InTheWayError(stopping, _doing(plan), result)
        result["problems"] = ["{0}. {1}".format(problem.what, problem.remedy) for problem in problems]
        result["doubts"] = _checks().unknowns(self._case(plan, state)) if plan.steps else []
        return result

    def _result(
        self,
        plan: Plan,
        state: t.Mapping[str, Installed],
        running: t.Optional[t.Tuple[str, JobStatus]] = None,
        fetching: t.Optional[Download] = None,
        check_mode: bool = False,
    ) -> Row:
        pending = bool(running or fetching) and not check_mode
        # While an installer works on the driver, nobody should ask it anything.
        asks = not pending and not running and any(kind in HDK_KINDS for kind in self._kinds)
        runs = running_driver(self._host.run, self._params["install_path"], self._host.find) if asks else ""
        records = dict(self._records.read_all(self._kinds), **self._unrecorded)
        looked_at = {kind: state[kind] for kind in self._kinds}
        reason = reboot_reason(looked_at, records, self._records.boot_id, runs) if not pending and not running else ""
        shown = self._first or plan
        return {
            "changed": self._changed,
            "packages": [self._row(row, done, state, runs) for row, done in zip(plan.rows, shown.rows)],
            "needed_files": [one.path or one.artifact.file for one in self._lacking(plan)],
            "unrecorded": list(self._unrecorded),
            "reboot_required": bool(reason),
            "reboot_reason": reason,
            "pending": pending,
            "progress": self._progress(running, fetching),
            "seconds": round(running[1].seconds if running else fetching.pending.seconds if fetching and fetching.pending else 0.0, 1),
            "npus_before": self._records.npus_before(),
            "problems": [],
            "diff": {"before": shown.before(), "after": shown.after()},
        }

    def _progress(self, running: t.Optional[t.Tuple[str, JobStatus]], fetching: t.Optional[Download]) -> str:
        if fetching:
            return fetching.progress
        if not running:
            return ""
        kind, status = running
        record = self._records.read(kind)
        return "{0} {1} {2}: {3}".format(record.action, kind, record.version, plain(status.last_line)[:100] or status.stage or "starting")

    def _row(self, row: Step, done: Step, state: t.Mapping[str, Installed], runs: str) -> Row:
        """A package as it is now, with what this call did to it.

        :param done: its row in the plan that this call began with
        """
        wanted = self._wanted.get(row.kind)
        file = None
        if wanted is not None:
            file = wanted.locate(self._params["folder"]) or os.path.join(self._params["folder"], wanted.path or wanted.artifact.file)
        return {
            "name": row.kind,
            "installed": state[row.kind].version or None,
            "wanted": None if self._absent else row.want,
            "running": (runs or None) if row.kind == "driver" else None,
            "action": done.action,
            "file": file,
            "reason": done.reason,
        }


# A target compiles what a call imports, each time, and most calls find nothing to do: what only a change needs is imported then.
def _checks() -> t.Any:
    from ansible_collections.npufleet.ascend.plugins.module_utils import _package_checks

    return _package_checks


def _doing(plan: Plan) -> str:
    steps = ["{0} {1}".format(step.action, step.kind) for step in plan.steps]
    return ", ".join(steps) or "packages"
