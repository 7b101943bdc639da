# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Plan a fleet from facts that are in memory: seconds of the filter vllm_plan, its text included.

planning.py [--hosts 1000] [--runs 3] [--limit 2.0]

Every host has 16 chips with link matrix, CPU lists and process tables, as npu_facts with gather=topo returns them. Planning is one thread
that waits for nothing, so CPU seconds are what an idle machine needs; wall seconds are printed beside them. Ends with 1 when the median of the
CPU seconds of a scenario is above the limit.
"""

from __future__ import annotations

import argparse
import pathlib
import statistics
import sys
import time
import typing as t

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "collections"))

from ansible_collections.npufleet.ascend.plugins.module_utils._plan_fleet import make_plan
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_summary import text

Row = t.Dict[str, t.Any]
CHIPS = 16
R1 = {
    "num_attention_heads": 128, "num_key_value_heads": 128, "num_hidden_layers": 61, "n_routed_experts": 256, "hidden_size": 7168,
    "moe_intermediate_size": 2048, "first_k_dense_replace": 3, "num_nextn_predict_layers": 1, "kv_lora_rank": 512,
}  # fmt: skip
QWEN = {"num_attention_heads": 40, "num_key_value_heads": 8, "num_hidden_layers": 64}


def chip(number: int) -> Row:
    card, die = divmod(number, 2)
    return {
        "npu_id": card, "chip_id": die, "logic_id": number, "phy_id": number, "phy_id_source": "npu_smi", "slot_id": None,
        "device_node": "/dev/davinci{0}".format(number), "name": "Ascend910", "soc": None, "generation": "A3", "product": "Atlas 800I A3",
        "health": "OK", "responding": True, "power_w": 162.8, "temp_c": 40, "util_pct": 0, "memory_type": "HBM", "memory_used_mb": 3133,
        "memory_total_mb": 65536, "hbm_used_mb": 3133, "hbm_total_mb": 65536, "bus_id": "0000:9D:00.0", "numa_node": card,
        "cpu_affinity": "{0}-{1}".format(80 * card, 80 * card + 79), "processes": [], "board": None, "errors": None,
    }  # fmt: skip


def host(number: int) -> Row:
    links = {
        "{0}-{1}".format(first, second): "SIO" if first // 2 == second // 2 else "HCCS_SW"
        for first in range(CHIPS)
        for second in range(first + 1, CHIPS)
    }
    npu = {
        "available": True, "generation": "A3", "chips": [chip(number) for number in range(CHIPS)],
        "control_nodes": ["davinci_manager", "devmm_svm", "hisi_hdc"],
        "topology": {"label": "Phy-ID", "devices": list(range(CHIPS)), "links": links, "cpu_affinity": None},
    }  # fmt: skip
    return {
        "npu": npu,
        "address": "2001:db8::{0:x}".format(number + 1),
        "interface": "eth0",
        "arch": "aarch64",
        "cpus": "0-639",
        "memory_mb": 2000000,
    }


def large(name: str, **changes: t.Any) -> Row:
    return dict({"name": name, "weights_bytes": 690 * 10**9, "quantization": "w8a8", "config": R1}, **changes)


def scenarios(names: t.Sequence[str]) -> t.Iterator[t.Tuple[str, t.List[Row]]]:
    """Names of scenarios with their engines."""
    yield "one engine on each host, hosts named", [large("r1", hosts=[name]) for name in names]
    yield "one engine for each host, anywhere", [large("r1-{0}".format(place)) for place in range(len(names))]
    small = {"weights_bytes": 65 * 10**9, "config": QWEN, "npus": 4}
    yield "four engines for each host, anywhere", [dict(small, name="q-{0}".format(place)) for place in range(4 * len(names))]
    yield "groups of two hosts", [large("g-{0}".format(place), npus=2 * CHIPS) for place in range(len(names) // 2)]


def measure(runs: int, work: t.Callable[[], t.Any]) -> t.Tuple[t.List[float], t.List[float]]:
    """CPU and wall seconds of each run."""
    cpu, wall = [], []
    for _run in range(runs):
        began = time.process_time(), time.perf_counter()
        work()
        cpu.append(time.process_time() - began[0])
        wall.append(time.perf_counter() - began[1])
    return cpu, wall


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure the planning of a fleet.")
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--limit", type=float, default=2.0)
    options = parser.parse_args()
    hosts = {"npu-{0:05}".format(number): host(number) for number in range(options.hosts)}
    late = False
    print("{0} hosts x {1} chips, {2} runs, Python {3}".format(options.hosts, CHIPS, options.runs, sys.version.split()[0]))
    for title, engines in scenarios(list(hosts)):
        plan = make_plan(hosts, engines)
        for what, running in (("", None), (", all of them running", plan["engines"])):
            cpu, wall = measure(options.runs, lambda running=running, engines=engines: text(make_plan(hosts, engines, running)))
            late = late or statistics.median(cpu) > options.limit
            print("{0:<62} CPU {1:5.2f} s   wall {2:5.2f} s".format(title + what, statistics.median(cpu), statistics.median(wall)))
    return int(late)


if __name__ == "__main__":
    sys.exit(main())
