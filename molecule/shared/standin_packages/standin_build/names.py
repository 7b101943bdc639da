# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""File names and versions of the real packages. The patterns are those of ascend-deployer 26.0.0 and of the hiascend installation pages."""

from __future__ import annotations

import re
import typing as t

ARCHES = ("aarch64", "x86_64")
KINDS = ("hdk", "driver", "firmware", "toolkit", "ops", "kernels", "nnal", "docker_runtime", "toolbox")

# PCI devices (vendor 19e5) that the driver package of a chip is for; ascend-deployer 26.0.0.
PCI_DEVICES = {
    "910": ("d801",),
    "910b": ("d802",),
    "310p": ("d500",),
    "310b": ("d105", "d107"),
    "A3": ("d803",),
    "950": ("d806",),
}

# Firmware number of an HDK release. Only its shape is from a source: numbers of several releases were seen together with other releases' chips.
FIRMWARE_VERSIONS = {
    "25.0.rc1.1": "7.7.0.1.231",
    "25.2.0": "7.7.0.6.236",
    "25.3.rc1": "7.8.0.2.212",
    "25.5.0": "7.8.0.5.220",
    "25.5.1": "7.8.0.6.201",
    "26.0.rc1": "8.0.0.1.220",
    "26.1.0": "8.1.0.1.220",
    "26.1.1": "8.1.0.2.220",
}

DEFAULT_VERSIONS = {
    "hdk": "25.5.0",
    "driver": "25.5.0",
    "firmware": "25.5.0",
    "toolkit": "8.5.0",
    "ops": "8.5.0",
    "kernels": "8.3.RC1",
    "nnal": "8.5.0",
    "docker_runtime": "26.0.0",
    "toolbox": "26.0.1",
}

# The form in which the vendor offers a kind: a zip around the .run, or the .run itself.
DEFAULT_FORMS = {
    "hdk": "zip",
    "driver": "run",
    "firmware": "run",
    "toolkit": "zip",
    "ops": "zip",
    "kernels": "zip",
    "nnal": "run",
    "docker_runtime": "run",
    "toolbox": "zip",
}

LABELS = {
    "driver": "ASCEND DRIVER RUN PACKAGE",
    "firmware": "ASCEND FIRMWARE RUN PACKAGE",
    "docker_runtime": "ascend-docker-runtime",
}


class PackageNameError(ValueError):
    """The vendor has no such package."""


def check(kind: str, version: str, chip: str, arch: str) -> None:
    """Refuse a package that cannot exist.

    :raises PackageNameError: for an unknown kind, chip or architecture, and for a version that is none
    """
    if kind not in KINDS:
        raise PackageNameError("unknown kind {0}; known: {1}".format(kind, ", ".join(KINDS)))
    if chip not in PCI_DEVICES:
        raise PackageNameError("unknown chip {0}; known: {1}".format(chip, ", ".join(sorted(PCI_DEVICES))))
    if arch not in ARCHES:
        raise PackageNameError("unknown architecture {0}; known: {1}".format(arch, ", ".join(ARCHES)))
    if not version[:1].isdigit():
        raise PackageNameError("{0} is no version; packages are named by an exact one".format(version))
    numbers = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    if (kind == "ops" and numbers < (8, 5)) or (kind == "kernels" and numbers >= (8, 5)):
        raise PackageNameError("operators are called kernels up to CANN 8.3 and ops from 8.5 on, not {0} {1}".format(kind, version))


def firmware_version(hdk: str) -> str:
    """Return the number of the firmware in an HDK: unrelated to the number of the HDK."""
    return FIRMWARE_VERSIONS.get(hdk, "7.9.0.{0}.220".format(sum(ord(sign) for sign in hdk) % 90 + 1))


def run_name(kind: str, version: str, chip: str, arch: str) -> str:
    """Return the name of the self-extracting file. ``version`` is that of the file itself: for firmware the five-part number."""
    hyphen = arch.replace("_", "-")
    if kind == "driver":
        return "Ascend-hdk-{0}-npu-driver_{1}_linux-{2}.run".format(chip, version, hyphen)
    if kind == "firmware":
        return "Ascend-hdk-{0}-npu-firmware_{1}.run".format(chip, version)
    if kind == "kernels":
        return ("Atlas-A3-cann-kernels_{1}_linux-{2}.run" if chip == "A3" else "Ascend-cann-kernels-{0}_{1}_linux-{2}.run").format(
            chip, version, arch
        )
    pattern = {
        "toolkit": "Ascend-cann-toolkit_{1}_linux-{2}.run",
        "ops": "Ascend-cann-{0}-ops_{1}_linux-{2}.run",
        "nnal": "Ascend-cann-nnal_{1}_linux-{2}.run",
        "docker_runtime": "Ascend-docker-runtime_{1}_linux-{2}.run",
        "toolbox": "Ascend-mindx-toolbox_{1}_linux-{2}.run",
    }[kind]
    return pattern.format(chip, version, arch)


def zip_name(kind: str, version: str, chip: str, arch: str) -> str:
    """Return the name of the zip: x86-64 with a hyphen for the HDK, x86_64 for everything else."""
    if kind == "hdk":
        return "Ascend-hdk-{0}-npu_{1}_linux-{2}.zip".format(chip, version, arch.replace("_", "-"))
    return run_name(kind, version, chip, arch)[: -len(".run")] + ".zip"


def members(kind: str, version: str) -> t.List[t.Tuple[str, str]]:
    """Return kind and version of each .run of a package: two for an HDK."""
    if kind == "hdk":
        return [("driver", version), ("firmware", firmware_version(version))]
    if kind == "firmware" and version.count(".") < 4:
        return [("firmware", firmware_version(version))]
    return [(kind, version)]
