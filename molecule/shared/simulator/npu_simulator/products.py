# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Products: what an idle, healthy host of each kind looks like. Numbers come from public captures unless README.md says otherwise."""

from __future__ import annotations

import typing as t

from npu_simulator.state import DEFAULT_CALL_LOG, Chip, SimulatorError, State
from npu_simulator.table import LAYOUTS


class Product(t.NamedTuple):
    """One kind of host.

    :ivar npus: NPU (card) ids
    :ivar buses: one bus id for each chip, or one for each card when its chips share it; None stands for "NA"
    :ivar nodes: NUMA node of each card
    :ivar memory: DDR used and total of each chip of a card, in MB
    :ivar hbm: HBM used and total, in MB
    :ivar pci: device id, subsystem vendor, subsystem device; None when there is no PCI function
    """

    title: str
    generation: str
    form: str
    name: str
    soc: str
    layout: str
    version: str
    firmware: str
    npus: t.Tuple[int, ...]
    buses: t.Tuple[t.Optional[str], ...]
    nodes: t.Tuple[int, ...]
    cpus_per_node: int
    node_count: int
    memory: t.Tuple[t.Tuple[int, int], ...]
    hbm: t.Tuple[int, int]
    power: t.Tuple[t.Any, ...]
    pci: t.Optional[t.Tuple[str, str, str]]
    board_id: str
    aicores: int
    hugepages: t.Tuple[int, int] = (0, 0)
    has_process_table: bool = True


_A2_BUSES = ("0000:C1:00.0", "0000:01:00.0", "0000:C2:00.0", "0000:02:00.0", "0000:81:00.0", "0000:41:00.0", "0000:82:00.0", "0000:42:00.0")
_EIGHT = tuple(range(8))
_A3_FIRST_BUSES = (0x9D, 0x37, 0xA1, 0x3B, 0xC5, 0x89, 0xC9, 0x8D)
_A3_BUSES = tuple("0000:{0:02X}:00.0".format(first + 2 * die) for first in _A3_FIRST_BUSES for die in (0, 1))
_A2 = Product(
    "Atlas 800I A2", "A2", "server", "910B4", "Ascend910B4", "L6", "25.5.1", "7.8.0.6.201", _EIGHT, _A2_BUSES,
    (6, 0, 6, 0, 4, 2, 4, 2), 24, 8, ((0, 0),), (2859, 32768), (85.9,), ("0xD802", "0x19E5", "0x3002"), "0x60", 20,
)  # fmt: skip
_A3 = Product(
    "Atlas 800I A3", "A3", "server", "Ascend910", "Ascend910_9391", "L7", "25.5.0", "7.8.0.5.216", _EIGHT, _A3_BUSES,
    _EIGHT, 80, 8, ((0, 0), (0, 0)), (3133, 65536), (162.8, "-"), ("0xD803", "0x19E5", "0x3003"), "0xb3", 20,
)  # fmt: skip
_DUO = Product(
    "Atlas 300I Duo", "310P", "card", "310P3", "Ascend310P3", "L5b", "25.5.0", "7.8.0.5.216", (0, 96, 32768, 32896),
    ("0000:01:00.0", "0000:02:00.0", "0000:81:00.0", "0000:82:00.0"), (0, 0, 1, 1), 32, 2,
    ((1529, 44280), (1463, 43693)), (0, 0), ("NA", "NA"), ("0xD500", "0x0200", "0x0110"), "0xb1", 8,
)  # fmt: skip
_A1 = Product(
    "Atlas 800 (9000)", "910", "server", "910A", "Ascend910A", "L6", "23.0.5", "7.1.0.7.220", _EIGHT, _A2_BUSES,
    (3, 0, 3, 0, 2, 1, 2, 1), 48, 4, ((2346, 15567),), (0, 32768), (67.0,), ("0xD801", "0x0200", "0x0100"), "0x02", 30,
)  # fmt: skip
_A5 = Product(
    "Atlas 350", "A5", "card", "Ascend950PR", "Ascend950PR_9579", "L9", "25.7.rc1", "9.0.0.105.229", tuple(range(7)),
    ("0000:01:00.0", "0000:11:00.0", "0000:61:00.0", "0000:71:00.0", "0000:81:00.0", "0000:91:00.0", "0000:F1:00.0"),
    (0, 0, 0, 0, 1, 1, 1), 64, 2, ((0, 0),), (5413, 131072), (188.7,), ("0xD806", "0x19E5", "0x4004"), "0x1a", 32,
)  # fmt: skip

