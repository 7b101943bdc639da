# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Lay out the files of one package in a folder of its own, for rpmbuild or dpkg-deb."""

from __future__ import annotations

import os
import shutil
import subprocess
import typing as t

from .catalogue import PROGRAM, Package

HERE = os.path.dirname(os.path.abspath(__file__))


def walk(root: str) -> t.List[str]:
    """Return the files and links below ROOT, as sorted relative paths."""
    found = []
    for folder, folders, files in os.walk(root):
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        found += [os.path.relpath(os.path.join(folder, name), root) for name in files + links]
    return sorted(found)


def target_of(path: str, take: t.Sequence[t.Tuple[str, str]]) -> str:
    """Return where a file of a Debian package goes, "" for one that stays behind."""
    for old, new in take:
        if path.startswith(old):
            return new + path[len(old) :]
    return ""


def copy(source: str, target: str) -> None:
    """Copy one file or link with its folders; a file that is there already stays."""
    if os.path.lexists(target):
        return
    os.makedirs(os.path.dirname(target), exist_ok=True)
    shutil.copy2(source, target, follow_symlinks=False)


def unpack(archive: str, folder: str) -> None:
    """Unpack the files of a Debian package."""
    os.makedirs(folder)
    subprocess.run(["dpkg-deb", "--extract", archive, folder], check=True)


def stage(package: Package, root: str, debs: t.Mapping[str, str], scratch: str) -> t.List[str]:
    """Lay out PACKAGE below ROOT and return its files as relative paths.

    :param debs: Debian package name -> archive
    :param scratch: folder for unpacked archives, shared by the packages
    """
    folder, _colon, prefix = package.payload.partition(":")
    if package.payload:
        source = os.path.join(HERE, "payload", folder)
        for path in walk(source):
            target = os.path.join(root, prefix, path)
            copy(os.path.join(source, path), target)
            # Whatever the umask of the checkout was.
            os.chmod(target, 0o755 if os.access(target, os.X_OK) else 0o644)
    for name in package.debian:
        unpacked = os.path.join(scratch, name)
        if not os.path.isdir(unpacked):
            unpack(debs[name], unpacked)
        # Files before links: /usr/bin/runc is a link of the Debian package and the program of the rpm.
        for path in sorted(walk(unpacked), key=lambda name: os.path.islink(os.path.join(unpacked, name))):
            target = target_of(path, package.take or PROGRAM)
            if target:
                copy(os.path.join(unpacked, path), os.path.join(root, target))
    for path, target in package.links:
        os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
        os.symlink(target, os.path.join(root, path))
    return walk(root) if os.path.isdir(root) else []
