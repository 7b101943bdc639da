# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Do these versions go together, and which ones should be installed? Pure: values in, sentences out.

A sentence of ``problems`` says what a source forbids and what to install instead. What the sources do not say is a sentence of ``unknowns``;
nothing is refused because of it.
"""

from __future__ import annotations

import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._ascend_version import AscendVersion, parse_version
from ansible_collections.npufleet.ascend.plugins.module_utils._compatibility_hdk import check_hdk, pair_of, pairs_950
from ansible_collections.npufleet.ascend.plugins.module_utils._compatibility_host import (
    Findings,
    check_engine,
    check_system,
    check_system_driver,
    read_system,
)
from ansible_collections.npufleet.ascend.plugins.module_utils._compatibility_table import (
    PYTHONS,
    TORCH_NPU_GLIBC,
    VLLM_ASCEND,
    VLLM_CHIPS,
    VllmAscend,
)
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError

# The first release without wheels of its own that needs the torch-npu whose glibc is known.
_BUILT_FROM = "0.23.0"


class Setup(t.NamedTuple):
    """Versions on a host, or wanted on it. None: not known, or not used.

    :param chip: token of the packages: 910 910b 310p 310b A3 950
    :param os_id: ID of os-release
    :param os_version: its VERSION or VERSION_ID, or version and release of Ansible's facts
    :param docker: version of Docker, where Ascend Docker Runtime is used; likewise containerd
    :param in_container: CANN, Python and glibc come with the image, and those of the host do not matter
    """

    vllm_ascend: t.Optional[str] = None
    cann: t.Optional[str] = None
    hdk: t.Optional[str] = None
    chip: t.Optional[str] = None
    arch: t.Optional[str] = None
    os_id: t.Optional[str] = None
    os_version: t.Optional[str] = None
    glibc: t.Optional[str] = None
    python: t.Optional[str] = None
    docker: t.Optional[str] = None
    containerd: t.Optional[str] = None
    in_container: bool = False


def read_setup(values: t.Any) -> Setup:
    """Return the setup that a mapping describes; empty values count as not known.

    :raises NpufleetError: for other keys, and for anything but a mapping
    """
    if not isinstance(values, t.Mapping):
        raise NpufleetError("a setup must be a mapping", remedy="Use keys such as cann, hdk and chip")
    strange = sorted(str(key) for key in values if key not in Setup._fields)
    if strange:
        raise NpufleetError("there is no {0} in a setup".format(", ".join(strange)), remedy="Use {0}".format(", ".join(Setup._fields)))
    return Setup(**{key: value for key, value in values.items() if value not in (None, "")})


class Recommendation(t.NamedTuple):
    """What to install on the host for a release of vllm-ascend. In a container CANN comes with the image."""

    hdk: str
    cann: str


Versions = t.Dict[str, t.Optional[AscendVersion]]


def problems(setup: Setup) -> t.List[str]:
    """Return what is wrong with a setup, each with what to install instead; empty when no source forbids it."""
    return judge(setup).problems


def unknowns(setup: Setup) -> t.List[str]:
    """Return what the sources do not say about a setup."""
    return judge(setup).unknowns


def judge(setup: Setup) -> Findings:
    """Return both lists."""
    findings = Findings([], [])
    versions = _read_versions(setup, findings)
    row = _find_release(versions["vllm_ascend"], findings)
    if versions["vllm_ascend"] and setup.chip and setup.chip not in VLLM_CHIPS:
        findings.problems.append("no version of vllm-ascend runs on the chip {0}: use one of {1}".format(setup.chip, ", ".join(VLLM_CHIPS)))
    if not setup.in_container:
        _check_cann(row, versions["cann"], findings)
        _check_pythons(row, versions, findings)
        _check_glibc(row, setup.arch, versions["glibc"], findings)
    cann, name = _cann_in_use(setup, versions["cann"], row)
    if cann and versions["hdk"]:
        check_hdk(cann, name, versions["hdk"], setup.chip, findings)
    _check_host(setup, versions, findings)
    return findings


def recommend(vllm_ascend: str, chip: str) -> Recommendation:
    """Return the HDK and the CANN to install for a release of vllm-ascend.

    :raises NpufleetError: when no source names them
    """
    wanted = parse_version(vllm_ascend)
    row = _find_release(wanted, Findings([], []))
    advice = "Choose HDK and CANN yourself, by the release notes of both"
    if chip not in VLLM_CHIPS:
        raise NpufleetError(
            "vllm-ascend does not run on the chip {0!r}".format(chip), remedy="Use one of {0}".format(", ".join(VLLM_CHIPS))
        )
    if row is None or not row.cann:
        raise NpufleetError("which CANN vllm-ascend {0} needs is not known".format(wanted), remedy=advice)
    cann = row.cann[0]
    if chip == "950":
        raise NpufleetError(
            "the HDK for 950 depends on the product: {0}".format(pairs_950(parse_version(cann)) or "none is known"), remedy=advice
        )
    pair = pair_of(parse_version(cann))
    if pair is None:
        raise NpufleetError("which HDK goes with CANN {0} is not known".format(cann), remedy=advice)
    return Recommendation(pair.hdk, cann)


def _read_versions(setup: Setup, findings: Findings) -> Versions:
    """Return what could be read; what could not is a problem and counts as not known."""
    versions: Versions = {}
    for name in ("vllm_ascend", "cann", "hdk", "glibc", "python", "docker", "containerd"):
        text = getattr(setup, name)
        versions[name] = None
        if text is None:
            continue
        try:
            versions[name] = parse_version(text)
        except NpufleetError as exc:
            findings.problems.append("{0}: {1}".format(name, exc))
    return versions


def _find_release(version: t.Optional[AscendVersion], findings: Findings) -> t.Optional[VllmAscend]:
    if version is None:
        return None
    row = next((row for row in VLLM_ASCEND if parse_version(row.version) == version), None)
    if row is None:
        findings.unknowns.append("vllm-ascend {0} is not in the table, whose newest is {1}".format(version, VLLM_ASCEND[-1].version))
    elif not row.cann:
        findings.unknowns.append("the project does not say which CANN vllm-ascend {0} is built for".format(version))
    return row


def _cann_in_use(setup: Setup, cann: t.Optional[AscendVersion], row: t.Optional[VllmAscend]) -> t.Tuple[t.Optional[AscendVersion], str]:
    """Return the CANN that meets the driver, and how to call it."""
    if row and row.cann and (setup.in_container or cann is None):
        bundled = parse_version(row.cann[0])
        where = "the image of vllm-ascend {0} holds CANN {1}, which" if setup.in_container else "vllm-ascend {0} needs CANN {1}, which"
        return bundled, where.format(row.version, bundled.capitals)
    return cann, "CANN {0}".format(cann.capitals) if cann else ""


def _check_cann(row: t.Optional[VllmAscend], cann: t.Optional[AscendVersion], findings: Findings) -> None:
    if row is None or not row.cann or cann is None:
        return
    wanted = [parse_version(text) for text in row.cann]
    if cann in wanted:
        return
    built = "vllm-ascend {0} is built for CANN {1}".format(row.version, " or ".join(row.cann))
    if cann > min(wanted):
        findings.unknowns.append("{0}; whether it works with {1} is not known".format(built, cann.capitals))
        return
    others = [other for other in VLLM_ASCEND if cann in [parse_version(text) for text in other.cann]]
    final = [other for other in others if not parse_version(other.version).preview]
    other = ", or vllm-ascend {0} for CANN {1}".format((final or others)[-1].version, cann.capitals) if others else ""
    findings.problems.append("{0}, and {1} is older: install CANN {2}{3}".format(built, cann.capitals, row.cann[0], other))


def _check_pythons(row: t.Optional[VllmAscend], versions: Versions, findings: Findings) -> None:
    python, cann = versions["python"], versions["cann"]
    if python is None:
        return
    if row and not parse_version(row.python[0]) <= python < parse_version(row.python[1]):
        last = "3.{0}".format(parse_version(row.python[1]).numbers[1] - 1)
        findings.problems.append(
            "vllm-ascend {0} needs Python {1} to {2}, and this is {3}: install Python {2}, or run it in a container".format(
                row.version, row.python[0], last, python
            )
        )
    if cann is None:
        return
    support = next((row for row in PYTHONS if parse_version(row.cann).train == cann.train), None)
    if support is None:
        findings.unknowns.append("which Pythons CANN {0} supports is not known".format(cann.capitals))
    elif not _in_range(python, support.first, support.last):
        findings.problems.append(
            "CANN {0} supports Python {1} to {2}, and this is {3}: install Python {2}".format(
                cann.capitals, support.first, support.last, python
            )
        )


def _in_range(version: AscendVersion, first: str, last: str) -> bool:
    """A last version of two numbers includes all that begin with them."""
    end = parse_version(last).numbers
    return parse_version(first) <= version and version.numbers[: len(end)] <= end


def _check_glibc(row: t.Optional[VllmAscend], arch: t.Optional[str], glibc: t.Optional[AscendVersion], findings: Findings) -> None:
    if row is None or glibc is None:
        return
    if row.glibc is None:
        needed, what = TORCH_NPU_GLIBC, "the wheels of torch-npu for vllm-ascend {0}".format(row.version)
        if parse_version(row.version) < parse_version(_BUILT_FROM):
            return
    else:
        # Without the architecture only what both need can be refused.
        needed = row.glibc[("aarch64", "x86_64").index(arch)] if arch in ("aarch64", "x86_64") else min(row.glibc, key=parse_version)
        what = "the wheels of vllm-ascend {0}".format(row.version)
    if glibc < parse_version(needed):
        findings.problems.append(
            "{0} need glibc {1}, and this is {2}: run it in a container, or install a system with glibc {1} or later, "
            "such as openEuler 22.03 or Ubuntu 22.04".format(what, needed, glibc)
        )


def _check_host(setup: Setup, versions: Versions, findings: Findings) -> None:
    system = read_system(setup.os_id, setup.os_version)
    if system and setup.chip:
        check_system(system, setup.chip, setup.arch, findings)
        if versions["hdk"] and setup.chip != "950":
            check_system_driver(system, setup.chip, versions["hdk"], findings)
    for engine in ("docker", "containerd"):
        version = versions[engine]
        if version:
            check_engine(engine, version, findings)
