# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Write stand-ins for Huawei's packages into a folder and print what was written, as JSON: a list of file, sha256, size, kind, version, chip, arch.

make_packages.py --output DIR                                       one of each kind, chip 910b, this machine's architecture
make_packages.py --output DIR --kind hdk --version 25.5.0           Ascend-hdk-910b-npu_25.5.0_linux-x86-64.zip
make_packages.py --output DIR --package driver=25.5.0 --package nnal=8.5.0 --arch aarch64
make_packages.py --output DIR --kind docker_runtime --version 26.1.0 --size 200M
make_packages.py --output DIR --kind toolkit --version 9.0.0 --form run --corrupt
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import sys
import typing as t

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

from standin_build import archive, names

EVERYTHING = ("hdk", "toolkit", "ops", "nnal", "docker_runtime", "toolbox")
UNITS = {"K": 1024, "M": 1024**2, "G": 1024**3}


class Package(t.NamedTuple):
    """One package to make. ``form`` is zip, run, or empty for what the vendor offers."""

    kind: str
    version: str = ""
    chip: str = "910b"
    arch: str = "x86_64"
    form: str = ""


def make(output: str, package: Package, size: int = 4096, corrupt: bool = False, nested: bool = False) -> t.Dict[str, t.Any]:
    """Write one package and return its row of the list.

    :param size: bytes of the payload of each .run
    :param nested: the .run files of a zip lie in another zip of the same name, as in signed downloads
    :raises names.PackageNameError: when there is no such package
    """
    version = package.version or names.DEFAULT_VERSIONS.get(package.kind, "")
    names.check(package.kind, version, package.chip, package.arch)
    form = package.form or names.DEFAULT_FORMS[package.kind]
    if form == "run" and package.kind == "hdk":
        raise names.PackageNameError("an HDK is a zip; ask for driver or firmware")
    runs = {}
    for kind, number in names.members(package.kind, version):
        body = archive.payload(kind, number, package.chip, package.arch, size)
        manifest = archive.describe(kind, number, package.chip, package.arch, body, _hdk(package.kind, version, number))
        runs[manifest["file"]] = archive.run_file(manifest, body, corrupt)
    name, content = next(iter(runs.items()))
    if form == "zip":
        name = names.zip_name(package.kind, version, package.chip, package.arch)
        content = archive.zip_file({name: archive.zip_file(runs)} if nested else runs)
    os.makedirs(output, exist_ok=True)
    path = os.path.join(output, name)
    with open(path, "wb") as stream:
        stream.write(content)
    os.chmod(path, 0o644)
    row = {"file": name, "sha256": hashlib.sha256(content).hexdigest(), "size": len(content), "members": sorted(runs)}
    return dict(row, kind=package.kind, version=version, chip=package.chip, arch=package.arch)


def _hdk(kind: str, asked: str, number: str) -> str:
    """The HDK release of a driver or firmware; a firmware asked for by its own number belongs to the release that has it."""
    if kind == "firmware" and asked == number:
        return next((hdk for hdk, firmware in names.FIRMWARE_VERSIONS.items() if firmware == number), asked)
    return asked


def arguments() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--output", required=True, help="folder, made when missing")
    add("--kind", choices=[*names.KINDS, "all"], help="default: all, one of each")
    add("--version", help="exact version; default: see standin_build/names.py")
    add("--package", action="append", default=[], metavar="KIND=VERSION", help="several in one call")
    add("--chip", default="910b", choices=sorted(names.PCI_DEVICES))
    add("--arch", default=_this_arch(), choices=names.ARCHES)
    add("--form", choices=["zip", "run"], default="", help="default: the form in which the vendor offers the kind")
    add("--size", default="4096", help="bytes of filler in each payload, with K, M or G")
    add("--corrupt", action="store_true", help="a byte of the payload differs from the sums")
    add("--nested", action="store_true", help="a zip in the zip, as ascend-deployer 26.0.0 unpacks it")
    return parser


def _this_arch() -> str:
    machine = platform.machine()
    return machine if machine in names.ARCHES else "x86_64"


def wanted(options: argparse.Namespace) -> t.List[Package]:
    """Return the packages the options ask for.

    :raises names.PackageNameError: when a version stands beside several kinds
    """
    rows = [tuple(text.partition("=")[::2]) for text in options.package]
    if options.kind and options.kind != "all":
        rows.append((options.kind, options.version or ""))
    elif options.version:
        raise names.PackageNameError("--version needs --kind")
    elif options.kind == "all" or not rows:
        rows += [(kind, "") for kind in EVERYTHING]
    return [Package(kind, version, options.chip, options.arch, options.form if kind != "hdk" else "") for kind, version in rows]


def size_of(text: str) -> int:
    """Return bytes of a number with an optional unit.

    :raises ValueError: when it is no number
    """
    unit = UNITS.get(text[-1:].upper())
    return int(text[:-1]) * unit if unit else int(text)


def main(argv: t.Sequence[str]) -> int:
    """Write the packages and print their list; 2 for a wrong option."""
    options = arguments().parse_args(argv)
    try:
        size = size_of(options.size)
        rows = [make(options.output, package, size, options.corrupt, options.nested) for package in wanted(options)]
    except ValueError as exc:
        sys.stderr.write("make_packages: {0}\n".format(exc))
        return 2
    sys.stdout.write(json.dumps(rows, indent=1, sort_keys=True) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
