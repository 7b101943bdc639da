# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the shell header of a Makeself archive does itself, before its installer runs: sums, lists, extraction."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
import typing as t
import zlib

from standin.journal import Finish, say

# Makeself ends with this code when the sums differ. For a driver package the same code means "installed, reboot required".
CODE_SUMS = 2
# Options of the header that change nothing here.
IGNORED = ("--nox11", "--noprogress", "--nodiskspace", "--accept", "--keep", "--nochown", "--nocleanup")


class Archive(t.NamedTuple):
    """The self-extracting file and the part the sums are about."""

    path: str
    offset: int
    label: str
    sha256: str

    def payload(self) -> bytes:
        with open(self.path, "rb") as stream:
            stream.seek(self.offset)
            return stream.read()

    def is_whole(self) -> bool:
        """Can the payload be unpacked?"""
        try:
            return bool(_open(self).getnames())
        except (OSError, EOFError, zlib.error, tarfile.TarError):
            return False

    def verify(self, is_broken: bool) -> None:
        """Compare the sum and say so.

        :param is_broken: a fault asks for a sum that differs
        :raises Finish: when the sum differs
        """
        found = hashlib.sha256(self.payload() + (b"fault" if is_broken else b"")).hexdigest()
        if found != self.sha256:
            say("Verifying archive integrity...Error in SHA256 checksums: {0} is different from {1}".format(found, self.sha256))
            raise Finish(CODE_SUMS)
        say("Verifying archive integrity...  100%   SHA256 checksums are OK. All good.")


def header(archive: Archive, words: t.Sequence[str], is_broken: bool) -> t.List[str]:
    """Obey the header's own options and return the others, which are for the installer.

    :raises Finish: after an option that ends there, or when the file is broken
    """
    if "--help" in words or "-h" in words:
        say("Makeself stand-in\n  --help --info --list --check --noexec --extract=DIR --nox11 --quiet, and those of the installer")
        raise Finish(0)
    if "--info" in words:
        say("Identification: {0}\nCompression: gzip\nScript run after extraction: ./install.sh".format(archive.label))
        raise Finish(0)
    if "--list" in words:
        say("\n".join(_open(archive).getnames()))
        raise Finish(0)
    archive.verify(is_broken)
    target = [word.partition("=")[2] for word in words if word.startswith("--extract=")]
    if target:
        _extract(archive, target[-1])
    if target or "--noexec" in words:
        raise Finish(0)
    if list(words) != ["--check"]:
        say("Uncompressing {0}  100%".format(archive.label))
    return [word for word in words if word not in IGNORED]


def _extract(archive: Archive, folder: str) -> None:
    """extractall asks for a filter since 3.12 and knows none before 3.8: an archive of ours is a few plain files."""
    with _open(archive) as content:
        for entry in content.getmembers():
            path = os.path.join(folder, entry.name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as stream:
                stream.write(t.cast(t.IO[bytes], content.extractfile(entry)).read())
            os.chmod(path, entry.mode)


def _open(archive: Archive) -> tarfile.TarFile:
    return tarfile.open(fileobj=io.BytesIO(archive.payload()), mode="r:gz")
