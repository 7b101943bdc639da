# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A folder that poses as a host for host_tuning, and a runner for the tools that it starts."""

from __future__ import annotations

import os
import pathlib
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils import _tuning_host
from ansible_collections.npufleet.ascend.plugins.module_utils._command import CommandResult
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_task import TuningTask

RECORD = "/var/lib/npufleet/host_tuning.json"
BUS = ("0000:c1:00.0", "0000:c2:00.0")
GIB = 1024**3


def write(root: pathlib.Path, path: str, text: str = "") -> None:
    target = root / path.lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)


def read(root: pathlib.Path, path: str) -> str:
    return (root / path.lstrip("/")).read_text().strip()


def make_host(root: pathlib.Path) -> None:
    """A physical server with two NUMA nodes of 8 CPUs, without an NPU; systemd runs, and update-grub is there."""
    for path, text in (
        ("/proc/sys/kernel/shmmax", "33554432"),
        ("/proc/sys/kernel/shmall", "2097152"),
        ("/proc/sys/vm/swappiness", "60"),
        ("/proc/sys/kernel/numa_balancing", "1"),
        ("/proc/sys/net/ipv4/ip_local_reserved_ports", "8080,9148"),
        ("/proc/sys/fs/nr_open", "1048576"),
        ("/sys/kernel/debug/sched/migration_cost_ns", "500000"),
        ("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never"),
        ("/proc/meminfo", "MemAvailable: {0} kB\nHugepagesize:    2048 kB".format(16 * GIB // 1024)),
        ("/proc/cmdline", "root=/dev/sda2 ro quiet"),
        ("/proc/1/comm", "systemd"),
        ("/proc/1/status", "CapBnd:\t000001ffffffffff"),
        (
            "/proc/1/limits",
            "Max open files            1024                 4096                 files\n"
            "Max locked memory         65536                67108864             bytes",
        ),
        ("/etc/security/limits.conf", "# nothing\n"),
        ("/etc/os-release", "ID=debian\n"),
        ("/usr/sbin/update-grub", ""),
    ):
        write(root, path, text + "\n")
    for node, cpus in ((0, "0-7"), (1, "8-15")):
        folder = "/sys/devices/system/node/node{0}".format(node)
        write(root, folder + "/cpulist", cpus + "\n")
        write(root, folder + "/meminfo", _memory(node))
        for size in (2048, 1048576):
            write(root, "{0}/hugepages/hugepages-{1}kB/nr_hugepages".format(folder, size), "0\n")
            write(root, "/sys/kernel/mm/hugepages/hugepages-{0}kB/nr_hugepages".format(size), "0\n")
    for cpu in range(16):
        folder = "/sys/devices/system/cpu/cpufreq/policy{0}".format(cpu)
        write(root, folder + "/scaling_governor", "powersave\n")
        write(root, folder + "/scaling_available_governors", "performance powersave\n")
    (root / "run/systemd/system").mkdir(parents=True)
    (root / "sys/class/iommu/smmu3.0x0").mkdir(parents=True)


def _memory(node: int) -> str:
    lines = (("MemTotal", 16 * GIB), ("MemFree", 7 * GIB), ("Inactive(file)", GIB))
    return "".join("Node {0} {1}: {2} kB\n".format(node, name, size // 1024) for name, size in lines)


def add_npus(root: pathlib.Path, driver: bool = True) -> t.List[t.Dict[str, t.Any]]:
    """Two NPUs near node 1, with interrupts and work queues where the driver runs; returns what the facts know of them."""
    for number, bus in enumerate(BUS):
        folder = "/sys/bus/pci/devices/" + bus
        for name, text in (
            ("vendor", "0x19e5"),
            ("device", "0xd802"),
            ("class", "0x120000"),
            ("numa_node", "1"),
            ("local_cpulist", "8-15"),
        ):
            write(root, folder + "/" + name, text + "\n")
        if driver:
            for irq, handler in ((100, "sq_send_trigger_irq"), (101, "cq_update_irq"), (102, "cq_update_irq"), (103, "trs-mbox")):
                irq += 10 * number
                write(root, "{0}/msi_irqs/{1}".format(folder, irq))
                write(root, "/proc/irq/{0}/{1}/x".format(irq, handler))
                write(root, "/proc/irq/{0}/smp_affinity_list".format(irq), "0-15\n")
            write(root, "/sys/devices/virtual/workqueue/dev{0}_sq_send_wq/cpumask".format(number), "ffff\n")
    return [{"bus_id": bus.upper(), "phy_id": number, "cpu_affinity": "8-15"} for number, bus in enumerate(BUS)]


def snapshot(root: pathlib.Path) -> t.Dict[str, str]:
    """Every file and link below the folder, with what it holds."""
    found = {}
    for folder, folders, names in os.walk(root):
        for name in names + [item for item in folders if os.path.islink(os.path.join(folder, item))]:
            path = os.path.join(folder, name)
            found[os.path.relpath(path, root)] = os.readlink(path) if os.path.islink(path) else pathlib.Path(path).read_text().strip()
    return found


class Tools:
    """Runs what host_tuning starts: notes it, changes the folder as the tool would, or fails."""

    def __init__(self, root: pathlib.Path) -> None:
        self.root = root
        self.calls: t.List[t.List[str]] = []
        self.fail = ""
        self.grubby_info = 'args="ro quiet"\n'

    def __call__(self, argv: t.Sequence[str], timeout: float, **_more: t.Any) -> CommandResult:
        assert timeout > 0
        name, words = os.path.basename(argv[0]), list(argv[1:])
        self.calls.append([name, *words])
        if self.fail and self.fail in " ".join([name, *words]):
            return CommandResult(list(argv), 1, "", "it broke")
        answer = ""
        if name == "grubby":
            answer = self._grubby(words)
        elif name == "tuned-adm":
            write(self.root, "/etc/tuned/active_profile", " ".join(words[1:]) + "\n")
            write(self.root, "/etc/tuned/profile_mode", "manual\n")
        elif name == "systemctl" and words[-1] == "irqbalance.service":
            self._irqbalance(words[0])
        return CommandResult(list(argv), 0, answer, "")

    def names(self) -> t.List[str]:
        return [" ".join(call) for call in self.calls]

    def _grubby(self, words: t.Sequence[str]) -> str:
        if words[-1] == "--info=ALL":
            return self.grubby_info
        option, _equals, text = words[-1].partition("=")
        args = [word for word in self.grubby_info.split('"')[1].split() if word not in text.split()]
        args += text.split() if option == "--args" else []
        self.grubby_info = 'args="{0}"\n'.format(" ".join(args))
        return ""

    def _irqbalance(self, verb: str) -> None:
        wants = self.root / "etc/systemd/system/multi-user.target.wants/irqbalance.service"
        comm = self.root / "proc/77/comm"
        if verb in ("start", "enable"):
            write(self.root, str((comm if verb == "start" else wants).relative_to(self.root)), "irqbalance\n")
        elif verb == "disable":
            for path in (wants, comm):
                if path.exists() or path.is_symlink():
                    path.unlink()


def start_irqbalance(root: pathlib.Path) -> None:
    write(root, "/proc/77/comm", "irqbalance\n")
    write(root, "/etc/systemd/system/multi-user.target.wants/irqbalance.service", "irqbalance\n")


def start_tuned(root: pathlib.Path, profile: str = "balanced", mode: str = "manual") -> None:
    write(root, "/proc/78/comm", "tuned\n")
    write(root, "/etc/tuned/active_profile", profile + "\n")
    write(root, "/etc/tuned/profile_mode", mode + "\n")


class Bench:
    """A host in a folder and the ways to run host_tuning on it."""

    def __init__(self, root: pathlib.Path, monkeypatch: t.Any, machine: str = "aarch64", release: str = "6.6.0-72.oe2403") -> None:
        self.root = root
        self.tools = Tools(root)
        self.chips: t.List[t.Dict[str, t.Any]] = []
        make_host(root)
        monkeypatch.setattr(_tuning_host.platform, "machine", lambda: machine)
        monkeypatch.setattr(_tuning_host.platform, "release", lambda: release)
        monkeypatch.setattr(_tuning_host.os, "sysconf", lambda _name: 4096)

    def task(self, state: str = "present", is_root: bool = True, host_type: str = "auto", **knobs: t.Any) -> TuningTask:
        params = {"state": state, "knobs": knobs, "npus": self.chips, "host_type": host_type, "record": RECORD}
        return TuningTask(params, self.tools, lambda name, _dirs: "/usr/sbin/" + name, is_root, str(self.root))

    def run(self, check: bool = False, **options: t.Any) -> t.Dict[str, t.Any]:
        return self.task(**options).execute(check)

    def absent(self, check: bool = False) -> t.Dict[str, t.Any]:
        return self.run(check, state="absent")

    def read(self, path: str) -> str:
        return read(self.root, path)

    def has(self, path: str) -> bool:
        return os.path.lexists(str(self.root) + path)


def rows_of(result: t.Mapping[str, t.Any]) -> t.Dict[str, t.Dict[str, str]]:
    return {row["knob"]: row for row in result["table"]}
