# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""What the file of a package is called, where it is downloaded, and what lies inside it.

Names follow ascend-deployer 26.0.0 and the Dockerfiles of Ascend/cann-container-image. Three spellings meet here: zip files of the HDK say
``x86-64``, all others ``x86_64``; HDK files spell ``rc`` and their folders ``RC``, CANN spells ``RC`` in both; from CANN 8.5 on the operators are
called ``ops`` and no longer ``kernels``.
"""

from __future__ import annotations

import re
import typing as t
import urllib.parse

from ansible_collections.npufleet.ascend.plugins.module_utils._ascend_version import AscendVersion, parse_version
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._package_table import KINDS, SUMS

BASE = "https://ascend-repo.obs.cn-east-2.myhuaweicloud.com/"
# The object store answers requests with this header only (Dockerfiles of Ascend/cann-container-image, vllm-ascend installation guide).
REFERER = "https://www.hiascend.com/"

ARCHES = ("aarch64", "x86_64")
CHIPS = ("310b", "310p", "910", "910b", "950", "A3")
HDK_KINDS = ("driver", "firmware")
# Chips whose HDK lies in the object store; ascend-deployer 26.0.0 knows no other download.
HDK_DOWNLOADS = ("310p", "910", "910b")
KERNEL_CHIPS = ("310p", "910", "910b", "A3")
# The toolbox has numbers of its own, MindCluster names the folder.
TOOLBOX_FOLDERS = {"26.0.1": "26.0.0"}

_PUBLISHED = {row.file: row.sha256 for row in SUMS}
# The field generation of the fact npufleet_npu. The first Ascend 310 has no package under these names.
CHIP_OF_GENERATION = {"A1": "910", "A2": "910b", "A3": "A3", "A5": "950", "310P": "310p", "310B": "310b"}
# Families of names under which the driver of a chip is packed: downloads, and what ascend-deployer expects of an A3 or 950.
_HDK_PREFIXES = {"A3": ("Ascend-hdk-A3", "Atlas-A3-hdk"), "950": ("Ascend-hdk-950", "Atlas-A5-hdk")}


class Artifact(t.NamedTuple):
    """A file to fetch.

    :param kind: one of KINDS
    :param version: as asked for; for firmware that is the version of the HDK
    :param chip: empty when the name does not depend on it
    :param arch: aarch64 or x86_64
    :param file: its name
    :param url: where it is downloaded; empty for a file that was given by hand
    :param sha256: the published sum, if there is one
    :param member: regular expression for the name (fullmatch) of the .run inside a zip; None when the file is the .run itself. ascend-deployer
        26.0.0 unpacks twice: the zip may hold a signed zip of the same name, and that one the .run
    """

    kind: str
    version: str
    chip: str
    arch: str
    file: str
    url: str
    sha256: t.Optional[str]
    member: t.Optional[str]


def artifact(kind: str, version: str, chip: t.Optional[str], arch: str) -> Artifact:
    """Return the file to fetch for a package.

    :raises NpufleetError: for a kind, version, chip or architecture that there is not, and when Huawei offers no download
    """
    parsed = _check(kind, version, chip, arch)
    token = chip if chip and KINDS[kind].needs_chip else ""
    if kind in HDK_KINDS:
        _check_hdk_download(kind, parsed, token)
    folder, stem, endings = _NAMES[kind](parsed, token, arch)
    file = next((stem + ending for ending in endings if stem + ending in _PUBLISHED), stem + endings[-1])
    url = BASE + urllib.parse.quote(folder) + "/" + urllib.parse.quote(file)
    member = member_pattern(kind, version, chip, arch) if file.endswith(".zip") else None
    return Artifact(kind, version, token, arch, file, url, _PUBLISHED.get(file), member)


def by_hand(kind: str, version: str, chip: t.Optional[str], arch: str, file: str) -> Artifact:
    """Return the artifact for a file that somebody names: of an A3 or 950, a patch driver, a build of their own. Its name is not checked.

    :raises NpufleetError: for a kind, version, chip or architecture that there is not, and a file that is neither .run nor .zip
    """
    _check(kind, version, chip, arch)
    if not isinstance(file, str) or not file.lower().endswith((".run", ".zip")):
        raise NpufleetError("{0} is no package".format(file), remedy="Name a .run file, or the .zip that holds it")
    token = chip if chip and KINDS[kind].needs_chip else ""
    member = member_pattern(kind, version, chip, arch) if file.lower().endswith(".zip") else None
    return Artifact(kind, version, token, arch, file, "", _PUBLISHED.get(file), member)


def _check(kind: str, version: str, chip: t.Optional[str], arch: str) -> AscendVersion:
    """Return the parsed version once everything is known to exist."""
    if not isinstance(kind, str) or kind not in KINDS:
        raise NpufleetError("there is no package {0!r}".format(kind), remedy="Name one of {0}".format(", ".join(KINDS)))
    title = KINDS[kind].title
    if isinstance(version, str) and version.strip().lower() in ("", "latest", "newest", "present"):
        raise NpufleetError(
            "{0!r} is no version of the {1}".format(version, title),
            remedy="Name the version; docs/compatibility.md says which ones go together",
        )
    if arch not in ARCHES:
        raise NpufleetError("there is no {0} for {1!r}".format(title, arch), remedy="Name one of {0}".format(", ".join(ARCHES)))
    if KINDS[kind].needs_chip and chip not in CHIPS:
        wrong = "the {0} needs the chip".format(title) if not chip else "there is no {0} for the chip {1!r}".format(title, chip)
        raise NpufleetError(
            wrong, remedy="Name one of {0}; 910b is Atlas A2, A3 is Atlas A3, 310p is Atlas 300I Duo/Pro".format(", ".join(CHIPS))
        )
    parsed = parse_version(version)
    if "+" in parsed.text:
        raise NpufleetError("no package is called {0}".format(version), remedy="Leave out what follows the +")
    return parsed


def _is_firmware_number(version: AscendVersion) -> bool:
    """7.7.0.2.220 is one; versions of the HDK have at most three leading numbers."""
    return len(version.numbers) > 3


def _check_hdk_download(kind: str, version: AscendVersion, chip: str) -> None:
    if _is_firmware_number(version):
        raise NpufleetError(
            "{0} is a number of the firmware, and downloads are called by the version of the HDK".format(version),
            remedy="Give the version of the HDK, such as 26.0.rc1, or the file in 'file'",
        )
    if chip in HDK_DOWNLOADS and not version.patch:
        return
    what = "patch {0} of the driver".format(version) if version.patch else "{0} of {1}".format(KINDS[kind].title, chip)
    raise NpufleetError(
        "there is no public download of the {0}".format(what),
        remedy="Get it from Huawei support (https://support.huawei.com, https://www.hiascend.com) and give 'file' and 'sha256' with the package",
    )


Names = t.Tuple[str, str, t.Tuple[str, ...]]


def _hdk(version: AscendVersion, chip: str, arch: str) -> Names:
    stem = "Ascend-hdk-{0}-npu_{1}_linux-{2}".format(chip, version.text, arch.replace("_", "-"))
    return "Ascend HDK/Ascend HDK {0}".format(version.capitals), stem, (".zip",)


def _cann(name: str) -> t.Callable[[AscendVersion, str, str], Names]:
    def names(version: AscendVersion, _chip: str, arch: str) -> Names:
        return (
            "CANN/CANN {0}".format(version.capitals),
            "Ascend-cann-{0}_{1}_linux-{2}".format(name, version.capitals, arch),
            (".zip", ".run"),
        )

    return names


def _ops(version: AscendVersion, chip: str, arch: str) -> Names:
    if version.train >= (8, 5):
        return _cann(chip + "-ops")(version, chip, arch)
    if chip not in KERNEL_CHIPS:
        raise NpufleetError("CANN {0} has no operators for {1}".format(version.capitals, chip), remedy="Install CANN 8.5.0 or later")
    if chip != "A3":
        return _cann("kernels-" + chip)(version, chip, arch)
    folder, _stem, endings = _cann("")(version, chip, arch)
    return folder, "Atlas-A3-cann-kernels_{0}_linux-{1}".format(version.capitals, arch), endings


def _docker_runtime(version: AscendVersion, _chip: str, arch: str) -> Names:
    stem = "Ascend-docker-runtime_{0}_linux-{1}".format(version.capitals, arch)
    return "MindX/MindX {0}".format(version.capitals), stem, (".run",)


def _toolbox(version: AscendVersion, _chip: str, arch: str) -> Names:
    folder = TOOLBOX_FOLDERS.get(version.text, version.capitals)
    return "MindX/MindX {0}".format(folder), "Ascend-mindx-toolbox_{0}_linux-{1}".format(version.capitals, arch), (".zip", ".run")


# Kind -> folder, name without ending, endings; a file with a published sum is preferred, else the last ending counts.
_NAMES: t.Dict[str, t.Callable[[AscendVersion, str, str], Names]] = {
    "driver": _hdk,
    "firmware": _hdk,
    "toolkit": _cann("toolkit"),
    "ops": _ops,
    "nnal": _cann("nnal"),
    "docker_runtime": _docker_runtime,
    "toolbox": _toolbox,
}


def member_pattern(kind: str, version: str, chip: t.Optional[str], arch: str) -> str:
    """Return the regular expression (fullmatch, capitals aside) for the name of the .run of a package.

    :raises NpufleetError: for a kind, version, chip or architecture that there is not
    """
    parsed = _check(kind, version, chip, arch)
    arch_pattern = _loose(arch)
    if kind not in HDK_KINDS:
        _folder, stem, _endings = _NAMES[kind](parsed, chip or "", arch)
        head, _sign, _arch = stem.rpartition(arch)
        return "(?i)" + _loose(head) + arch_pattern + r"\.run"
    prefix = "(?:{0})".format("|".join(_HDK_PREFIXES.get(chip or "", ("Ascend-hdk-{0}".format(chip),))))
    if kind == "firmware":
        # The number of the firmware has nothing to do with that of the HDK, and the name has no architecture.
        number = _loose(parsed.text) if _is_firmware_number(parsed) else "[0-9][0-9a-z._-]*"
        return "(?i)" + prefix + "-npu-firmware_" + number + r"\.run"
    # Patch drivers (SPH) have no architecture in their name.
    suffix = "(?:-{0})?".format(arch_pattern) if parsed.patch else "-" + arch_pattern
    return "(?i)" + prefix + "-npu-driver_" + _loose(parsed.text) + "_linux" + suffix + r"\.run"


def same_file(name: str, wanted: Artifact) -> bool:
    """Is this file, zip or bare .run, the wanted one? Both spellings of x86_64 count, and capitals do not."""
    base = name.replace("\\", "/").rpartition("/")[2]
    if _plain(base) == _plain(wanted.file):
        return True
    if base.lower().endswith(".zip"):
        return wanted.kind not in HDK_KINDS and _plain(base)[:-4] == _plain(wanted.file)[:-4]
    return re.fullmatch(member_pattern(wanted.kind, wanted.version, wanted.chip, wanted.arch), base) is not None


def _plain(name: str) -> str:
    return re.sub(r"[._-]", ".", name.lower())


def _loose(text: str) -> str:
    """Return a pattern for a text in which ``.``, ``_`` and ``-`` may stand for each other: x86-64, 9.2.0_beta.2."""
    return "".join("[._-]" if character in "._-" else re.escape(character) for character in text)


def version_in(name: str) -> t.Optional[str]:
    """Return the version that the name of a package file holds: 7.7.0.2.220 of Ascend-hdk-910b-npu-firmware_7.7.0.2.220.run."""
    found = re.search(r"_(v?[0-9]+\.[0-9a-z._-]*?)(?:_linux[0-9a-z._-]*)?\.(?:run|zip)$", name, re.IGNORECASE)
    return found.group(1) if found else None


def with_mirror(url: str, mirror: t.Optional[str]) -> str:
    """Return the URL at a mirror that holds the same folders as Huawei's object store. Other URLs are left alone."""
    if not mirror or not url.startswith(BASE):
        return url
    return mirror.rstrip("/") + "/" + url[len(BASE) :]


