# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Everything that can be refused before anything is touched. All checks run, so one message names all that is in the way."""

from __future__ import annotations

import json
import os
import stat
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._compatibility import Setup, judge
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._host import GIB, disk_free, os_release
from ansible_collections.npufleet.ascend.plugins.module_utils._npu_pci import scan_pci
from ansible_collections.npufleet.ascend.plugins.module_utils._package_busy import containers, holders, other_installers
from ansible_collections.npufleet.ascend.plugins.module_utils._package_flags import DEFAULT_USER, FLAGS, FRESH
from ansible_collections.npufleet.ascend.plugins.module_utils._package_names import CHIP_OF_GENERATION
from ansible_collections.npufleet.ascend.plugins.module_utils._package_plan import Step
from ansible_collections.npufleet.ascend.plugins.module_utils._package_prerequisites import (
    Host,
    Problem,
    check_kernel,
    check_secure_boot,
    check_tools,
    check_user,
)
from ansible_collections.npufleet.ascend.plugins.module_utils._package_state import Installed, Tree, key_values, small_file
from ansible_collections.npufleet.ascend.plugins.module_utils._package_table import KINDS
from ansible_collections.npufleet.ascend.plugins.module_utils._package_wanted import Wanted
from ansible_collections.npufleet.ascend.plugins.module_utils._prerequisites import glibc_version

HDK = ("driver", "firmware")
CANN = ("toolkit", "ops", "nnal")
DAEMON_JSON = "/etc/docker/daemon.json"
# Second number of a firmware that cannot be upgraded in one step, on 910b (env_check.sh of hicann/driver).
OLD_FIRMWARE = "11"
STEPPING_STONE = "23.0"


class InTheWayError(NpufleetError):
    """What keeps the plan from being carried out. ``result`` is what the module returns beside the message."""

    def __init__(self, found: t.Sequence[Problem], doing: str, result: t.Mapping[str, t.Any]) -> None:
        if len(found) == 1:
            super().__init__(found[0].what, where=doing, remedy=found[0].remedy)
        else:
            lines = ["{0}. {1}. What to do: {2}.".format(number, one.what, one.remedy) for number, one in enumerate(found, start=1)]
            super().__init__("{0} things are in the way ({1}):\n{2}".format(len(found), doing, "\n".join(lines)))
        self.result = result


class Case(t.NamedTuple):
    """One plan on one host."""

    steps: t.Sequence[Step]
    wanted: t.Mapping[str, Wanted]
    state: t.Mapping[str, Installed]
    params: t.Mapping[str, t.Any]
    tree: Tree
    host: Host

    def kinds(self, *names: str) -> t.List[str]:
        """Which of these kinds change."""
        return [step.kind for step in self.steps if step.kind in names]

    def arrivals(self) -> t.List[Step]:
        """Steps that put something onto the host."""
        return [step for step in self.steps if step.action != "remove"]


def check_all(case: Case) -> t.List[Problem]:
    """Return everything that is in the way of these steps."""
    found = [*_root(case), *_licences(case), *_architecture(case), *_path(case), *_own_folder(case), *_disk(case), *_daemon_json(case)]
    if any(step.kind in HDK for step in case.arrivals()):
        found += [*check_tools(case.host), *_chip(case), *_old_firmware(case)]
    driver = next((step for step in case.arrivals() if step.kind == "driver"), None)
    if driver:
        user, group = case.params["user"], case.params["group"]
        explicit = driver.how == FRESH and (user, group) != (DEFAULT_USER, DEFAULT_USER)
        found += check_user(case.host, case.tree, user, group, explicit)
        found += check_kernel(case.host) + check_secure_boot(case.host, case.params["secure_boot_ok"])
    if case.kinds(*HDK):
        found += _busy(case)
    found += _needed_first(case)
    others = other_installers(case.host.proc)
    if others:
        found.append(Problem("another installer runs: {0}".format(", ".join(others)), "Wait until it has ended"))
    return found + _compatibility(case)


def unknowns(case: Case) -> t.List[str]:
    """Return what no source says about these versions together; warnings."""
    return judge(setup_of(case)).unknowns


