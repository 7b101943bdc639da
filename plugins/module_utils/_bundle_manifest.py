# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""The manifest of a bundle: every file with its SHA-256, size, source and licence, and what the parts were made for. Pure but for the walk.

``manifest.json`` is for programs and people, ``SHA256SUMS`` for sha256sum and the signature; it lists manifest.json as well. Neither holds a
time, so the same content gives the same files.
"""

from __future__ import annotations

import json
import os
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_plan import part_name
from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_signature import SIGNATURES
from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_stages import without_credentials
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._sha256sums import MANIFEST as SUMS
from ansible_collections.npufleet.ascend.plugins.module_utils._sha256sums import format_manifest, sha256

NAME = "manifest.json"
FORMAT = 1
PACKAGES = "packages/"
STATE_FOLDER = ".npufleet"
INDEX_SOURCE = "made here, index of the folder"
UNKNOWN_SOURCE = "put there by hand"
CONTENT_KEYS = ("kind", "arch", "release", "packages", "python", "glibc", "image", "name", "version")
_OWN = (NAME, SUMS, *SIGNATURES)

Mapping = t.Mapping[str, t.Any]


def walk(folder: str) -> t.List[str]:
    """Return the names of all files below the folder, but those of the manifest itself and what begins with a dot.

    :raises NpufleetError: a name that a list cannot hold, or a link that leads out of the folder
    """
    found = []
    root = os.path.realpath(folder)
    for base, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            path = os.path.join(base, name)
            if name.startswith(".") or (base == folder and name in _OWN):
                continue
            if "\n" in path or "\\" in path:
                raise NpufleetError("the name of a file has a line break or a backslash", where=repr(path), remedy="Rename it")
            if not os.path.realpath(path).startswith(root + os.sep):
                raise NpufleetError("a link leads out of the bundle", where=path, remedy="Put the file itself there")
            found.append(os.path.relpath(path, folder))
    return sorted(found)


def make_manifest(
    digests: Mapping,
    sizes: Mapping,
    sources: t.Iterable[Mapping],
    parts: t.Iterable[Mapping],
    packages: t.Sequence[Mapping],
    old: t.Optional[Mapping] = None,
) -> t.Dict[str, t.Any]:
    """Return the content of manifest.json.

    :param sources: ``{"path", "url", "licence"}`` of each file that was fetched
    :param parts: those of the plan; ``hosts`` are left out, since a bundle tells nobody about an inventory
    :param packages: those of the plan
    :param old: the manifest that is there. What it says of files that are still the same stays: of parts that this run was not asked for
    """
    known = {row["path"]: row for row in sources}
    known.update({PACKAGES + package["file"]: package for package in packages})
    same = {name: row for name, row in (old or {}).get("files", {}).items() if digests.get(name) == row["sha256"]}
    files = {}
    for name in sorted(digests):
        row = known.get(name)
        if row is None and name in same:
            files[name] = dict(same[name], size=sizes[name])
            continue
        files[name] = dict(_origin(name, row or {}), sha256=digests[name], size=sizes[name])
    kept = dict(_kept(old or {}, same), **{part_name(part): content_of(part) for part in parts})
    held = {file: row for file, row in (old or {}).get("packages", {}).items() if PACKAGES + file in same}
    held.update(_packages(packages))
    return {"format": FORMAT, "bytes": sum(sizes.values()), "files": files, "parts": kept, "packages": held}


def _origin(name: str, row: Mapping) -> t.Dict[str, str]:
    """Where a file comes from, and its licence."""
    default = INDEX_SOURCE if name.endswith("/Packages") or "/repodata/" in name else UNKNOWN_SOURCE
    return {
        # A mirror's user and password are nobody's business on the other side.
        "source": without_credentials(row.get("url") or default, ""),
        "licence": row.get("licence") or ("none of its own" if default == INDEX_SOURCE else "not known"),
    }


def _kept(old: Mapping, same: t.Container[str]) -> t.Dict[str, t.Any]:
    """The parts of the old manifest of which every file is still there."""
    found = {}
    for name, content in old.get("parts", {}).items():
        files = [path for path in old["files"] if path == name or path.startswith(name + "/")]
        if files and all(path in same for path in files):
            found[name] = content
    return found


def content_of(part: Mapping) -> t.Dict[str, t.Any]:
    """What a part was made for. Addresses are left out: they may hold a password, and mean nothing at a site without a network."""
    kept = {key: part[key] for key in CONTENT_KEYS if key in part}
    if "sets" in part:
        kept["sets"] = [{key: value for key, value in item.items() if key != "index_url"} for item in part["sets"]]
    return kept


def _packages(packages: t.Sequence[Mapping]) -> t.Dict[str, t.Any]:
    """The Huawei packages by their file; driver and firmware of a release come in one."""
    found: t.Dict[str, t.Any] = {}
    for package in packages:
        row = found.setdefault(
            package["file"], {"names": [], "version": package["version"], "chip": package["chip"], "arch": package["arch"]}
        )
        row["names"] = sorted({*row["names"], package["name"]})
        # By Huawei or by the inventory. Without it the sum only says that the file is the one that was downloaded.
        row["sum_was_given"] = bool(package.get("sha256"))
    return found


def manifest_text(manifest: Mapping) -> str:
    """Return the text of manifest.json."""
    return json.dumps(manifest, sort_keys=True, indent=1, ensure_ascii=False) + "\n"


def sums_text(manifest: Mapping, text: str) -> str:
    """Return the text of SHA256SUMS for a manifest and its text."""
    digests = {name: row["sha256"] for name, row in manifest["files"].items()}
    digests[NAME] = sha256(text.encode("utf-8"))
    return format_manifest(digests, "npufleet.ascend bundle; check it with sha256sum -c --quiet SHA256SUMS")


def parse_bundle_manifest(text: str, path: str) -> t.Dict[str, t.Any]:
    """Return the content of manifest.json.

    :param path: for messages
    :raises NpufleetError: it is none of ours
    """
    try:
        manifest = json.loads(text)
    except ValueError as exc:
        raise NpufleetError("the manifest is damaged: {0}".format(exc), where=path, remedy="Bring the bundle again") from exc
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise NpufleetError(
            "the manifest has another format than {0}".format(FORMAT), where=path, remedy="Use the collection that lies in the bundle"
        )
    tables = [manifest.get(key) for key in ("files", "parts", "packages")]
    if not all(isinstance(table, dict) and all(isinstance(row, dict) for row in table.values()) for table in tables):
        raise NpufleetError("the manifest is damaged: files, parts or packages are no tables", where=path, remedy="Bring the bundle again")
    odd = [name for name, row in manifest["files"].items() if not (isinstance(row.get("size"), int) and isinstance(row.get("sha256"), str))]
    if odd:
        raise NpufleetError(
            "the manifest is damaged: size or SHA-256 of {0} is missing".format(odd[0]), where=path, remedy="Bring the bundle again"
        )
    return manifest
