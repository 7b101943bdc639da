# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""The option ``packages`` of ascend_package: which file each package comes from, and which sum that file must have."""

from __future__ import annotations

import os
import re
import typing as t
import urllib.parse

from ansible_collections.npufleet.ascend.plugins.module_utils._ascend_version import parse_version
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._package_names import (
    ARCHES,
    HDK_KINDS,
    Artifact,
    artifact,
    by_hand,
    same_file,
    version_in,
    with_mirror,
)
from ansible_collections.npufleet.ascend.plugins.module_utils._package_table import KINDS, SUMS

_PUBLISHED = {row.file: row.sha256 for row in SUMS}
_SUM = re.compile(r"[0-9a-fA-F]{64}\Z")
_PASSWORD = re.compile(r"(://)[^/@\s]+@")
# The number of a firmware (7.7.0.2.220) has more parts than the version of an HDK (26.0.rc1), so that either may be asked for.
_FIRMWARE_NUMBERS = 4


class Wanted(t.NamedTuple):
    """One package that is asked for.

    :param artifact: its file, and how the .run inside is called
    :param path: where the file lies, when that was given
    :param sums: file name -> SHA-256 that was given for it; '' is for whatever file it turns out to be
    """

    kind: str
    version: str
    chip: str
    arch: str
    artifact: Artifact
    path: str
    sums: t.Mapping[str, str]

    def sha256(self, name: str) -> str:
        """Return the sum that a file of that name must have: as given, else as published; '' where there is none."""
        published = self.artifact.sha256 if name == self.artifact.file else _PUBLISHED.get(name)
        return (self.sums.get("") or self.sums.get(name) or published or "").lower()

    def number(self) -> str:
        """Return what the files of the package will call its version; '' when only the archive can tell, as for firmware."""
        if self.kind != "firmware":
            return self.version
        if self.artifact.member is None:
            return version_in(self.artifact.file) or ""
        return self.version if len(parse_version(self.version).numbers) >= _FIRMWARE_NUMBERS else ""

    def locate(self, folder: str) -> str:
        """Return the path of the file on this host; '' where it is not there."""
        if self.path:
            path = os.path.join(folder, self.path)
            return path if os.path.isfile(path) else ""
        try:
            names = sorted(os.listdir(folder))
        except OSError:
            return ""
        fitting = [name for name in names if same_file(name, self.artifact) and os.path.isfile(os.path.join(folder, name))]
        exact = [name for name in fitting if name == self.artifact.file]
        return os.path.join(folder, (exact or fitting)[0]) if fitting else ""


def read_packages(params: t.Mapping[str, t.Any], machine: str) -> t.List[Wanted]:
    """Return what the options ask for.

    :param machine: architecture of this host, for packages that name none
    :raises NpufleetError: one message about the first entry that is wrong
    """
    found: t.List[Wanted] = []
    for entry in params["packages"]:
        wanted = _read(entry, params, machine)
        if any(other.kind == wanted.kind and params["state"] != "downloaded" for other in found):
            raise NpufleetError("{0} is named twice".format(wanted.kind), where="packages", remedy="Name each kind of package once")
        found.append(wanted)
    return found


def read_kinds(params: t.Mapping[str, t.Any]) -> t.List[str]:
    """Return the kinds that are to be removed: their names are enough.

    :raises NpufleetError: for a kind that there is not
    """
    kinds = [str(entry["name"]) for entry in params["packages"]]
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown:
        raise NpufleetError("there is no package {0!r}".format(unknown[0]), where="packages", remedy="Name one of " + ", ".join(KINDS))
    return list(dict.fromkeys(kinds))


def without_password(text: str) -> str:
    """A URL, or a text with URLs, without the credentials."""
    return _PASSWORD.sub(r"\1***@", text)


def shown_address(url: str) -> str:
    """A URL for messages: without credentials, and without its scheme. Ansible blots out what the options url and mirror hold as it stands."""
    return without_password(url).partition("://")[2] or url


def _read(entry: t.Mapping[str, t.Any], params: t.Mapping[str, t.Any], machine: str) -> Wanted:
    kind, version = str(entry["name"]), entry.get("version")
    chip, arch = entry.get("chip") or params.get("chip"), entry.get("arch") or params.get("arch") or _known(machine)
    file, url, given = entry.get("file") or "", entry.get("url") or "", entry.get("sha256") or ""
    _check_sums(dict(params.get("checksums") or {}, **({"": given} if given else {})), kind)
    if url and urllib.parse.urlsplit(url).scheme not in ("http", "https"):
        raise NpufleetError(
            "{0} is no address that a file can be fetched from".format(without_password(url)),
            where="packages: " + kind,
            remedy="Give an https:// address, or put the file into the folder",
        )
    try:
        source = _artifact(kind, version, chip, arch, file, url)
    except NpufleetError as exc:
        raise NpufleetError(exc.what, where="packages: " + kind, remedy=exc.remedy) from exc
    source = source._replace(url=url or with_mirror(source.url, params.get("mirror")))
    sums = dict(params.get("checksums") or {}, **({"": given} if given else {}))
    return Wanted(kind, str(version), source.chip, arch, source, file, sums)


def _artifact(kind: str, version: t.Any, chip: t.Optional[str], arch: str, file: str, url: str) -> Artifact:
    if kind in KINDS and version is None:
        raise NpufleetError("the {0} needs a version".format(KINDS[kind].title), remedy="Name the version as its file does")
    if file:
        return by_hand(kind, version, chip, arch, os.path.basename(file))
    try:
        return artifact(kind, version, chip, arch)
    except NpufleetError:
        name = os.path.basename(urllib.parse.unquote(urllib.parse.urlsplit(url).path))
        if not name or kind not in HDK_KINDS:
            raise
        return by_hand(kind, version, chip, arch, name)


def _check_sums(sums: t.Mapping[str, t.Any], kind: str) -> None:
    for name, digest in sums.items():
        if not _SUM.match(str(digest)):
            raise NpufleetError(
                "{0!r} is no SHA-256 sum".format(str(digest)[:80]),
                where="checksums: " + name if name else "packages: " + kind,
                remedy="Give the 64 hexadecimal digits that sha256sum prints",
            )


def _known(machine: str) -> str:
    """amd64 and arm64 are what some systems call them; any other stays, and is refused by its name."""
    return {"amd64": ARCHES[1], "arm64": ARCHES[0]}.get(machine.lower(), machine)
