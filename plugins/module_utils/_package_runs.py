# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Where each step gets what it executes: the package file, verified, or the uninstall script that the package left on the host."""

from __future__ import annotations

import glob
import os
import shutil
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._package_files import (
    Sums,
    check_sum_known,
    member_of,
    missing_file,
    stage,
    unstage,
    verify,
)
from ansible_collections.npufleet.ascend.plugins.module_utils._package_flags import FLAGS, REMOVE, Options, can_check, install_options
from ansible_collections.npufleet.ascend.plugins.module_utils._package_job import Run
from ansible_collections.npufleet.ascend.plugins.module_utils._package_names import same_file, version_in
from ansible_collections.npufleet.ascend.plugins.module_utils._package_plan import Step, Target
from ansible_collections.npufleet.ascend.plugins.module_utils._package_prerequisites import Problem
from ansible_collections.npufleet.ascend.plugins.module_utils._package_record import DONE, Record, Records, firmware_number, unfinished
from ansible_collections.npufleet.ascend.plugins.module_utils._package_state import Installed, same_version
from ansible_collections.npufleet.ascend.plugins.module_utils._package_table import KINDS
from ansible_collections.npufleet.ascend.plugins.module_utils._package_wanted import Wanted, read_packages


class Source(t.NamedTuple):
    """What a step executes: a package file, or an uninstall script.

    :param fault: why it cannot be used
    :param missing: the file is only not there yet
    :param unusable: why it cannot be used once it is there
    :param size: bytes of the .run, which is copied
    """

    script: str = ""
    path: str = ""
    digest: str = ""
    wanted: t.Optional[Wanted] = None
    fault: t.Optional[Problem] = None
    missing: bool = False
    unusable: t.Optional[Problem] = None
    url: str = ""
    size: int = 0


