# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the driver's installer checks before it changes anything (hicann/driver: args_parse.sh, env_check.sh, driver_install.sh)."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import typing as t

from standin import install_info, options, simulator
from standin.host import Host
from standin.journal import Fault, say
from standin.options import Options, Refusal

DEFAULT_PATH = "/usr/local/Ascend"
DEFAULT_USER = "HwHiAiUser"
LOCK = "/run/standin-packages.lock"
# A line with two names: one of them is enough.
TOOLS = (
    "which", "awk", "sed", "find", "expr", "rev", "ps", "groups", "useradd", "chattr", "lsattr", "ldconfig", "lspci", "ifconfig", "modprobe",
    "modinfo", "udevadm", "cksum", "readlink", "systemctl", "chkconfig,update-rc.d",
)  # fmt: skip


class Target(t.NamedTuple):
    """Where and for whom a driver is installed."""

    path: str
    user: str
    group: str
    type: str
    for_all: bool
    is_first: bool


def check_root(host: Host) -> None:
    if host.uid != 0:
        raise Refusal(options.NOT_ROOT, "needs root")


def check_machine(host: Host, manifest: t.Dict[str, t.Any]) -> None:
    """Architecture, and the PCI bus: a bus with NPUs of another kind only is refused, one without NPUs is not."""
    if manifest["arch"] != host.machine:
        raise Refusal("", "the package is for {0}, this machine is {1}".format(manifest["arch"], host.machine))
    npus = host.npus()
    if npus and not set(npus) & set(manifest["pci"]):
        raise Refusal(
            "", "the package is for 19e5:{0}, this machine has 19e5:{1}".format(",".join(manifest["pci"]), ",".join(sorted(set(npus))))
        )
    if not npus:
        say("[Driver] [WARNING]no chip for this package on the PCI bus")


def take_lock(host: Host) -> t.TextIO:
    """Be the only installer of driver and firmware. The real one looks for other processes of the same package family."""
    host.make_folder(os.path.dirname(LOCK))
    stream = open(host.at(LOCK), "w", encoding="utf-8")  # noqa: SIM115  # held until the end of the process
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as exc:
        raise Refusal(options.ALREADY_RUNNING, "another installer is running") from exc
    return stream


def choose_target(host: Host, asked: Options) -> Target:
    """Return path, user and type, from the command line or from the installation before.

    :raises Refusal: for a user that differs from the one before, root without install-for-all, a path with other characters
    """
    before = install_info.values(host)
    for_all = asked.has("install-for-all") or (asked.has("upgrade") and before.get("Driver_Install_For_All") == "yes")
    user = asked.values.get("install-username", before.get("UserName", DEFAULT_USER))
    group = asked.values.get("install-usergroup", before.get("UserGroup", DEFAULT_USER))
    if not user or not group or ("root" in (user, group) and not for_all):
        raise Refusal(options.NO_USER, "user and group must not be empty, and root only with install-for-all")
    if (before.get("UserName", user), before.get("UserGroup", group)) != (user, group):
        raise Refusal(options.OTHER_USER, "user and group differ from those of the last installation")
    path = asked.values.get("install-path", before.get("Driver_Install_Path_Param", DEFAULT_PATH))
    if not re.match(r"^/[A-Za-z0-9/._-]+$", path):
        raise Refusal(options.BAD_PATH, "the install path has characters other than letters, digits, - and _")
    return Target(
        path.rstrip("/"),
        user,
        group,
        asked.type or before.get("Driver_Install_Type", "full"),
        for_all,
        "Driver_Install_Path_Param" not in before,
    )


def check_user(host: Host, target: Target) -> None:
    if target.user not in host.users():
        raise Refusal(options.NO_USER, "there is no user {0}".format(target.user))
    if target.group not in host.groups():
        raise Refusal(options.NO_USER, "there is no group {0}".format(target.group))
    if not host.is_member(target.user, target.group):
        raise Refusal(options.NOT_IN_GROUP, "{0} is not in the group {1}".format(target.user, target.group))


def check_path(host: Host, target: Target) -> None:
    """The path is made when its parent exists; the user has to get through to it, so 0750 of root is refused here."""
    if not host.exists(target.path):
        if target.path != DEFAULT_PATH and not host.exists(os.path.dirname(target.path)):
            raise Refusal(options.BAD_PATH, "{0} does not exist, and only one level is made".format(os.path.dirname(target.path)))
        host.make_folder(target.path, 0o755)
    if target.user != "root" and any(not host.mode(part) & 0o001 for part in host.chain(target.path)):
        raise Refusal(options.BAD_PATH, "{0} cannot get into {1}".format(target.user, target.path))


def check_space(host: Host, path: str, need_mb: int, fault: Fault) -> None:
    free = int(fault.get("free_mb", shutil.disk_usage(host.at(path)).free // 1024**2))
    if free <= need_mb:
        raise Refusal("", "{0} MB are free, more than {1} MB are needed".format(free, need_mb))


def check_tools(host: Host) -> None:
    missing = [line for line in TOOLS if not any(host.has_program(name) for name in line.split(","))]
    if missing:
        raise Refusal("", "The list of missing tools: {0},".format(",".join(missing)))


def check_owners(host: Host, target: Target, is_quiet: bool) -> None:
    """The default path is put right; every folder on the way has to be root's and at least 755, or 750 with install-for-all."""
    if target.path == DEFAULT_PATH:
        os.chmod(host.at(target.path), 0o755)
    for part in host.chain(target.path):
        is_small = int("{0:o}".format(host.mode(part) & 0o777)) < (750 if target.for_all else 755)
        if (is_small or not host.is_roots(part)) and (target.is_first or not is_quiet):
            raise Refusal("", "{0} and its parents have to be root's with mode 755".format(target.path))


def check_flash(host: Host, manifest: t.Dict[str, t.Any]) -> None:
    """A driver older than the firmware in the devices is refused, once a driver runs that can read them."""
    flashed = simulator.flashed(host)
    if simulator.is_loaded(host) and flashed > simulator.numbers(manifest["flash_version"]):
        raise Refusal(
            "", "the package's version {0} is earlier than {1} in the flash".format(manifest["flash_version"], ".".join(map(str, flashed)))
        )


def check_old_firmware(host: Host, manifest: t.Dict[str, t.Any], path: str) -> None:
    """A 910B whose firmware has 11 as its second number needs HDK 23.0.RC1 in between."""
    line = host.read(path + "/firmware/version.info").partition("\n")[0]
    if "d802" in manifest["pci"] and line.startswith("Version=") and line.split(".")[1:2] == ["11"]:
        raise Refusal("", "install the 23.0.RC1 driver first, then this one")


def check_idle(host: Host, asked: Options, fault: Fault) -> None:
    """Processes with an open device node, while a driver runs; --force goes on."""
    if asked.has("force") or not (simulator.is_loaded(host) or fault.get("busy")):
        return
    if fault.get("busy") or host.holders():
        raise Refusal("", "The davinci nodes are occupied by some processes, stop them or use --force")
