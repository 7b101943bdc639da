# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""The work of the module vllm_venv: look, check the host, build in a job that survives an interrupted play, confirm."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._clock import Clock
from ansible_collections.npufleet.ascend.plugins.module_utils._command import Runner
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_set_env import check_found, find_set_env
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._files import make_folders, read_text, write_text
from ansible_collections.npufleet.ascend.plugins.module_utils._host import check_disk, check_enough_memory, os_release
from ansible_collections.npufleet.ascend.plugins.module_utils._job import Job, JobStatus, watch
from ansible_collections.npufleet.ascend.plugins.module_utils._prerequisites import (
    DISK_BYTES,
    MEMORY_BYTES,
    PythonChoice,
    PythonRange,
    check_glibc,
    check_missing,
    check_system,
    choose_python,
    family_of,
    glibc_version,
    missing_parts,
)
from ansible_collections.npufleet.ascend.plugins.module_utils._venv_ascend import DISK_BYTES as ASCEND_DISK_BYTES
from ansible_collections.npufleet.ascend.plugins.module_utils._venv_ascend import MEMORY_BYTES as ASCEND_MEMORY_BYTES
from ansible_collections.npufleet.ascend.plugins.module_utils._venv_ascend import PYTHON, ascend_of, check_tools, release_of
from ansible_collections.npufleet.ascend.plugins.module_utils._venv_plan import MARKER_NAME, build_script, marker_text, read_marker
from ansible_collections.npufleet.ascend.plugins.module_utils._venv_spec import VenvSpec

SHOWN = ("path", "vllm", "torch", "python", "digest", "vllm_ascend", "soc")
CREDENTIALS = re.compile(r"(://)[^/@\s]+@")


