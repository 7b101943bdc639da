# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""What host_tuning reads of a host, once: kernel files, NUMA nodes, NPUs and their interrupts, boot loader, services. Starts no process.

Every function takes ``root``, so that a folder can pose as the host; the paths in the results are those of the host.
"""

from __future__ import annotations

import glob
import os
import platform
import re
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._command import find_tool
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._files import read_text
from ansible_collections.npufleet.ascend.plugins.module_utils._host import memory_available, systemd_is_init
from ansible_collections.npufleet.ascend.plugins.module_utils._npu_pci import scan_pci
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_kind import kind_of_host
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_values import parse_cpus

POLICIES = "/sys/devices/system/cpu/cpufreq/policy[0-9]*/scaling_governor"
GOVERNORS = "/sys/devices/system/cpu/cpufreq/policy[0-9]*/scaling_available_governors"
POOLS = "/sys/kernel/mm/hugepages/hugepages-*kB/nr_hugepages"
NODE_POOLS = "/sys/devices/system/node/node[0-9]*/hugepages/hugepages-*kB/nr_hugepages"
WORK_QUEUES = "/sys/devices/virtual/workqueue/dev[0-9]*_sq_send_wq/cpumask"
SHMMAX = "/proc/sys/kernel/shmmax"
SHMALL = "/proc/sys/kernel/shmall"
THP = "/sys/kernel/mm/transparent_hugepage/enabled"
SWAPPINESS = "/proc/sys/vm/swappiness"
NUMA_BALANCING = "/proc/sys/kernel/numa_balancing"
# A sysctl until Linux 5.12, a file of debugfs since 5.13 (kernel commit 8a99b6833c88).
MIGRATION_COSTS = ("/proc/sys/kernel/sched_migration_cost_ns", "/sys/kernel/debug/sched/migration_cost_ns")
RESERVED_PORTS = "/proc/sys/net/ipv4/ip_local_reserved_ports"
NR_OPEN = "/proc/sys/fs/nr_open"
FIXED = (SHMMAX, SHMALL, THP, SWAPPINESS, NUMA_BALANCING, *MIGRATION_COSTS, RESERVED_PORTS, NR_OPEN)
# Interrupts of the NPU driver that vllm-ascend pins (vllm_ascend/cpu_binding.py): a task was sent, a task is done.
IRQ_NAMES = ("sq_send_trigger_irq", "cq_update_irq")
DAEMONS = ("irqbalance", "tuned")


class Node(t.NamedTuple):
    """A NUMA node with memory; ``free_bytes`` counts the page cache that the kernel can drop."""

    number: int
    cpus: t.Tuple[int, ...]
    free_bytes: int


class Npu(t.NamedTuple):
    """An NPU chip. ``device`` is the N of /dev/davinciN, None where no driver told it; ``bus_id`` is '' on no PCI bus; ``cpus`` are near."""

    device: t.Optional[int]
    bus_id: str
    node: t.Optional[int]
    cpus: t.Tuple[int, ...]

    @property
    def name(self) -> str:
        return self.bus_id or "davinci{0}".format("?" if self.device is None else self.device)


class Irq(t.NamedTuple):
    """An interrupt of an NPU. ``place`` counts those of one name."""

    bus_id: str
    name: str
    place: int
    number: int


class HostState(t.NamedTuple):
    """The host as it is. ``values`` holds the text of each kernel file that is there, ``readonly`` those on a read-only file system."""

    kind: str
    kind_source: str
    machine: str
    page_size: int
    kernel: t.Tuple[int, int]
    systemd: bool
    daemons: t.FrozenSet[str]
    cmdline: t.Tuple[str, ...]
    iommu: bool
    nodes: t.Tuple[Node, ...]
    memory_bytes: int
    default_kb: t.Optional[int]
    npus: t.Tuple[Npu, ...]
    irqs: t.Tuple[Irq, ...]
    values: t.Dict[str, str]
    readonly: t.FrozenSet[str]
    boot_tool: t.Optional[str]
    tuned_profile: str
    tuned_auto: bool
    tuned_folder: str
    irqbalance_enabled: bool
    irqbalance_options: t.Dict[str, str]


def read_host(root: str, chips: t.Sequence[t.Mapping[str, t.Any]], host_type: str = "auto") -> HostState:
    """Read all of it.

    :param chips: the chips of the fact npufleet_npu; the PCI functions are read here
    :param host_type: auto, or the kind that somebody knows better
    """
    kind, source = kind_of_host(root) if host_type == "auto" else (host_type, "host_type")
    npus = read_npus(root, chips)
    irqs = tuple(irq for npu in npus if npu.bus_id for irq in _irqs(root, npu.bus_id))
    values = _values(root, [irq_path(irq) for irq in irqs])
    return HostState(
        kind=kind,
        kind_source=source,
        machine=platform.machine(),
        page_size=os.sysconf("SC_PAGE_SIZE"),
        kernel=_kernel(platform.release()),
        systemd=systemd_is_init(root),
        daemons=_daemons(root),
        cmdline=tuple((read_text(root + "/proc/cmdline") or "").split()),
        iommu=bool(glob.glob(root + "/sys/class/iommu/*")),
        nodes=_nodes(root),
        memory_bytes=memory_available(root + "/proc"),
        default_kb=_number(r"^Hugepagesize:\s+(\d+) kB", read_text(root + "/proc/meminfo")),
        npus=npus,
        irqs=irqs,
        values=values,
        readonly=frozenset(path for path in values if _is_readonly(root + path)),
        boot_tool=_boot_tool(root),
        tuned_profile=" ".join((read_text(root + "/etc/tuned/active_profile") or "").split()),
        tuned_auto=(read_text(root + "/etc/tuned/profile_mode") or "").strip() == "auto",
        # TuneD 2.24 looks for profiles in a folder of their own (redhat-performance/tuned, pull request 615).
        tuned_folder="/etc/tuned/profiles" if os.path.isdir(root + "/etc/tuned/profiles") else "/etc/tuned",
        irqbalance_enabled=bool(glob.glob(root + "/etc/systemd/system/*.wants/irqbalance.service")),
        irqbalance_options=_irqbalance_options(root),
    )


def irq_path(irq: Irq) -> str:
    """The file of the affinity of an interrupt."""
    return "/proc/irq/{0}/smp_affinity_list".format(irq.number)


def read_npus(root: str, chips: t.Sequence[t.Mapping[str, t.Any]]) -> t.Tuple[Npu, ...]:
    """PCI functions of NPUs, with the device numbers that the facts know; then chips of the facts that are on no PCI bus (UB boards)."""
    known = {str(chip.get("bus_id") or "").lower(): chip for chip in chips}
    npus = []
    for function in scan_pci(root + "/sys"):
        bus_id, node = function["bus_id"], function["numa_node"]
        chip = known.pop(bus_id, {})
        text = function["cpu_affinity"] or chip.get("cpu_affinity") or ""
        npus.append(Npu(chip.get("phy_id"), bus_id, node, _cpus(text) or _node_cpus(root, node)))
    seen = {npu.bus_id for npu in npus}
    for chip in chips:
        bus_id, node = str(chip.get("bus_id") or "").lower(), chip.get("numa_node")
        if bus_id not in seen:
            npus.append(Npu(chip.get("phy_id"), bus_id, node, _cpus(chip.get("cpu_affinity") or "") or _node_cpus(root, node)))
    return tuple(npus)


def _cpus(text: str) -> t.Tuple[int, ...]:
    try:
        return parse_cpus(text)
    except NpufleetError:
        return ()


def _node_cpus(root: str, node: t.Optional[int]) -> t.Tuple[int, ...]:
    return () if node is None else _cpus(read_text("{0}/sys/devices/system/node/node{1}/cpulist".format(root, node)) or "")


def _irqs(root: str, bus_id: str) -> t.List[Irq]:
    """Interrupts of one PCI function. The kernel makes a folder named after the handler below /proc/irq/N, so the table of all
    interrupts, 20 MB on a host with 640 CPUs, need not be read."""
    found: t.List[Irq] = []
    folder = "{0}/sys/bus/pci/devices/{1}/msi_irqs".format(root, bus_id)
    numbers = sorted(int(name) for name in (os.listdir(folder) if os.path.isdir(folder) else []) if name.isdigit())
    for number in numbers:
        handlers = " ".join(os.path.basename(path) for path in glob.glob("{0}/proc/irq/{1}/*".format(root, number)) if os.path.isdir(path))
        for name in IRQ_NAMES:
            if name in handlers:
                found.append(Irq(bus_id, name, sum(1 for irq in found if irq.name == name), number))
    return found


def _values(root: str, more: t.Sequence[str]) -> t.Dict[str, str]:
    paths = [*FIXED, *more]
    for pattern in (POLICIES, GOVERNORS, POOLS, NODE_POOLS, WORK_QUEUES):
        paths += sorted((path[len(root) :] for path in glob.glob(root + pattern)), key=_natural)
    texts = ((path, read_text(root + path)) for path in paths)
    return {path: text for path, text in texts if text is not None}


def _natural(path: str) -> t.List[t.Tuple[int, str]]:
    """Sort node10 after node9."""
    return [(int(part) if part.isdigit() else -1, part) for part in re.split(r"(\d+)", path)]


def _is_readonly(path: str) -> bool:
    return bool(os.statvfs(path).f_flag & os.ST_RDONLY)


def _kernel(release: str) -> t.Tuple[int, int]:
    match = re.match(r"(\d+)\.(\d+)", release)
    return (int(match.group(1)), int(match.group(2))) if match else (0, 0)


def _number(pattern: str, text: t.Optional[str]) -> t.Optional[int]:
    match = re.search(pattern, text or "", re.MULTILINE)
    return int(match.group(1)) if match else None


def _daemons(root: str) -> t.FrozenSet[str]:
    names = {(read_text(path) or "").strip() for path in glob.glob(root + "/proc/[0-9]*/comm")}
    return frozenset(names & set(DAEMONS))


def _nodes(root: str) -> t.Tuple[Node, ...]:
    nodes = []
    for folder in glob.glob(root + "/sys/devices/system/node/node[0-9]*"):
        memory = read_text(folder + "/meminfo")
        kilobytes = [_number(r"{0}:\s+(\d+) kB".format(re.escape(name)), memory) or 0 for name in ("MemTotal", "MemFree", "Inactive(file)")]
        if kilobytes[0]:  # a node may have CPUs only
            number = int(os.path.basename(folder)[len("node") :])
            nodes.append(Node(number, _node_cpus(root, number), sum(kilobytes[1:]) * 1024))
    return tuple(sorted(nodes))


def _irqbalance_options(root: str) -> t.Dict[str, str]:
    """IRQBALANCE_ARGS (upstream's unit) and OPTIONS (older ones of Debian and Ubuntu), as the files of the distribution set them."""
    options = dict.fromkeys(("IRQBALANCE_ARGS", "OPTIONS"), "")
    for path in ("/usr/lib/irqbalance/defaults.env", "/etc/sysconfig/irqbalance", "/etc/default/irqbalance"):
        for line in (read_text(root + path) or "").splitlines():
            name, equals, value = line.strip().partition("=")
            if equals and name in options:
                options[name] = value.strip().strip("\"'")
    return options


def _boot_tool(root: str) -> t.Optional[str]:
    """Path of the tool that changes kernel arguments: update-grub of Debian, whose grub-mkconfig reads /etc/default/grub.d, or grubby."""
    for name in ("update-grub", "grubby"):
        path = find_tool(name, ("/usr/sbin", "/sbin")) if not root else None
        if path or os.path.exists(root + "/usr/sbin/" + name):
            return path or "/usr/sbin/" + name
    return None
