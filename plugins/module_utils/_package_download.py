# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Get package files that are not there: what download and state=downloaded do. Needs no root and knows nothing of the host but the folder."""

from __future__ import annotations

import os
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._clock import Clock
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._package_fetch import Fetch, Fetched
from ansible_collections.npufleet.ascend.plugins.module_utils._package_files import Sums, missing_file, verify
from ansible_collections.npufleet.ascend.plugins.module_utils._package_http import Opener
from ansible_collections.npufleet.ascend.plugins.module_utils._package_options import checked
from ansible_collections.npufleet.ascend.plugins.module_utils._package_wanted import Wanted, read_packages

Row = t.Dict[str, t.Any]
SUMS_FILE = ".npufleet-sums.json"


class Download(t.NamedTuple):
    """One look at the missing files. ``pending`` is None once all are there."""

    pending: t.Optional[Fetched]
    progress: str
    sums: t.Dict[str, str]


def missing(wanted: t.Iterable[Wanted], folder: str) -> t.List[Wanted]:
    """Return what is not in the folder yet, each file once: driver and firmware come in one archive."""
    found = {one.path or one.artifact.file: one for one in wanted if not one.locate(folder)}
    return list(found.values())


def download(files: t.Sequence[Wanted], folder: str, clock: Clock, deadline: float, opener: t.Optional[Opener] = None) -> Download:
    """Fetch these files one after the other until the deadline.

    :raises NpufleetError: a file has no address, or cannot be fetched
    """
    sums: t.Dict[str, str] = {}
    for number, one in enumerate(files, start=1):
        if not one.artifact.url:
            raise NpufleetError(missing_file(one, folder), where="packages: " + one.kind, remedy="Put it there, or give its url")
        name = one.path or one.artifact.file
        path = os.path.join(folder, name)
        fetched = Fetch(one.artifact.url, path, one.sha256(os.path.basename(name)), clock, opener).go_on(deadline)
        if not fetched.done:
            return Download(fetched, "file {0} of {1}, {2}: {3}".format(number, len(files), name, fetched.progress()), sums)
        sums[name] = fetched.sha256
    return Download(None, "", sums)


class DownloadTask:
    """One call with state=downloaded."""

    def __init__(self, params: t.Mapping[str, t.Any], machine: str, clock: Clock, opener: t.Optional[Opener] = None) -> None:
        self._params = params = checked(params)
        self._wanted = read_packages(params, machine)
        self._clock = clock
        self._opener = opener
        self._folder: str = params["folder"]

    def execute(self, check_mode: bool) -> Row:
        """Bring the files into the folder.

        :raises NpufleetError: with one message
        """
        deadline = self._clock.now() + self._params["wait_slice"]
        before = missing(self._wanted, self._folder)
        sums = self._verify(check_mode)
        if check_mode or not before:
            return self._result(before, before if check_mode else [], sums)
        got = download(before, self._folder, self._clock, deadline, self._opener)
        sums.update(got.sums)
        return self._result(before, missing(self._wanted, self._folder), sums, got)

    def _verify(self, check_mode: bool) -> t.Dict[str, str]:
        """Return the sums of the files that are there."""
        cache = Sums(os.path.join(self._folder, SUMS_FILE))
        keep = not check_mode and os.access(self._folder, os.W_OK)
        paths = {path: one for one in self._wanted for path in [one.locate(self._folder)] if path}
        # Nothing is executed here, so a file without a published sum may come; its sum is returned.
        return {os.path.relpath(path, self._folder): verify(one, path, cache, True, keep) for path, one in paths.items()}

    def _result(
        self, before: t.Sequence[Wanted], after: t.Sequence[Wanted], sums: t.Mapping[str, str], got: t.Optional[Download] = None
    ) -> Row:
        needed = [one.path or one.artifact.file for one in after]
        todo = {one.path or one.artifact.file for one in before}
        pending = got.pending if got else None
        names = sorted({one.path or one.artifact.file for one in self._wanted})
        return {
            "changed": bool(before),
            "packages": [self._row(one, todo, sums) for one in self._wanted],
            "needed_files": needed,
            "reboot_required": False,
            "reboot_reason": "",
            "pending": pending is not None,
            "progress": got.progress if got else "",
            "seconds": round(pending.seconds, 1) if pending else 0.0,
            "problems": [],
            "diff": {
                "before": "".join(name + "\n" for name in names if name not in todo),
                "after": "".join(name + "\n" for name in names),
            },
        }

    def _row(self, one: Wanted, todo: t.Container[str], sums: t.Mapping[str, str]) -> Row:
        name = one.path or one.artifact.file
        here = one.locate(self._folder)
        shown = os.path.relpath(here, self._folder) if here else name
        reason = "the file is not there yet" if name in todo else ""
        if not one.sha256(os.path.basename(shown)):
            reason = "; ".join(part for part in (reason, "nobody published a sum of it") if part)
        return {
            "name": one.kind,
            "installed": None,
            "wanted": one.version,
            "running": None,
            "action": "download" if name in todo else "none",
            "file": here or os.path.join(self._folder, name),
            "sha256": sums.get(shown),
            "reason": reason,
        }
