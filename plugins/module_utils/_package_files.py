# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""The package files on the host: found, verified, and put where nobody else can change them before they are executed."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import stat
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._files import read_text, write_text
from ansible_collections.npufleet.ascend.plugins.module_utils._host import check_disk
from ansible_collections.npufleet.ascend.plugins.module_utils._package_archive import Member, copy_member, find_member
from ansible_collections.npufleet.ascend.plugins.module_utils._package_flags import FLAGS
from ansible_collections.npufleet.ascend.plugins.module_utils._package_names import member_pattern
from ansible_collections.npufleet.ascend.plugins.module_utils._package_wanted import Wanted, shown_address
from ansible_collections.npufleet.ascend.plugins.module_utils._sha256sums import CHUNK_BYTES

RUN_MODE = 0o700


class FileError(NpufleetError):
    """A package file that must not be used."""


class Sums:
    """SHA-256 of big files. A file that did not change (size, inode, times) is not read again: a task looks at its files many times.

    :param path: where to remember them; the folder must be root's, since what it says is believed
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._known: t.Dict[str, t.List[t.Any]] = {}
        with contextlib.suppress(ValueError, RecursionError):
            known = json.loads(read_text(path) or "{}")
            self._known = known if isinstance(known, dict) else {}

    def of(self, path: str, keep: bool) -> str:
        """Return the sum of a file.

        :param keep: remember it for the next call
        :raises OSError: it cannot be read
        """
        with open(path, "rb") as stream:
            identity = _identity(os.fstat(stream.fileno()))
            entry = self._known.get(path)
            if isinstance(entry, list) and entry[:-1] == identity and isinstance(entry[-1], str):
                return entry[-1]
            digest = hashlib.sha256()
            for chunk in iter(lambda: stream.read(CHUNK_BYTES), b""):
                digest.update(chunk)
            self._known[path] = [*identity, digest.hexdigest()]
        if keep:
            os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
            write_text(self._path, json.dumps({name: known for name, known in self._known.items() if os.path.exists(name)}), 0o600)
        return digest.hexdigest()


def _identity(found: os.stat_result) -> t.List[int]:
    return [found.st_size, found.st_ino, found.st_mtime_ns, found.st_ctime_ns]


def verify(wanted: Wanted, path: str, sums: Sums, unverified_ok: bool, keep: bool = True) -> str:
    """Return the SHA-256 of a package file once it may be used.

    :raises FileError: its sum is wrong, or there is none to compare with
    """
    name = os.path.basename(path)
    expected = check_sum_known(wanted, name, unverified_ok, path)
    actual = sums.of(path, keep)
    if expected and actual != expected:
        raise FileError(
            "the SHA-256 sum of {0} is {1} and should be {2}".format(name, actual, expected),
            where=path,
            remedy="Delete the file and get it again; if the sum was given by hand, check that",
        )
    return actual


def check_sum_known(wanted: Wanted, name: str, unverified_ok: bool, where: str) -> str:
    """Return the sum that a file of that name must have; '' where there is none and it may be executed all the same.

    :raises FileError: there is none to compare with. That is known before the file is there.
    """
    expected = wanted.sha256(name)
    if expected or unverified_ok:
        return expected
    raise FileError(
        "nobody published a SHA-256 sum of {0}, and none is given".format(name),
        where=where,
        remedy="Check the version; or give the sum in sha256 of the package or in checksums (ascend_package_checksums); or set unverified_ok "
        "(ascend_package_unverified_ok) to true to execute it unchecked as root",
    )


def member_of(wanted: Wanted, path: str) -> t.Optional[Member]:
    """Return the .run inside a verified archive; None where the file is the .run itself.

    :raises ArchiveError: the archive does not hold it, or is not safe
    """
    if not path.lower().endswith(".zip"):
        return None
    source = wanted.artifact
    return find_member(path, source.member or member_pattern(source.kind, source.version, source.chip, source.arch))


def stage(wanted: Wanted, path: str, digest: str, folder: str) -> str:
    """Put the .run into a folder that is root's alone, executable, and return its path. What is left of an interrupted call is made anew.

    :param digest: the verified sum; a file that others could have changed since is copied and compared once more
    :param folder: of this collection, 0700
    :raises FileError: the file is not what was verified
    :raises NpufleetError: the archive is not safe, or the disk is too full
    """
    own = os.path.join(folder, "unpacked", digest[:16])
    unstage(folder, digest)
    os.makedirs(own, mode=0o700)
    ending = os.path.splitext(path)[1].lower()
    source = path
    if ending != ".zip" or not only_root_writes(path):
        source = os.path.join(own, "source" + ending)
        _copy_verified(path, source, digest)
    member = member_of(wanted, source)
    part = source
    if member is not None:
        part = os.path.join(own, "member.part")
        check_disk(own, member.size, "unpacking {0}".format(os.path.basename(member.name)))
        with open(part, "wb") as stream:
            copy_member(source, member, stream)
        if source != path:
            os.unlink(source)
    target = os.path.join(own, os.path.basename((member.name if member else path).replace("\\", "/")))
    os.chmod(part, RUN_MODE)
    os.rename(part, target)
    return target


def unstage(folder: str, digest: str) -> None:
    """Remove what stage() made of one file."""
    shutil.rmtree(os.path.join(folder, "unpacked", digest[:16]), ignore_errors=True)


def only_root_writes(path: str) -> bool:
    """Can nobody but root change this file, or put another one in its place?"""
    path = os.path.realpath(path)
    while True:
        try:
            found = os.stat(path)
        except OSError:
            return False
        if found.st_uid != 0 or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return False
        if path == "/":
            return True
        path = os.path.dirname(path)


def _copy_verified(source: str, target: str, digest: str) -> None:
    check_disk(os.path.dirname(target), os.stat(source).st_size, "a copy of {0}".format(os.path.basename(source)))
    actual = hashlib.sha256()
    with open(source, "rb") as reader, open(target, "wb") as writer:
        for chunk in iter(lambda: reader.read(CHUNK_BYTES), b""):
            actual.update(chunk)
            writer.write(chunk)
    if actual.hexdigest() != digest:
        os.unlink(target)
        raise FileError("{0} changed while it was used".format(source), where=source, remedy="Let nobody write there, and run again")


def missing_file(wanted: Wanted, folder: str) -> str:
    """Say which file is not there and where to get it."""
    name, url = wanted.path or wanted.artifact.file, shown_address(wanted.artifact.url)
    if not url:
        return "the file {0} is not in {1}; get it from Huawei support (https://support.huawei.com)".format(name, folder)
    return "the file {0} is not in {1}; put it there, or set download ({2}_download) to let this host get it from {3}".format(
        name, folder, FLAGS[wanted.kind].role, url
    )