class VenvTask:
    """One call of vllm_venv."""

    def __init__(self, params: t.Mapping[str, t.Any], run: Runner, clock: Clock) -> None:
        self._params = params
        self._run = run
        self._clock = clock
        self._path: str = params["path"].rstrip("/")
        if not self._path.startswith("/"):
            raise NpufleetError(
                "{0} is no absolute path of a folder".format(params["path"]), where="path", remedy="Give the whole path on the host"
            )
        self._folder = self._path + "/.npufleet"
        self._set_env, self._no_cann = find_set_env(params["set_env"]) if params["accelerator"] == "ascend" else ([], [])
        self._warn: t.List[str] = []
        self._job = Job(self._folder, clock.now, clock.sleep)

    def execute(self, check_mode: bool) -> t.Dict[str, t.Any]:
        """Bring the environment to its state.

        :raises NpufleetError: with one message; before the build starts, nothing was touched
        """
        marker = read_marker(read_text(os.path.join(self._path, MARKER_NAME)))
        if self._params["state"] == "absent":
            return self._remove(marker, check_mode)
        python = self._choose_python()
        spec = self._spec(python)
        before = self._shown(marker)
        if self._complete(marker, spec):
            return self._result(False, before, before)
        self._refuse_foreign(marker)
        job = self._job.status()
        runs = job.digest == spec.digest() and job.state == "running"
        if not runs:
            self._check_host(python, spec, check_mode)
        if check_mode:
            return self._result(True, before, spec.shown())
        # A build that ended well while nobody watched only lacks the marker.
        ended_well = job.digest == spec.digest() and job.rc == 0 and self._has_vllm()
        if not (runs or ended_well):
            self._start(spec)
        return self._watch(spec, before)

    def _choose_python(self) -> PythonChoice:
        allowed = PythonRange(self._params["python_lowest"], self._params["python_below"])
        if self._params["accelerator"] == "ascend":
            allowed = PYTHON
        return choose_python(self._params["python"], allowed, self._run)

    def _spec(self, python: PythonChoice) -> VenvSpec:
        params = self._params
        ascend, version, torch = None, params["version"], params["torch_version"]
        if params["accelerator"] == "ascend":
            release = release_of(params["vllm_ascend"])
            ascend, version, torch = ascend_of(params, self._set_env, glibc_version()), release.vllm, release.torch
        return VenvSpec(
            path=self._path,
            python=python.path,
            python_version=".".join(map(str, python.version)),
            version=version,
            torch=torch,
            machine=platform.machine(),
            requirements=params["requirements"],
            constraints=params["constraints"],
            index_url=params["index_url"],
            torch_index_url=params["torch_index_url"],
            pip_args=tuple(params["pip_args"]),
            ascend=ascend,
        )

    def _complete(self, marker: t.Optional[t.Mapping[str, t.Any]], spec: VenvSpec) -> bool:
        return bool(marker and marker.get("digest") == spec.digest() and self._has_vllm())

    def _has_vllm(self) -> bool:
        return os.access(self._path + "/bin/vllm", os.X_OK)

    def _refuse_foreign(self, marker: t.Optional[t.Mapping[str, t.Any]]) -> None:
        if marker is None and os.path.isdir(self._path) and os.listdir(self._path) and not os.path.isdir(self._folder):
            raise NpufleetError(
                "the folder is not empty and was not made by this collection", where=self._path, remedy="Choose another path"
            )

    def _check_host(self, python: PythonChoice, spec: VenvSpec, check_mode: bool) -> None:
        disk, memory = (DISK_BYTES, MEMORY_BYTES) if spec.ascend is None else (ASCEND_DISK_BYTES, ASCEND_MEMORY_BYTES)
        if spec.ascend is not None:
            self._check_cann(check_mode)
            check_tools(spec.ascend, python, self._run)
        release = os_release()
        family = family_of(release) if self._params["any_os"] else check_system(release)
        check_glibc(glibc_version())
        check_missing(missing_parts(python), family)
        check_disk(self._path, disk, "the virtual environment of vLLM")
        check_enough_memory(memory, "building and running vLLM")

    def _check_cann(self, check_mode: bool) -> None:
        """In check mode, CANN may be what an earlier task would have installed."""
        try:
            check_found(self._no_cann)
        except NpufleetError as exc:
            if not check_mode:
                raise
            self._warn.append(str(exc))

    def _start(self, spec: VenvSpec) -> None:
        self._job.stop()
        make_folders(self._path)
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        marker = os.path.join(self._path, MARKER_NAME)
        if os.path.exists(marker):
            os.unlink(marker)
        write_text(self._folder + "/requirements.txt", spec.requirements)
        write_text(self._folder + "/constraints.txt", spec.constraints)
        self._job.start(build_script(spec), spec.digest())

    def _watch(self, spec: VenvSpec, before: t.Dict[str, t.Any]) -> t.Dict[str, t.Any]:
        job, overdue = watch(self._job, self._clock, self._params["wait_slice"], self._params["wait_timeout"])
        if overdue:
            raise self._failure(job, "is not finished after {0:.0f} s".format(job.seconds))
        if job.state == "running":
            return self._result(True, before, spec.shown(), job)
        if job.rc != 0:
            raise self._failure(job, "failed with exit code {0}".format(job.rc) if job.rc is not None else "was killed")
        write_text(os.path.join(self._path, MARKER_NAME), marker_text(spec))
        return self._result(True, before, spec.shown())

    def _failure(self, job: JobStatus, how: str) -> NpufleetError:
        lines = [_without_passwords(line) for line in self._job.log(60) if line.strip()]
        errors = [line for line in lines if line.startswith(("ERROR", "error", "fatal", "E:"))]
        said = errors[0] if errors else _without_passwords(job.last_line)
        return NpufleetError(
            "building the virtual environment {0}, in stage {1}: {2}".format(how, job.stage or "0", said or "no message"),
            where=self._folder + "/job.log",
            remedy="Check the package index, its proxy and the disk (vllm_engine_index_url, vllm_engine_torch_index_url), then run again: it goes on "
            "where it stopped. Last lines:\n" + "\n".join(lines[-12:]),
        )

    def _remove(self, marker: t.Optional[t.Mapping[str, t.Any]], check_mode: bool) -> t.Dict[str, t.Any]:
        before = self._shown(marker)
        if not os.path.isdir(self._path):
            return self._result(False, before, before)
        if marker is None and not os.path.isdir(self._folder):
            raise NpufleetError(
                "the folder was not made by this collection, so it is not removed", where=self._path, remedy="Remove it by hand"
            )
        if not check_mode:
            self._job.stop()
            shutil.rmtree(self._path)
        return self._result(True, before or {"path": self._path}, {})

    def _shown(self, marker: t.Optional[t.Mapping[str, t.Any]]) -> t.Dict[str, t.Any]:
        return {key: marker[key] for key in SHOWN if key in marker} if marker else {}

    def _result(
        self, changed: bool, before: t.Dict[str, t.Any], after: t.Dict[str, t.Any], job: t.Optional[JobStatus] = None
    ) -> t.Dict[str, t.Any]:
        progress = "{0}: {1}".format(job.stage, _without_passwords(job.last_line)[:100]) if job else ""
        return {
            "changed": changed,
            "venv": after or {"path": self._path},
            "diff": {"before": _pretty(before), "after": _pretty(after)},
            "pending": job is not None,
            "progress": progress,
            "seconds": round(job.seconds, 1) if job else 0.0,
            "warn": self._warn,
        }


def _without_passwords(text: str) -> str:
    return CREDENTIALS.sub(r"\1***@", text)


def _pretty(value: t.Mapping[str, t.Any]) -> str:
    return json.dumps(value, sort_keys=True, indent=2) + "\n" if value else ""
