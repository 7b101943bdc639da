# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""The work of the module bundle_content: look, check the tools, fetch in a job that survives an interrupted play, keep records."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_collections import with_digest
from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_plan import part_name
from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_records import Records, read_json, tree_size, work_of
from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_script import build_script, identity, tools_of
from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_stages import Mapping, without_credentials
from ansible_collections.npufleet.ascend.plugins.module_utils._clock import Clock
from ansible_collections.npufleet.ascend.plugins.module_utils._command import Runner, find_tool
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._files import make_folders, write_text
from ansible_collections.npufleet.ascend.plugins.module_utils._job import Job, JobStatus, watch

LOWEST_PIP = (22, 2)  # the first with an installation report
# How the tools begin a line that says what is wrong: pip and our own programs, apt, dnf, skopeo, Python.
ERRORS = re.compile(r"^(?:ERROR|Error|E:|FATA|fatal|error|\w+Error:|time=\S+ level=fatal)")
MIB = 1 << 20
# How the digest of a job in check mode begins: it fetches nothing, so that any other may end it.
CHECKS = "check:"


class ContentTask:
    """One call of bundle_content."""

    def __init__(self, params: Mapping, run: Runner, clock: Clock, find: t.Callable[[str], t.Optional[str]] = find_tool) -> None:
        self._params = params
        self._run = run
        self._clock = clock
        self._find = find
        self._path: str = params["path"].rstrip("/")
        if not self._path.startswith("/"):
            raise NpufleetError("{0} is no absolute path".format(params["path"]), where="path", remedy="Give the whole path of the bundle")
        self._parts: t.List[Mapping] = [with_digest(part) if part.get("source") else part for part in params["parts"]]
        self._work = work_of(params["work_folder"], self._path)
        self._records = Records(self._path, self._work, params["python"])
        self._job = Job(self._work, clock.now, clock.sleep)

    def execute(self, check_mode: bool) -> t.Dict[str, t.Any]:
        """Bring the parts into the bundle; in check mode only find out what they would be.

        :raises NpufleetError: with one message; what was fetched before stays and is used by the next run
        """
        digest = self._digest(check_mode)
        job = self._job.status()
        # A job that ended well while nobody watched only lacks its records.
        if not (job.digest == digest and (job.state == "running" or job.rc == 0)):
            if not check_mode:
                self._records.promote(self._parts)
            stale = [part for part in self._parts if self._params["refresh"] or self._records.files(part) is None]
            if not stale:
                return self._result([], check_mode)
            if check_mode and job.state == "running" and not job.digest.startswith(CHECKS):
                raise NpufleetError(
                    "the bundle is being filled, which check mode does not interrupt: {0}".format(job.stage or "it has just begun"),
                    where=self._work,
                    remedy="Wait until it is done, or run without --check, which goes on with it",
                )
            self._start(stale, digest, check_mode)
        return self._watch(digest, check_mode)

    def _digest(self, check_mode: bool) -> str:
        wanted = [identity(part) for part in self._parts] + [check_mode, self._params["refresh"]]
        return (CHECKS if check_mode else "") + hashlib.sha256(json.dumps(wanted).encode()).hexdigest()

    def _start(self, stale: t.List[Mapping], digest: str, check_mode: bool) -> None:
        script = build_script(stale, [self._records.place(part) for part in stale], self._path, check_mode)
        self._check_tools(stale)
        self._job.stop()
        os.makedirs(self._work, mode=0o700, exist_ok=True)
        if not check_mode:
            make_folders(self._path)
        self._records.start(stale)
        write_text(self._work + "/stale.json", json.dumps([part_name(part) for part in stale]))
        self._job.start(script, digest)

    def _check_tools(self, parts: t.Sequence[Mapping]) -> None:
        missing = [tool for tool in tools_of(parts) if self._find(tool.name) is None]
        if missing:
            raise NpufleetError(
                "this machine lacks {0}".format(", ".join(tool.name for tool in missing)),
                where="PATH",
                remedy="Install {0} (Debian, Ubuntu) or {1} (openEuler and its relatives), or leave that part out of "
                "offline_bundle_content".format(
                    " ".join(sorted({tool.debian for tool in missing})), " ".join(sorted({tool.rpm for tool in missing}))
                ),
            )
        if any(part["kind"] == "wheels" for part in parts):
            self._check_pip()
        keys = {row["key"] for part in parts if part["kind"] == "apt" for row in part["repositories"] if row.get("key")}
        absent = sorted(key for key in keys if not os.path.isfile(key))
        if absent:
            raise NpufleetError(
                "this machine lacks the signing key of a repository",
                where=", ".join(absent),
                remedy="Install the keyring of that distribution, or copy the file from one of its hosts",
            )

    def _check_pip(self) -> None:
        answer = self._run([self._params["python"], "-m", "pip", "--version"], timeout=60)
        version = re.match(r"pip (\d+)\.(\d+)", answer.stdout)
        if version is None or tuple(int(number) for number in version.groups()) < LOWEST_PIP:
            raise NpufleetError(
                "{0} has no pip 22.2 or later".format(self._params["python"]),
                where="python",
                remedy="Give an interpreter that has one (offline_bundle_python)",
            )

    def _watch(self, digest: str, check_mode: bool) -> t.Dict[str, t.Any]:
        names = read_json(self._work + "/stale.json") or []
        stale = [part for part in self._parts if part_name(part) in names]
        job, overdue = watch(self._job, self._clock, self._params["wait_slice"], self._params["wait_timeout"])
        if overdue:
            raise self._failure(job, "is not finished after {0:.0f} s".format(job.seconds))
        if job.state == "running":
            return self._result(stale, check_mode, job)
        # The next run starts anew and does not find this one finished.
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._work + "/job.pid")
        if job.rc != 0:
            raise self._failure(job, "failed with exit code {0}".format(job.rc) if job.rc is not None else "was killed")
        if not check_mode:
            self._records.promote(stale)
        return self._result(stale, check_mode)

    def _failure(self, job: JobStatus, how: str) -> NpufleetError:
        said = [without_credentials(line) for line in self._job.log(60) if line.strip()]
        errors = [line for line in said if ERRORS.match(line)]
        return NpufleetError(
            "filling the bundle {0}, in stage {1}: {2}".format(how, job.stage or "0", (errors[-1:] or said[-1:] or ["no message"])[0]),
            where=self._work + "/job.log",
            remedy="Correct that and run again: what is there is not fetched again. Last lines:\n" + "\n".join(said[-12:]),
        )

    def _result(self, stale: t.Sequence[Mapping], check_mode: bool, job: t.Optional[JobStatus] = None) -> t.Dict[str, t.Any]:
        resolved = [part_name(part) for part in stale] if check_mode or job else []
        parts, files = [], []
        for part in self._parts:
            rows = (self._records.listing(part) if part_name(part) in resolved else self._records.files(part)) or []
            files += [dict(row, path="{0}/{1}".format(part["folder"], row["file"])) for row in rows]
            sizes = [row["size"] for row in rows]
            parts.append(
                {
                    "name": part_name(part),
                    "kind": part["kind"],
                    "changed": part in stale,
                    "files": len(rows),
                    "bytes": sum(size or 0 for size in sizes),
                    "unknown": sizes.count(None),
                }
            )
        return {
            "changed": bool(stale),
            "parts": parts,
            "files": files,
            "bytes": sum(part["bytes"] for part in parts),
            "unknown": sum(part["unknown"] for part in parts),
            "diff": {"before": _shown(parts, old=True), "after": _shown(parts, old=False)},
            "pending": job is not None,
            "progress": self._progress(stale, job) if job else "",
            "seconds": round(job.seconds, 1) if job else 0.0,
        }

    def _progress(self, stale: t.Sequence[Mapping], job: JobStatus) -> str:
        amount = ""
        if " Fetch " in job.stage:
            wanted = sum(row["size"] or 0 for part in stale for row in self._records.listing(part))
            here = sum(tree_size(folder) for folder in {self._records.place(part).target for part in stale})
            amount = "{0} of about {1} MiB, ".format(here // MIB, wanted // MIB)
        return "{0}: {1}{2}".format(job.stage, amount, without_credentials(job.last_line)[:80])


def _shown(parts: t.Iterable[Mapping], old: bool) -> str:
    """The parts as lines of a diff."""
    kept = [part for part in parts if not (old and part["changed"])]
    return "".join("{0}: {1} files, {2} bytes\n".format(part["name"], part["files"], part["bytes"]) for part in kept)
