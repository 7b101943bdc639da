# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""The work of the module host_tuning: read once, plan, note what was found, change, read again."""

from __future__ import annotations

import contextlib
import glob
import os
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils import _tuning_files as files
from ansible_collections.npufleet.ascend.plugins.module_utils._command import Runner, find_tool
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._files import file_mode, make_folders, read_text, write_text
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_arguments import grubby_words
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_compose import Plan, final_record, make_plan, render
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_host import read_host
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_limits import read_limits
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_npu import plan_rows
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_plan import Row, predicted
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_record import Record, is_empty, read_record, record_text
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_rows import Seen, shown_values, table_lines
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_spec import Knobs, knobs_of
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_values import Target, written

EXTRA_DIRS = ("/usr/sbin", "/sbin")
QUICK, SLOW = 60.0, 300.0  # seconds; update-grub may look for other systems on every disk
IRQBALANCE_UNIT = "irqbalance.service"


class TuningTask:
    """One call of host_tuning. ``root`` poses as / for tests."""

    def __init__(
        self,
        params: t.Mapping[str, t.Any],
        run: Runner,
        find: t.Callable[..., t.Optional[str]] = find_tool,
        is_root: bool = True,
        root: str = "",
    ) -> None:
        self._params = params
        self._run = run
        self._find = find
        self._is_root = is_root
        self._root = root
        self._path: str = params["record"]
        self._knobs = knobs_of(params["knobs"]) if params["state"] == "present" else Knobs()

    def execute(self, check_mode: bool) -> t.Dict[str, t.Any]:
        """Bring the knobs to their values, or back to those found first.

        :raises NpufleetError: with one message; a value that is refused is refused before anything was touched
        """
        record = read_record(read_text(self._root + self._path), self._path)
        seen = self._see()
        plan = make_plan(self._knobs, seen, record)
        asks = "grubby-add" in plan.commands
        if asks:
            seen = self._ask_grubby(seen)
            plan = make_plan(self._knobs, seen, record)
        before = self._shown(seen, plan, record, plan.parts.arguments.remove)
        final = final_record(plan, seen.host)
        works = bool(plan.writes or plan.files or plan.deletions or plan.commands)
        if check_mode or not (works or final != record):
            after = self._predicted(seen, plan) if works else self._shown(seen, plan, final, ())
            return self._result(plan, plan.rows, seen, before, after)
        if not self._is_root:
            raise NpufleetError("only root may tune the kernel", where="host_tuning", remedy="Run as root (become: true)")
        self._save(plan.record, record)
        refused = self._act(plan, seen)
        seen = self._ask_grubby(self._see()) if asks else self._see()
        final = final_record(plan, seen.host)
        self._save(final, plan.record)
        return self._result(plan, self._rows_now(plan, seen, refused), seen, before, self._shown(seen, plan, final, ()))

    def _see(self) -> Seen:
        host = read_host(self._root, self._params["npus"], self._params["host_type"])
        own = {path: item for path, item in ((path, self._own(path)) for path in files.OWN_FILES) if item is not None}
        grub = own[files.GRUB].text if files.GRUB in own else ""
        words = (*host.cmdline, *grub.replace('"', " ").split())
        return Seen(host, read_limits(self._root), own, words)

    def _ask_grubby(self, seen: Seen) -> Seen:
        """Only for arguments that the running kernel does not have: a run that changes nothing starts no process otherwise."""
        answer = self._command([str(seen.host.boot_tool), "--info=ALL"], QUICK)
        return seen._replace(persisted=(*seen.host.cmdline, *grubby_words(answer)))

    def _own(self, path: str) -> t.Optional[files.OwnFile]:
        full = self._root + path
        if os.path.islink(full):
            return files.OwnFile(path, os.readlink(full), 0)
        text = read_text(full)
        return None if text is None else files.OwnFile(path, text, file_mode(full) or 0)

    def _shown(self, seen: Seen, plan: Plan, record: Record, gone: t.Sequence[str]) -> str:
        words = [word for word in plan.parts.arguments.ours if word in seen.persisted]
        return render(shown_values(self._knobs, seen, plan.parts.targets), seen.own, (*words, *gone), record)

    def _predicted(self, seen: Seen, plan: Plan) -> str:
        own = {path: item for path, item in seen.own.items() if path not in plan.deletions}
        own.update((item.path, item) for item in plan.files)
        record = final_record(plan, predicted(seen.host, plan.parts.verdicts))
        return render({row.knob: row.now for row in plan.rows}, own, plan.parts.arguments.ours, record)

    def _save(self, record: Record, old: Record) -> None:
        path = self._root + self._path
        if is_empty(record):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
        elif record != old:
            make_folders(os.path.dirname(path))
            write_text(path, record_text(record))

    def _act(self, plan: Plan, seen: Seen) -> t.Dict[str, str]:
        """Carry out the plan; returns what the kernel refused, by knob."""
        commands = list(plan.commands)
        if "tuned-back" in commands:
            commands.remove("tuned-back")
            self._do("tuned-back", plan, seen)
        self._stop(plan, seen)
        for item in plan.files:
            self._put(item)
        for path in plan.deletions:
            os.unlink(self._root + path)
            folder = os.path.dirname(path)
            if folder in files.OWN_FOLDERS and not os.listdir(self._root + folder):
                os.rmdir(self._root + folder)
        for name in commands:
            self._do(name, plan, seen)
        refused = {}
        for write in plan.writes:
            try:
                with open(self._root + write.path, "w", encoding="ascii") as stream:
                    stream.write(written(write.form, write.value) + "\n")
            except OSError as exc:
                refused[write.knob] = "the kernel refused {0}: {1}".format(write.path, exc.strerror)
        return refused

    def _stop(self, plan: Plan, seen: Seen) -> None:
        """Stop units that are about to be deleted: what still waits for the driver would set its values after they were put back."""
        gone = [os.path.basename(path) for path in plan.deletions if path in (files.UNIT, files.NPU_UNIT)]
        if gone and seen.host.systemd:
            self._command(["systemctl", "stop", *gone], QUICK)

    def _put(self, item: files.OwnFile) -> None:
        path = self._root + item.path
        make_folders(os.path.dirname(path))
        if item.mode:
            write_text(path, item.text, item.mode)
            return
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        os.symlink(item.text, path)

    def _do(self, name: str, plan: Plan, seen: Seen) -> None:
        arguments = plan.parts.arguments
        grubby = [str(seen.host.boot_tool), "--update-kernel=ALL"]
        back = ["auto_profile"] if plan.record.tuned_auto else ["profile", *plan.parts.base.split()] if plan.parts.base else ["off"]
        argv = {
            "daemon-reload": ["systemctl", "daemon-reload"],
            "irqbalance-disable": ["systemctl", "disable", "--now", IRQBALANCE_UNIT],
            "irqbalance-enable": ["systemctl", "enable", IRQBALANCE_UNIT],
            "irqbalance-start": ["systemctl", "start", IRQBALANCE_UNIT],
            "irqbalance-restart": ["systemctl", "try-restart", IRQBALANCE_UNIT],
            "update-grub": [str(seen.host.boot_tool)],
            "grubby-add": [*grubby, "--args=" + " ".join(arguments.ours)],
            "grubby-remove": [*grubby, "--remove-args=" + " ".join(arguments.remove)],
            "tuned-ours": ["tuned-adm", "profile", files.PROFILE],
            "tuned-back": ["tuned-adm", *back],
        }[name]
        self._command(argv, SLOW)

    def _command(self, argv: t.List[str], seconds: float) -> str:
        tool = argv[0] if argv[0].startswith("/") else self._find(argv[0], EXTRA_DIRS)
        if tool is None:
            raise NpufleetError("{0} is missing".format(argv[0]), where="PATH", remedy="Install it, or leave the knob alone that needs it")
        result = self._run([tool, *argv[1:]], timeout=seconds)
        if result.rc != 0:
            said = result.text.strip()[-300:] or ("no answer after {0:.0f} s".format(seconds) if result.timed_out else "no message")
            raise NpufleetError(
                "{0} failed: {1}".format(os.path.basename(tool), said),
                where=" ".join(result.argv),
                remedy="Repair that, and run again: what was done so far is noted in {0}".format(self._path),
            )
        return result.stdout

    def _rows_now(self, plan: Plan, seen: Seen, refused: t.Mapping[str, str]) -> t.List[Row]:
        now = shown_values(self._knobs, seen, plan.parts.targets)
        rows = []
        for row in plan.rows:
            actual = row._replace(now=now[row.knob])
            if row.knob in refused:
                actual = actual._replace(action="skipped", reason=refused[row.knob])
            elif row.action == "set" and row.knob in plan.parts.targets and actual.now != row.now:
                less = (
                    "memory is fragmented, the pages come at the next boot" if row.knob == "hugepages" else "the kernel keeps another value"
                )
                actual = actual._replace(action="partly", reason=less)
            rows.append(actual)
        return rows

    def _result(self, plan: Plan, rows: t.Sequence[Row], seen: Seen, before: str, after: str) -> t.Dict[str, t.Any]:
        short = any(row.knob == "hugepages" and row.action == "partly" for row in rows)
        waiting = [knob for knob in plan.parts.arguments.waiting if knob != "hugepages" or short]
        return {
            "changed": before != after,
            "diff": {"before": before, "after": after},
            "host_type": seen.host.kind,
            "table": [row._asdict() for row in rows],
            "text": table_lines(rows),
            "numa_plan": plan_rows(seen.host),
            "reboot_required": bool(waiting),
            "reboot_reason": "kernel arguments: {0}".format(", ".join(waiting)) if waiting else "",
            "notes": [*self._conflicts(plan.lasting), *self._refusals(rows)],
        }

    def _refusals(self, rows: t.Sequence[Row]) -> t.List[str]:
        return ["{0}: {1}".format(row.knob, row.reason) for row in rows if row.reason.startswith("the kernel refused")]

    def _conflicts(self, lasting: t.Sequence[Target]) -> t.List[str]:
        """Files of sysctl.d that are read after ours and say something else (sysctl.d(5): by name, whatever the folder)."""
        ours = {files.sysctl_name(target.path): str(target.wanted) for target in lasting if files.is_sysctl(target)}
        found = []
        paths = [path for folder in ("/etc", "/run", "/usr/lib") for path in glob.glob("{0}{1}/sysctl.d/*.conf".format(self._root, folder))]
        for path in sorted(paths, key=os.path.basename):
            if os.path.basename(path) <= os.path.basename(files.SYSCTL):
                continue
            for line in (read_text(path) or "").splitlines():
                name, _equals, value = line.partition("=")
                name = name.strip().lstrip("-").replace("/", ".")
                if name in ours and value.strip() != ours[name]:
                    found.append(
                        "{0} sets {1} to {2} at boot, after {3}".format(path[len(self._root) :], name, value.strip(), files.SYSCTL)
                    )
        return found
