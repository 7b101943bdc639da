# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Which files of a bundle a host needs, where they go, and what the bundle lacks. Pure.

A host's copy has the folders of the bundle; only Huawei packages go where the roles look for them.
"""

from __future__ import annotations

import posixpath
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_images import tagged
from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_manifest import PACKAGES, content_of
from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_plan import Mapping, Plan, part_name


def host_files(plan: Plan, manifest: Mapping, folder: str, package_folder: str) -> t.Dict[str, t.Any]:
    """Return what one host needs of a bundle.

    * ``files``: each with ``source`` in the bundle, ``path`` on the host, ``size`` and ``sha256``
    * ``parts``: kind and folder of each part that tools use
    * ``images``: ``archive`` on the host, the ``image`` that was asked for, and the ``name`` under which it is loaded, as Docker knows no digest of
      what it loads
    * ``checksums``: file name -> SHA-256 of the Huawei packages that somebody gave a sum for. For others the manifest only says that the file is the
      one that was downloaded, and executing it takes the same consent as without a bundle.
    * ``lacks``: one sentence for each thing that is not in the bundle

    :param plan: that of make_plan for this host alone
    :param manifest: content of manifest.json
    :param folder: absolute path of the host's copy; Huawei packages go to ``package_folder``
    """
    files: t.Dict[str, t.Dict[str, t.Any]] = {}
    lacks: t.List[str] = []
    checksums: t.Dict[str, str] = {}
    given = manifest.get("packages") or {}
    for part in plan["parts"]:
        name = part_name(part)
        lacks += _lacks(name, part, (manifest.get("parts") or {}).get(name))
        for path in manifest["files"]:
            if path == name or path.startswith(name + "/"):
                _take(files, path, posixpath.join(folder, path), manifest)
    for package in plan["packages"]:
        path = PACKAGES + package["file"]
        fault = _package_fault(package, manifest["files"].get(path))
        if fault:
            lacks.append(fault)
            continue
        _take(files, path, posixpath.join(package_folder, package["file"]), manifest)
        if package.get("sha256") or (given.get(package["file"]) or {}).get("sum_was_given"):
            checksums[posixpath.basename(package["file"])] = manifest["files"][path]["sha256"]
    parts = [{"kind": part["kind"], "folder": part["folder"]} for part in plan["parts"] if part["kind"] != "image"]
    images = [
        {"archive": posixpath.join(folder, part_name(part)), "image": part["image"], "name": tagged(part["image"])}
        for part in plan["parts"]
        if part["kind"] == "image"
    ]
    return {"files": [files[target] for target in sorted(files)], "parts": parts, "images": images, "checksums": checksums, "lacks": lacks}


def _package_fault(package: Mapping, held: t.Optional[Mapping]) -> str:
    """What is wrong with a Huawei package of the bundle. The published sum counts, and not what the manifest says."""
    title = "{0} {1} ({2})".format(package["name"], package["version"], package["file"])
    if held is None:
        return title
    wanted = package.get("sha256")
    if wanted in (None, held["sha256"]):
        return ""
    return "{0} with the SHA-256 {1}, since that in the bundle has {2}".format(title, wanted, held["sha256"])


def _take(files: t.Dict[str, t.Dict[str, t.Any]], path: str, target: str, manifest: Mapping) -> None:
    row = manifest["files"][path]
    files[target] = {"source": path, "path": target, "size": row["size"], "sha256": row["sha256"]}


def _lacks(name: str, part: Mapping, held: t.Optional[Mapping]) -> t.List[str]:
    if held is None:
        return [name]
    missing = sorted(set(part.get("packages") or []) - set(held.get("packages") or []))
    sentences = ["{0} in {1}".format(", ".join(missing), name)] if missing else []
    if [item for item in content_of(part).get("sets") or [] if item not in (held.get("sets") or [])]:
        sentences.append("the wanted versions in {0}".format(name))
    return sentences
