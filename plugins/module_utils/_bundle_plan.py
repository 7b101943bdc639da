# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""What a bundle has to hold: from the platforms and needs of hosts to packages, OS repositories, wheels, images. Pure.

A host is ``{"name", "platform", "needs"}``. Its platform is declared, because the machine that builds a bundle cannot reach it:
``{"os", "version", "arch", "chip", "kernel", "python", "glibc"}``. Its needs are what its roles say, one mapping each:
``{"packages", "os_packages", "wheels", "images", "checksums"}``.
"""

from __future__ import annotations

import posixpath
import re
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._os_table import SYSTEMS
from ansible_collections.npufleet.ascend.plugins.module_utils._package_names import artifact, by_hand
from ansible_collections.npufleet.ascend.plugins.module_utils._package_table import KINDS

ARCHES = ("aarch64", "x86_64")
DEB_ARCHES = {"aarch64": "arm64", "x86_64": "amd64"}
KERNEL = "{kernel}"
# Without it Ansible's module apt would fetch it from the network.
FOR_ANSIBLE = {"debian": ["python3-apt"], "rpm": []}
_WHERE = "npufleet_platform of {0}"
_SAFE = re.compile(r"[^A-Za-z0-9._+-]+")

Mapping = t.Mapping[str, t.Any]
Plan = t.Dict[str, t.List[t.Dict[str, t.Any]]]


class Platform(t.NamedTuple):
    """A declared platform. ``kernels`` is None where nothing was said about them, empty where headers are not wanted."""

    os: str
    version: str
    arch: str
    chip: str
    kernels: t.Optional[t.Tuple[str, ...]]
    python: str
    glibc: str
    family: str

    @property
    def system(self) -> str:
        """Key of the OS, as in the table of repositories: openeuler-22.03-lts-sp4."""
        return "{0}-{1}".format(self.os, self.version)

    @property
    def folder(self) -> str:
        """Name of its folder below os/."""
        return "{0}-{1}".format(self.system, self.arch)


def platform_of(host: Mapping, systems: Mapping) -> Platform:
    """Return the platform of a host.

    :param systems: table of operating systems by key: family, glibc, repositories
    :raises NpufleetError: a part is missing or unknown
    """
    given = host.get("platform") or {}
    where = _WHERE.format(host["name"])
    missing = [key for key in ("os", "version", "arch") if not given.get(key)]
    if missing:
        raise NpufleetError(
            "the platform of {0} is not declared: {1} missing".format(host["name"], ", ".join(missing)),
            where=where,
            remedy="Declare it in the inventory, such as {os: openeuler, version: 22.03-LTS-SP4, arch: aarch64, chip: 910b, "
            "kernel: 5.10.0-216.0.0.115.oe2203sp4.aarch64, python: '3.11'}",
        )
    if given["arch"] not in ARCHES:
        raise NpufleetError("there is no architecture {0}".format(given["arch"]), where=where, remedy="Use aarch64 or x86_64")
    os_id, version = str(given["os"]).lower(), str(given["version"]).lower()
    row = systems.get("{0}-{1}".format(os_id, version)) or {}
    kernel = given.get("kernel")
    return Platform(
        os=os_id,
        version=version,
        arch=given["arch"],
        chip=str(given.get("chip") or ""),
        kernels=None if "kernel" not in given else tuple(_as_list(kernel)),
        python=str(given.get("python") or ""),
        glibc=str(given.get("glibc") or row.get("glibc") or ""),
        family=given.get("family") or row.get("family") or SYSTEMS.get(os_id, ""),
    )


def _as_list(value: t.Any) -> t.List[str]:
    if value is None or value == "":
        return []
    return [str(item) for item in value] if isinstance(value, (list, tuple)) else [str(value)]


def make_plan(hosts: t.Sequence[Mapping], systems: Mapping, checksums: t.Optional[Mapping] = None) -> Plan:
    """Return what the hosts need together: ``packages`` for ascend_package and ``parts`` for bundle_content, each with its ``hosts``.

    :param checksums: SHA-256 that the inventory gives for Huawei packages, by file name; those of a need and of a package count more
    :raises NpufleetError: a platform is not declared, a package does not exist, no repository is known for an OS
    """
    packages: t.Dict[str, t.Dict[str, t.Any]] = {}
    parts: t.Dict[str, t.Dict[str, t.Any]] = {}
    for host in hosts:
        platform = platform_of(host, systems)
        for package, sums in _packages(host, checksums or {}):
            row = _package(package, sums, platform, host["name"])
            _add(packages, row["name"] + "/" + row["file"], row, host["name"])
        for part in _parts(host, platform, systems):
            _add(parts, part_name(part), part, host["name"])
    return {"packages": [packages[key] for key in sorted(packages)], "parts": [parts[key] for key in sorted(parts)]}


def part_name(part: Mapping) -> str:
    """Name of a part in the manifest: its folder, and its file where several parts share a folder."""
    return "{0}/{1}".format(part["folder"], part["file"]) if part.get("file") else str(part["folder"])


def _all(host: Mapping, key: str) -> t.List[t.Any]:
    return [item for need in host.get("needs") or [] for item in (need or {}).get(key) or []]


def _packages(host: Mapping, checksums: Mapping) -> t.Iterator[t.Tuple[Mapping, Mapping]]:
    for need in host.get("needs") or []:
        for package in (need or {}).get("packages") or []:
            yield package, dict(checksums, **(need.get("checksums") or {}))


def _add(rows: t.Dict[str, t.Dict[str, t.Any]], key: str, row: t.Dict[str, t.Any], host: str) -> None:
    """Merge a row into those of other hosts: lists without doubles, in a fixed order where order means nothing."""
    old = rows.setdefault(key, dict(row, hosts=[]))
    old["hosts"] = sorted(set(old["hosts"]) | {host})
    if "packages" in row:
        old["packages"] = sorted(set(old["packages"]) | set(row["packages"]))
    if "sets" in row:
        old["sets"] = old["sets"] + [item for item in row["sets"] if item not in old["sets"]]


def _package(package: Mapping, sums: Mapping, platform: Platform, host: str) -> t.Dict[str, t.Any]:
    """A Huawei package: its file, where it comes from, the sum it must have if one was given or published, and its licence."""
    chip = package.get("chip") or platform.chip
    kind = str(package.get("name"))
    make = by_hand if package.get("file") else artifact
    extra = [str(package["file"])] if package.get("file") else []
    if extra and (extra[0].startswith("/") or ".." in extra[0].split("/")):
        raise NpufleetError(
            "{0} does not lie in the folder of the packages".format(extra[0]), where="file of " + kind, remedy="Give its name there"
        )
    try:
        found = make(kind, str(package.get("version") or ""), chip or None, platform.arch, *extra)
    except NpufleetError as exc:
        raise NpufleetError(exc.what, where=exc.where or _WHERE.format(host), remedy=exc.remedy) from exc
    given = {key: package[key] for key in ("file", "url", "sha256") if package.get(key)}
    if sums.get(posixpath.basename(found.file)):
        given.setdefault("sha256", sums[posixpath.basename(found.file)])
    request = dict({"name": kind, "version": found.version, "arch": platform.arch}, **given)
    return {
        "name": kind,
        "version": found.version,
        "chip": found.chip,
        "arch": platform.arch,
        "file": found.file,
        "url": package.get("url") or found.url,
        "sha256": str(given.get("sha256") or found.sha256 or "").lower() or None,
        "licence": KINDS[kind].licence,
        # As ascend_package and the filter ascend_artifacts want it.
        "request": dict(request, chip=chip) if KINDS[kind].needs_chip else request,
    }


def _parts(host: Mapping, platform: Platform, systems: Mapping) -> t.Iterator[t.Dict[str, t.Any]]:
    names = os_packages(host, platform)
    if names:
        yield _os_part(names, platform, systems, host["name"])
    wheels = _all(host, "wheels")
    if wheels:
        yield _wheels_part(wheels, platform, host["name"])
    # A host whose layers are prepared, and that has no engine yet, asks for no image, and says so by an empty name.
    for image in filter(None, _all(host, "images")):
        file = "{0}-{1}.tar".format(_SAFE.sub("_", image), platform.arch)
        yield {"kind": "image", "folder": "images", "file": file, "image": image, "arch": DEB_ARCHES[platform.arch]}


def os_packages(host: Mapping, platform: Platform) -> t.List[str]:
    """Names of OS packages, for the family and the kernels of the host.

    :raises NpufleetError: headers of the running kernel are needed and the kernel is not declared; the family is not known
    """
    names: t.List[str] = []
    for need in host.get("needs") or []:
        wanted = (need or {}).get("os_packages") or []
        if isinstance(wanted, t.Mapping):
            if wanted and platform.family not in ("debian", "rpm"):
                raise NpufleetError(
                    "it is not known how {0} manages packages".format(platform.os),
                    where=_WHERE.format(host["name"]),
                    remedy="Add family: debian or family: rpm",
                )
            wanted = wanted.get(platform.family) or []
        names += wanted
    if platform.kernels is None and any(KERNEL in name for name in names):
        raise NpufleetError(
            "the kernel of {0} is not declared, and {1} of that kernel are needed".format(
                host["name"], ", ".join(sorted({name for name in names if KERNEL in name}))
            ),
            where=_WHERE.format(host["name"]),
            remedy="Add kernel with what uname -r says there, or kernel: null when the headers are there already",
        )
    kernels = platform.kernels or ()
    expanded = {name.replace(KERNEL, kernel) for name in names for kernel in (kernels if KERNEL in name else ("",))}
    return sorted(expanded | set(FOR_ANSIBLE.get(platform.family, []))) if expanded else []


def _os_part(names: t.List[str], platform: Platform, systems: Mapping, host: str) -> t.Dict[str, t.Any]:
    repositories = (systems.get(platform.system) or {}).get("repositories") or []
    if not repositories:
        raise NpufleetError(
            "no package repository is known for {0} (known: {1})".format(platform.system, ", ".join(sorted(systems))),
            where=_WHERE.format(host),
            remedy="Give it in offline_bundle_systems, under the key {0}".format(platform.system),
        )
    kind = "apt" if platform.family == "debian" else "dnf"
    found = [_repository(row, platform.arch, kind) for row in repositories]
    return {
        "kind": kind,
        "folder": "os/" + platform.folder,
        "arch": DEB_ARCHES[platform.arch] if kind == "apt" else platform.arch,
        "release": platform.version,
        "packages": names,
        "repositories": found,
    }


def _repository(row: Mapping, arch: str, kind: str) -> t.Dict[str, t.Any]:
    """A repository for one architecture: url may be a mapping by architecture, and may contain $basearch.

    :raises NpufleetError: nothing says who signed it, or apt is not told its suites
    """
    url = row["url"][arch] if isinstance(row["url"], t.Mapping) else row["url"]
    key = None if row.get("trusted") else row.get("key")
    if not (key or row.get("trusted")):
        raise NpufleetError(
            "the repository {0} has no signing key".format(url),
            where="offline_bundle_systems",
            remedy="Give key (a file for apt, an address for dnf), or trusted: true for one that is not signed and yours",
        )
    if kind == "apt" and not row.get("suites"):
        raise NpufleetError(
            "the repository {0} has no suites".format(url),
            where="offline_bundle_systems",
            remedy="Give suites: [bookworm] and components: [main], or suites: [./] for a flat one",
        )
    known = {name: list(row[name]) for name in ("suites", "components") if name in row}
    return dict(known, url=url.replace("$basearch", arch), key=key.replace("$basearch", arch) if key else None)


def _wheels_part(sets: t.List[t.Dict[str, t.Any]], platform: Platform, host: str) -> t.Dict[str, t.Any]:
    missing = [name for name, value in (("python", platform.python), ("glibc", platform.glibc)) if not re.match(r"^\d+\.\d+$", value)]
    if missing:
        raise NpufleetError(
            "wheels for {0} depend on {1}, which the platform does not say as major.minor".format(host, " and ".join(missing)),
            where=_WHERE.format(host),
            remedy="Add python: '3.11', the version of the interpreter there, and glibc (ldd --version) where the OS is not in the table",
        )
    return {
        "kind": "wheels",
        "folder": "wheels/cp{0}-glibc{1}-{2}".format(platform.python.replace(".", ""), platform.glibc, platform.arch),
        "python": platform.python,
        "glibc": platform.glibc,
        "arch": platform.arch,
        "sets": list(sets),
    }
