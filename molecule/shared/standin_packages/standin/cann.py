# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""CANN packages: toolkit, ops (8.5 and later), kernels (8.3 and before), nnal; and the toolbox, whose installer is of the same kind."""

from __future__ import annotations

import os
import re
import shutil
import time
import typing as t

from standin import cann_tree
from standin.cann_tree import Package
from standin.host import Host
from standin.journal import Fault, Finish, ask, say, strike, work

ACTIONS = ("install", "upgrade", "full", "run", "devel", "uninstall", "check", "version")
WORDS = (*ACTIONS, "quiet", "force", "install-for-all", "pylocal", "torch_atb")
VALUES = ("install-path", "whitelist", "feature-list", "type", "chip", "docker-root")
SPACE_MB = 10 * 1024


class CannRefusal(Exception):  # noqa: N818
    """The installer ends with exit code 1."""


def run(host: Host, manifest: t.Dict[str, t.Any], words: t.Sequence[str], fault: Fault) -> int:
    """Run the installer and return its exit code."""
    package = Package(manifest["kind"], manifest["version"], manifest["chip"], manifest["arch"])
    try:
        action, values, flags = parse(words)
        path = _path(host, package, values)
        if action == "check":
            return 0
        if action == "version":
            say("[{0}] version: {1}".format(package.title, package.version))
            return 0
        strike(fault)
        if action == "uninstall":
            _uninstall(host, package, path)
        else:
            _install(host, package, path, action, "quiet" in flags, fault)
    except CannRefusal as exc:
        log(host, package, "ERROR", str(exc))
        return 1
    except Finish as exc:
        if exc.code:
            log(host, package, "ERROR", "ERR_NO:{0};ERR_DES:{1}".format(fault.get("err_no", "0x0001"), fault.get("message", "fault")))
        return exc.code
    return int(fault.get("result", 0))


def parse(words: t.Sequence[str]) -> t.Tuple[str, t.Dict[str, str], t.List[str]]:
    """Return action, values and flags.

    :raises CannRefusal: for an unknown word, for no or several actions, and for --quiet without an installation
    """
    flags, values = [], {}
    for word in words:
        name, equals, value = word[2:].partition("=")
        if not word.startswith("--") or name not in (VALUES if equals else WORDS):
            raise CannRefusal("ERR_NO:0x0002;ERR_DES:unsupported parameter {0}, see --help".format(word))
        if equals:
            values[name] = value
        else:
            flags.append(name)
    actions = [name for name in flags if name in ACTIONS]
    if len(actions) != 1:
        raise CannRefusal("ERR_NO:0x0002;ERR_DES:needs exactly one of {0}".format(", ".join(ACTIONS)))
    if "quiet" in flags and actions[0] in ("check", "version"):
        raise CannRefusal("ERR_NO:0x0002;ERR_DES:quiet goes with an installation")
    return actions[0], values, flags


def _path(host: Host, package: Package, values: t.Dict[str, str]) -> str:
    """The path asked for, the one remembered, or the default of the user. Packages up to 8.0 insist on the remembered one."""
    default = "/usr/local/Ascend" if host.uid == 0 else host.env.get("HOME", "/") + "/Ascend"
    memory = _memory(host)
    remembered = re.search("^Install_Path=(.*)$", host.read(memory), re.M)
    path = values.get("install-path", remembered.group(1) if remembered else default).rstrip("/")
    if not re.match(r"^/[A-Za-z0-9/._-]+$", path):
        raise CannRefusal("ERR_NO:0x0002;ERR_DES:{0} is not absolute, or has other characters than letters, digits, - and _".format(path))
    if remembered and path != remembered.group(1) and package.numbers < (8, 1):
        raise CannRefusal("the path differs from the last one, {0}".format(remembered.group(1)))
    return path


def _memory(host: Host) -> str:
    folder = "/etc/Ascend" if host.uid == 0 else host.env.get("HOME", "") + "/Ascend"
    return folder + "/ascend_cann_install.info"


