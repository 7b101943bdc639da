# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where the vendor's object store keeps a file. Folder names are those of the URLs in ascend-deployer 26.0.0."""

from __future__ import annotations

import os
import re
import shutil
import typing as t
import urllib.parse

# Top folders of the object store. Downloads from them need a Referer of the vendor's site.
STORE_FOLDERS = ("Ascend HDK", "CANN", "MindX")
# The toolbox has numbers of its own, MindCluster names the folder.
_TOOLBOX_FOLDERS = {"26.0.1": "26.0.0"}
_VERSION = re.compile(r"[_-](\d+(?:\.[0-9A-Za-z]+)+(?:-(?:alpha|beta)[.0-9]*)?)(?:_linux|\.(?:run|zip|hpm)$)")


def store_path(name: str) -> t.Optional[str]:
    """Return the path of a package below the store, or None for a file that the store does not have.

    A folder of the HDK has the version in upper case ("25.3.RC1") although the file has it in lower case.
    """
    match = _VERSION.search(name)
    if match is None:
        return None
    version = match.group(1)
    if name.startswith("Ascend-hdk-"):
        return "Ascend HDK/Ascend HDK {0}/{1}".format(version.upper(), name)
    if re.match(r"(Ascend|Atlas-A3)-cann-", name):
        return "CANN/CANN {0}/{1}".format(version, name)
    if name.startswith("Ascend-mindx-toolbox_"):
        version = _TOOLBOX_FOLDERS.get(version, version)
    if name.startswith(("Ascend-docker-runtime_", "Ascend-mindx-", "Ascend-mindxdl-")):
        return "MindX/MindX {0}/{1}".format(version, name)
    return None


def lay_out(source: str, root: str) -> t.Dict[str, str]:
    """Put the packages of a folder where the store has them, below ``root``.

    :returns: path of the URL, quoted, for each file name; other files are left alone
    """
    places = {}
    for name in sorted(os.listdir(source)):
        path = store_path(name)
        if path is None:
            continue
        target = os.path.join(root, path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if os.path.exists(target):
            os.unlink(target)
        try:
            os.link(os.path.join(source, name), target)
        except OSError:  # another file system
            shutil.copyfile(os.path.join(source, name), target)
        places[name] = "/" + urllib.parse.quote(path)
    return places


def needs_referer(path: str) -> bool:
    """Is this path, decoded and relative, in the store?"""
    return path.split("/", 1)[0] in STORE_FOLDERS


def is_vendor(referer: t.Optional[str]) -> bool:
    """Is the Referer a page of hiascend.com?"""
    parts = urllib.parse.urlsplit(referer or "")
    host = parts.hostname or ""
    return parts.scheme in ("http", "https") and (host == "hiascend.com" or host.endswith(".hiascend.com"))
