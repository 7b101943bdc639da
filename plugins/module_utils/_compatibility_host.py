# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Does the operating system go with the chip and its driver, and Docker with Ascend Docker Runtime?

A system that the table lacks is not refused: Huawei's lists are literal, and others are known to work. What is refused is a release that is
older than all that are listed for the chip, and a driver that is older than the first one for the system.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._ascend_version import AscendVersion, parse_version
from ansible_collections.npufleet.ascend.plugins.module_utils._compatibility_table_host import (
    DOCKERS,
    OS_MINIMUMS,
    OS_ROWS,
    OS_SOURCE,
    DockerRange,
    OsMinimum,
    OsRow,
)

NAMES = {
    "bclinux": "BC-Linux",
    "centos": "CentOS",
    "ctyunos": "CTyunOS",
    "culinux": "CULinux",
    "debian": "Debian",
    "euleros": "EulerOS",
    "kylin": "Kylin",
    "mtos": "MTOS",
    "openeuler": "openEuler",
    "ubuntu": "Ubuntu",
    "uos": "UOS",
    "velinux": "veLinux",
    "vesselos": "VesselOS",
}
_ALIASES = {"uniontech": "uos"}
_KYLIN_PACKS = {"sp1": "tercel", "sp2": "sword", "sp3": "lance"}

Numbers = t.Tuple[int, ...]


class Findings(t.NamedTuple):
    """Sentences: what is wrong, and what is not known."""

    problems: t.List[str]
    unknowns: t.List[str]


class System(t.NamedTuple):
    """An operating system, read from what os-release or Ansible's facts call it."""

    id: str
    numbers: Numbers
    release: t.Optional[str]
    shown: str


def read_system(os_id: t.Optional[str], version: t.Optional[str]) -> t.Optional[System]:
    """Return the system; None when it is not known. The version may be VERSION_ID or VERSION: ``22.03``, ``22.03 (LTS-SP4)``, ``V10 (Lance)``."""
    name = (os_id or "").strip().lower()
    name = _ALIASES.get(name, name)
    text = (version or "").strip().lower()
    found = re.search(r"[0-9]{1,9}(?:\.[0-9]{1,9})*", text)
    if not name or found is None:
        return None
    rest = text[found.end() :]
    numbers = _numbers(found.group())
    pack = re.search(r"sp([0-9]{1,9})", rest)
    if name == "euleros" and pack:
        numbers, rest = (numbers[0], int(pack.group(1))), ""
    return System(name, numbers, _release(name, rest), "{0} {1}".format(NAMES.get(name, os_id), (version or "").strip()))


def _release(name: str, rest: str) -> t.Optional[str]:
    """Return service pack or code name. Kylin's code names stand for service packs, and SP3 2403 for Halberd."""
    words = re.findall(r"[a-z]+[0-9]*", rest)
    if name == "kylin" and "2403" in rest:
        return "halberd"
    if name == "kylin":
        words = [_KYLIN_PACKS.get(word, word) for word in words]
    known = {row.release for row in OS_ROWS if row.id == name and row.release}
    return next((word for word in words if word in known or re.fullmatch(r"sp[0-9]+", word)), None)


def _numbers(text: str) -> Numbers:
    return tuple(int(number) for number in text.split("."))


def _fits(system: System, row: t.Union[OsRow, OsMinimum]) -> bool:
    """Is this row about the system? What the system does not say, as the service pack in VERSION_ID, counts as fitting."""
    numbers = _numbers(row.version)
    common = min(len(numbers), len(system.numbers))
    if row.id != system.id or numbers[:common] != system.numbers[:common]:
        return False
    return system.release is None or system.release == row.release


def row_name(row: t.Union[OsRow, OsMinimum]) -> str:
    """Return a row as people write it: openEuler 22.03 SP4, Kylin V10 (Lance)."""
    if row.id == "kylin":
        return "Kylin V{0}{1}".format(row.version, " ({0})".format(row.release.capitalize()) if row.release else "")
    return "{0} {1}{2}".format(NAMES[row.id], row.version, " " + row.release.upper() if row.release else "")


def check_system(system: System, chip: str, arch: t.Optional[str], findings: Findings) -> None:
    """Add what is wrong or not known about the chip's driver on this system."""
    rows = [row for row in OS_ROWS if row.id == system.id and chip in row.chips]
    same_arch = [row for row in rows if arch is None or row.arch == arch]
    if any(_fits(system, row) for row in same_arch):
        return
    on_arch = " on {0}".format(arch) if arch else ""
    if rows and all(_numbers(row.version) > system.numbers for row in rows):
        others = ", ".join(dict.fromkeys(row_name(row) for row in same_arch or rows))
        findings.problems.append(
            "no driver for {0} is listed for {1}, which is older than all that are: install {2}".format(chip, system.shown, others)
        )
        return
    findings.unknowns.append(
        "{0}{1} is not among the systems that {2} lists for {3}: whether its driver works there is not known".format(
            system.shown, on_arch, OS_SOURCE.title, chip
        )
    )


def check_system_driver(system: System, chip: str, hdk: AscendVersion, findings: Findings) -> None:
    """Add what is wrong or not known about this driver on this system. Products that share a chip can differ."""
    rows = [row for row in OS_MINIMUMS if row.chip == chip and _from_pack_on(system, row) and hdk < parse_version(row.hdk)]
    products = [row for row in OS_MINIMUMS if row.chip == chip and _from_pack_on(system, row)]
    if not rows:
        return
    newest = max((row.hdk for row in rows), key=parse_version)
    needs = ", ".join("{0} needs {1}".format(row.product, row.hdk) for row in rows)
    sentence = "HDK {0} is older than the first one for {1} on {2} ({3}): install HDK {4} or later".format(
        hdk, chip, system.shown, needs, newest
    )
    (findings.problems if len(rows) == len(products) else findings.unknowns).append(sentence)


def _from_pack_on(system: System, row: OsMinimum) -> bool:
    """Is this the system of the row, with its service pack or a later one?"""
    if _fits(system, row._replace(release=system.release or "")):
        return not (row.release.startswith("sp") and (system.release or "").startswith("sp")) or _pack(system.release) >= _pack(row.release)
    return False


def _pack(release: t.Optional[str]) -> int:
    return int((release or "")[2:] or 0)


def check_engine(engine: str, version: AscendVersion, findings: Findings) -> None:
    """Add what is wrong or not known about a container engine (docker, containerd) under Ascend Docker Runtime."""
    row: DockerRange = next(row for row in DOCKERS if row.engine == engine)
    if version < parse_version(row.first):
        findings.problems.append(
            "Ascend Docker Runtime needs {0} {1} or later, and this is {2}: install {0} {3}".format(engine, row.first, version, row.last)
        )
    elif version > parse_version(row.last):
        findings.unknowns.append(
            "{0} {1} is newer than {2}, the last one that Ascend Docker Runtime names".format(engine, version, row.last)
        )