def chip_of(generation: t.Optional[str]) -> str:
    """Return the chip as packages call it: 910b for A2.

    :raises NpufleetError: for a generation without packages, and when it is not known
    """
    if not generation:
        raise NpufleetError(
            "the generation of the NPUs is not known: there are none, or they differ",
            remedy="Look at the fact npufleet_npu of the host, or name the chip yourself: {0}".format(", ".join(CHIPS)),
        )
    if generation not in CHIP_OF_GENERATION:
        raise NpufleetError(
            "no packages are known for the generation {0!r}".format(generation), remedy="Name the chip: {0}".format(", ".join(CHIPS))
        )
    return CHIP_OF_GENERATION[generation]


def fetch_list(packages: t.Sequence[t.Mapping[str, t.Any]], mirror: t.Optional[str] = None) -> t.List[t.Dict[str, t.Any]]:
    """Return the files to fetch for packages (name, version, chip, arch; file, url and sha256 when given by hand), each file once.

    :raises NpufleetError: as artifact() and by_hand() do
    """
    files: t.Dict[str, t.Dict[str, t.Any]] = {}
    for package in packages:
        missing = [key for key in ("name", "version", "arch") if not package.get(key)]
        if missing:
            raise NpufleetError("a package lacks {0}".format(", ".join(missing)), where=str(dict(package)), remedy="Name it")
        kind, version, chip, arch, file = package["name"], package["version"], package.get("chip"), package["arch"], package.get("file")
        found = by_hand(kind, version, chip, arch, file) if file else artifact(kind, version, chip, arch)
        entry = files.setdefault(found.file, {"names": [], "file": found.file, "url": "", "sha256": None, "headers": {}})
        entry["names"].append(found.kind)
        entry["url"] = entry["url"] or package.get("url") or with_mirror(found.url, mirror)
        entry["sha256"] = entry["sha256"] or package.get("sha256") or found.sha256
        entry["headers"] = {"Referer": REFERER} if entry["url"].startswith(BASE) else {}
    return list(files.values())
