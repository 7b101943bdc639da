# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""The work of the module bundle_host: are the files of the bundle here and unchanged, and do apt, dnf and pip know them?"""

from __future__ import annotations

import os
import shutil
import stat
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_hashes import Hasher
from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_manifest_task import some
from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_records import file_size
from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_settings import environment, settings
from ansible_collections.npufleet.ascend.plugins.module_utils._clock import Clock
from ansible_collections.npufleet.ascend.plugins.module_utils._command import Runner, find_tool
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._files import make_folders, read_text, write_text
from ansible_collections.npufleet.ascend.plugins.module_utils._host import check_disk
from ansible_collections.npufleet.ascend.plugins.module_utils._sha256sums import sha256

MEMORY = ".npufleet/hashes.json"
# What the package lists of apt were last made from.
APT_MARK = ".npufleet/apt"
APT_SECONDS = 120
# Files that the host has for itself while it uses the bundle, in bytes.
RESERVE = 64 << 20

Mapping = t.Mapping[str, t.Any]
Result = t.Dict[str, t.Any]


class HostTask:
    """One call of bundle_host."""

    def __init__(self, params: Mapping, run: Runner, clock: Clock, find: t.Callable[[str], t.Optional[str]] = find_tool) -> None:
        self._params = params
        self._run = run
        self._find = find
        self._folder: str = params["folder"].rstrip("/")
        if not self._folder.startswith("/"):
            raise NpufleetError("{0} is no absolute path".format(params["folder"]), where="folder", remedy="Give the whole path")
        self._hasher = Hasher(self._folder, self._folder + "/" + MEMORY, clock.now, params["rehash"])

    def execute(self, check_mode: bool) -> Result:
        """Check the files; once they are all there, write the settings.

        :raises NpufleetError: files are missing although they must not, or there is no room for them
        """
        if self._params["state"] == "absent":
            return self._remove(check_mode)
        wanted = {row["path"]: row for row in self._params["files"]}
        self._check_owners()
        # A size that differs says as much as a digest, and sooner.
        same = [path for path in sorted(wanted) if file_size(path) == wanted[path]["size"]]
        digests = self._hasher.digests(same, self._params["wait_slice"])
        if digests is None:
            return dict(self._result(False, [], "", ""), pending=True, progress=self._hasher.progress)
        missing = [path for path in sorted(wanted) if digests.get(path) != wanted[path]["sha256"]]
        if missing:
            return self._lacking(missing, wanted)
        return self._settle(check_mode)

    def _check_owners(self) -> None:
        """Who can change a file after it was compared can have anything installed as root."""
        culprit = open_folder(self._folder, os.geteuid())
        if culprit:
            raise NpufleetError(
                "others than root can change the copy of the bundle: {0}".format(culprit),
                where=self._folder,
                remedy="Take that right away, or choose another folder (offline_bundle_folder)",
            )

    def _lacking(self, missing: t.List[str], wanted: Mapping) -> Result:
        if not self._params["missing_ok"]:
            raise NpufleetError(
                "{0} of {1} files are missing or not what the bundle says: {2}".format(len(missing), len(wanted), some(missing)),
                where=self._folder,
                remedy="Run again: they are brought again",
            )
        needed = sum(wanted[path]["size"] for path in missing)
        check_disk(self._folder, needed + RESERVE, "the copy of the bundle")
        return self._result(True, missing, "", "".join(path + "\n" for path in missing))

    def _settle(self, check_mode: bool) -> Result:
        texts = settings(self._folder, self._params["parts"])
        paths = {name: "{0}/{1}".format(self._folder, name) for name in texts}
        before = {name: read_text(path) or "" for name, path in paths.items()}
        changed = [name for name in sorted(texts) if before[name] != texts[name]]
        if changed and not check_mode:
            make_folders(self._folder + "/.none")
            for name in changed:
                write_text(paths[name], texts[name])
        lists = self._stale_lists(texts)
        if lists and not check_mode:
            self._read_lists(lists)
        result = self._result(
            bool(changed or lists), [], "".join(before[name] for name in changed), "".join(texts[name] for name in changed)
        )
        # In check mode a play must not name files that are not there, or not what they will be.
        here = not check_mode or not (changed or lists)
        return dict(
            result,
            ready=here,
            environment=environment(self._folder) if here else {},
            dnf_config=paths["dnf.conf"] if here and self._dnf_here() else "",
        )

    def _dnf_here(self) -> bool:
        return any(part["kind"] == "dnf" for part in self._params["parts"]) or self._find("dnf") is not None

    def _stale_lists(self, texts: Mapping) -> str:
        """What the lists of apt are to be made from, when they are not; empty when there is nothing to do."""
        if not any(part["kind"] == "apt" for part in self._params["parts"]):
            return ""
        packages = [row["sha256"] for row in self._params["files"] if row["path"].endswith("/Packages")]
        wanted = sha256("".join([texts["apt.conf"], texts["sources.list"], *packages]).encode())
        return "" if read_text("{0}/{1}".format(self._folder, APT_MARK)) == wanted else wanted

    def _read_lists(self, mark: str) -> None:
        tool = self._find("apt-get")
        if tool is None:
            raise NpufleetError("this host has no apt-get", where=self._folder, remedy="Declare its OS as it is (npufleet_platform)")
        make_folders(self._folder + "/.apt/lists/partial")
        answer = self._run([tool, "-q", "update"], timeout=APT_SECONDS, env=environment(self._folder))
        if answer.rc != 0:
            raise NpufleetError(
                "apt-get cannot read the bundle: {0}".format((answer.text.strip().splitlines() or ["no message"])[-1]),
                where=self._folder + "/sources.list",
                remedy="Check that every user may read that folder",
            )
        make_folders(self._folder + "/.npufleet")
        write_text("{0}/{1}".format(self._folder, APT_MARK), mark)

    def _remove(self, check_mode: bool) -> Result:
        paths = [row["path"] for row in self._params["files"] if file_size(row["path"]) is not None]
        outside = [path for path in paths if not path.startswith(self._folder + "/")]
        there = os.path.isdir(self._folder)
        if there and not os.path.isfile(self._folder + "/apt.conf") and not os.path.isdir(self._folder + "/.npufleet"):
            raise NpufleetError("the folder was not made by this collection", where=self._folder, remedy="Remove it by hand")
        if there and not check_mode:
            shutil.rmtree(self._folder)
        for path in outside if not check_mode else []:
            os.unlink(path)
        gone = ([self._folder] if there else []) + outside
        return self._result(bool(gone), [], "".join(path + "\n" for path in gone), "")

    def _result(self, changed: bool, missing: t.List[str], before: str, after: str) -> Result:
        return {
            "changed": changed,
            "missing": missing,
            "ready": False,
            "environment": {},
            "dnf_config": "",
            "diff": {"before": before, "after": after},
            "pending": False,
            "progress": "",
            "seconds": 0.0,
        }


def open_folder(path: str, user: int) -> str:
    """Return the folder that lets others than root and this user replace ``path``, or what is above it; '' where none does.

    In a folder with the sticky bit, as /tmp, everybody can make files and nobody can replace those of others.
    """
    path = os.path.realpath(path)
    while True:
        try:
            found = os.stat(path)
        except FileNotFoundError:
            found = None
        if found is not None:
            open_to_all = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not found.st_mode & stat.S_ISVTX
            if open_to_all or found.st_uid not in (0, user):
                return path
        if path == "/":
            return ""
        path = os.path.dirname(path)
