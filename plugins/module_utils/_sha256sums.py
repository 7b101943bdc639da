# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""A list of SHA-256 digests in the format of coreutils, so that ``sha256sum -c SHA256SUMS`` checks it too."""

from __future__ import annotations

import hashlib
import os
import re
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError

MANIFEST = "SHA256SUMS"
CHUNK_BYTES = 1 << 20

# Digest, space, space (text) or star (binary), name.
_LINE = re.compile(r"^([0-9a-fA-F]{64}) [ *](.+)$")


class ManifestError(NpufleetError):
    """The list cannot be read or names something it must not."""


def sha256(data: bytes) -> str:
    """Return the digest of some bytes in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def file_sha256(path: str) -> str:
    """Return the digest of a file; reads it in pieces, so its size does not matter for the memory.

    :raises OSError: the file cannot be read
    """
    digest = hashlib.sha256()
    with open(path, "rb") as stream:
        for chunk in iter(lambda: stream.read(CHUNK_BYTES), b""):
            digest.update(chunk)
    return digest.hexdigest()


def format_manifest(digests: t.Mapping[str, str], comment: str) -> str:
    """Return the text for name -> digest, by name; sha256sum ignores the comment line."""
    lines = ["# " + comment]
    lines.extend("{0}  {1}".format(digests[name], name) for name in sorted(digests))
    return "\n".join(lines) + "\n"


def parse_manifest(text: str, path: str) -> t.Dict[str, str]:
    """Return name -> digest in lower case.

    :param path: for messages
    :raises ManifestError: a line of another format, or a name outside of the folder
    """
    digests: t.Dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        match = _LINE.match(line)
        if match is None:
            raise ManifestError(
                "line {0} is no SHA-256 digest and file name: {1!r}".format(number, line[:80]),
                where=path,
                remedy="write the file with sha256sum",
            )
        name = match.group(2)
        if os.path.isabs(name) or ".." in name.split("/"):
            raise ManifestError(
                "line {0} names a file outside of the folder: {1!r}".format(number, name), where=path, remedy="write it inside the folder"
            )
        digests[os.path.normpath(name)] = match.group(1).lower()
    return digests


def read_manifest(folder: str) -> t.Optional[str]:
    """Return the text of the list in the folder, or None when there is none.

    :raises ManifestError: it is there and cannot be read
    """
    path = os.path.join(folder, MANIFEST)
    try:
        with open(path, encoding="utf-8") as stream:
            return stream.read()
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as exc:
        raise ManifestError("cannot read the digests: {0}".format(exc), where=path, remedy="check the file and its mode") from exc


def check_files(folder: str, digests: t.Mapping[str, str]) -> t.List[str]:
    """Hash every listed file; return one sentence for each that is missing or differs."""
    faults = []
    for name in sorted(digests):
        try:
            actual = file_sha256(os.path.join(folder, name))
        except OSError as exc:
            faults.append("{0}: {1}".format(name, exc.strerror or exc))
            continue
        if actual != digests[name]:
            faults.append("{0}: its SHA-256 differs".format(name))
    return faults
