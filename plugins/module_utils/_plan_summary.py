# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""What a plan says of a host, and the plan as a table that a person reads. Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._plan_host import Site
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_ports import RANGES
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_values import Row, gib, shown
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_values import format_cpus

HEAD = ("engine", "host", "role", "chips", "layout", "CPUs", "ports", "shm")


def host_summary(site: Site) -> Row:
    """Return what is left of a host, which chips cannot be used and why, and the ports that the kernel has to leave alone.

    Ports of HCCL lie where Linux takes ports for connections by itself (32768 to 60999), so CANN wants them reserved.
    """
    host = site.host
    hccl = [port for port, holder in site.ports.items() if holder.startswith("engine ") and port >= RANGES["hccl"].first]
    return {
        "soc": host.soc,
        "problem": host.problem,
        "chips": len(host.chips),
        "free": [host.chips[index].device for index in sorted(site.open)],
        "unusable": [
            {"device": chip.device, "card": chip.card, "chip": chip.die, "reason": site.fault(index)}
            for index, chip in enumerate(host.chips)
            if index not in site.chips and site.fault(index) is not None
        ],
        "engines": sorted(set(site.chips.values())),
        "hccl_ports": format_cpus(hccl),
    }


def text(plan: t.Mapping[str, t.Any]) -> str:
    """Return a plan of ``make_plan`` as lines: a table of the engines, why they are so, and what is left of the hosts."""
    rows = [_cells(row) for row in plan["engines"]]
    lines = _table([HEAD, *rows]) if rows else ["No engine is wanted."]
    for name, reasons in _reasons(plan["engines"]).items():
        lines += ["", "Why {0}:".format(name), *("  - " + reason for reason in reasons)]
    lines += ["", "Hosts:", *(_host(name, row) for name, row in plan["hosts"].items())]
    return "\n".join(lines) + "\n"


def _cells(row: Row) -> t.Tuple[str, ...]:
    layout = row["layout"]
    sizes = (("TP", "tensor_parallel_size"), ("PP", "pipeline_parallel_size"), ("DP", "data_parallel_size"))
    words = ["{0}{1}".format(name, layout[key]) for name, key in sizes if layout[key] > 1 or name == "TP"]
    return (
        row["name"],
        row["host"],
        row["role"] if row["role"] == "single" else "{0} {1}".format(row["role"], row["rank"]),
        shown(chip["phy_id"] for chip in row["chips"]),
        " ".join(words + (["EP"] if layout["enable_expert_parallel"] else [])),
        "{0} {1}".format(row["binding"], row["cpuset"]) if row["cpuset"] else row["binding"],
        " ".join(str(port) for port in row["ports"].values()) or "-",
        gib(row["shm_bytes"]),
    )


def _table(rows: t.Sequence[t.Sequence[str]]) -> t.List[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
    return [lines[0], "  ".join("-" * width for width in widths), *lines[1:]]


def _reasons(rows: t.Sequence[Row]) -> t.Dict[str, t.List[str]]:
    """Reasons by engine, each once, those of one member named after its host."""
    found: t.Dict[str, t.List[str]] = {}
    for row in rows:
        told = found.setdefault(row["name"], [])
        told += [reason for reason in row["reasons"] if reason not in told]
    return found


def _host(name: str, row: Row) -> str:
    if row["problem"]:
        return "  {0}: cannot be used: {1}".format(name, row["problem"])
    line = "  {0}: {1} {2} chips, {3} free".format(name, row["chips"], row["soc"] or "unusable", len(row["free"]))
    faults = ["{0}: {1}".format(one["device"], one["reason"]) for one in row["unusable"]]
    return line + "".join("\n    {0}".format(fault) for fault in faults)
