# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Which versions go together, as data. Every row names its source; docs/compatibility.md shows all of them.

Nothing here was tried on an NPU. What the sources do not say is left out, and ``_compatibility.unknowns`` says so. Operating systems and Docker
are in _compatibility_table_host.py.
"""

from __future__ import annotations

import typing as t


class Source(t.NamedTuple):
    """Where a row is known from. The date is the source's own, or the day on which the page was read."""

    title: str
    url: str
    date: str


_HIASCEND = "https://www.hiascend.com/document/detail/en/"
_NOTES = _HIASCEND + "CANNCommunityEdition/{0}/softwareinst/releasenote/{1}/release-notes{2}.md"
_GUIDE = _HIASCEND + "{0}/softwareinst/instg/instg_0045.html"
_READ = "2026-11-30"

DEPLOYER = Source("ascend-deployer 26.0.0", "https://pypi.org/project/ascend-deployer/26.0.0/", "2026-08")
CANN_901 = Source("CANN 9.0.1 release notes", "https://gitcode.com/cann/release-management/blob/master/9.0.1/release-notes.md", _READ)
CANN_910 = Source("CANN 9.1.0 release notes", _NOTES.format("910", "9.1.0", ""), _READ)
CANN_911 = Source("CANN 9.1.1 release notes", _NOTES.format("910", "9.1.1", "_en"), _READ)
CANN_920 = Source("CANN 9.2.0 release notes", _NOTES.format("920", "9.2.0", ""), _READ)
GUIDE_800 = Source("CANN 8.0.0 installation guide", _GUIDE.format("canncommercial/800"), _READ)
GUIDE_820 = Source("CANN 8.2.RC1 installation guide", "https://www.hiascend.com/document", _READ)
GUIDE_850 = Source("CANN 8.5.0 installation guide", _GUIDE.format("canncommercial/850"), _READ)
GUIDE_900 = Source(
    "CANN 9.0.0 installation guide",
    "https://www.hiascend.com/document/detail/zh/canncommercial/900/softwareinst/instg/instg_0045.html",
    _READ,
)
GUIDE_910 = Source("CANN 9.1.0 installation guide", _GUIDE.format("CANNCommunityEdition/910"), _READ)
APT_900 = Source(
    "CANN 9.0.0 installation guide, apt packages",
    "https://www.hiascend.com/document/detail/zh/canncommercial/900/softwareinst/instg/instg_0000.html",
    _READ,
)
CLUSTER_2610 = Source(
    "MindCluster 26.1.0 release notes",
    "https://www.hiascend.com/document/detail/zh/mindcluster/latest/patchnote/mxreleasenote_006.html",
    _READ,
)
VLLM_POLICY = Source(
    "vllm-ascend versioning policy", "https://docs.vllm.ai/projects/ascend/en/latest/community/versioning_policy.html", "2026-10-13"
)
VLLM_018 = Source("vllm-ascend 0.18.0 installation guide", "https://docs.vllm.ai/projects/ascend/en/v0.18.0/installation.html", _READ)
VLLM_GUIDE = Source(
    "vllm-ascend installation guide", "https://docs.vllm.ai/projects/ascend/en/latest/getting_started/installation.html", _READ
)
VLLM_ISSUES = Source("vllm-ascend documentation and issues", "https://github.com/vllm-project/vllm-ascend/issues", "2026-10-13")


class Hdk(t.NamedTuple):
    """A release of the HDK that a source names."""

    version: str
    source: Source


# Products with the chip 950 have HDK numbers of their own (1.0.RC1, 25.1.RC1, 25.6.RC1, 25.7.RC1), which these rows leave out.
HDKS = (
    Hdk("25.0.rc1.1", DEPLOYER),
    Hdk("25.2.0", DEPLOYER),
    Hdk("25.3.rc1", DEPLOYER),
    Hdk("25.5.0", DEPLOYER),
    Hdk("25.5.1", CANN_901),
    Hdk("25.5.2", CANN_901),
    Hdk("26.0.rc1", DEPLOYER),
    Hdk("26.0.rc3", CANN_901),
    Hdk("26.1.0", CANN_910),
    Hdk("26.1.1", CANN_911),
    Hdk("26.2.rc1", CANN_920),
)