def _root(case: Case) -> t.List[Problem]:
    return [] if case.host.uid == 0 else [Problem("only root may install or remove packages", "Use become: true")]


def _licences(case: Case) -> t.List[Problem]:
    if case.params["accept_licences"]:
        return []
    licences: t.Dict[str, str] = {KINDS[step.kind].licence: FLAGS[step.kind].role for step in case.arrivals()}
    return [
        Problem("nobody has accepted the {0}".format(licence), "Read it, and set accept_licences to true ({0}_accept_licence)".format(role))
        for licence, role in licences.items()
    ]


def _architecture(case: Case) -> t.List[Problem]:
    wrong = [case.wanted[step.kind] for step in case.arrivals() if case.wanted[step.kind].arch != case.host.machine]
    return [
        Problem(
            "{0} is for {1}, and this host is {2}".format(one.artifact.file, one.arch, case.host.machine), "Leave arch out, or correct it"
        )
        for one in wrong
    ]


def _path(case: Case) -> t.List[Problem]:
    """The install path and everything above it must be root's and closed to others; all installers ask for that in their own words."""
    path = case.params["install_path"]
    found = []
    if case.kinds("docker_runtime") and os.path.islink(case.host.root + path):
        found.append(Problem("{0} is a symbolic link, which the Docker runtime refuses".format(path), "Use a real folder or a bind mount"))
    part = path
    while True:
        found += _folder(case, part, is_parent=part != path)
        if part == "/":
            return found
        part = os.path.dirname(part)


def _folder(case: Case, path: str, is_parent: bool) -> t.List[Problem]:
    try:
        status = os.stat(case.host.root + path if path != "/" else case.host.root or "/")
    except OSError:
        return []
    if not stat.S_ISDIR(status.st_mode):
        return [Problem("{0} is no folder".format(path), "Move it away, or choose another install_path")]
    user, group = case.host.owner
    if status.st_uid != user or (status.st_gid != group and case.kinds("docker_runtime")):
        return [Problem("{0} does not belong to root".format(path), "Run as root: chown root:root {0}".format(path))]
    too_open, too_closed = status.st_mode & 0o022, bool(case.arrivals()) and is_parent and status.st_mode & 0o005 != 0o005
    if too_open or too_closed:
        why = "others may write to it" if too_open else "others cannot get through it"
        return [
            Problem("{0} has the mode {1:04o}: {2}".format(path, status.st_mode & 0o7777, why), "Run as root: chmod 0755 {0}".format(path))
        ]
    return []


def _needed_first(case: Case) -> t.List[Problem]:
    """What a package is installed into or through; the plan puts one that is asked for first."""
    found = []
    for needed, what, kinds in (("toolkit", "the CANN toolkit", ("ops", "nnal")), ("driver", "the driver", ("firmware",))):
        alone = [step.kind for step in case.arrivals() if step.kind in kinds]
        if alone and needed not in case.wanted and not case.state.get(needed, Installed()).complete:
            what = "{0} cannot be installed without {1}, which is not there".format(" and ".join(alone), what)
            found.append(Problem(what, "Name the {0} in packages, too".format(needed)))
    return found


def _own_folder(case: Case) -> t.List[Problem]:
    """What lies there is believed and executed."""
    path = case.params["record_folder"]
    try:
        status = os.stat(path)
    except OSError:
        return []
    if status.st_uid == case.host.owner[0] and not status.st_mode & 0o022:
        return []
    return [Problem("others may write to {0}".format(path), "Run as root: chown root:root {0}; chmod 0700 {0}".format(path))]


def _disk(case: Case) -> t.List[Problem]:
    path = case.host.root + case.params["install_path"]
    needed, free = sum(KINDS[step.kind].disk_bytes for step in case.arrivals()), disk_free(path)
    if free >= needed:
        return []
    what = "{0} needs {1:.1f} GiB below {2}, and {3:.1f} GiB are free".format(
        ", ".join(step.kind for step in case.arrivals()), needed / GIB, case.params["install_path"], free / GIB
    )
    return [Problem(what, "Free space, or choose another install_path")]