class Sources:
    """The files of one call. Each is verified once."""

    def __init__(self, params: t.Mapping[str, t.Any], records: Records) -> None:
        self._params = params
        self._records = records
        self._sums = Sums(os.path.join(records.folder, "sums.json"))
        self._keep = True
        self._found: t.Dict[str, Source] = {}

    def package(self, wanted: Wanted) -> Source:
        """Return the verified file of a package, or what is wrong with it."""
        known = self._found.get(wanted.kind)
        if known is None or known.missing:
            known = self._found[wanted.kind] = self._package(wanted)
        return known

    def _package(self, wanted: Wanted) -> Source:
        folder = self._params["folder"]
        path = wanted.locate(folder)
        if not path:
            fault = Problem(missing_file(wanted, folder), "Bring the file there", later=True)
            return Source(wanted=wanted, fault=fault, missing=True, url=wanted.artifact.url, unusable=self._without_sum(wanted))
        try:
            digest = verify(wanted, path, self._sums, self._params["unverified_ok"], self._keep)
            member = member_of(wanted, path)
        except NpufleetError as exc:
            return Source(path=path, wanted=wanted, fault=Problem("{0} ({1})".format(exc.what, path), exc.remedy or ""))
        return Source(path=path, digest=digest, wanted=wanted, size=member.size if member else os.path.getsize(path))

    def _without_sum(self, wanted: Wanted) -> t.Optional[Problem]:
        """Gigabytes are not fetched to find out then that they may not be executed."""
        name = os.path.basename(wanted.path or wanted.artifact.file)
        # A sum may be given for another spelling of the name (x86-64, x86_64), which the file may have once it is there.
        if not wanted.path:
            name = next((given for given in wanted.sums if given and same_file(given, wanted.artifact)), name)
        try:
            check_sum_known(wanted, name, self._params["unverified_ok"], name)
        except NpufleetError as exc:
            return Problem(exc.what, exc.remedy or "")
        return None

    def uninstaller(self, kind: str, installed: Installed, machine: str) -> Source:
        """Return the uninstall script of an installed package; where there is none, the package file that it came from."""
        for pattern in FLAGS[kind].scripts:
            scripts = sorted(glob.glob(os.path.join(glob.escape(installed.folder), pattern)))
            if installed.folder and scripts:
                return Source(script=scripts[0])
        nothing = "{0} {1} has left no uninstall script".format(KINDS[kind].title, installed.version or "(incomplete)")
        try:
            wanted = self._as_installed(kind, installed, machine)
        except NpufleetError as exc:
            return Source(fault=Problem(nothing, "Give version and file of the package in packages ({0})".format(exc.what)))
        source = self.package(wanted)
        if source.missing and source.fault:
            return source._replace(
                fault=Problem("{0}, and {1}".format(nothing, source.fault.what), source.fault.remedy), unusable=None, url=""
            )
        return source

    def _as_installed(self, kind: str, installed: Installed, machine: str) -> Wanted:
        entry = next(entry for entry in self._params["packages"] if entry["name"] == kind)
        version = entry.get("version") or installed.hdk or installed.version or None
        return read_packages(dict(self._params, packages=[dict(entry, version=version)]), machine)[0]

    def target(self, wanted: Wanted, installed: Installed, keep: bool) -> Target:
        """Return what the host's files will say once this package is installed. Which number a firmware has, its archive may have to tell.

        :param keep: write down what was found out
        """
        self._keep = keep
        number = wanted.number()
        if not number:
            record = self._records.read(wanted.kind)
            number = firmware_number(record, wanted.version)
            if not number and installed.version and installed.hdk and same_version(installed.hdk, wanted.version):
                number = installed.version
            if not number:
                number = self._number_in_file(wanted)
                if keep and number and number == installed.version and not unfinished(record):
                    self._records.write(wanted.kind, Record(wanted.version, number, "none", phase=DONE))
        return Target(wanted.kind, wanted.version, number, wanted.path or wanted.artifact.file, wanted.chip if wanted.kind == "ops" else "")

    def _number_in_file(self, wanted: Wanted) -> str:
        source = self.package(wanted)
        if source.fault:
            return ""
        member = member_of(wanted, source.path)
        return version_in(os.path.basename(member.name if member else source.path)) or ""

    def done(self, digest: str) -> None:
        """Remove what was unpacked for an installer that came to its end."""
        if digest:
            unstage(self._records.folder, digest)

    def tidy(self) -> None:
        """Remove what failed installers left unpacked, once nothing is left to do."""
        shutil.rmtree(os.path.join(self._records.folder, "unpacked"), ignore_errors=True)

    def unpack(self, source: Source, wanted: Wanted) -> str:
        """Return the path of the .run, ready to be executed."""
        return stage(wanted, source.path, source.digest, self._records.folder)


def runtime_config(record_folder: str) -> str:
    """The file that the installer of the Docker runtime is given to register itself in when it shall leave Docker's alone."""
    return record_folder + "/unregistered_runtime.json"


def make_run(step: Step, source: Source, params: t.Mapping[str, t.Any], sources: Sources, toolkit: str) -> Run:
    """Return the call of the installer for a step; the package is unpacked by it.

    :param toolkit: folder of the toolkit, as set_env.sh names it
    :raises NpufleetError: the archive is not safe, or the disk is too full
    """
    limit = max(KINDS[step.kind].time_limit, params["wait_timeout"])
    wanted = source.wanted
    # What is left after a removal is compared with what was there before.
    version = step.have.partition("(")[0].strip()
    if source.script or wanted is None:
        argv = [source.script, *FLAGS[step.kind].script_options]
        return Run(step.kind, step.action, step.have, version, argv, limit, "")
    path = sources.unpack(source, wanted)
    config = "" if params["register_runtime"] else runtime_config(params["record_folder"])
    options = install_options(step.kind, step.how, Options(params["install_path"], params["user"], params["group"], config))
    # Of a .run that is to remove a package, only its own file matters.
    check = step.how != REMOVE and can_check(step.kind, wanted.version)
    # The installer of nnal refuses to work without them (install.sh of ascend-transformer-boost).
    env = [(name, toolkit) for name in ("ASCEND_TOOLKIT_HOME", "ASCEND_HOME_PATH")] if step.kind == "nnal" else []
    number = version if step.how == REMOVE else step.number
    return Run(step.kind, step.action, wanted.version, number, [path, *options], limit, source.digest, check, env)
