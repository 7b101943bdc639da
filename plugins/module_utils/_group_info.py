# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""What a host says of itself before it serves an engine together with others: NPU network, clock, MTU, ports, weights, versions. Only reads.

What cannot be read becomes a sentence in ``errors`` and ends nothing: the comparison of all hosts names everything at once.
"""

from __future__ import annotations

import glob
import os
import re
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._clock import Clock
from ansible_collections.npufleet.ascend.plugins.module_utils._command import Runner, find_tool
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_docker_client import Docker
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._files import read_text
from ansible_collections.npufleet.ascend.plugins.module_utils._hccn_text import parse_conf
from ansible_collections.npufleet.ascend.plugins.module_utils._hccn_tool import TOOL, TOOL_DIRS, HccnTool, no_tool
from ansible_collections.npufleet.ascend.plugins.module_utils._host import port_owner
from ansible_collections.npufleet.ascend.plugins.module_utils._npu_pci import read_driver_files
from ansible_collections.npufleet.ascend.plugins.module_utils._package_state import Tree, read_state
from ansible_collections.npufleet.ascend.plugins.module_utils._weights_manifest import manifest

Row = t.Dict[str, t.Any]

DISTRIBUTIONS = ("vllm", "vllm_ascend", "torch_npu")


class Sources(t.NamedTuple):
    """Where a host is read from; tests bring their own."""

    run: Runner
    clock: Clock
    docker: t.Callable[[str], Docker] = Docker
    proc: str = "/proc"
    sysfs: str = "/sys"


def look(wanted: Row, sources: Sources) -> Row:
    """Return the answers; the module documents questions (its options) and answers."""
    errors: t.List[str] = []
    answers: Row = {"npus": {}, "pings": [], "hccn_conf": None}
    if wanted["chips"] or wanted["pings"]:
        _ask_npus(wanted, sources, answers, errors)
    answers["mtu"] = {name: _mtu(name, sources.sysfs) for name in wanted["interfaces"]}
    answers["ports"] = {str(port): _owner(port, sources.proc) for port in wanted["ports"]}
    answers["weights"] = {path: _weights(path, wanted["hash_all"], errors) for path in wanted["weights"]}
    answers["images"] = {name: _image(name, sources.docker(wanted["docker_host"])) for name in wanted["images"]}
    answers["venvs"] = {path: distributions(path) for path in wanted["venvs"]}
    answers["versions"] = _versions(wanted)
    answers["errors"] = errors
    return answers


def _ask_npus(wanted: Row, sources: Sources, answers: Row, errors: t.List[str]) -> None:
    path = wanted["hccn_tool"] or find_tool(TOOL, TOOL_DIRS)
    if path is None:
        errors.append(str(no_tool()))
        return
    tool = HccnTool(path, sources.run, sources.clock, wanted["timeout"])
    try:
        answers["npus"] = {str(number): tool.device(number, wanted["vnic"]) for number in wanted["chips"]}
        answers["pings"] = [tool.ping(row["chip"], row["address"], wanted["ping_command"]) for row in wanted["pings"]]
        text = read_text(wanted["hccn_conf"]) if wanted["chips"] else None
        answers["hccn_conf"] = None if text is None else {str(key): value for key, value in parse_conf(text, wanted["hccn_conf"]).items()}
    except NpufleetError as exc:
        errors.append(str(exc))


def _mtu(interface: str, sysfs: str) -> t.Optional[int]:
    text = (read_text("{0}/class/net/{1}/mtu".format(sysfs, interface)) or "").strip()
    return int(text) if text.isdigit() else None


def _owner(port: int, proc: str) -> t.Optional[str]:
    owner = port_owner(port, proc)
    return None if owner is None else str(owner)


def _weights(path: str, hash_all: bool, errors: t.List[str]) -> t.Optional[Row]:
    try:
        return manifest(os.path.expanduser(path), hash_all)
    except NpufleetError as exc:
        errors.append(str(exc))
        return None


def _image(name: str, docker: Docker) -> Row:
    """Id of an image. A host without container engine or image is no error here: the role brings both."""
    try:
        image = docker.ask("inspect_image", name, missing_ok=True)
    except NpufleetError as exc:
        return {"id": None, "reason": exc.what}
    return {"id": image["Id"], "reason": None} if image else {"id": None, "reason": "the host does not have it yet"}


def distributions(venv: str) -> t.Dict[str, str]:
    """Versions of vllm, vllm_ascend and torch_npu in a virtual environment, by the names of their dist-info folders."""
    found = {}
    for path in sorted(glob.glob(os.path.join(glob.escape(os.path.expanduser(venv)), "lib*", "python*", "site-packages", "*.dist-info"))):
        name = re.match(r"^(.+?)-([^-]+)\.dist-info$", os.path.basename(path))
        if name and name.group(1).lower().replace("-", "_") in DISTRIBUTIONS:
            found[name.group(1).lower().replace("-", "_")] = name.group(2)
    return found


def _versions(wanted: Row) -> Row:
    files = read_driver_files(wanted["driver_root"], wanted["install_info"])
    cann = read_state(["toolkit"], Tree(files.root))["toolkit"]
    return {"driver": files.driver_version, "firmware": files.firmware_version, "cann": cann.version or None}
