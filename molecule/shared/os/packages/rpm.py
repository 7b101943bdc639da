# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A repository for dnf: one spec with a sub-package for each row, one rpmbuild, createrepo_c."""

from __future__ import annotations

import os
import shutil
import subprocess
import typing as t

from .catalogue import Package
from .stage import stage

# Nothing is compiled here, so nothing is stripped, searched for build ids or for dependencies.
HEADER = """\
%global debug_package %{nil}
%global __os_install_post %{nil}
%global _build_id_links none
%global _binary_payload w3.zstdio
Name: npufleet-molecule
Version: 1.0
Release: 1
Summary: Packages of the Molecule hosts
License: GPL-3.0-or-later
AutoReqProv: no

%description
Packages of the Molecule hosts.
"""


def sub_package(package: Package, files: t.Sequence[str]) -> str:
    """Return the sections of one package."""
    version, _dash, release = package.version.partition("-")
    lines = ["", "%package -n " + package.rpm, "Version: " + version, "Release: " + (release or "1"), "Summary: " + summary(package)]
    lines += ["AutoReqProv: no"] + ["Provides: " + (name if name.startswith("/") else name + " = " + version) for name in package.provides]
    lines += ["Requires: " + name for name in package.requires]
    if not package.debian:
        lines.append("BuildArch: noarch")
    lines += ["%description -n " + package.rpm, summary(package)]
    lines += script("%post -n " + package.rpm, post(package)) + script("%preun -n " + package.rpm, pre_removal(package))
    lines += ["%files -n " + package.rpm, "%defattr(-,root,root)"]
    lines += ['{0}"/{1}"'.format("%config(noreplace) " if name.startswith("etc/") else "", name) for name in files]
    return "\n".join(lines) + "\n"


def summary(package: Package) -> str:
    """Return one line that says what the package is made of."""
    if package.debian:
        return "From the Debian packages " + ", ".join(package.debian)
    return "Stand-in of the Molecule hosts" if package.payload else "Name without content"


def script(header: str, lines: t.Sequence[str]) -> t.List[str]:
    """Return a section of shell code, nothing when there is no line."""
    return [header, *lines] if lines else []


def post(package: Package) -> t.List[str]:
    """Return what happens after the installation; as openEuler's docker-engine does, a service is enabled and started at once."""
    lines = ["getent group {0} >/dev/null || groupadd --system {0}".format(package.group)] if package.group else []
    if package.service:
        lines += ["systemctl daemon-reload || :", 'if [ "$1" = 1 ]; then systemctl enable --now {0} || :; fi'.format(package.service)]
    return lines


def pre_removal(package: Package) -> t.List[str]:
    """Return what happens before the removal."""
    return ['if [ "$1" = 0 ]; then systemctl disable --now {0} || :; fi'.format(package.service)] if package.service else []


def build(packages: t.Iterable[Package], output: str, debs: t.Mapping[str, str], work: str) -> None:
    """Write the repository OUTPUT."""
    root, spec = os.path.join(work, "root"), HEADER
    os.makedirs(root)
    for package in packages:
        if not package.rpm:
            continue
        folder = os.path.join(work, "stage", package.rpm)
        files = stage(package, folder, debs, os.path.join(work, "debs"))
        spec += sub_package(package, files)
        if files:
            subprocess.run(["cp", "-a", folder + "/.", root], check=True)
    path = os.path.join(work, "npufleet-molecule.spec")
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(spec)
    command = ["rpmbuild", "-bb", "--quiet", "--define", "_topdir " + os.path.join(work, "rpmbuild"), "--buildroot", root, path]
    subprocess.run(command, check=True)
    collect(os.path.join(work, "rpmbuild", "RPMS"), output)
    subprocess.run(["createrepo_c", "--quiet", "--simple-md-filenames", output], check=True)


def collect(source: str, output: str) -> None:
    """Move the packages out of the folders by architecture."""
    for folder, _folders, files in os.walk(source):
        for name in files:
            shutil.move(os.path.join(folder, name), os.path.join(output, name))