class HdkRule(t.NamedTuple):
    """The release trains of the HDK that a release train of CANN allows. 26.0.RC1 is also called 25.7.RC1."""

    cann: str
    first: str
    last: str
    source: Source
    note: str = ""


HDK_RULES = (
    HdkRule("8.5", "25.0", "26.2", CANN_920, "the row is for 8.5.2; the notes of 8.5.0 end with 25.5"),
    HdkRule("9.0", "25.0", "26.2", CANN_920),
    HdkRule("9.1", "25.2", "26.2", CANN_920),
    HdkRule("9.2", "25.3", "26.2", CANN_920),
)


class Pair(t.NamedTuple):
    """The HDK with which a version of CANN was released. Of several rows for a version the first is the one to install."""

    cann: str
    hdk: str
    source: Source


PAIRS = (
    Pair("8.1.RC1", "25.0.rc1.1", DEPLOYER),
    Pair("8.2.RC1", "25.2.0", DEPLOYER),
    Pair("8.3.RC1", "25.3.rc1", DEPLOYER),
    Pair("8.5.0", "25.5.0", DEPLOYER),
    Pair("9.0.0", "26.0.rc1", DEPLOYER),
    Pair("9.0.1", "26.0.rc1", CANN_901),
    Pair("9.1.0", "26.0.rc1", CANN_910),
    Pair("9.1.0", "26.1.0", CLUSTER_2610),
    Pair("9.1.1", "26.1.1", CANN_911),
    Pair("9.2.0", "26.2.rc1", CANN_920),
)
# The chip 950: CANN, product, HDK.
PAIRS_950 = (
    ("9.0.0", "Atlas 350", "1.0.RC1", DEPLOYER),
    ("9.1.0", "Atlas 350", "25.7.RC1", CLUSTER_2610),
    ("9.1.0", "Atlas 850", "25.6.RC1", CLUSTER_2610),
    ("9.1.0", "Atlas 950 SuperPoD", "25.1.RC1", CLUSTER_2610),
)


class VllmAscend(t.NamedTuple):
    """A release of vllm-ascend.

    :param cann: versions of CANN it is built for, the one to install first; empty when the project does not say
    :param python: first allowed and first forbidden version
    :param glibc: what the wheels on PyPI need, for aarch64 and x86_64; None when there are none and the package is built on the host
    """

    version: str
    date: str
    cann: t.Tuple[str, ...]
    python: t.Tuple[str, str]
    glibc: t.Optional[t.Tuple[str, str]]
    source: Source


_PY39 = ("3.9", "3.12")
_PY310 = ("3.10", "3.12")
_PY312 = ("3.10", "3.13")
_OLD = ("2.17", "2.17")
_MID = ("2.24", "2.24")
_ARM = ("2.34", "2.24")
_NEW = ("2.34", "2.34")

