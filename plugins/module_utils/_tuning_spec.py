# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""What a play wants of host_tuning: every knob checked, in the units of the kernel, before the host is looked at."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_values import format_cpus, parse_cpus

SIZE = re.compile(r"(\d+)\s*(k|m|g)?(?:i?b)?", re.IGNORECASE)
FACTORS = {"k": 1, "m": 1024, "g": 1024**2}
HUGEPAGES_KEYS = ("size", "count", "node")
MEMLOCK_UNLIMITED = "unlimited"

# Every knob, in the order of the table. numa_plan and tuned are rows of the table and no options.
KNOBS = (
    "hugepages",
    "shmmax_bytes",
    "shmall_pages",
    "transparent_hugepage",
    "swappiness",
    "numa_balancing",
    "sched_migration_cost_ns",
    "cpu_governor",
    "irqbalance",
    "npu_irq_affinity",
    "npu_work_queue_affinity",
    "numa_plan",
    "reserved_ports",
    "iommu_passthrough",
    "nofile",
    "memlock",
    "tuned",
)

# Lowest and highest value that the kernel takes (Documentation/admin-guide/sysctl; 200 is the end of swappiness since Linux 5.8).
RANGES = {
    "shmmax_bytes": (1, 2**63 - 1),
    "shmall_pages": (0, 2**63 - 1),
    "swappiness": (0, 200),
    "numa_balancing": (0, 1),
    "sched_migration_cost_ns": (0, 10**9),
    "nofile": (1024, 2**30),
}


class HugePages(t.NamedTuple):
    """So many pages of one size. ``size_kb`` None is the kernel's default size, ``node`` None spreads them over all NUMA nodes."""

    size_kb: t.Optional[int]
    pages: int
    node: t.Optional[int]


class Knobs(t.NamedTuple):
    """The wanted state. None, an empty list and False leave a knob as it was found."""

    hugepages: t.Tuple[HugePages, ...] = ()
    hugepages_share: float = 0.5
    shmmax_bytes: t.Optional[int] = None
    shmall_pages: t.Optional[int] = None
    transparent_hugepage: t.Optional[str] = None
    swappiness: t.Optional[int] = None
    numa_balancing: t.Optional[int] = None
    sched_migration_cost_ns: t.Optional[int] = None
    cpu_governor: t.Optional[str] = None
    irqbalance: str = "keep"
    npu_irq_affinity: bool = False
    npu_work_queue_affinity: bool = False
    reserved_ports: str = ""
    iommu_passthrough: bool = False
    nofile: t.Optional[int] = None
    memlock: t.Optional[str] = None
    limits_for: t.Tuple[str, ...] = ("*", "root")


def size_kb(text: str) -> int:
    """Kilobytes of ``2M``, ``1G``, ``64K``, ``2048`` (kB, as in the names below /sys/kernel/mm/hugepages).

    :raises NpufleetError: no such size
    """
    match = SIZE.fullmatch(text.strip())
    if match is None or int(match.group(1)) == 0:
        raise NpufleetError(
            "{0!r} is no size of a huge page".format(text), where="knobs.hugepages", remedy="Write it as 2M, 32M, 512M or 1G"
        )
    return int(match.group(1)) * FACTORS[(match.group(2) or "k").lower()]


def size_text(kilobytes: int) -> str:
    """``2M`` for 2048."""
    for letter in ("g", "m"):
        if kilobytes % FACTORS[letter] == 0:
            return "{0}{1}".format(kilobytes // FACTORS[letter], letter.upper())
    return "{0}K".format(kilobytes)


def knobs_of(params: t.Mapping[str, t.Any]) -> Knobs:
    """Check the option ``knobs`` of the module.

    :raises NpufleetError: a value that the kernel would refuse, or that would lock people out
    """
    given = {name: value for name, value in params.items() if value is not None}
    for name, (lowest, highest) in RANGES.items():
        if name in given and not lowest <= given[name] <= highest:
            raise NpufleetError(
                "{0} is outside of {1} to {2}".format(given[name], lowest, highest),
                where="knobs." + name,
                remedy="Use a value in that range",
            )
    share = given.get("hugepages_share", 0.5)
    if not 0 < share <= 0.9:
        raise NpufleetError(
            "{0} is no share of the free memory".format(share), where="knobs.hugepages_share", remedy="Use more than 0 and at most 0.9"
        )
    given["hugepages"] = tuple(_hugepages(item) for item in given.get("hugepages", []))
    if "reserved_ports" in given:
        given["reserved_ports"] = _ports(str(given["reserved_ports"]))
    if "memlock" in given:
        given["memlock"] = _memlock(str(given["memlock"]))
    if "limits_for" in given:
        given["limits_for"] = tuple(_domain(name) for name in given["limits_for"])
    return Knobs(**given)


def _hugepages(item: t.Mapping[str, t.Any]) -> HugePages:
    if item["count"] < 0 or (item.get("node") or 0) < 0:
        raise NpufleetError("a count or a node below zero", where="knobs.hugepages", remedy="Use 0 or more")
    return HugePages(size_kb(str(item["size"])) if item.get("size") else None, item["count"], item.get("node"))


def _ports(text: str) -> str:
    try:
        ports = parse_cpus(text)
    except NpufleetError:
        ports = (0,)
    if any(not 0 < port < 65536 for port in ports) or (text.strip() and not ports):
        raise NpufleetError(
            "{0!r} is no list of ports".format(text[:80]),
            where="knobs.reserved_ports",
            remedy="Write it as 60000-60255,61000, from 1 to 65535",
        )
    return format_cpus(ports)


def _memlock(text: str) -> str:
    if text.lower() in (MEMLOCK_UNLIMITED, "infinity", "-1"):
        return MEMLOCK_UNLIMITED
    if not re.fullmatch(r"\d{1,15}", text):
        raise NpufleetError("{0!r} is no limit".format(text), where="knobs.memlock", remedy="Use unlimited or a number of KiB")
    return str(int(text))


def _domain(name: str) -> str:
    if not re.fullmatch(r"\*|@?[A-Za-z_][\w.-]{0,63}\$?", name):
        raise NpufleetError(
            "{0!r} is no user, @group or *".format(name), where="knobs.limits_for", remedy="Write it as the first column of limits.conf(5)"
        )
    return name
