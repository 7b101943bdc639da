# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Small file helpers: atomic writes with a mode, reads that tolerate absence."""

from __future__ import annotations

import contextlib
import os
import tempfile
import typing as t


def read_text(path: str) -> t.Optional[str]:
    """Return the text of ``path``, or None where it does not exist or cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as handle:
            return handle.read()
    except OSError:
        return None


def make_folders(path: str) -> None:
    """Make the folders of ``path`` that are missing, open to all whatever the umask says: a service of another user has to get through.

    :raises OSError: one cannot be made
    """
    missing = []
    while not os.path.isdir(path):
        missing.append(path)
        path = os.path.dirname(path)
    for folder in reversed(missing):
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder)
            os.chmod(folder, 0o755)


def write_text(path: str, text: str, mode: int = 0o644) -> None:
    """Replace ``path`` atomically; the text is never readable under a wider mode than ``mode``.

    :raises OSError: when the folder does not exist or is not writable
    """
    handle, temporary = tempfile.mkstemp(prefix=".npufleet-", dir=os.path.dirname(path))
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            # By descriptor: in a folder of another user the name may be somebody else's file by now.
            os.fchmod(stream.fileno(), mode)
            os.fsync(stream.fileno())
        os.rename(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def file_mode(path: str) -> t.Optional[int]:
    """Return the permission bits of ``path``, or None where it does not exist."""
    try:
        return os.stat(path).st_mode & 0o7777
    except OSError:
        return None


def tail(path: str, offset: int, limit: int) -> t.List[str]:
    """The last ``limit`` lines of a log file from byte ``offset``; from its beginning where it was rotated since."""
    try:
        with open(path, "rb") as handle:
            size = handle.seek(0, os.SEEK_END)
            # The lines that matter are near the end; a log of gigabytes is never read whole.
            handle.seek(max(offset if offset <= size else 0, size - 4 * 1024 * 1024))
            return handle.read().decode("utf-8", "replace").splitlines()[-limit:]
    except OSError:
        return []
