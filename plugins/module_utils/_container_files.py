# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Configuration files of container engines: read and written under the rules of the Ascend Docker Runtime, and put back when a change fails.

Its installer refuses a file, or a folder above it, that is a link, is not root's, or that others may write to (run_main.sh of MindCluster).
"""

from __future__ import annotations

import os
import stat
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._files import make_folders, write_text

NEW_MODE = 0o644


class ConfigFile:
    """One file. ``owner`` is the user id it has to belong to: root's, outside of tests."""

    def __init__(self, path: str, owner: int = 0) -> None:
        if not path.startswith("/"):
            raise NpufleetError(
                "{0} is no absolute path of a file".format(path), where="config_path", remedy="Give the whole path on the host"
            )
        self.path = path
        self._owner = owner

    def read(self) -> t.Optional[str]:
        """Return the text, or None where there is no file.

        :raises NpufleetError: it is nothing that may be replaced, or no text
        """
        folder = os.path.dirname(self.path)
        if os.path.lexists(folder):
            self._check(folder, stat.S_ISDIR, "folder")
        if not os.path.lexists(self.path):
            return None
        self._check(self.path, stat.S_ISREG, "file")
        with open(self.path, "rb") as handle:
            raw = handle.read()
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError as exc:
            raise NpufleetError("the file is no UTF-8 text", where=self.path, remedy="Correct it by hand; nothing was changed") from exc

    def _check(self, path: str, is_kind: t.Callable[[int], bool], kind: str) -> None:
        status = os.lstat(path)
        wrong = None
        if not is_kind(status.st_mode):
            wrong = ("is a link" if stat.S_ISLNK(status.st_mode) else "is no " + kind, "Put a real {0} there".format(kind))
        elif status.st_uid != self._owner:
            wrong = ("does not belong to root", "Run: chown root:root {0}".format(path))
        elif status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            wrong = ("can be written to by others than root", "Run: chmod go-w {0}".format(path))
        if wrong:
            raise NpufleetError(
                "{0} {1}, which the installer of the Ascend Docker Runtime refuses, and which lets others become root".format(
                    path, wrong[0]
                ),
                where=path,
                remedy=wrong[1],
            )

    def write(self, text: t.Optional[str]) -> None:
        """Replace the file in one step, with the mode it has; None removes it.

        :raises OSError: the folder cannot be written to
        """
        if text is None:
            if os.path.lexists(self.path):
                os.unlink(self.path)
            return
        make_folders(os.path.dirname(self.path))
        mode = stat.S_IMODE(os.stat(self.path).st_mode) if os.path.exists(self.path) else NEW_MODE
        write_text(self.path, text, mode)


def modified(path: str) -> t.Optional[float]:
    """When a file was last changed, in seconds since the epoch; None where there is none."""
    try:
        return os.stat(path).st_mtime
    except OSError:
        return None
