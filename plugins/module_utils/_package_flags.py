# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""How the installers are called, as data: flags, the answer on stdin, uninstall scripts, and what their errors mean.

Sources: install scripts of hicann/driver, ascend-deployer 26.0.0, the CANN 9.0 installation guide, run_main.sh and uninstall.sh of
Ascend/mind-cluster (26.0.0 and 26.1.0).
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._ascend_version import parse_version

DEFAULT_PATH = "/usr/local/Ascend"
DEFAULT_USER = "HwHiAiUser"
FRESH, EXISTING, REMOVE = "fresh", "existing", "remove"


class Flags(t.NamedTuple):
    """Command line of one kind.

    :param fresh: options where nothing usable is installed; also replaces what is broken
    :param existing: options where another version is installed
    :param remove: options of the package file that removes the package
    :param answer: what is fed to its questions. The driver's accept a small y only and ask again for ever after anything else
    :param check: does ``--check`` test the file? It must be the only option
    :param scripts: patterns of the installed uninstall scripts below Installed.folder, the first that is there counts
    :param script_options: options of those scripts
    :param role: prefix of the variables of the role that uses this kind
    """

    fresh: t.Tuple[str, ...]
    existing: t.Tuple[str, ...]
    remove: t.Tuple[str, ...]
    answer: str
    check: bool
    scripts: t.Tuple[str, ...]
    script_options: t.Tuple[str, ...]
    role: str


_CANN = Flags(
    fresh=("--install", "--quiet", "--install-for-all"),
    existing=("--upgrade", "--quiet"),
    remove=("--uninstall",),
    answer="y",
    check=True,
    scripts=("*/script/uninstall.sh",),
    script_options=(),
    role="cann",
)
FLAGS: t.Dict[str, Flags] = {
    "driver": Flags(
        fresh=("--full", "--quiet", "--install-for-all"),
        existing=("--upgrade", "--quiet"),
        remove=("--uninstall",),  # alone: with --quiet it is refused
        answer="y",
        check=True,
        scripts=("script/uninstall.sh",),
        script_options=("--quiet",),
        role="ascend_driver",
    ),
    "firmware": Flags(
        fresh=("--full", "--quiet"),
        existing=("--upgrade", "--quiet"),
        remove=("--uninstall",),
        answer="y",
        check=True,
        scripts=("script/uninstall.sh",),
        script_options=("--quiet",),
        role="ascend_driver",
    ),
    "toolkit": _CANN,
    # The second one is assumed.
    "ops": _CANN._replace(scripts=("*/script/ops_uninstall.sh", "*/script/kernels_uninstall.sh", "opp_kernel/script/uninstall.sh")),
    # nnal_uninstall.sh was seen in trees of 8.2 and is documented for 9.0; the other one is of older releases.
    "nnal": _CANN._replace(scripts=("nnal_uninstall.sh", "atb/latest/scripts/uninstall.sh")),
    # Without arguments its uninstall.sh is for Docker. No --quiet anywhere: 26.1.0 refuses it.
    "docker_runtime": Flags(
        fresh=("--install", "--install-scene=docker"),
        existing=("--upgrade",),
        remove=("--uninstall",),
        answer="Y",
        check=True,
        scripts=("script/uninstall.sh",),
        script_options=(),
        role="container_runtime",
    ),
    # assumed: the script of the toolbox lies where those of CANN do
    "toolbox": _CANN._replace(fresh=("--install", "--quiet"), scripts=("script/uninstall.sh",)),
}


class Options(t.NamedTuple):
    """What decides about the command line besides the kind."""

    install_path: str = DEFAULT_PATH
    user: str = DEFAULT_USER
    group: str = DEFAULT_USER
    runtime_config: str = ""  # file that stands for Docker's daemon.json; '' for that itself


def install_options(kind: str, how: str, options: Options) -> t.List[str]:
    """Return the options for an installer.

    :param how: FRESH, EXISTING or REMOVE
    """
    flags = FLAGS[kind]
    chosen = list({FRESH: flags.fresh, EXISTING: flags.existing, REMOVE: flags.remove}[how])
    if how != FRESH:
        return chosen  # an upgrade keeps path and user, and refuses to be told others
    if kind == "driver" and (options.user, options.group) != (DEFAULT_USER, DEFAULT_USER):
        chosen += ["--install-username=" + options.user, "--install-usergroup=" + options.group]
    if kind == "docker_runtime" and options.runtime_config:
        chosen.append("--config-file-path=" + options.runtime_config)
    if options.install_path != DEFAULT_PATH:
        chosen.append("--install-path=" + options.install_path)
    return chosen


