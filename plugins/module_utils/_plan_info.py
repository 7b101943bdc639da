# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""What the planner has to know of this host besides its NPUs: processors, memory, network, models, engines. Reads /proc, /sys and files."""

from __future__ import annotations

import contextlib
import fcntl
import glob
import json
import os
import platform
import re
import socket
import struct
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._engine_plan_file import PLAN_NAME
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._files import read_text
from ansible_collections.npufleet.ascend.plugins.module_utils._model_folder import CONFIG, INDEX

Row = t.Dict[str, t.Any]
AddressOf = t.Callable[[str], t.Optional[str]]

SIOCGIFADDR = 0x8915  # linux/sockios.h
DEFAULT_ROUTE = "00000000"


def address_of(interface: str) -> t.Optional[str]:
    """The IPv4 address of an interface, or None."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        try:
            answer = fcntl.ioctl(asked.fileno(), SIOCGIFADDR, struct.pack("256s", interface.encode()[:15]))
        except OSError:
            return None
    return socket.inet_ntoa(answer[20:24])


def host_info(proc: str = "/proc", sysfs: str = "/sys", address: AddressOf = address_of) -> Row:
    """What ``hosts`` of the filter vllm_plan takes (docs/planning.md), without ``npu``; what is not known is None."""
    interface = _default_interface(read_text(proc + "/net/route") or "")
    memory = re.search(r"^MemTotal:\s+(\d+) kB", read_text(proc + "/meminfo") or "", re.MULTILINE)
    return {
        "arch": platform.machine(),
        "cpus": _line(sysfs + "/devices/system/cpu/online"),
        "numa_nodes": _numa_nodes(sysfs),
        "memory_mb": int(memory.group(1)) // 1024 if memory else None,
        "interface": interface,
        "address": address(interface) if interface else None,
    }


def _line(path: str) -> t.Optional[str]:
    return (read_text(path) or "").strip() or None


def _numa_nodes(sysfs: str) -> t.Dict[str, str]:
    """CPUs by node; nodes of memory alone have none."""
    nodes = {}
    for folder in glob.glob(sysfs + "/devices/system/node/node[0-9]*"):
        cpus = _line(folder + "/cpulist")
        if cpus:
            nodes[os.path.basename(folder)[len("node") :]] = cpus
    return nodes


def _default_interface(routes: str) -> t.Optional[str]:
    """The interface of the default route with the lowest metric, of /proc/net/route (proc(5))."""
    found = []
    for line in routes.splitlines()[1:]:
        words = line.split()
        if len(words) > 7 and words[1] == words[7] == DEFAULT_ROUTE and words[6].isdigit():
            found.append((int(words[6]), words[0]))
    return min(found)[1] if found else None


def model_info(path: str) -> Row:
    """What a model says of itself: ``config``, ``weights_bytes`` and ``files``; empty where it is not there yet.

    :raises NpufleetError: a file of the model is no JSON
    """
    names = sorted(os.listdir(path)) if os.path.isdir(path) else []
    metadata = _document(os.path.join(path, INDEX)).get("metadata")
    size = metadata.get("total_size") if isinstance(metadata, dict) else None
    if not isinstance(size, int) or isinstance(size, bool):
        # Without an index the model is one file, or several without a list of them.
        size = sum(os.path.getsize(os.path.join(path, name)) for name in names if name.endswith(".safetensors"))
    return {"config": _document(os.path.join(path, CONFIG)), "weights_bytes": size, "files": names}


def _document(path: str) -> Row:
    text = read_text(path)
    if text is None:
        return {}
    with contextlib.suppress(ValueError):
        document = json.loads(text)
        if isinstance(document, dict):
            return document
    raise NpufleetError("it is no JSON object", where=path, remedy="Copy the model again, the file is damaged")


def recorded_plans(home: str) -> t.List[Row]:
    """The rows by which the engines of this host run, by name; a file that says nothing is left out."""
    rows = []
    for path in sorted(glob.glob(glob.escape(home.rstrip("/")) + "/engines/*/" + PLAN_NAME)):
        with contextlib.suppress(ValueError):
            row = json.loads(read_text(path) or "null")
            if isinstance(row, dict) and row.get("name"):
                rows.append(row)
    return rows