VLLM_ASCEND = (
    VllmAscend("0.7.3", "2025-05", ("8.1.RC1",), _PY39, None, VLLM_POLICY),
    VllmAscend("0.7.3.post1", "2025-05", ("8.1.RC1",), _PY39, None, VLLM_POLICY),
    VllmAscend("0.8.4rc2", "2025-04", ("8.0.0",), _PY39, None, VLLM_POLICY),
    VllmAscend("0.8.5rc1", "2025", ("8.1.RC1",), _PY39, None, VLLM_POLICY),
    VllmAscend("0.9.0rc1", "2025", ("8.1.RC1",), _PY39, _OLD, VLLM_POLICY),
    VllmAscend("0.9.0rc2", "2025", ("8.1.RC1",), _PY39, _OLD, VLLM_POLICY),
    VllmAscend("0.9.1rc1", "2025", ("8.1.RC1",), _PY39, _OLD, VLLM_POLICY),
    VllmAscend("0.9.1rc2", "2025", ("8.2.RC1",), _PY39, _OLD, VLLM_POLICY),
    VllmAscend("0.9.1rc3", "2025", ("8.2.RC1",), _PY39, _OLD, VLLM_POLICY),
    VllmAscend("0.9.1", "2025-09-03", ("8.2.RC1",), _PY39, _OLD, VLLM_POLICY),
    VllmAscend("0.9.2rc1", "2025-07", ("8.1.RC1",), _PY39, _OLD, VLLM_POLICY),
    VllmAscend("0.10.0rc1", "2025", ("8.2.RC1",), _PY39, _MID, VLLM_POLICY),
    VllmAscend("0.10.1rc1", "2025", ("8.2.RC1",), _PY39, _MID, VLLM_POLICY),
    VllmAscend("0.10.2rc1", "2025", ("8.2.RC1",), _PY39, _MID, VLLM_POLICY),
    VllmAscend("0.11.0rc0", "2025", ("8.2.RC1",), _PY39, _MID, VLLM_POLICY),
    VllmAscend("0.11.0rc1", "2025-11", ("8.3.RC1",), _PY39, _MID, VLLM_POLICY),
    VllmAscend("0.11.0rc2", "2025", ("8.3.RC2",), _PY39, _MID, VLLM_POLICY),
    VllmAscend("0.11.0rc3", "2025", ("8.3.RC2",), _PY39, _MID, VLLM_POLICY),
    VllmAscend("0.11.0", "2025-12-16", ("8.3.RC2",), _PY39, _MID, VLLM_POLICY),
    VllmAscend("0.12.0rc1", "2025-12", ("8.3.RC2",), _PY310, _MID, VLLM_POLICY),
    VllmAscend("0.13.0rc1", "2025-12", ("8.3.RC2",), _PY310, _MID, VLLM_POLICY),
    VllmAscend("0.13.0rc2", "2026", ("8.5.0",), _PY310, _MID, VLLM_POLICY),
    VllmAscend("0.13.0rc3", "2026-04-24", ("8.5.1",), _PY310, _ARM, VLLM_POLICY),
    VllmAscend("0.13.0", "2026-02-06", ("8.5.0",), _PY310, _MID, VLLM_POLICY),
    VllmAscend("0.14.0rc1", "2026", ("8.5.0",), _PY310, _MID, VLLM_POLICY),
    VllmAscend("0.15.0rc1", "2026", ("8.5.0",), _PY310, _MID, VLLM_POLICY),
    VllmAscend("0.16.0rc1", "2026-03", ("8.5.1",), _PY310, _MID, VLLM_POLICY),
    VllmAscend("0.17.0rc1", "2026", ("8.5.1",), _PY310, _MID, VLLM_POLICY),
    VllmAscend("0.18.0rc1", "2026-04", ("8.5.1",), _PY310, _MID, VLLM_POLICY),
    # The policy says 8.5.1; the guide of the release says 9.0.0, on which its images were built again (issue 9856).
    VllmAscend("0.18.0", "2026-04-30", ("8.5.1", "9.0.0"), _PY310, _MID, VLLM_018),
    VllmAscend("0.19.1rc1", "2026-04-30", ("8.5.1",), _PY310, _MID, VLLM_POLICY),
    VllmAscend("0.20.2rc1", "2026-06-03", ("9.0.0",), _PY310, _ARM, VLLM_POLICY),
    VllmAscend("0.21.0rc1", "2026-06-16", ("9.0.0",), _PY312, _ARM, VLLM_POLICY),
    VllmAscend("0.22.1rc1", "2026-06-30", ("9.0.0",), _PY312, _ARM, VLLM_POLICY),
    VllmAscend("0.23.0rc1", "2026-07-20", ("9.0.1",), _PY312, _NEW, VLLM_POLICY),
    VllmAscend("0.23.0", "2026-08-16", ("9.1.0",), _PY312, _NEW, VLLM_GUIDE),
    VllmAscend("0.23.0.post1", "2026-09-21", ("9.1.0",), _PY312, None, VLLM_GUIDE),
    VllmAscend("0.24.0rc1", "2026-08", (), _PY312, _NEW, VLLM_POLICY),
    VllmAscend("0.25.1rc1", "2026-08", (), _PY312, _NEW, VLLM_POLICY),
    VllmAscend("0.26.0rc1", "2026-09-03", ("9.1.0",), _PY312, _NEW, VLLM_POLICY),
    VllmAscend("0.27.1rc1", "2026-09", (), _PY312, None, VLLM_POLICY),
    VllmAscend("0.28.0rc1", "2026", (), _PY312, None, VLLM_POLICY),
    VllmAscend("0.29.0rc1", "2026-10", (), _PY312, None, VLLM_POLICY),
    VllmAscend("0.30.0rc1", "2026-10-11", ("9.2.0",), _PY312, None, VLLM_POLICY),
    VllmAscend("0.30.0rc2", "2026-10-13", ("9.2.0",), _PY312, None, VLLM_POLICY),
)

