# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Which releases of vllm-ascend and which SoC generations recipes are written for. Pure.

Flags change between minor versions of vllm-ascend (vllm-ascend #15836), so a recipe row names its minors, and each minor has the vLLM whose
parser reads its command lines.
"""

from __future__ import annotations

import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._ascend_version import AscendVersion, parse_version
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError

REPOSITORY = "quay.io/ascend/vllm-ascend"


class Release(t.NamedTuple):
    """The release whose documentation the rows of a minor were read in, and its vLLM."""

    minor: str
    version: str
    vllm: str
    source: str
    date: str

    @property
    def final(self) -> bool:
        """Release candidates since 0.26 are validated with a few models only (release notes of vllm-ascend 0.26.0rc1)."""
        return "rc" not in self.version


class Version(t.NamedTuple):
    """A version of vllm-ascend as asked for: full text, minor, version of vLLM, and what is in doubt about the pair."""

    text: str
    minor: str
    vllm: str
    doubts: t.List[str]


# vLLM: versioning policy of vllm-ascend. A minor is here when its rows were checked with the parser of that vLLM.
RELEASES = (
    Release("0.23", "0.23.0.post1", "0.23.0", "vllm-ascend 0.23.0.post1, source distribution on PyPI", "2026-09-21"),
    Release("0.26", "0.26.0rc1", "0.26.0", "vllm-ascend 0.26.0rc1, source distribution on PyPI", "2026-09-03"),
    Release("0.30", "0.30.0rc2", "0.30.0", "vllm-ascend 0.30.0rc2, source distribution on PyPI", "2026-10-13"),
)
MINORS = tuple(release.minor for release in RELEASES)

# What npu_facts calls the generation, in lower case, is the token of a recipe.
SOCS: t.Dict[str, str] = {
    "a2": "Atlas A2 (910B)",
    "a3": "Atlas A3 (910_93)",
    "310p": "Atlas 300I Duo and other 310P",
    "a5": "Ascend 950 (A5)",
}
# Why other chips have no recipe. Sources: vllm-ascend #13540, #573 (first 910); _SOC_VERSION map in setup.py of vllm-ascend (others).
_REFUSED: t.Dict[str, str] = {
    "a1": "the first-generation Ascend 910 is not supported by vllm-ascend (vllm-ascend #13540, #573)",
    "310": "the Ascend 310 is not supported by vllm-ascend",
    "310b": "the Ascend 310B is not supported by vllm-ascend",
}
# Other spellings: tokens of HDK packages, chip names.
_SPELLINGS = {"910": "a1", "910a": "a1", "910b": "a2", "910_93": "a3", "950": "a5", "950dt": "a5", "950pr": "a5", "310p3": "310p"}


def soc_of(name: t.Any) -> str:
    """Return a2, a3, 310p or a5 for a generation of npu_facts (A2), a chip of the HDK packages (910b), or the token itself.

    :raises NpufleetError: for chips that no image of vllm-ascend runs on, with the reason
    """
    text = str(name or "").strip().lower()
    text = _SPELLINGS.get(text, text)
    if text in SOCS:
        return text
    raise NpufleetError(
        _REFUSED.get(text) or ("the SoC generation {0} is not known".format(name) if text else "the SoC generation is not known"),
        where="soc",
        remedy="Use a host with one of " + ", ".join("{0} ({1})".format(token, SOCS[token]) for token in SOCS),
    )


def release_of(minor: str) -> Release:
    """Return the release of a minor in MINORS.

    :raises NpufleetError: for any other
    """
    for release in RELEASES:
        if release.minor == minor:
            return release
    raise _not_known(minor)


def read_version(text: t.Any) -> Version:
    """Return what ``0.23``, ``0.23.0.post1`` or ``v0.30.0rc2`` means; a minor alone is the release in RELEASES.

    :raises NpufleetError: for rolling names (latest, main), other minors, and what is no version
    """
    if isinstance(text, str) and text.strip().lower() in ("latest", "main", "nightly", "nightly-main"):
        raise NpufleetError(
            "vllm-ascend {0} is another program every day".format(text.strip()),
            where="vllm_ascend",
            remedy="Pin one of " + ", ".join(release.version for release in RELEASES),
        )
    version = parse_version(text)
    minor = "{0}.{1}".format(*version.train)
    if minor not in MINORS:
        raise _not_known(str(version))
    release = release_of(minor)
    if len(version.numbers) == 2 and version.text == minor:
        version = parse_version(release.version)
    vllm = ".".join(str(number) for number in version.numbers[:3])
    return Version(version.text, minor, vllm, _doubts(version, vllm, release))


def _doubts(version: AscendVersion, vllm: str, release: Release) -> t.List[str]:
    doubts = []
    if version != parse_version(release.version):
        doubts.append("the rows for {0} were read in the documentation of {1}".format(release.minor, release.version))
    if vllm != release.vllm:
        doubts.append("the options were checked with vLLM {0}, not {1}".format(release.vllm, vllm))
    return doubts


def _not_known(text: str) -> NpufleetError:
    return NpufleetError(
        "there are no recipes for vllm-ascend {0}".format(text),
        where="vllm_ascend",
        remedy="Use one of " + ", ".join(release.version for release in RELEASES),
    )