def _daemon_json(case: Case) -> t.List[Problem]:
    """The Docker runtime edits this file, and refuses one that others can change or that is no JSON (tried with 26.0.0 and 26.1.0)."""
    path = case.host.root + DAEMON_JSON
    if not case.kinds("docker_runtime") or not os.path.lexists(path):
        return []
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode) or status.st_uid != case.host.owner[0] or status.st_mode & 0o022:
        return [Problem("{0} is a link, or others may write to it".format(DAEMON_JSON), "Make it a file of root's with mode 0600")]
    try:
        sane = isinstance(json.loads(small_file(path) or "{}"), dict)
    except (ValueError, RecursionError):
        sane = False
    return [] if sane else [Problem("{0} is no JSON object".format(DAEMON_JSON), "Correct it, or move it away")]


def _chip(case: Case) -> t.List[Problem]:
    """The NPUs of the host against the chip of the package. A host that shows none is not refused: the card may come later."""
    generations = [function["generation"] for function in scan_pci(case.host.sys)]
    seen = sorted({CHIP_OF_GENERATION[generation] for generation in generations if generation in CHIP_OF_GENERATION})
    wrong = [case.wanted[step.kind] for step in case.arrivals() if step.kind in HDK and seen and case.wanted[step.kind].chip not in seen]
    shown = ", ".join(seen)
    return [
        Problem("{0} is for the chip {1}, and this host has {2}".format(one.kind, one.chip, shown), "Set chip to {0}".format(shown))
        for one in wrong
    ]


def _old_firmware(case: Case) -> t.List[Problem]:
    number = case.state.get("firmware", Installed()).version.split(".")
    arriving = [case.wanted[step.kind] for step in case.arrivals() if step.kind in HDK]
    if number[1:2] != [OLD_FIRMWARE] or all(one.chip != "910b" or one.version.startswith(STEPPING_STONE) for one in arriving):
        return []
    what = "the firmware {0} is too old to be upgraded to HDK {1} in one step".format(".".join(number), arriving[0].version)
    return [Problem(what, "Install HDK 23.0.RC1 first, reboot, then run again")]


def _busy(case: Case) -> t.List[Problem]:
    names, using = containers(case.host.run, case.host.find)
    driver_folder = os.path.join(case.params["install_path"], "driver")
    found = [str(holder) for holder in holders(case.host.proc, case.host.dev, driver_folder, names)]
    found += ["the container {0}".format(name) for name in using if not any(name in line for line in found)]
    if not found:
        return []
    return [
        Problem("the NPUs are in use by {0}".format("; ".join(found)), "Stop them first; driver and firmware cannot be changed meanwhile")
    ]


def setup_of(case: Case) -> Setup:
    """Return the versions that will meet on this host."""
    params, cann = case.params, case.kinds(*CANN)
    system = key_values(small_file(case.host.root + "/etc/os-release"))
    chips = [one.chip for one in case.wanted.values() if one.chip] + [str(params.get("chip") or "")]
    glibc = glibc_version().split()
    return Setup(
        vllm_ascend=params.get("vllm_ascend") or None,
        cann=next((case.wanted[kind].version for kind in CANN if kind in case.wanted), None),
        hdk=_hdk(case),
        chip=chips[0] or None,
        arch=case.host.machine if case.host.machine in ("aarch64", "x86_64") else None,
        os_id=os_release(case.host.root).id or None,
        os_version=system.get("version") or system.get("version_id") or None,
        glibc=glibc[-1] if cann and glibc else None,
        python=params.get("python_version") or None,
        in_container=not cann,
    )


def _hdk(case: Case) -> t.Optional[str]:
    """The driver that this host will have, or is said to get, or has."""
    wanted = case.wanted.get("driver")
    return wanted.version if wanted else case.params.get("hdk") or case.state.get("driver", Installed()).version or None


def _compatibility(case: Case) -> t.List[Problem]:
    if not case.arrivals():
        return []
    return [Problem(what, "Choose versions that go together; docs/compatibility.md lists them") for what in judge(setup_of(case)).problems]