PRODUCTS: t.Dict[str, Product] = {
    "atlas-800i-a2": _A2,
    "atlas-800t-a2": _A2._replace(
        title="Atlas 800T A2", name="910B3", soc="Ascend910B3", hbm=(3318, 65536), power=(98.2,),
        pci=("0xD802", "0x19E5", "0x3001"), board_id="0x30",
    ),
    "atlas-300i-a2": _A2._replace(title="Atlas 300I A2", npus=(0,), pci=("0xD802", "0x19E5", "0x4000"), board_id="0x28"),
    "atlas-200t-a2-box16": _A2._replace(
        title="Atlas 200T A2 Box16", name="910B2C", soc="Ascend910B2C", version="23.0.2.1", hbm=(3318, 65536), power=(88.6,),
        npus=tuple(range(16)), buses=tuple("0000:{0:02X}:00.0".format(0x19 + 8 * npu) for npu in range(16)),
        nodes=(0,) * 8 + (1,) * 8, cpus_per_node=48, node_count=2, pci=("0xD802", "0x19E5", "0x3400"), board_id="0x50", aicores=24,
    ),
    "atlas-800-a3": _A3,
    "atlas-300i-duo": _DUO,
    "atlas-300i-pro": _DUO._replace(
        title="Atlas 300I Pro", layout="L5", version="23.0.rc2", npus=(8,), memory=((1700, 21527),),
        power=("NA",), pci=("0xD500", "0x0200", "0x0100"), board_id="0x64",
    ),
    "atlas-800-9000": _A1,
    "atlas-300t-9000": _A1._replace(
        title="Atlas 300T (9000)", form="card", npus=(1, 4), layout="L2", version="21.0.3.2", has_process_table=False,
    ),
    "atlas-350": _A5,
    "atlas-950": _A5._replace(
        title="Atlas 950", form="server", name="Ascend950DT", soc="Ascend950DT_9582", layout="L10", version="25.6.rc1.b218", npus=_EIGHT,
        buses=(None,) * 8, nodes=(0, 0, 0, 0, 1, 1, 1, 1), hbm=(5413, 98304), pci=None, board_id="NA",
    ),
    "atlas-300i-3010": Product(
        "Atlas 300I (3010)", "310", "card", "310", "Ascend310", "L1", "21.0.3.1", "1.79.22.4.220", (1, 3, 4, 6),
        tuple("0000:{0:02X}:00.0".format(first + chip) for first in (0x01, 0x0A, 0x81, 0x8B) for chip in range(4)), (0, 0, 1, 1), 32, 2,
        ((2621, 8192),) * 4, (0, 0), (12.8,) * 4, ("0xD100", "0x0200", "0x0100"), "0xc8", 2, has_process_table=False,
    ),
    "atlas-200i-a2": Product(
        "Atlas 200I A2", "310B", "card", "310B1", "Ascend310B1", "L5", "23.0.rc3", "7.1.0.3.220", (0,), (None,), (0,), 4, 1,
        ((7356, 11577),), (0, 0), (9.0,), None, "0x00", 1, hugepages=(15, 15), has_process_table=False,
    ),
}  # fmt: skip

# Another chip of the same family in the same product, with its HBM in MB.
CHIP_HBM = {"910B1": 65536, "910B2": 65536, "910B2C": 65536, "910B3": 65536, "910B4": 32768, "910B4-1": 65536}


