# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""SHA-256 of many files, remembered: a file is read again only when its size, times or inode changed.

The change time is part of it, which no archive, rsync or touch can carry over: after the folder was moved, everything is read once. What is
remembered must lie where nobody can write who could change the files: it would say whatever they want.
"""

from __future__ import annotations

import json
import os
import stat
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._files import read_text, write_text
from ansible_collections.npufleet.ascend.plugins.module_utils._sha256sums import file_sha256

GIB = 1 << 30


class Hasher:
    """Digests of the files of a folder, with a file that remembers them.

    :param memory: path of that file; None, or one that cannot be written, only makes the next call slower
    :param again: read all files, whatever is remembered
    """

    def __init__(self, folder: str, memory: t.Optional[str], now: t.Callable[[], float], again: bool = False) -> None:
        self._folder = folder
        self._memory = memory
        self._now = now
        self._again = again
        self._known: t.Dict[str, t.List[t.Any]] = {} if again else _read(memory)
        self._done = 0
        self._total = 0

    def digests(self, names: t.Iterable[str], seconds: float) -> t.Optional[t.Dict[str, t.Optional[str]]]:
        """Return name -> digest, None for a file that is not there; or None as a whole when the time was not enough.

        Only these names are remembered. Each call goes on where the last one stopped. A first file is always read. Time does not count where
        nothing can be remembered, and where all is read again: the next call would begin anew.
        """
        found: t.Dict[str, t.Optional[str]] = {}
        todo = []
        known, self._known = self._known, {}
        for name in names:
            mark = file_mark(os.path.join(self._folder, name))
            old = known.get(name)
            if mark is None:
                found[name] = None
            elif old is not None and old[:-1] == mark:
                found[name], self._known[name] = old[-1], old
            else:
                todo.append((name, mark))
        self._total = sum(mark[0] for _name, mark in todo)
        deadline = self._now() + seconds
        lasting = bool(todo) and not self._again and self._can_remember()
        for name, mark in todo:
            if lasting and self._done and self._now() >= deadline:
                self._remember()
                return None
            found[name] = file_sha256(os.path.join(self._folder, name))
            self._known[name] = [*mark, found[name]]
            self._done += max(mark[0], 1)
        if todo:
            self._remember()
        return found

    @property
    def progress(self) -> str:
        """How far the last call came."""
        return "{0:.1f} of {1:.1f} GiB left were hashed".format(self._done / GIB, self._total / GIB)

    def _can_remember(self) -> bool:
        if self._memory is None:
            return False
        folder = os.path.dirname(self._memory)
        if os.path.isdir(folder):
            return os.access(folder, os.W_OK)
        try:
            os.makedirs(folder, mode=0o700, exist_ok=True)
        except OSError:
            return False
        return True

    def _remember(self) -> None:
        if self._can_remember():
            write_text(str(self._memory), json.dumps(self._known, sort_keys=True))


def file_mark(path: str) -> t.Optional[t.List[int]]:
    """Return what tells that a file was not touched: size, modification and change time in ns, inode; None where there is no regular file."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    # Reading a pipe would never end.
    if not stat.S_ISREG(found.st_mode):
        return None
    return [found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino]


def _read(memory: t.Optional[str]) -> t.Dict[str, t.List[t.Any]]:
    try:
        known = json.loads(read_text(memory or "") or "{}")
    except ValueError:
        return {}
    if not isinstance(known, dict):
        return {}
    return {name: row for name, row in known.items() if isinstance(row, list) and len(row) == 5}
