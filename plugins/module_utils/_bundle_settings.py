# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Settings that make apt, dnf and pip on a host use its copy of a bundle and nothing else. Pure.

They are files of their own, which a play names to the tools: apt by APT_CONFIG, pip by PIP_CONFIG_FILE, dnf by the option conf_file of its
module. What the host is configured with stays as it is. The files are written also where a host has no part of that kind, so that
no tool falls back to the network.
"""

from __future__ import annotations

import typing as t

Mapping = t.Mapping[str, t.Any]

APT = """\
# Written by npufleet.ascend: only the offline bundle.
Dir::Etc::sourcelist "{folder}/sources.list";
Dir::Etc::sourceparts "-";
Dir::State::lists "{folder}/.apt/lists";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
Acquire::Languages "none";
"""

# Neither apt nor dnf checks signatures here: the files were compared with the SHA-256 of the verified manifest.
APT_SOURCE = "deb [trusted=yes] file:{folder}/{part} ./\n"
SOURCES = "# Written by npufleet.ascend: only the offline bundle.\n"

DNF = """\
# Written by npufleet.ascend: only the offline bundle.
[main]
reposdir={folder}/.none
cachedir={folder}/.dnf
best=True
install_weak_deps=False
"""
DNF_REPOSITORY = """
[npufleet-bundle-{number}]
name=npufleet offline bundle
baseurl=file://{folder}/{part}
gpgcheck=0
metadata_expire=1
"""

PIP = """\
# Written by npufleet.ascend: only the offline bundle.
[global]
no-index = true
find-links ={links}
"""


def settings(folder: str, parts: t.Iterable[Mapping]) -> t.Dict[str, str]:
    """Return the text of each file by its name in the folder."""
    rows = list(parts)
    apt = [part["folder"] for part in rows if part["kind"] == "apt"]
    dnf = [part["folder"] for part in rows if part["kind"] == "dnf"]
    links = ["\n    {0}/{1}".format(folder, part["folder"]) for part in rows if part["kind"] == "wheels"]
    return {
        "apt.conf": APT.format(folder=folder),
        "sources.list": SOURCES + "".join(APT_SOURCE.format(folder=folder, part=part) for part in apt),
        "dnf.conf": DNF.format(folder=folder)
        + "".join(DNF_REPOSITORY.format(folder=folder, part=part, number=number) for number, part in enumerate(dnf)),
        "pip.conf": PIP.format(links="".join(links)),
    }


def environment(folder: str) -> t.Dict[str, str]:
    """Return the environment variables that make apt and pip use the bundle."""
    return {"APT_CONFIG": folder + "/apt.conf", "PIP_CONFIG_FILE": folder + "/pip.conf", "PIP_NO_INDEX": "1"}
