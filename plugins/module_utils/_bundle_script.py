# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""The shell script that makes the parts of a bundle. Pure.

First everything is resolved, so that a name that does not exist fails before the first gigabyte; then the disk is checked; then one part
after the other is fetched and indexed. A part that is done leaves a mark, so that an interrupted build goes on with the next.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils import (
    _bundle_apt,
    _bundle_collections,
    _bundle_dnf,
    _bundle_images,
    _bundle_wheels,
)
from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_plan import part_name
from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_stages import Mapping, Place, Stages, Tool, python, words, write
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError

_BACKENDS: t.Dict[str, t.Any] = {
    "apt": _bundle_apt,
    "dnf": _bundle_dnf,
    "wheels": _bundle_wheels,
    "image": _bundle_images,
    "collection": _bundle_collections,
}
KINDS = tuple(_BACKENDS)

# Room that must stay free beside the content: metadata, repositories, partial files. In bytes.
RESERVE = 512 << 20

# Arguments: folder of the bundle, reserve, listing and target of each part.
DISK_SOURCE = r"""
import json, os, sys

folder, reserve = sys.argv[1], int(sys.argv[2])
needed = 0
for listing, target in zip(sys.argv[3::2], sys.argv[4::2]):
    for row in json.load(open(listing)):
        path = os.path.join(target, row["file"])
        here = os.path.getsize(path) if os.path.exists(path) else 0
        needed += max((row.get("disk") or row["size"] or 0) - here, 0)
stat = os.statvfs(folder)
free = stat.f_bavail * stat.f_frsize
print("%.2f GiB to fetch, %.2f GiB free" % (needed / 2.0**30, free / 2.0**30))
if needed + reserve > free:
    sys.exit("ERROR: the disk is too small: %.2f GiB to fetch and %.2f GiB free in %s" % (needed / 2.0**30, free / 2.0**30, folder))
"""


def identity(part: Mapping) -> str:
    """SHA-256 of what decides the content of a part; which hosts want it does not."""
    kept = {key: part[key] for key in part if key != "hosts"}
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()


def slug(part: Mapping) -> str:
    """Name of a part as a file name."""
    return part_name(part).replace("/", "--")


def stages_of(part: Mapping, place: Place) -> Stages:
    """Return the commands of a part.

    :raises NpufleetError: the kind is unknown, or the part lacks something
    """
    backend = _backend(part)
    result: Stages = backend.stages(part, place)
    return result


def tools_of(parts: t.Iterable[Mapping]) -> t.List[Tool]:
    """Return the programs that these parts need, each once."""
    found: t.Dict[str, Tool] = {}
    for part in parts:
        for tool in _backend(part).TOOLS:
            found.setdefault(tool.name, tool)
    return list(found.values())


def _backend(part: Mapping) -> t.Any:
    if part.get("kind") not in _BACKENDS or not part.get("folder"):
        raise NpufleetError("a part of the bundle has no known kind and folder: {0!r}".format(part), where="parts", remedy="Use the plan")
    # What is no file of a part is removed from its folder, so that has to be one of the bundle.
    steps = part_name(part).split("/")
    if "" in steps or any(step.startswith(".") for step in steps):
        raise NpufleetError("{0} is no folder of a bundle".format(part_name(part)), where="parts", remedy="Use the plan")
    return _BACKENDS[part["kind"]]


def build_script(parts: t.Sequence[Mapping], places: t.Sequence[Place], folder: str, resolve_only: bool) -> str:
    """Return the script for the parts that are not up to date."""
    found = [(part, place, stages_of(part, place)) for part, place in zip(parts, places)]
    stages = [("Resolve {0}".format(part_name(part)), made.resolve) for part, _place, made in found]
    if not resolve_only:
        pairs = [word for _part, place, _made in found for word in (place.listing, place.target)]
        stages.append(("Check the disk", python(places[0], DISK_SOURCE, folder, str(RESERVE), *pairs)))
        for part, place, made in found:
            stages.append(("Fetch {0}".format(part_name(part)), made.fetch))
            mark = write(place.work + "/done", identity(part))
            stages.append(("Finish {0}".format(part_name(part)), "\n".join(item for item in (made.finish, mark) if item)))
    lines = ["#!/bin/sh", "# Written by npufleet.ascend: fills {0}".format(folder), "set -eu", "umask 022"]
    # pip and skopeo unpack gigabytes, and /tmp is often a memory.
    temporary = posixpath.dirname(places[0].work) + "/tmp"
    lines += [words("rm", "-rf", temporary), words("mkdir", "-p", temporary), "export " + words("TMPDIR=" + temporary)]
    for number, (title, command) in enumerate(stages, 1):
        lines += [words("echo", "npufleet: stage {0}/{1} {2}".format(number, len(stages), title)), command]
    return "\n".join(lines) + "\n"
