# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where CANN packages put what: cann-VERSION from 8.5 on, ascend-toolkit/VERSION before (cann-container-image, hiascend, captures)."""

from __future__ import annotations

import os
import re
import typing as t

from standin import driver_files
from standin.host import Host


class Package(t.NamedTuple):
    """One package."""

    kind: str
    version: str
    chip: str
    arch: str

    @property
    def name(self) -> str:
        """package_name of the install record."""
        return {
            "toolkit": "Ascend-cann-toolkit",
            "ops": "Ascend-cann-{0}-ops".format(self.chip),
            "kernels": "Atlas-A3-cann-kernels" if self.chip == "A3" else "Ascend-cann-kernels-{0}".format(self.chip),
            "nnal": "Ascend-cann-nnal",
            "toolbox": "Ascend-mindx-toolbox",
        }[self.kind]

    @property
    def title(self) -> str:
        return "{0}_{1}_linux-{2}".format(self.name, self.version, self.arch)

    @property
    def numbers(self) -> t.Tuple[int, ...]:
        """The first two numbers of the version."""
        return tuple(int(part) for part in re.findall(r"\d+", self.version)[:2])

    @property
    def is_new(self) -> bool:
        return self.numbers >= (8, 5)


def home(package: Package, path: str, version: str = "") -> str:
    """Return the folder of one version."""
    version = version or package.version
    if package.kind == "nnal":
        return "{0}/nnal/atb/{1}".format(path, version)
    if package.kind == "toolbox":
        return "{0}/toolbox/{1}".format(path, version)
    return "{0}/cann-{1}".format(path, version) if package.is_new else "{0}/ascend-toolkit/{1}".format(path, version)


def info_path(package: Package, path: str, version: str = "") -> str:
    """Return the install record of one version."""
    folder = home(package, path, version)
    if package.kind in ("nnal", "toolbox"):
        return "{0}/ascend_{1}_install.info".format(folder, package.kind)
    return "{0}/{1}-linux/ascend_{2}_install.info".format(folder, package.arch, package.kind)


def read_info(host: Host, package: Package, path: str, version: str = "") -> t.Dict[str, str]:
    """Return the install record, empty when there is none."""
    text = host.read(info_path(package, path, version))
    return dict(line.partition("=")[::2] for line in text.splitlines() if "=" in line)


def installed(host: Host, package: Package, path: str) -> t.List[str]:
    """Return the versions of this package in a path."""
    pattern = os.path.basename(home(package, path, "VERSION"))
    folder = os.path.dirname(home(package, path, "VERSION"))
    match = re.compile(re.escape(pattern).replace("VERSION", r"(\d.*)") + r"\Z")
    names = sorted(os.listdir(host.at(folder))) if host.exists(folder) else []
    versions = [found.group(1) for found in map(match.match, names) if found]
    return [version for version in versions if read_info(host, package, path, version)]


def older(host: Host, package: Package, path: str) -> t.List[str]:
    """Return the installed versions that an upgrade replaces."""
    return [version for version in installed(host, package, path) if version != package.version]


def steps(host: Host, package: Package, path: str) -> t.List[t.Callable[[], None]]:
    """Return what an installation does; the install record is the last file, links come after it."""
    todo = [_writer(host, name, text, mode) for name, (text, mode) in sorted(_files(package, path).items())]
    info = info_path(package, path)
    todo.append(_writer(host, info, record(package, path), 0o444))
    todo += [_linker(host, name, target) for name, target in links(package, path)]
    return todo


def record(package: Package, path: str) -> str:
    """Return the text of the install record."""
    folder = os.path.dirname(info_path(package, path))
    rows = [
        ("package_name", package.name),
        ("version", package.version),
        ("innerversion", "V100R001C00SPC000B000"),
        ("compatible_version", "[V100R001C00]"),
        ("arch", package.arch),
        ("os", "linux"),
        ("path", folder),
    ]
    return "".join("{0}={1}\n".format(*row) for row in rows)


def links(package: Package, path: str) -> t.List[t.Tuple[str, str]]:
    """Return the links of a package: path and target."""
    version = package.version
    if package.kind in ("nnal", "toolbox"):
        return [(os.path.dirname(home(package, path)) + "/latest", version)]
    if package.kind != "toolkit":
        return []
    if package.is_new:
        return [
            (path + "/cann", "cann-" + version),
            (path + "/ascend-toolkit/latest", "../cann-" + version),
            (path + "/ascend-toolkit/set_env.sh", "../cann-{0}/set_env.sh".format(version)),
        ]
    return [(path + "/ascend-toolkit/latest", version)]


