# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Replace or remove a folder as a whole: other processes see the old one or the new one, never a half.

The new folder is written beside the path, synced, and renamed. Whatever a killed run leaves beside the path has a name of
this host's own and carries no lock any more, so that the next run recognises and removes it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import shutil
import tempfile
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._files import make_folders
from ansible_collections.npufleet.ascend.plugins.module_utils._sha256sums import MANIFEST

# Directory entries and rounding up to blocks, in bytes.
SPACE_RESERVE = 1 << 20
# Runs on several hosts may put the same folder on shared storage at once; each gives way to the others so many times.
MOVE_ATTEMPTS = 10


class FolderError(NpufleetError):
    """The folder cannot be used or changed. ``where`` is its path."""


def usable_path(path: str) -> str:
    """Return the normalized path of a folder that may be created, replaced or removed.

    :raises FolderError: not absolute, the root, a mount point, a link, a file, or below a file
    """
    normal = os.path.normpath(path)
    fault = None
    if not os.path.isabs(path):
        fault = "the path is not absolute"
    elif os.path.islink(normal):
        fault = "the path is a symbolic link"
    elif os.path.lexists(normal) and not os.path.isdir(normal):
        fault = "the path is not a folder"
    elif os.path.ismount(normal):
        fault = "the path is a mount point and cannot be replaced as a whole"
    elif not os.path.isdir(_existing_ancestor(normal)):
        fault = "the path lies below a file"
    if fault is not None:
        raise FolderError(fault, where=path, remedy="give the absolute path of a folder of its own")
    return normal


def require_space(path: str, size: int) -> None:
    """Refuse when ``size`` bytes cannot be written beside the path.

    :raises FolderError: no space or no permission
    """
    ancestor = _existing_ancestor(os.path.dirname(path))
    if not os.access(ancestor, os.W_OK | os.X_OK):
        raise FolderError("the folder cannot be written to", where=ancestor, remedy="become root, or check whether it is mounted read-only")
    status = os.statvfs(ancestor)
    free = status.f_bavail * status.f_frsize
    if free < size + SPACE_RESERVE:
        raise FolderError(
            "{0} bytes are needed and {1} are free".format(size + SPACE_RESERVE, free),
            where=ancestor,
            remedy="free some space or choose a path on another file system",
        )


def leftovers(path: str) -> t.List[str]:
    """Return the folders beside the path that an interrupted run of this host left there."""
    parent, prefix = os.path.dirname(path), _prefix(path)
    try:
        names = sorted(os.listdir(parent))
    except OSError:
        return []
    found = [os.path.join(parent, name) for name in names if name.startswith(prefix)]
    return [folder for folder in found if not _is_held(folder)]


def remove_leftovers(folders: t.Iterable[str]) -> None:
    """Remove what leftovers() found.

    :raises FolderError: a folder is still there afterwards
    """
    for folder in folders:
        _remove_tree(folder)


def replace(path: str, files: t.Mapping[str, bytes]) -> None:
    """Put a folder with exactly these files at the path, readable for all.

    :raises FolderError: writing or renaming failed; the path is as it was or absent
    """
    parent = os.path.dirname(path)
    try:
        make_folders(parent)
        staging = tempfile.mkdtemp(prefix=_prefix(path), dir=parent)
        with _hold(staging):
            try:
                for name in sorted(files):
                    _write(os.path.join(staging, name), files[name])
                os.chmod(staging, 0o755)
                _sync(staging)
                _move_in(staging, path)
            except OSError:
                shutil.rmtree(staging, ignore_errors=True)
                raise
        _sync(parent)
    except OSError as exc:
        raise FolderError("cannot write the folder: {0}".format(exc), where=path, remedy="check the file system and run again") from exc


def remove(path: str) -> None:
    """Remove the folder; where it can be renamed it vanishes at once, whatever happens while its files are deleted.

    :raises FolderError: renaming or deleting failed
    """
    try:
        aside = _take_away(path)
        _sync(os.path.dirname(path))
    except OSError as exc:
        raise FolderError("cannot remove the folder: {0}".format(exc), where=path, remedy="check the file system and run again") from exc
    for folder in aside:
        _remove_tree(folder)


def _prefix(path: str) -> str:
    # The name of the host is part of it: on shared storage another host may be at work beside the same path.
    host = re.sub(r"[^A-Za-z0-9-]", "_", os.uname()[1])
    return ".{0}.npufleet-{1}-".format(os.path.basename(path), host)


def _existing_ancestor(path: str) -> str:
    while not os.path.lexists(path):
        path = os.path.dirname(path)
    return path


def _write(path: str, content: bytes) -> None:
    with open(path, "xb") as stream:
        stream.write(content)
        stream.flush()
        os.fchmod(stream.fileno(), 0o644)
        os.fsync(stream.fileno())


def _sync(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _move_in(staging: str, path: str) -> None:
    """Rename onto the path; what is there moves aside first, unless it is an empty folder."""
    aside = []
    attempts = 0
    while True:
        attempts += 1
        try:
            os.rename(staging, path)
            break
        except OSError as exc:
            if exc.errno not in (errno.ENOTEMPTY, errno.EEXIST) or attempts == MOVE_ATTEMPTS:
                raise
        with contextlib.suppress(FileNotFoundError):  # another run has just moved it
            aside.extend(_take_away(path))
    for folder in aside:
        _remove_tree(folder)


def _take_away(path: str) -> t.List[str]:
    """Free the path: return the folder that it was moved to, or nothing where it had to be deleted at its place.

    A folder of a lower layer of overlayfs, as baked into a container image, cannot be renamed (EXDEV, rename(2)).
    """
    try:
        return [_move_aside(path)]
    except OSError as exc:
        if exc.errno != errno.EXDEV:
            raise
    # The manifest goes last: with it the folder is still ours, should this be interrupted.
    for name in sorted(os.listdir(path), key=lambda name: (name == MANIFEST, name)):
        entry = os.path.join(path, name)
        if os.path.isdir(entry) and not os.path.islink(entry):
            shutil.rmtree(entry)
        else:
            os.unlink(entry)
    os.rmdir(path)
    return []


def _move_aside(path: str) -> str:
    aside = tempfile.mkdtemp(prefix=_prefix(path), dir=os.path.dirname(path))
    try:
        os.rename(path, aside)
    except OSError:
        os.rmdir(aside)
        raise
    return aside


def _remove_tree(folder: str) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    if os.path.lexists(folder):
        raise FolderError("cannot delete the folder", where=folder, remedy="delete it by hand; it is not needed any more")


@contextlib.contextmanager
def _hold(folder: str) -> t.Iterator[None]:
    """Lock the folder while it is written; the kernel drops the lock of a process that dies."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        # NFS has no locks on folders that are open for reading
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def _is_held(folder: str) -> bool:
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return False
