# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""What is known of the parts of a bundle: the listing that the resolve stage wrote, and the record of a part that is complete.

The record is ``.npufleet/PART.json`` in the bundle: what the part was made from, and its files with their sizes. A part whose record fits and
whose files are there is not asked for again, so a second run needs no network.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_licence import wheel_licence
from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_plan import part_name
from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_script import identity, slug
from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_stages import Mapping, Place, without_credentials
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._files import make_folders, read_text, write_text

FOLDER = ".npufleet"
# What an index adds to the packages; no other file may stay in the folder of a part. Without it the folder is no repository.
INDEX_NAMES = ("Packages", "repodata")
INDEX_FILES = {"apt": "Packages", "dnf": "repodata/repomd.xml"}

Rows = t.List[t.Dict[str, t.Any]]


class Records:
    """Listings in the work folder and records in the bundle."""

    def __init__(self, bundle: str, work: str, python: str) -> None:
        self._bundle = bundle
        self._work = work
        self._python = python

    def place(self, part: Mapping) -> Place:
        """Where a part is made."""
        return Place("{0}/{1}".format(self._work, slug(part)), "{0}/{1}".format(self._bundle, part["folder"]), self._python)

    def _path(self, part: Mapping) -> str:
        return "{0}/{1}/{2}.json".format(self._bundle, FOLDER, slug(part))

    def files(self, part: Mapping) -> t.Optional[Rows]:
        """The files of a part that is complete and still the wanted one, or None."""
        record = read_json(self._path(part))
        if not isinstance(record, dict) or record.get("identity") != identity(part):
            return None
        rows: Rows = record["files"]
        folder = self.place(part).target
        if part["kind"] in INDEX_FILES and not os.path.isfile(os.path.join(folder, INDEX_FILES[part["kind"]])):
            return None
        return rows if all(file_size(os.path.join(folder, row["file"])) == row["size"] for row in rows) else None

    def listing(self, part: Mapping) -> Rows:
        """What the last resolve stage found, without passwords of mirrors; empty when there was none."""
        rows = read_json(self.place(part).listing)
        return [dict(row, url=without_credentials(row["url"])) for row in rows] if isinstance(rows, list) else []

    def start(self, parts: t.Iterable[Mapping]) -> None:
        """Forget what earlier jobs said about these parts."""
        for part in parts:
            for name in (self._mark(part), self.place(part).listing):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(name)

    def _mark(self, part: Mapping) -> str:
        return self.place(part).work + "/done"

    def promote(self, parts: t.Iterable[Mapping]) -> None:
        """Write the records of parts that a job has finished, also of a job that nobody watched to its end.

        :raises NpufleetError: a file is missing although its package manager was content
        """
        for part in parts:
            if read_text(self._mark(part)) == identity(part):
                self._promote(part)

    def _promote(self, part: Mapping) -> None:
        folder = self.place(part).target
        rows = [_final(row, os.path.join(folder, row["file"])) for row in self.listing(part)]
        os.unlink(self._mark(part))
        missing = [row["file"] for row in rows if row["size"] is None]
        if missing or not rows:
            raise NpufleetError(
                "{0} is not complete: {1}".format(part_name(part), ", ".join(missing[:5]) or "nothing was resolved"),
                where=folder,
                remedy="Run again: what is there is not fetched again",
            )
        if not part.get("file"):
            prune(folder, {row["file"] for row in rows})
        make_folders(os.path.dirname(self._path(part)))
        record = {"identity": identity(part), "files": rows}
        write_text(self._path(part), json.dumps(record, sort_keys=True, indent=1) + "\n")


def _final(row: Mapping, path: str) -> t.Dict[str, t.Any]:
    """What is known of a file once it is there."""
    licence = wheel_licence(path) if path.endswith(".whl") else None
    return {"file": row["file"], "size": file_size(path), "url": row["url"], "licence": licence or row["licence"]}


def prune(folder: str, names: t.Container[str]) -> None:
    """Remove what is neither a package of the part nor its index: older versions, and what an interrupted tool left."""
    for entry in os.listdir(folder):
        path = os.path.join(folder, entry)
        if entry in names or entry in INDEX_NAMES:
            continue
        if os.path.isdir(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)


def work_of(work_folder: str, bundle: str) -> str:
    """Return the folder below ``work_folder`` that belongs to a bundle."""
    return os.path.join(work_folder, hashlib.sha256(bundle.encode()).hexdigest()[:12])


def read_json(path: str) -> t.Any:
    """Return the content of a JSON file, or None where there is none or it is damaged."""
    try:
        return json.loads(read_text(path) or "")
    except ValueError:
        return None


def file_size(path: str) -> t.Optional[int]:
    """Return the size of a file in bytes, or None where there is none."""
    try:
        return os.stat(path).st_size
    except OSError:
        return None


def tree_size(folder: str) -> int:
    """Return the bytes of all files below a folder."""
    paths = (os.path.join(base, name) for base, _folders, names in os.walk(folder) for name in names)
    return sum(file_size(path) or 0 for path in paths)