def can_check(kind: str, version: str) -> bool:
    """Does the package know ``--check``? The Docker runtime refuses it from 26.1.0 on (tried)."""
    return FLAGS[kind].check and not (kind == "docker_runtime" and parse_version(version) >= parse_version("26.1.0"))


class Cause(t.NamedTuple):
    """A known failure: a pattern for one line of the log, what it means, what to do."""

    pattern: str
    meaning: str
    remedy: str


# In this order: what says more comes first.
CAUSES: t.Tuple[Cause, ...] = (
    Cause(r"davinci nodes are occupied", "something still uses the NPUs", "Stop the processes and containers that use the NPUs"),
    Cause(r"[Ll]ist of missing tools: *(?P<detail>[^\s].*?),? *$", "the host lacks tools", "Install them"),
    Cause(r"free space only", "the disk is too full", "Free space below the install path"),
    Cause(r"Not enough space left", "the disk of the temporary files is too full", "Free space in /tmp"),
    Cause(r"earlier than the device flash", "the NPUs hold a newer version than this package", "Install a newer HDK"),
    Cause(
        r"signature verification failed|crl_check failed", "the signature of the package does not pass", "Get the package again from Huawei"
    ),
    Cause(r"23\.0\.RC1 driver package", "the firmware is too old for this step", "Install HDK 23.0.RC1 first"),
    Cause(
        r"[Dd]rv_dkms_env_check failed|vermagic check failed",
        "no kernel modules fit the running kernel",
        "Install gcc, make, dkms and the headers of the running kernel",
    ),
    Cause(r"[Aa]rch mismatch", "the package is for another processor architecture", "Get the package for this architecture"),
    Cause(r"ERR_NO:0x0003\b", "a bad install path", "Make the install path and everything above it root's, mode 0755"),
    Cause(r"ERR_NO:0x0004\b", "a combination of options that this version refuses", "Report the version of the package"),
    Cause(r"ERR_NO:0x0080\b", "it is not installed, or its own scripts are missing", "Install it again, then remove it"),
    Cause(r"ERR_NO:0x0089\b", "it could not change the shell environment", "Look at /etc/profile and the home of the user"),
    Cause(r"ERR_NO:0x0090\b", "removing the driver failed", "Reboot, then run again"),
    Cause(r"ERR_NO:0x0091\b", "the user or group is missing", "Make user and group first"),
    Cause(r"ERR_NO:0x0093\b", "it does not run as root", "Become root"),
    Cause(r"ERR_NO:0x0094\b", "another installer runs", "Wait until it has ended"),
    Cause(r"ERR_NO:0x0095\b", "user or group differ from those of the last installation", "Name the ones in /etc/ascend_install.info"),
    Cause(r"ERR_NO:0x0096\b", "the user is not in the group", "Put the user into the group"),
    Cause(r"ERR_DES: *(?P<detail>\S.*?) *$", "", "Look at /var/log/ascend_seclog on the host"),
    Cause(r"\[ERROR\] *(?P<detail>\S.*?) *$", "", "Look at /var/log/ascend_seclog on the host"),
)
_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]")
# "Reboot needed for installation/upgrade to take effect", "Reboot now or after driver installation ..." (driver and firmware).
REBOOT_WORDS = re.compile(r"reboot (?:needed|now|is required)", re.IGNORECASE)


def explain(lines: t.Iterable[str]) -> t.Tuple[str, str]:
    """Return what the log of an installer says went wrong, and what to do; two empty texts where it does not say."""
    clean = [plain(line) for line in lines]
    for cause in CAUSES:
        for line in clean:
            # Not compiled beforehand: a call that runs no installer needs none of them.
            found = re.search(cause.pattern, line)
            if found:
                number = re.search(r"ERR_NO:\s*(0x[0-9A-Fa-f]+)", line)
                said = ": ".join(part for part in (cause.meaning, found.groupdict().get("detail")) if part)
                return ("{0} ({1})".format(said, number.group(1)) if number else said), cause.remedy
    return "", ""


def plain(line: str) -> str:
    """A line of a log without colours and control characters."""
    return _COLOURS.sub("", line).strip()
