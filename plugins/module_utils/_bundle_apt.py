# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""OS packages of a Debian or Ubuntu, for any release and architecture, by apt-get with a root of its own. Pure.

The dpkg status is empty, so apt resolves all that the packages need: the host can install them whatever it has. Hosts use the folder as a
flat repository (sources.list(5)).
"""

from __future__ import annotations

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

TOOLS = (Tool("apt-get", "apt", "apt (an own repository; best build on Debian or Ubuntu)"), Tool("apt-ftparchive", "apt-utils", "apt"))

# A configuration of our own, so that neither sources nor settings of this machine get in. An empty sandbox user lets apt work without root.
CONFIG = """\
Dir "{work}";
Dir::Etc "{work}/etc";
Dir::Etc::sourcelist "{work}/sources.list";
Dir::Etc::sourceparts "-";
Dir::State "{work}/state";
Dir::State::status "{work}/status";
Dir::Cache "{work}/cache";
Dir::Cache::archives "{target}";
APT::Architecture "{arch}";
APT::Architectures {{ "{arch}"; }};
APT::Install-Recommends "false";
APT::Sandbox::User "";
APT::Update::Error-Mode "any";
Acquire::Languages "none";
Acquire::Retries "3";
"""

# One line a package: 'URL' FILE SIZE HASH (apt-get(8), --print-uris).
LISTING_SOURCE = r"""
import json, re, sys

rows = [re.match(r"^'([^']+)' (\S+) (\d+)", line) for line in open(sys.argv[1])]
found = [
    {
        "file": row.group(2),
        "size": int(row.group(3)),
        "url": row.group(1),
        "licence": "usr/share/doc/%s/copyright in the package" % row.group(2).split("_")[0],
    }
    for row in rows
    if row
]
json.dump(sorted(found, key=lambda row: row["file"]), open(sys.argv[2], "w"), indent=1)
"""


def stages(part: Mapping, place: Place) -> Stages:
    """Return the commands for a part of kind apt."""
    sources = "".join(source_line(row, part) for row in part["repositories"])
    config = CONFIG.format(work=place.work, target=place.target, arch=part["arch"])
    apt = "APT_CONFIG={0} ".format(words(place.work + "/apt.conf"))
    install = ["apt-get", "-q", "-y", "install", "--download-only"]
    folders = [
        place.work + "/" + name for name in ("etc/apt.conf.d", "etc/preferences.d", "etc/trusted.gpg.d", "state/lists/partial", "cache")
    ]
    return Stages(
        resolve=lines(
            words("mkdir", "-p", *folders),
            words("touch", place.work + "/status"),
            write(place.work + "/sources.list", sources),
            write(place.work + "/apt.conf", config),
            apt + words("apt-get", "-q", "update"),
            # Without this, packages that lie in the target would be left out of the list.
            apt
            + words(*install, "-o", "Dir::Cache::archives=" + place.work + "/none", "--print-uris", *part["packages"])
            + " > "
            + words(place.work + "/uris"),
            python(place, LISTING_SOURCE, place.work + "/uris", place.listing),
        ),
        fetch=lines(
            words("mkdir", "-p", place.target + "/partial"),
            apt + words(*install, *part["packages"]),
            words("rm", "-rf", place.target + "/partial", place.target + "/lock"),
        ),
        finish="(cd {0} && apt-ftparchive packages . > Packages.new && mv Packages.new Packages)".format(words(place.target)),
    )


def source_line(row: Mapping, part: Mapping) -> str:
    """Return the lines of sources.list(5) for one repository; one without a key is trusted."""
    options = "[arch={0} {1}]".format(part["arch"], "signed-by=" + row["key"] if row.get("key") else "trusted=yes")
    tail = " ".join(t.cast(t.Sequence[str], row.get("components") or ()))
    return "".join(" ".join(["deb", options, row["url"], suite, tail]).rstrip() + "\n" for suite in row["suites"])