def _files(package: Package, path: str) -> t.Dict[str, t.Tuple[str, int]]:
    folder = home(package, path)
    scripts = script_folder(package, path)
    files = driver_files.engine_files(scripts + "/" + package.kind)
    files[uninstall_path(package, path)] = (driver_files.uninstall_script(scripts + "/" + package.kind, "--install-path=" + path), 0o555)
    if package.kind == "toolbox":
        files[folder + "/Ascend-DMI/bin/ascend-dmi"] = ("#!/bin/sh\necho 'stand-in: not simulated' >&2\nexit 1\n", 0o555)
        files[path + "/toolbox/set_env.sh"] = ("export PATH={0}/toolbox/latest/Ascend-DMI/bin:$PATH\n".format(path), 0o644)
    elif package.kind == "nnal":
        files[path + "/nnal/atb/set_env.sh"] = ("export ATB_HOME_PATH={0}/atb/cxx_abi_1\n".format(folder), 0o644)
        files[folder + "/version.info"] = ("Ascend-cann-atb : {0}\n".format(package.version), 0o444)
        files[folder + "/atb/cxx_abi_1/lib/libatb.so"] = ("# stand-in\n", 0o444)
        if package.is_new:
            files[path + "/nnal/nnal_uninstall.sh"] = (
                driver_files.uninstall_script(scripts + "/" + package.kind, "--install-path=" + path),
                0o555,
            )
    elif package.kind == "toolkit":
        files.update(_toolkit_files(package, path, folder))
    else:
        files["{0}/{1}-linux/opp/built-in/op_impl/{2}.json".format(folder, package.arch, package.chip)] = ("{}\n", 0o444)
    return files


def _toolkit_files(package: Package, path: str, folder: str) -> t.Dict[str, t.Tuple[str, int]]:
    arch = "{0}/{1}-linux".format(folder, package.arch)
    files = {
        arch + "/lib64/libascendcl.so": ("# stand-in\n", 0o444),
        arch + "/include/acl/acl.h": ("/* stand-in */\n", 0o444),
    }
    if package.is_new:
        files[folder + "/set_env.sh"] = (_environment(folder), 0o644)
        files[arch + "/install.conf"] = ("whitelist=all\n", 0o444)
    else:
        files[path + "/ascend-toolkit/set_env.sh"] = (_environment(path + "/ascend-toolkit/latest"), 0o644)
        files[folder + "/version.cfg"] = ("runtime_running_version=[{0}:{0}]\n".format(package.version), 0o444)
    return files


def _environment(folder: str) -> str:
    rows = ("ASCEND_TOOLKIT_HOME", "ASCEND_HOME_PATH")
    text = "".join("export {0}={1}\n".format(name, folder) for name in rows)
    return text + "export LD_LIBRARY_PATH={0}/lib64:$LD_LIBRARY_PATH\n".format(folder)


def script_folder(package: Package, path: str) -> str:
    """Return the folder of the uninstall script."""
    folder = home(package, path)
    if package.kind in ("nnal", "toolbox"):
        return folder + ("/scripts" if package.kind == "nnal" else "/script")
    return "{0}/{1}-linux/script".format(folder, package.arch)


def uninstall_path(package: Package, path: str) -> str:
    """Return the uninstall script."""
    name = "ops_uninstall.sh" if package.kind == "ops" else "kernels_uninstall.sh" if package.kind == "kernels" else "uninstall.sh"
    return "{0}/{1}".format(script_folder(package, path), name)


def remove(host: Host, package: Package, path: str, version: str) -> None:
    """Remove the files of one version, its links when they lead nowhere afterwards, and folders that are empty then."""
    package = package._replace(version=version)
    forget(host, package, path)
    is_last = not installed(host, package, path)
    for name in _files(package, path):
        if is_last or name.startswith(home(package, path) + "/"):
            host.remove(name)
    _prune(host, package, path)
    with_links = package._replace(kind="toolkit") if package.kind in ("ops", "kernels") else package
    for name, _target in links(with_links, path):
        if os.path.islink(host.at(name)) and not host.exists(name):
            host.remove(name)
    _prune(host, package, path)


def forget(host: Host, package: Package, path: str) -> None:
    """Remove the install record alone."""
    host.remove(info_path(package, path))


def _prune(host: Host, package: Package, path: str) -> None:
    top = {"nnal": "/nnal", "toolbox": "/toolbox"}.get(package.kind)
    for folder in [home(package, path), path + (top or "/ascend-toolkit")]:
        for parent, _folders, _files_here in os.walk(host.at(folder), topdown=False):
            if not os.listdir(parent):
                os.rmdir(parent)


def _writer(host: Host, path: str, text: str, mode: int) -> t.Callable[[], None]:
    return lambda: host.write(path, text, mode)


def _linker(host: Host, path: str, target: str) -> t.Callable[[], None]:
    return lambda: host.link(path, target)
