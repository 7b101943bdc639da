# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""What the driver's installer needs of the host: tools, kernel headers, user and group, and a kernel that takes its modules."""

from __future__ import annotations

import glob
import os
import re
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._command import Runner
from ansible_collections.npufleet.ascend.plugins.module_utils._host import os_release
from ansible_collections.npufleet.ascend.plugins.module_utils._os_table import FAMILIES, Family
from ansible_collections.npufleet.ascend.plugins.module_utils._package_state import Tree, install_record, small_file

SBIN = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")

# Tools that the installer looks for before it does anything (check_tools.conf of hicann/driver) -> package on Debian and on RPM systems.
# Of two names with a comma one is enough.
TOOLS: t.Dict[str, t.Tuple[str, str]] = {
    "which": ("debianutils", "which"),
    "awk": ("gawk", "gawk"),
    "sed": ("sed", "sed"),
    "find": ("findutils", "findutils"),
    "expr": ("coreutils", "coreutils"),
    "rev": ("bsdextrautils", "util-linux"),
    "ps": ("procps", "procps-ng"),
    "groups": ("coreutils", "coreutils"),
    "useradd": ("passwd", "shadow-utils"),
    "chattr": ("e2fsprogs", "e2fsprogs"),
    "lsattr": ("e2fsprogs", "e2fsprogs"),
    "ldconfig": ("libc-bin", "glibc-common"),
    "lspci": ("pciutils", "pciutils"),
    "ifconfig": ("net-tools", "net-tools"),
    "modprobe": ("kmod", "kmod"),
    "modinfo": ("kmod", "kmod"),
    "udevadm": ("udev", "systemd-udev"),
    "cksum": ("coreutils", "coreutils"),
    "readlink": ("coreutils", "coreutils"),
    "systemctl": ("systemd", "systemd"),
    "chkconfig,update-rc.d": ("init-system-helpers", "chkconfig"),
}
COMPILER_TOOLS = ("gcc", "make", "dkms")

# Systems whose stock kernel has prebuilt modules in the package; everywhere else they are compiled. ID, VERSION_ID, kernel (install guide of the
# HDK, in ascend-deployer 26.0.0). The lists of the vendor name more; what is not here only has to have headers and a compiler.
PREBUILT = (("ubuntu", "22.04", "5.15.0-25-generic"),)
# ascend-deployer 26.0.0 installs no dkms there.
WITHOUT_DKMS = (("kylin", "v11"),)


class Problem(t.NamedTuple):
    """Something in the way. ``later``: an earlier role of a real run puts it right, so check mode only tells it."""

    what: str
    remedy: str
    later: bool = False


class Host(t.NamedTuple):
    """The host as the checks see it.

    :param root: put before paths of its file system, for tests
    :param owner: user and group id that have to own the install path
    """

    run: Runner
    find: t.Callable[..., t.Optional[str]]
    uid: int
    machine: str
    kernel: str
    root: str = ""
    proc: str = "/proc"
    dev: str = "/dev"
    sys: str = "/sys"
    owner: t.Tuple[int, int] = (0, 0)


def check_tools(host: Host) -> t.List[Problem]:
    """Tools of the installer that the host lacks."""
    missing = [names for names in TOOLS if not any(host.find(name, SBIN) for name in names.split(","))]
    if not missing:
        return []
    family, debian = _family(host)
    packages = list(dict.fromkeys(TOOLS[names][0 if debian else 1] for names in missing))
    return [Problem("the host lacks {0}".format(", ".join(missing)), _install(family, packages), later=True)]


