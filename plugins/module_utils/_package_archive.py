# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Take one .run out of a zip archive, and refuse archives that are made to do harm. Some of Huawei's hold a signed archive with the .run."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import struct
import typing as t
import zipfile
import zlib

from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._sha256sums import CHUNK_BYTES

# The archives of Huawei hold less than twenty files, packages with their signatures.
MOST_ENTRIES = 2000
# A .run is compressed itself, so the archive around it makes it hardly smaller.
MOST_RATIO = 100

# What zipfile raises for damaged archives.
_ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, RuntimeError, ValueError, KeyError, OverflowError)


class ArchiveError(NpufleetError):
    """An archive that cannot be used. ``where`` is its path."""


class Member(t.NamedTuple):
    """A .run inside an archive: names of the archives on the way, its name there, its size in bytes."""

    way: t.Tuple[str, ...]
    name: str
    size: int


def find_member(path: str, pattern: str) -> Member:
    """Return the one member whose base name fits the pattern, in the archive or in an archive directly inside of it.

    :raises ArchiveError: no archive, not safe, none or several fit
    """
    with _opened(path, ()) as archive:
        found = [_member((), info) for info in _entries(archive, path) if _fits(info, pattern)]
        inner = [info.filename for info in _entries(archive, path) if info.filename.lower().endswith(".zip")]
    if not found:
        for name in inner:
            with _opened(path, (name,)) as archive:
                found += [_member((name,), info) for info in _entries(archive, path) if _fits(info, pattern)]
    if len(found) != 1:
        names = ", ".join(member.name for member in found)
        raise ArchiveError(
            "the archive holds several packages that fit: " + names if found else "the archive does not hold the package that is wanted",
            where=path,
            remedy="Check version, chip and architecture of the package, or name its .run in file",
        )
    return found[0]


def copy_member(path: str, member: Member, target: t.IO[bytes]) -> None:
    """Write a member into an open file.

    :raises ArchiveError: the archive is damaged, or the member is longer than it says
    """
    with _opened(path, member.way) as archive, archive.open(member.name) as stream:
        left = member.size
        for chunk in iter(lambda: stream.read(CHUNK_BYTES), b""):
            left -= len(chunk)
            if left < 0:
                raise _damaged(path, "a file inside is longer than it says")
            target.write(chunk)
        if left:
            raise _damaged(path, "a file inside is shorter than it says")


@contextlib.contextmanager
def _opened(path: str, way: t.Tuple[str, ...]) -> t.Iterator[zipfile.ZipFile]:
    """Open the archive, or the one inside of it; everything that goes wrong while reading becomes an ArchiveError."""
    try:
        with contextlib.ExitStack() as stack:
            archive = stack.enter_context(zipfile.ZipFile(path))
            for name in way:
                archive = stack.enter_context(zipfile.ZipFile(stack.enter_context(archive.open(name))))
            yield archive
    except _ZIP_ERRORS as exc:
        raise _damaged(path, str(exc) or type(exc).__name__) from exc


def _entries(archive: zipfile.ZipFile, path: str) -> t.List[zipfile.ZipInfo]:
    """Return the entries of a safe archive."""
    infos = archive.infolist()
    if len(infos) > MOST_ENTRIES:
        raise _damaged(path, "{0} entries".format(len(infos)))
    for info in infos:
        fault = _fault(info)
        if fault:
            raise _damaged(path, "{0}: {1!r}".format(fault, info.filename[:120]))
    return [info for info in infos if not info.is_dir()]


def _fault(info: zipfile.ZipInfo) -> str:
    """Why an entry is not safe, or ''."""
    name = info.filename.replace("\\", "/")
    kind = stat.S_IFMT(info.external_attr >> 16)
    if name.startswith("/") or re.match(r"[A-Za-z]:", name):
        return "an absolute name"
    if ".." in name.split("/"):
        return "a name that leaves the folder"
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        return "a link or device"
    if info.flag_bits & 1 or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return "an encrypted or unusually compressed file"
    if info.file_size > MOST_RATIO * max(info.compress_size, CHUNK_BYTES):
        return "a file that grows beyond all measure"
    return ""


def _member(way: t.Tuple[str, ...], info: zipfile.ZipInfo) -> Member:
    return Member(way, info.filename, info.file_size)


def _fits(info: zipfile.ZipInfo, pattern: str) -> bool:
    return re.fullmatch(pattern, os.path.basename(info.filename.replace("\\", "/"))) is not None


def _damaged(path: str, why: str) -> ArchiveError:
    return ArchiveError("the archive is damaged or not safe: {0}".format(why), where=path, remedy="Delete it and get it again from Huawei")