# Chips for which vllm-ascend is built; the first Ascend 910 is none of them (issues 573 and 13540).
VLLM_CHIPS = ("310p", "910b", "950", "A3")
# Wheels of torch-npu 2.10.0.post4, which vllm-ascend needs where it has no wheels of its own (PyPI).
TORCH_NPU_GLIBC = "2.28"


class PythonRange(t.NamedTuple):
    """First and last Python of a release train of CANN. A last version without patch level includes all of that minor version."""

    cann: str
    first: str
    last: str
    source: Source
    note: str = ""


PYTHONS = (
    PythonRange("8.0", "3.7", "3.11.4", GUIDE_800),
    PythonRange("8.2", "3.7", "3.11.4", GUIDE_820),
    PythonRange("8.5", "3.7", "3.13", GUIDE_850),
    PythonRange("9.0", "3.7", "3.13", GUIDE_900, "the English page of the community edition says 3.7 to 3.11"),
    PythonRange("9.1", "3.7", "3.14", GUIDE_910),
)


class Hint(t.NamedTuple):
    """A feature or fault that depends on versions. For people; nothing is refused because of it."""

    text: str
    source: Source


HINTS = (
    Hint("The guide of vllm-ascend 0.23.0 names HDK 26.0.RC1, the one that its CANN 9.1.0 was released with.", VLLM_GUIDE),
    Hint("The graph mode FULL_AND_PIECEWISE is said to need HDK 25.5.1 and CANN 8.5.0 or later.", VLLM_ISSUES),
    Hint(
        "HDK 26.0 and older conflict with the switch c8_enable_reshape_optim; vllm-ascend 0.30 has it no longer (issue 15896).", VLLM_ISSUES
    ),
    Hint("HDK 24.1 is the most frequent cause of engines that hang until the watchdog ends them (issues 302, 3190, 5468).", VLLM_ISSUES),
    Hint("The Python library of NNAL wants Python 3.10 or 3.11.", GUIDE_910),
    Hint(
        "Wheels of vllm-ascend on PyPI are built for Atlas A2 only; other chips need a build, an image, or Huawei's variant index.",
        VLLM_ISSUES,
    ),
    Hint("CANN 9.1.0 adds Tlinux and Anolis OS 8.9 for Atlas 350, and openEuler 24.03 SP4 for Atlas 850 and 950.", CANN_910),
    Hint("apt offers drivers 25.5.0 and 25.5.1, and no firmware.", APT_900),
)
