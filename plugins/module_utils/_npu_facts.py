# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""The NPU structure of a host: sysfs and device nodes, then at most two npu-smi processes (``info``, ``info -m``), more on request only.

npu_facts and npu_info return this structure; docs/npu-facts.md describes it.
"""

from __future__ import annotations

import os
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._command import Runner, find_tool, run
from ansible_collections.npufleet.ascend.plugins.module_utils._npu_chips import NO_BUS, match_rows, merge_chips
from ansible_collections.npufleet.ascend.plugins.module_utils._npu_pci import DriverFiles, read_driver_files, scan_nodes, scan_pci
from ansible_collections.npufleet.ascend.plugins.module_utils._npu_queries import TOOL_DIRS, NpuSmi
from ansible_collections.npufleet.ascend.plugins.module_utils._npu_smi_errors import Failure, failure
from ansible_collections.npufleet.ascend.plugins.module_utils._npu_smi_matrix import Topology, is_chip
from ansible_collections.npufleet.ascend.plugins.module_utils._npu_smi_table import Info
from ansible_collections.npufleet.ascend.plugins.module_utils._npu_table import image_suffix

Row = t.Dict[str, t.Any]


class Settings(t.NamedTuple):
    """The options that npu_facts and npu_info share (doc fragment npu_gather)."""

    npu_smi: t.Optional[str] = None
    npu_smi_dirs: t.Sequence[str] = tuple(TOOL_DIRS)
    timeout: float = 20.0
    gather: t.Sequence[str] = ()
    sysfs_root: str = "/sys"
    dev_root: str = "/dev"
    driver_root: t.Optional[str] = None
    install_info: str = "/etc/ascend_install.info"


class Hardware(t.NamedTuple):
    """What the host shows without npu-smi."""

    pci: t.List[Row]
    nodes: t.List[int]
    control_nodes: t.List[str]

    @property
    def functions(self) -> t.List[Row]:
        """Physical functions only: a virtual one is a slice of a card that is counted already."""
        return [function for function in self.pci if not function["virtual_function"]]

    @property
    def present(self) -> bool:
        return bool(self.pci or self.nodes)


def argument_spec() -> t.Dict[str, t.Any]:
    """Return the argument spec of npu_facts and npu_info."""
    return {
        "npu_smi": {"type": "path"},
        "npu_smi_dirs": {"type": "list", "elements": "path", "default": list(TOOL_DIRS)},
        "timeout": {"type": "float", "default": 20.0},
        "gather": {"type": "list", "elements": "str", "choices": ["topo", "board", "health"], "default": []},
        "sysfs_root": {"type": "path", "default": "/sys"},
        "dev_root": {"type": "path", "default": "/dev"},
        "driver_root": {"type": "path"},
        "install_info": {"type": "path", "default": "/etc/ascend_install.info"},
    }


def gather(settings: Settings, runner: Runner = run) -> Row:
    """Return the NPU structure of this host. Never raises for anything that npu-smi does or prints."""
    pci = scan_pci(settings.sysfs_root)
    hardware = Hardware(pci, *scan_nodes(settings.dev_root))
    files = read_driver_files(settings.driver_root, settings.install_info)
    path = _find(settings, files)
    host = describe_hardware(hardware, files, path)
    if path is None:
        error = "{0} is no executable file".format(settings.npu_smi) if settings.npu_smi else ""
        return refuse(host, hardware, failure("command_not_found", error=error))
    tool = NpuSmi(path, runner, settings.timeout, files.root)
    info, failed = tool.table()
    if info is None:
        return refuse(host, hardware, failed or failure("unexpected_output"))
    mapping = tool.mapping()
    chips = merge_chips(info, mapping, hardware.pci, hardware.nodes, settings.dev_root)
    if "board" in settings.gather:
        tool.add_boards(chips)
    if "health" in settings.gather:
        tool.add_errors(chips)
    describe_chips(host, info, chips)
    if "topo" in settings.gather:
        add_topology(host, tool)
    host["warnings"] = info.warnings + ([str(failed)] if failed else []) + tool.warnings + doubts(hardware, info, mapping, chips, host)
    host["complete"] = failed is None and _complete(host, info, mapping)
    return judge(host, hardware)


def _find(settings: Settings, files: DriverFiles) -> t.Optional[str]:
    """Return an executable npu-smi. A folder or an empty path of that name, as bad bind mounts leave it, is none."""
    if settings.npu_smi:
        return settings.npu_smi if os.path.isfile(settings.npu_smi) and os.access(settings.npu_smi, os.X_OK) else None
    return find_tool("npu-smi", [*settings.npu_smi_dirs, os.path.join(files.root, "driver", "tools")])


def describe_hardware(hardware: Hardware, files: DriverFiles, path: t.Optional[str]) -> Row:
    """Return the structure as far as it is known without npu-smi."""
    generation = _only(function["generation"] for function in hardware.functions)
    products = sorted({function["product"] for function in hardware.functions if function["product"]})
    return {
        "available": False,
        "reason": None,
        "message": None,
        "present": hardware.present,
        "complete": False,
        "product": ", ".join(products) or None,
        "generation": generation,
        "soc": None,
        "image_suffix": image_suffix(generation),
        "npu_count": None,
        "chip_count": None,
        "responding_count": None,
        "healthy_count": None,
        "pci_count": len(hardware.functions),
        "device_node_count": len(hardware.nodes),
        "missing_bus_ids": None,
        "tool_path": path,
        "tool_version": None,
        "driver_version": None,
        "driver_version_installed": files.driver_version,
        "driver_install_status": files.install_status,
        "driver_matches_installed": None,
        "firmware_version": files.firmware_version,
        "driver_root": files.root,
        "pci": hardware.pci,
        "device_nodes": hardware.nodes,
        "control_nodes": hardware.control_nodes,
        "chips": [],
        "topology": None,
        "warnings": [],
    }


def describe_chips(host: Row, info: Info, chips: t.List[Row]) -> None:
    """Add versions, counts and what all chips share."""
    generation = _only(chip["generation"] for chip in chips)
    firmware = _only((chip["board"] or {}).get("firmware_version") for chip in chips)
    host.update(
        generation=generation if chips else host["generation"],
        soc=_only(chip["soc"] for chip in chips),
        npu_count=len({chip["npu_id"] for chip in chips}),
        chip_count=len(chips),
        responding_count=sum(chip["responding"] for chip in chips),
        healthy_count=sum(chip["responding"] and chip["health"] == "OK" for chip in chips),
        tool_version=info.tool_version,
        driver_version=info.driver_version,
        firmware_version=host["firmware_version"] or firmware,
        chips=chips,
    )
    host["image_suffix"] = image_suffix(host["generation"])
    if host["driver_version_installed"]:
        host["driver_matches_installed"] = host["driver_version_installed"].lower() == info.driver_version.lower()
    host["missing_bus_ids"] = missing_bus_ids(host["pci"], chips)


def missing_bus_ids(pci: t.Sequence[Row], chips: t.Sequence[Row]) -> t.Optional[t.List[str]]:
    """Return the bus ids of the physical functions that no chip has; None when the two cannot be compared.

    Chips of SoC and UB boards have no bus id, and in a virtual machine or with a virtual NPU it is not the one that sysfs shows.
    """
    known = {function["bus_id"] for function in pci}
    listed = {(chip["bus_id"] or "").lower() for chip in chips if chip["bus_id"] != NO_BUS}
    if not listed <= known:
        return None
    return sorted(function["bus_id"] for function in pci if not function["virtual_function"] and function["bus_id"] not in listed)


def add_topology(host: Row, tool: NpuSmi) -> None:
    """Add the link matrix, and its CPU lists where sysfs has none."""
    topology = tool.topology()
    if topology is None:
        return
    host["topology"] = dict(topology._asdict())
    lists = dict(zip(topology.devices, topology.cpu_affinity or []))
    key = _topology_key(topology, host)
    for chip in host["chips"]:
        chip["cpu_affinity"] = chip["cpu_affinity"] or (lists.get(chip[key]) if key else None)


def _topology_key(topology: Topology, host: Row) -> t.Optional[str]:
    """Return which id of a chip the matrix counts. No source says what follows "NPU": the id that fits is taken, else none."""
    if topology.label == "Phy-ID":
        return "phy_id"
    ids = {key: {chip[key] for chip in host["chips"]} for key in ("npu_id", "logic_id")}
    return next((key for key in ("npu_id", "logic_id") if ids[key] == set(topology.devices)), None)


def doubts(hardware: Hardware, info: Info, mapping: t.Sequence[Row], chips: t.Sequence[Row], host: Row) -> t.List[str]:
    """Return warnings about sources that do not agree."""
    texts = []
    unlisted = _unlisted(info, mapping)
    if unlisted:
        names = ["NPU {0} chip {1}".format(row["npu_id"], row["chip_id"]) for row in unlisted]
        texts.append("npu-smi info -m knows {0}, which the device table lacks".format(", ".join(names)))
    if host["missing_bus_ids"]:
        texts.append("npu-smi lists no chip at {0}, where PCI has one".format(", ".join(host["missing_bus_ids"])))
    dead = [str(chip["npu_id"]) for chip in chips if not chip["responding"]]
    if dead:
        texts.append("chips that do not respond, on NPU {0}".format(", ".join(dead)))
    if len({chip["generation"] for chip in chips} - {None}) > 1:
        texts.append("the NPUs of this host are of different generations")
    if host["driver_matches_installed"] is False:
        texts.append(
            "driver {0} runs and {1} is installed: reboot to load it".format(info.driver_version, host["driver_version_installed"])
        )
    return texts


def _unlisted(info: Info, mapping: t.Sequence[Row]) -> t.List[Row]:
    found = match_rows(info.chips, mapping)
    return [row for row in mapping if is_chip(row) and not any(row is other for other in found)]


def _complete(host: Row, info: Info, mapping: t.Sequence[Row]) -> bool:
    return not host["missing_bus_ids"] and host["responding_count"] == host["chip_count"] and not _unlisted(info, mapping)


def judge(host: Row, hardware: Hardware) -> Row:
    """Decide about ``available`` once npu-smi has answered: an empty or dead list is no NPU at all."""
    if not host["chips"]:
        return refuse(host, hardware, failure("no_npu"))
    if not host["responding_count"]:
        return refuse(host, hardware, failure("no_chip_responding"))
    return dict(host, available=True)


def refuse(host: Row, hardware: Hardware, failed: Failure) -> Row:
    """Return the structure with ``available: false``, the reason, and a message that says what is known and what to do."""
    reason, message, remedy = failed.reason, failed.message, failed.remedy
    if reason in ("no_npu", "help_printed", "command_not_found") and not hardware.present:
        tool = "npu-smi not installed" if reason == "command_not_found" else "npu-smi lists none"
        message = "no Ascend NPU: no PCI function of vendor 0x19e5 class 0x1200, no /dev/davinci*, {0}".format(tool)
        return dict(host, available=False, reason="no_npu", message=message)
    if reason in ("no_npu", "help_printed"):
        reason, message, remedy = failure("devices_not_listed")[:3]
    if failed.details.get("error"):
        message = "{0} ({1})".format(message, failed.details["error"])
    text = "{0}. Seen without npu-smi: {1}. {2}.".format(message, evidence(hardware), remedy)
    return dict(host, available=False, reason=reason, message=text)


def evidence(hardware: Hardware) -> str:
    """Say in a few words which hardware the host shows."""
    products = sorted({function["product"] for function in hardware.functions if function["product"]})
    text = "{0} PCI function{1}".format(len(hardware.functions), "" if len(hardware.functions) == 1 else "s")
    return "{0}{1}, {2} /dev/davinciN".format(text, " ({0})".format(", ".join(products)) if products else "", len(hardware.nodes))


def _only(values: t.Iterable[t.Optional[str]]) -> t.Optional[str]:
    found = set(values)
    return found.pop() if len(found) == 1 else None
