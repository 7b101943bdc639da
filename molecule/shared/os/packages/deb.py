# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A flat repository for apt: dpkg-deb for the rows of the catalogue, the Debian packages as they are, apt-ftparchive."""

from __future__ import annotations

import os
import shutil
import subprocess
import typing as t

from .catalogue import Package
from .rpm import summary
from .stage import stage

# The tilde and the versions of the catalogue keep it below Debian's, so that the real package is chosen once the priority of this
# repository is gone.
VERSION = "{0}~molecule"


def control(package: Package) -> str:
    """Return the control file."""
    fields = {
        "Package": package.deb,
        "Version": VERSION.format(package.version.partition("-")[0]),
        "Architecture": "all",
        "Maintainer": "npufleet.ascend <noreply@example.com>",
        "Section": "misc",
        "Priority": "optional",
        "Description": summary(package),
    }
    if package.requires:
        fields["Depends"] = ", ".join(package.requires)
    return "".join("{0}: {1}\n".format(*item) for item in fields.items())


def post(package: Package) -> str:
    """Return the postinst script, "" for none; on Debian and Ubuntu a service starts when it is installed."""
    if not package.service:
        return ""
    return "#!/bin/sh\nset -e\n[ ! -d /run/systemd/system ] || {{ systemctl daemon-reload; systemctl enable --now {0}; }}\n".format(
        package.service
    )


def pre_removal(package: Package) -> str:
    """Return the prerm script, "" for none."""
    if not package.service:
        return ""
    return "#!/bin/sh\nset -e\n[ ! -d /run/systemd/system ] || systemctl disable --now {0}\n".format(package.service)


def write(path: str, text: str, mode: int = 0o644) -> None:
    """Write one file with its folders, nothing for an empty text."""
    if not text:
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(text)
    os.chmod(path, mode)


def build(packages: t.Iterable[Package], output: str, debs: t.Mapping[str, str], work: str) -> None:
    """Write the repository OUTPUT; rows made of Debian packages are skipped, the packages themselves are copied."""
    for package in packages:
        if not package.deb or package.debian:
            continue
        folder = os.path.join(work, package.deb)
        stage(package, folder, debs, work)
        write(os.path.join(folder, "DEBIAN", "control"), control(package))
        write(os.path.join(folder, "DEBIAN", "postinst"), post(package), 0o755)
        write(os.path.join(folder, "DEBIAN", "prerm"), pre_removal(package), 0o755)
        subprocess.run(["dpkg-deb", "--root-owner-group", "-Znone", "--build", folder, output], check=True, stdout=subprocess.DEVNULL)
    for path in debs.values():
        shutil.copy(path, output)
    index = subprocess.run(["apt-ftparchive", "packages", "."], check=True, stdout=subprocess.PIPE, cwd=output).stdout
    with open(os.path.join(output, "Packages"), "wb") as stream:
        stream.write(index)
    # Without a Release file apt does not see the origin that the priority is given to.
    options = ["-o", "APT::FTPArchive::Release::Origin=npufleet-molecule", "-o", "APT::FTPArchive::Release::Label=npufleet-molecule"]
    release = subprocess.run(["apt-ftparchive", *options, "release", "."], check=True, stdout=subprocess.PIPE, cwd=output).stdout
    with open(os.path.join(output, "Release"), "wb") as stream:
        stream.write(release)
