# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Who uses the NPUs of this host: processes that hold a device node, and containers that were given one."""

from __future__ import annotations

import glob
import json
import os
import re
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._command import CommandError, Runner, find_tool
from ansible_collections.npufleet.ascend.plugins.module_utils._files import read_text

# The nodes that the driver's installer asks about (hicann/driver, common.sh).
_NODE = re.compile(r"/(davinci[0-9]+|davinci_manager|devmm_svm|hisi_hdc)\Z")
_CONTAINER = re.compile(r"[0-9a-f]{64}")
DOCKER_SECONDS = 20.0
# Installers of this vendor: another one at the same time is refused by the driver's (ERR_NO 0x0094).
_PACKAGE = re.compile(r"(?:^|/)(?:Ascend|Atlas)-[A-Za-z0-9._-]*\.run\Z")

Names = t.Dict[str, str]


class Holder(t.NamedTuple):
    """A process with open device nodes."""

    pid: int
    command: str
    nodes: t.Tuple[str, ...]
    container: str

    def __str__(self) -> str:
        where = " in the container {0}".format(self.container) if self.container else ""
        return "process {0} ({1}{2}) with {3}".format(self.pid, self.command, where, ", ".join(self.nodes))


def holders(proc: str, dev: str, driver_folder: str, names: Names) -> t.List[Holder]:
    """Return the processes that hold an NPU. The services of the driver itself do not count: its scripts stop them.

    :param names: container id -> name, as far as known
    """
    found = []
    own = _container(read_text(proc + "/self/cgroup") or "")  # a host of a test may be a container itself
    for folder in sorted(glob.glob(glob.escape(proc) + "/[0-9]*"), key=lambda path: int(os.path.basename(path))):
        nodes = _nodes(folder + "/fd", dev)
        if not nodes or _link(folder + "/exe").startswith(driver_folder + "/"):
            continue
        command = (read_text(folder + "/comm") or "?").strip()
        container = _container(read_text(folder + "/cgroup") or "")
        container = "" if container == own else container
        found.append(Holder(int(os.path.basename(folder)), command, nodes, names.get(container, container[:12])))
    return found


def containers(run: Runner, find: t.Callable[[str], t.Optional[str]] = find_tool) -> t.Tuple[Names, t.List[str]]:
    """Return id -> name of the running containers, and the names of those that were given an NPU; nothing where no Docker answers."""
    docker = find("docker")
    if docker is None:
        return {}, []
    ids = _docker(run, [docker, "ps", "--no-trunc", "--quiet"]).split()
    if not ids:
        return {}, []
    names: Names = {}
    using = []
    template = "{{.Id}} {{.Name}} {{json .HostConfig.Devices}} {{json .Config.Env}}"
    for line in _docker(run, [docker, "inspect", "--format", template, *ids]).splitlines():
        words = line.split(" ", 2)
        if len(words) == 3:
            names[words[0]] = words[1].lstrip("/")
            if _has_npu(words[2]):
                using.append(names[words[0]])
    return names, sorted(using)


def other_installers(proc: str) -> t.List[str]:
    """Return the package installers that run on this host: a .run of this vendor, started itself or by a shell. Containers do not count."""
    found = []
    here = _link(proc + "/self/ns/pid")
    for folder in glob.glob(glob.escape(proc) + "/[0-9]*"):
        words = (read_text(folder + "/cmdline") or "").split("\0")
        by_shell = os.path.basename(words[0]) in ("sh", "bash", "dash")
        package = next((word for word in words[: 3 if by_shell else 1] if _PACKAGE.search(word)), "")
        if package and _link(folder + "/ns/pid") in ("", here):
            found.append("process {0} ({1})".format(os.path.basename(folder), os.path.basename(package)))
    return sorted(found)


def _docker(run: Runner, argv: t.Sequence[str]) -> str:
    try:
        result = run(argv, timeout=DOCKER_SECONDS)
    except CommandError:
        return ""
    # A container that ended in between makes inspect fail; what it said about the others counts.
    return result.stdout


def _has_npu(text: str) -> bool:
    """Devices and environment of a container, two JSON values on one line."""
    try:
        devices, end = json.JSONDecoder().raw_decode(text)
        environment, _end = json.JSONDecoder().raw_decode(text[end:].lstrip())
    except (ValueError, RecursionError):
        return False
    for device in devices if isinstance(devices, list) else []:
        if isinstance(device, dict) and _NODE.search(str(device.get("PathOnHost", ""))):
            return True
    for entry in environment if isinstance(environment, list) else []:
        name, _sign, value = str(entry).partition("=")
        if name == "ASCEND_VISIBLE_DEVICES" and value.strip() not in ("", "void"):
            return True
    return False


def _nodes(folder: str, dev: str) -> t.Tuple[str, ...]:
    try:
        links = {_link(os.path.join(folder, name)) for name in os.listdir(folder)}
    except OSError:
        return ()  # another user's process, or one that just ended
    return tuple(sorted(link for link in links if os.path.dirname(link) == dev and _NODE.search(link)))


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def _container(cgroup: str) -> str:
    found = _CONTAINER.search(cgroup)
    return found.group() if found else ""
