# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Wheels for an interpreter and a C library that need not be those of this machine, by pip. Pure."""

from __future__ import annotations

import json
import shlex
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_stages import (
    Mapping,
    Place,
    Stages,
    Tool,
    lines,
    python,
    words,
    write,
)

TOOLS: t.Tuple[Tool, ...] = ()

# glibc 2.5 is manylinux1; lower ones have no tag (PEP 600).
LOWEST_GLIBC = 5
LEGACY_TAGS = ("manylinux2014", "manylinux2010", "manylinux1", "linux")

# pip takes --platform for the names of wheels only and evaluates markers such as platform_machine for the machine it runs on (pypa/pip#11664),
# so a cross download would miss or add packages. Arguments: markers as JSON, then those of pip.
PIP_SOURCE = r"""
import json, sys
import pip._vendor.packaging.markers as markers

target, here = json.loads(sys.argv[1]), markers.default_environment
markers.default_environment = lambda: dict(here(), **target)
from pip._internal.cli.main import main

sys.exit(main(sys.argv[2:]))
"""

# Merges the reports of pip (installation report, version 1). The sizes are not in there, so the index is asked for the headers of each file.
# Arguments: listing, file of pins for each set, report of each set.
LISTING_SOURCE = r"""
import concurrent.futures, json, os, sys, urllib.parse, urllib.request

listing, count = sys.argv[1], int(sys.argv[2])
rows = {}

def size(url):
    parts = urllib.parse.urlsplit(url)
    try:
        if parts.scheme == "file":
            return os.stat(urllib.request.url2pathname(parts.path)).st_size
        with urllib.request.build_opener().open(urllib.request.Request(url, method="HEAD"), timeout=30) as answer:
            return int(answer.headers["Content-Length"])
    except (OSError, TypeError, ValueError):
        return None

for pins, report in zip(sys.argv[3 : 3 + count], sys.argv[3 + count :]):
    found = json.load(open(report))["install"]
    with open(pins, "w") as stream:
        for item in found:
            url, metadata = item["download_info"]["url"], item["metadata"]
            name = urllib.parse.unquote(urllib.parse.urlsplit(url).path.rpartition("/")[2])
            digest = item["download_info"]["archive_info"]["hashes"]["sha256"]
            rows[name] = {"file": name, "url": url, "licence": "in the METADATA of the wheel"}
            stream.write("%s==%s --hash=sha256:%s\n" % (metadata["name"], metadata["version"], digest))
with concurrent.futures.ThreadPoolExecutor(8) as pool:
    for row, found in zip(rows.values(), pool.map(size, [row["url"] for row in rows.values()])):
        row["size"] = found
json.dump([rows[name] for name in sorted(rows)], open(listing, "w"), indent=1)
"""


def stages(part: Mapping, place: Place) -> Stages:
    """Return the commands for a part of kind wheels.

    Each of its sets is resolved by itself: ``{"requirements": [...], "constraints": text, "no_deps": bool, "index_url": url}``. An index_url
    is asked as well when the index of this machine's pip alone has no answer.
    """
    resolve, fetch, check, pins, reports = [words("mkdir", "-p", place.work)], [words("mkdir", "-p", place.target)], [], [], []
    for number, item in enumerate(part["sets"]):
        base = "{0}/set{1}".format(place.work, number)
        pins.append(base + ".pins")
        reports.append(base + ".json")
        wanted = ["-r", base + ".txt", "-c", base + ".constraints"] + (["--no-deps"] if item.get("no_deps") else [])
        dry = ["install", "--dry-run", "--ignore-installed", "--quiet", "--target", place.work + "/none"]
        resolve += [
            write(base + ".txt", "\n".join(item["requirements"]) + "\n"),
            write(base + ".constraints", item.get("constraints") or ""),
            _pip(part, place, item.get("index_url"), *dry, "--report", reports[-1], *wanted),
        ]
        fetch.append(
            _pip(part, place, item.get("index_url"), "download", "--no-deps", "--progress-bar=off", "--dest", place.target, "-r", pins[-1])
        )
        # What the host will do, without a network: a wheel that was forgotten is seen here.
        check.append(_pip(part, place, None, *dry, "--no-index", "--find-links", place.target, *wanted))
    resolve.append(python(place, LISTING_SOURCE, place.listing, str(len(pins)), *pins, *reports))
    return Stages(lines(*resolve), lines(*fetch), lines(*check))


def _pip(part: Mapping, place: Place, second_index: t.Optional[str], command: str, *arguments: str) -> str:
    """pip for the target; where there is a second index, it is added after the first alone had no answer."""
    target = ["--python-version", part["python"], "--implementation", "cp", "--only-binary=:all:"]
    for tag in platform_tags(part["glibc"], part["arch"]):
        target += ["--platform", tag]
    line = python(place, PIP_SOURCE, json.dumps(markers(part), sort_keys=True), command, "--no-input", *target, *arguments)
    if not second_index:
        return line
    # By the environment: the URL may hold a password, and every user can read command lines.
    return "{0} ||\n  PIP_EXTRA_INDEX_URL={1} {0}".format(line, shlex.quote(second_index))


def platform_tags(glibc: str, arch: str) -> t.List[str]:
    """Return the platform tags of wheels that a C library can load, best first (PEP 600)."""
    minor = int(glibc.split(".")[1])
    return ["manylinux_2_{0}_{1}".format(number, arch) for number in range(minor, LOWEST_GLIBC - 1, -1)] + [
        "{0}_{1}".format(tag, arch) for tag in LEGACY_TAGS
    ]


def markers(part: Mapping) -> t.Dict[str, str]:
    """Return the environment markers of the target that can differ from those here (PEP 508)."""
    return {
        "python_version": part["python"],
        "python_full_version": part["python"] + ".0",
        "platform_machine": part["arch"],
        "platform_system": "Linux",
        "sys_platform": "linux",
        "os_name": "posix",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
    }
