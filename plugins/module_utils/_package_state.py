# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""What is installed of each kind of package, read from the files that the installers leave behind. Nothing is executed.

Layouts: hicann/driver install scripts, ascend-deployer 26.0.0, the CANN 8.x and 9.x installation guides, Ascend/mind-cluster.
"""

from __future__ import annotations

import glob
import os
import re
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._ascend_version import compare, parse_version
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError

INSTALL_INFO = "/etc/ascend_install.info"
# The files of all installers are far smaller.
MOST_BYTES = 65536


class Installed(t.NamedTuple):
    """One kind of package on this host.

    :param version: as the files say, empty when there is none; of firmware its own number, not that of the HDK
    :param partial: why it is not complete; empty when it is complete or not there
    :param folder: where its uninstall script is looked for
    :param hdk: of firmware the version of the HDK it came with, where its file says so
    :param chip: of operators the chip they are for, where their file says so
    """

    version: str = ""
    partial: str = ""
    folder: str = ""
    hdk: str = ""
    chip: str = ""

    @property
    def there(self) -> bool:
        return bool(self.version or self.partial)

    @property
    def complete(self) -> bool:
        return bool(self.version) and not self.partial


class Tree(t.NamedTuple):
    """Where to look. ``root`` is put before every path, for tests."""

    install_path: str = "/usr/local/Ascend"
    root: str = ""

    def at(self, *parts: str) -> str:
        return os.path.join(self.root + self.install_path, *parts)


def read_state(kinds: t.Iterable[str], tree: Tree) -> t.Dict[str, Installed]:
    """Return what is installed of each kind. Total: a file that cannot be read, or says something unknown, makes a package partial or absent."""
    return {kind: _understood(_READERS[kind](tree)) for kind in kinds}


def install_record(tree: Tree) -> t.Dict[str, str]:
    """Return the keys of /etc/ascend_install.info, which driver and firmware share."""
    return key_values(small_file(tree.root + INSTALL_INFO))


def is_version(text: str) -> bool:
    """Can it be compared with a version?"""
    try:
        parse_version(text)
    except NpufleetError:
        return False
    return True


def same_version(left: str, right: str) -> bool:
    """Do two texts name the same version? Texts that are no versions are compared as they are."""
    try:
        return compare(left, right) == 0
    except NpufleetError:
        return left.strip().lower() == right.strip().lower()


def small_file(path: str) -> str:
    """Return the beginning of a small text file; '' where there is none."""
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read(MOST_BYTES)
    except OSError:
        return ""


def key_values(text: str) -> t.Dict[str, str]:
    """Return ``key=value`` or ``key : value`` lines; the last one of a key counts. Keys in lower case."""
    pairs: t.Dict[str, str] = {}
    for line in text.splitlines():
        head = re.match(r"([^=:]{1,80})[=:]", line)
        key, value = (head.group(1).strip(), line[head.end() :].strip().strip("\"'")) if head else ("", "")
        if key and value:
            pairs[key.lower()] = value
    return pairs


def _understood(found: Installed) -> Installed:
    """A version that nobody can compare is worth nothing."""
    if not found.version or is_version(found.version):
        return found
    return found._replace(version="", partial=found.partial or "it says that its version is {0!r}".format(found.version[:40]))


def _driver(tree: Tree) -> Installed:
    record = install_record(tree)
    path = record.get("driver_install_path_param", tree.install_path)
    base = tree._replace(install_path=path) if path.startswith("/") else tree
    version = key_values(small_file(base.at("driver", "version.info"))).get("version", "")
    fault = ""
    if version:
        # The installer appends the status last; npu-smi itself calls a driver without it incomplete (hicann/driver).
        if record.get("driver_install_status") != "complete":
            fault = "its installer never came to its end (no Driver_Install_Status=complete in {0})".format(INSTALL_INFO)
        elif not os.path.isfile(base.at("driver", "tools", "upgrade-tool")):
            fault = "driver/tools/upgrade-tool is missing"
    elif "driver_install_path_param" in record:
        # The script removes version.info first and writes it last.
        fault = "its version.info is missing"
    return Installed(version, fault, base.at("driver"))


def _firmware(tree: Tree) -> Installed:
    record = install_record(tree)
    path = record.get("firmware_install_path_param", tree.install_path)
    base = tree._replace(install_path=path) if path.startswith("/") else tree
    keys = key_values(small_file(base.at("firmware", "version.info")))
    # package_version is the HDK: documented outputs show Version=7.1.0.11.220 beside package_version=23.0.7.
    return Installed(keys.get("version", ""), "", base.at("firmware"), hdk=keys.get("package_version", ""))


def _toolkit(tree: Tree) -> Installed:
    return _cann(tree, "ascend_toolkit_install.info", "set_env.sh")


def _ops(tree: Tree) -> Installed:
    # The second name is assumed, after that of the toolkit and of ops.
    for info in ("ascend_ops_install.info", "ascend_kernels_install.info"):
        found = _cann(tree, info, "")
        if found.there:
            return found
    # Kernels up to CANN 8.3 lie inside the toolkit. "Version" there is a build number; version_dir is the release (a printed 8.3 installation).
    folder = os.path.realpath(tree.at("ascend-toolkit", "latest"))
    keys = key_values(small_file(os.path.join(folder, "opp_kernel", "version.info")))
    return Installed(keys.get("version_dir", ""), "", folder)


def _cann(tree: Tree, info: str, script: str) -> Installed:
    """A package of the CANN tree: ``cann-<v>`` behind the link ``cann`` since 8.5, before that ``ascend-toolkit/<v>`` behind ``latest``."""
    for link, parents in ((tree.at("cann"), tree.at("cann-*")), (tree.at("ascend-toolkit", "latest"), tree.at("ascend-toolkit", "[0-9]*"))):
        active = os.path.realpath(link)
        infos = sorted(glob.glob(os.path.join(glob.escape(active), "*", info)))
        if infos:
            keys = key_values(small_file(infos[0]))
            fault = "" if not script or os.path.isfile(_environment(tree, link)) else "its {0} is missing".format(script)
            return Installed(
                keys.get("version", ""), fault or _no_version(keys, infos[0]), active, chip=_chip_of(keys.get("package_name", ""))
            )
        others = sorted(path for path in glob.glob(os.path.join(_escaped(parents), "*", info)) if not os.path.islink(path))
        if others and not os.path.exists(link):
            keys = key_values(small_file(others[-1]))
            folder = os.path.dirname(os.path.dirname(others[-1]))
            return Installed(keys.get("version", ""), "the link {0} is missing".format(os.path.basename(link)), folder)
    return Installed()


def _environment(tree: Tree, link: str) -> str:
    return os.path.join(link if link == tree.at("cann") else os.path.dirname(link), "set_env.sh")


def _escaped(pattern: str) -> str:
    """Only the last part of these paths is a pattern."""
    head, tail = os.path.split(pattern)
    return os.path.join(glob.escape(head), tail)


def _no_version(keys: t.Mapping[str, str], path: str) -> str:
    return "" if keys.get("version") else "{0} names no version".format(os.path.basename(path))


def _chip_of(package: str) -> str:
    """910b of Ascend-cann-910b-ops and Ascend-cann-kernels-910b, A3 of Atlas-A3-cann-kernels."""
    found = re.search(r"cann-([0-9A-Za-z]+)-ops|cann-kernels-([0-9A-Za-z]+)|Atlas-([0-9A-Za-z]+)-cann-kernels", package)
    return next((part for part in found.groups() if part), "") if found else ""


def _nnal(tree: Tree) -> Installed:
    # The folder has the release; version.info was seen to say 8.2.RC2 in an 8.2.RC1 (a printed MindIE image), so it comes second.
    active = os.path.realpath(tree.at("nnal", "atb", "latest"))
    if not os.path.isdir(active):
        others = sorted(glob.glob(os.path.join(glob.escape(tree.at("nnal", "atb")), "[0-9]*")))
        return Installed("", "the link latest of nnal/atb is missing", tree.at("nnal")) if others else Installed()
    name = os.path.basename(active)
    version = name if name[:1].isdigit() else key_values(small_file(os.path.join(active, "version.info"))).get("ascend-cann-atb", "")
    fault = "" if os.path.isfile(tree.at("nnal", "atb", "set_env.sh")) else "its set_env.sh is missing"
    return Installed(version, fault or ("" if version else "nothing names its version"), tree.at("nnal"))


def _docker_runtime(tree: Tree) -> Installed:
    folder = tree.at("Ascend-Docker-Runtime")
    keys = key_values(small_file(os.path.join(folder, "ascend_docker_runtime_install.info")))
    version = keys.get("version", "")
    there = os.path.isfile(os.path.join(folder, "ascend-docker-runtime"))
    if not version:
        return Installed("", "its install record is missing", folder) if there else Installed()
    return Installed(version[1:] if version[:1] in "vV" else version, "" if there else "its program is missing", folder)


def _toolbox(tree: Tree) -> Installed:
    # Both spellings of the name were seen in public listings (ascend_toolbox_ and ascend_tool_box_).
    active = os.path.realpath(tree.at("toolbox", "latest"))
    infos = sorted(glob.glob(os.path.join(glob.escape(active), "ascend_tool*box_install.info")))
    if infos:
        keys = key_values(small_file(infos[0]))
        return Installed(keys.get("version", ""), _no_version(keys, infos[0]), active)
    others = glob.glob(os.path.join(glob.escape(tree.at("toolbox")), "*", "ascend_tool*box_install.info"))
    return Installed("", "the link latest of toolbox is missing", os.path.dirname(others[0])) if others else Installed()


_READERS: t.Dict[str, t.Callable[[Tree], Installed]] = {
    "driver": _driver,
    "firmware": _firmware,
    "toolkit": _toolkit,
    "ops": _ops,
    "nnal": _nnal,
    "docker_runtime": _docker_runtime,
    "toolbox": _toolbox,
}
