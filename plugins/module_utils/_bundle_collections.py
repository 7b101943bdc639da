# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Ansible collections as archives: this one built from its checkout, any other from a Galaxy server. Pure but for the look at the checkout."""

from __future__ import annotations

import hashlib
import json
import os
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_stages import Mapping, Place, Stages, Tool, lines, words, write

TOOLS: t.Tuple[Tool, ...] = ()

# Not in the archive (build_ignore of galaxy.yml), like all whose names begin with a dot.
LEFT_OUT = ("collections", "molecule", "tests", "scripts", "__pycache__")


def stages(part: Mapping, place: Place) -> Stages:
    """Return the commands for a part of kind collection. The size is known only when it is there."""
    licence = part.get("licence") or "in the archive, MANIFEST.json"
    row = {"file": part["file"], "size": None, "url": "{0}:{1}".format(part["name"], part["version"]), "licence": licence}
    galaxy = [place.python, "-m", "ansible", "galaxy", "collection"]
    if part.get("source"):
        fetch = words(*galaxy, "build", part["source"], "--output-path", place.target, "--force")
    else:
        fetch = words(*galaxy, "download", "{0}:=={1}".format(part["name"], part["version"]), "--no-deps", "--download-path", place.work)
        fetch = lines(fetch, words("mv", "{0}/{1}".format(place.work, part["file"]), place.target + "/" + part["file"]))
    return Stages(
        resolve=lines(words("mkdir", "-p", place.work), write(place.listing, json.dumps([row]))),
        fetch=lines(words("mkdir", "-p", place.target), fetch),
        finish="",
    )


def with_digest(part: Mapping) -> t.Dict[str, t.Any]:
    """Return a part that is built here together with a digest of names, sizes and times of its source: a change makes it stale."""
    digest = hashlib.sha256()
    for base, folders, names in os.walk(part["source"]):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in LEFT_OUT)
        for name in sorted(names):
            stat = os.lstat(os.path.join(base, name))
            digest.update("{0} {1} {2}\n".format(os.path.join(base, name), stat.st_size, stat.st_mtime_ns).encode("utf-8", "replace"))
    return dict(part, digest=digest.hexdigest())