def _install(host: Host, package: Package, path: str, action: str, is_quiet: bool, fault: Fault) -> None:
    log(host, package, "INFO", "LogFile:{0}".format(log_path(host, package)))
    if package.arch != host.machine:
        raise CannRefusal("ERR_NO:0x0001;ERR_DES:the package is for {0}, this machine is {1}".format(package.arch, host.machine))
    question = "Do you accept the licence of {0}? [Y/N]".format(package.title)
    if not is_quiet and package.kind != "toolbox" and not ask(question, "Yy", "Nn"):
        raise Finish(0)
    if package.kind in ("ops", "kernels"):
        _check_operators(host, package, path)
    if package.kind == "nnal":
        _check_environment(host)
    if action == "upgrade" and not cann_tree.installed(host, package, path):
        raise CannRefusal("ERR_NO:0x0080;ERR_DES:there is nothing to upgrade in {0}".format(path))
    _check_path(host, path, fault)
    steps = cann_tree.steps(host, package, path)
    if action == "upgrade":
        steps = [_remover(host, package, path, old) for old in cann_tree.older(host, package, path)] + steps
    work(steps, fault)
    if fault.get("half_installed"):
        cann_tree.forget(host, package, path)
        raise Finish(int(fault.get("result", 1)))
    if package.kind != "toolbox":
        host.write(_memory(host), "Install_Path={0}\n".format(path), 0o644)
    log(host, package, "INFO", "{0} install success, installed in {1}".format(package.title, path))


def _remover(host: Host, package: Package, path: str, version: str) -> t.Callable[[], None]:
    return lambda: cann_tree.remove(host, package, path, version)


def _check_operators(host: Host, package: Package, path: str) -> None:
    """The toolkit comes first, and one path has the operators of one chip."""
    if not host.exists(cann_tree.info_path(package._replace(kind="toolkit"), path)):
        raise CannRefusal("ERR_NO:0x0080;ERR_DES:the toolkit {0} is not installed in {1}".format(package.version, path))
    other = cann_tree.read_info(host, package, path).get("package_name", package.name)
    if other != package.name:
        raise CannRefusal("{0} is installed in {1}; operators of two chips need two paths".format(other, path))


def _check_environment(host: Host) -> None:
    """nnal wants the toolkit's environment (ascend-transformer-boost, scripts/install.sh)."""
    for name in ("ASCEND_TOOLKIT_HOME", "ASCEND_HOME_PATH"):
        if not host.env.get(name):
            raise CannRefusal("Check owner failed, please check env {0} is set.".format(name))
    if not host.exists(host.env["ASCEND_HOME_PATH"]):
        raise CannRefusal("Check owner failed, can not find cann in {0}.".format(host.env["ASCEND_HOME_PATH"]))


def _check_path(host: Host, path: str, fault: Fault) -> None:
    for part in host.chain(path):
        if host.uid == 0 and not host.is_roots(part):
            raise CannRefusal("the owner of {0} is not root".format(part))
    host.make_folder(path, 0o755)
    free = int(fault.get("free_mb", shutil.disk_usage(host.at(path)).free // 1024**2))
    if "free_mb" in fault and free < SPACE_MB:
        raise CannRefusal("{0} MB are free in {1}, {2} MB are needed".format(free, path, SPACE_MB))


def _uninstall(host: Host, package: Package, path: str) -> None:
    if not cann_tree.read_info(host, package, path):
        raise CannRefusal("ERR_NO:0x0080;ERR_DES:{0} {1} is not installed in {2}".format(package.title, package.version, path))
    cann_tree.remove(host, package, path, package.version)
    log(host, package, "INFO", "{0} uninstall success".format(package.title))


def log_path(host: Host, package: Package) -> str:
    """Return the log of this package."""
    folder = "/var/log/ascend_seclog" if host.uid == 0 else host.env.get("HOME", "") + "/var/log/ascend_seclog"
    name = {"ops": "ops_" + package.chip}.get(package.kind, package.kind)
    return "{0}/ascend_{1}_install.log".format(folder, name)


def log(host: Host, package: Package, level: str, text: str) -> None:
    """Print a line and log it."""
    line = "[{0}] [{1}] [{2}] {3}".format(package.kind.capitalize(), time.strftime("%Y%m%d-%H:%M:%S"), level, text)
    say(line)
    path = log_path(host, package)
    if not host.exists(os.path.dirname(path)):
        host.make_folder(os.path.dirname(path), 0o750)
    host.append(path, line + "\n", 0o640)