def check_kernel(host: Host) -> t.List[Problem]:
    """What compiling the kernel modules needs, for the kernel that runs."""
    release = os_release(host.root)
    if (release.id, release.version.lower(), host.kernel) in PREBUILT:
        return []
    unwanted = ("dkms",) if (release.id, release.version.lower()) in WITHOUT_DKMS else ()
    missing = [tool for tool in COMPILER_TOOLS if tool not in unwanted and not host.find(tool, SBIN)]
    build = "/lib/modules/{0}/build".format(host.kernel)
    family, debian = _family(host)
    packages, hint = list(missing), ""
    if not os.path.isdir(host.root + build):
        missing.append("the headers of the running kernel ({0})".format(build))
        packages += ["linux-headers-" + host.kernel] if debian else ["kernel-devel-" + host.kernel, "kernel-headers-" + host.kernel]
        hint = " (where that kernel is no longer offered, update the kernel and reboot first)"
    if not missing:
        return []
    what = "the driver compiles its kernel modules, and the host lacks {0}".format(", ".join(missing))
    return [Problem(what, _install(family, packages) + hint, later=True)]


def check_secure_boot(host: Host, accepted: bool) -> t.List[Problem]:
    """A kernel that refuses modules without a known signature. No text of the vendor about it was found."""
    if accepted:
        return []
    remedy = "Turn it off, or enrol the key that signs the modules and set secure_boot_ok to true (ascend_driver_secure_boot_ok)"
    for path in glob.glob(glob.escape(host.sys) + "/firmware/efi/efivars/SecureBoot-*"):
        if _last_byte(path) == 1:
            return [Problem("secure boot is on, so the kernel refuses the unsigned modules of the driver", remedy)]
    found = re.search(r"\[(\w+)\]", small_file(host.sys + "/kernel/security/lockdown"))
    if found and found.group(1) != "none":
        return [
            Problem("kernel lockdown is on ({0}), so the kernel refuses the unsigned modules of the driver".format(found.group(1)), remedy)
        ]
    return []


def check_user(host: Host, tree: Tree, user: str, group: str, explicit: bool) -> t.List[Problem]:
    """User and group of the driver, where its installer looks for them: in /etc/passwd and /etc/group.

    :param explicit: the installer is told the names, and then refuses others than those of the last installation (ERR_NO 0x0095)
    """
    record = install_record(tree)
    before = (record.get("username", user), record.get("usergroup", group))
    if explicit and before != (user, group):
        what = "the last installation was for {0}:{1}, and {2}:{3} is wanted".format(before[0], before[1], user, group)
        return [Problem(what, "Name the user and group of the last installation, or remove driver and firmware first")]
    user, group = before
    if user == group == "root":
        return []
    users = {row[0]: row[3] for row in _rows(host.root + "/etc/passwd")}
    groups = {row[0]: (row[2], row[3].split(",")) for row in _rows(host.root + "/etc/group")}
    make = "groupadd {1}; useradd -g {1} -d /home/{0} -m -s /bin/bash {0}".format(user, group)
    if group not in groups or user not in users:
        missing = ["group " + group] * (group not in groups) + ["user " + user] * (user not in users)
        return [Problem("the host has no {0}, which own the NPUs".format(" and no ".join(missing)), "Run as root: " + make, later=True)]
    if users[user] != groups[group][0] and user not in groups[group][1]:
        return [
            Problem(
                "the user {0} is not in the group {1}".format(user, group), "Run as root: usermod -aG {1} {0}".format(user, group), True
            )
        ]
    return []


def _rows(path: str) -> t.List[t.List[str]]:
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return [row for row in (line.rstrip("\n").split(":") for line in stream) if len(row) > 3]
    except OSError:
        return []


def _family(host: Host) -> t.Tuple[t.Optional[Family], bool]:
    from ansible_collections.npufleet.ascend.plugins.module_utils._prerequisites import family_of

    family = family_of(os_release(host.root), lambda name: host.find(name, SBIN))
    return family, family == FAMILIES["debian"]


def _install(family: t.Optional[Family], packages: t.Sequence[str]) -> str:
    if family is None:
        return "Install {0} with the package manager of this system".format(", ".join(packages))
    return "Run as root: {0} {1}".format(family.install, " ".join(packages))


def _last_byte(path: str) -> int:
    """An EFI variable is four bytes of attributes and its value (efivarfs)."""
    try:
        with open(path, "rb") as stream:
            return (stream.read(16) or b"\0")[-1]
    except OSError:
        return 0