def make_state(
    product: str,
    layout: t.Optional[str] = None,
    version: t.Optional[str] = None,
    chip_name: t.Optional[str] = None,
    npus: t.Optional[t.Sequence[int]] = None,
) -> State:
    """Return the state of an idle, healthy host.

    :param product: a key of PRODUCTS
    :param layout: a key of LAYOUTS; default: the one the product was seen with
    :param version: version of tool and driver
    :param chip_name: another chip of the A2 family, see CHIP_HBM
    :param npus: other NPU ids, also with gaps or fewer than the product has
    :raises SimulatorError: for an unknown product, layout, chip, or more NPUs than the product has
    """
    base = _lookup("product", PRODUCTS, product)
    layout = layout or base.layout
    _lookup("layout", LAYOUTS, layout)
    if chip_name:
        base = base._replace(name=chip_name, soc="Ascend" + chip_name, hbm=(base.hbm[0], _lookup("chip", CHIP_HBM, chip_name)))
    ids = list(base.npus if npus is None else npus)
    if len(ids) > len(base.npus):
        raise SimulatorError("{0} has {1} NPUs, {2} were asked for".format(product, len(base.npus), len(ids)))
    has_processes = base.has_process_table and bool(LAYOUTS[layout].process_cells)
    return {
        "product": product,
        "generation": base.generation,
        "form": base.form,
        "layout": layout,
        "tool_version": version or base.version,
        "driver_version": version or base.version,
        "firmware_version": base.firmware,
        "board": _board(base),
        "chips": _chips(base, ids),
        "processes": [] if has_processes else None,
        "preamble": [],
        "trailing": [],
        "faults": {"mode": "none", "delay_seconds": 0},
        "call_log": DEFAULT_CALL_LOG,
    }


def _lookup(kind: str, table: t.Mapping[str, t.Any], key: str) -> t.Any:
    if key not in table:
        raise SimulatorError("unknown {0} {1}; known: {2}".format(kind, key, ", ".join(sorted(table))))
    return table[key]


def _board(base: Product) -> t.Dict[str, t.Any]:
    device, vendor, subsystem = base.pci or ("NA", "NA", "NA")
    return {
        "title": base.title,
        "soc": base.soc,
        "board_id": base.board_id,
        "pci_device": device,
        "subsystem_vendor": vendor,
        "subsystem_device": subsystem,
        "aicores": base.aicores,
        "numa_nodes": base.node_count,
        "cpus_per_node": base.cpus_per_node,
    }


def _chips(base: Product, ids: t.Sequence[int]) -> t.List[Chip]:
    dies = len(base.memory)
    shared_bus = len(base.buses) < len(base.npus) * dies
    chips: t.List[Chip] = []
    for position, npu in enumerate(ids):
        node = base.nodes[position]
        for die in range(dies):
            index = position * dies + die
            chips.append(
                {
                    "npu": npu,
                    "chip": die,
                    "device": index,
                    "phy": index,
                    "name": base.name,
                    "health": "OK",
                    "errors": [],
                    "power": base.power[die],
                    "temp": 36 + index % 8,
                    "hugepages": list(base.hugepages),
                    "bus": base.buses[position if shared_bus else index],
                    "util": 0,
                    "memory": list(base.memory[die]),
                    "hbm": list(base.hbm),
                    "numa_node": node,
                    "cpus": "{0}-{1}".format(node * base.cpus_per_node, (node + 1) * base.cpus_per_node - 1),
                }
            )
    return chips


def kill_chip(chip: Chip) -> None:
    """Make a chip dead: its getters fail, and npu-smi prints the zeros of a cleared structure (published source)."""
    chip.update(power=0.0, temp=0, hugepages=[0, 0], bus="0000:00:00.0", util=0, memory=[0, 0], hbm=[0, 0])
