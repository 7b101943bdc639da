# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whatever the hosts are and whatever is wanted: a plan that keeps its promises, or one error of the family."""

from __future__ import annotations

import copy
import json

from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_fleet import make_plan
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_model import (
    CHOSEN_RESERVE,
    GIVEN_RESERVE,
    UTILIZATION,
    Parallel,
    chip_bytes,
    read_model,
    room,
)
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_ports import span
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_summary import text
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_values import parse_cpus
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.test_plan_fleet import (
    GB,
    LLAMA_70B,
    QWEN_32B,
    R1,
    a2_facts,
    a3_facts,
    chip_row,
    host,
)
from hypothesis import given, settings
from hypothesis import strategies as st

HEALTH = st.sampled_from(["OK"] * 24 + ["Warning", "Alarm", "UNKNOWN", None])
CONFIGS = {
    "small": {"num_attention_heads": 28, "num_key_value_heads": 4, "num_hidden_layers": 28},
    "qwen": QWEN_32B,
    "llama": LLAMA_70B,
    "r1": R1,
    "none": {},
}
MIB = 1 << 20


@st.composite
def hardware(draw):
    """A host of one generation: gaps in the ids, A3 dies and Duo chips on cards, broken chips, near CPUs known or not, links or not."""
    generation = draw(st.sampled_from(["A2", "A2", "A2", "A3", "A3", "310P", "A5", "A2", "A3", "A1"]))
    dies = 2 if generation in ("A3", "310P") else 1
    cards = draw(st.lists(st.integers(0, 11), min_size=draw(st.sampled_from([1, 2, 4, 8])), max_size=8, unique=True))
    nodes = draw(st.sampled_from([0, 1, 2, 4]))
    width = draw(st.integers(4, 24))
    memory = draw(st.sampled_from([32768, 65536]))
    chips = []
    for place, card in enumerate(sorted(cards)):
        for die in range(dies if draw(st.integers(0, 29)) else 1):
            node = place % nodes if nodes else None
            chips.append(
                chip_row(
                    card * dies + die,
                    generation,
                    npu_id=card,
                    chip_id=die,
                    logic_id=len(chips),
                    health=draw(HEALTH),
                    responding=draw(st.integers(0, 29)) > 0,
                    memory_total_mb=memory,
                    numa_node=node,
                    cpu_affinity=None if node is None else "{0}-{1}".format(node * width, node * width + width - 1),
                    processes=draw(st.sampled_from([[]] * 16 + [None] * 4 + [[{"pid": 7, "name": "x"}]])),
                )
            )
    npu = {"available": True, "generation": generation, "chips": chips, "control_nodes": [], "topology": None}
    if draw(st.booleans()):
        links = draw(st.dictionaries(st.sampled_from(["0-1", "1-2", "2-3", "4-5", "6-7"]), st.sampled_from(["HCCS", "SYS", "SIO"])))
        npu["topology"] = {"label": "Phy-ID", "devices": [], "links": links}
    cpus = draw(st.sampled_from([None, nodes * width or 64, 192, 192]))
    return npu, draw(st.sampled_from(["aarch64", "x86_64", None])), cpus


@st.composite
def fleets(draw):
    """Up to three hosts, often of one kind, so that an engine may take several."""
    rows = draw(st.lists(hardware(), min_size=1, max_size=3))
    if draw(st.booleans()):
        rows = [rows[0]] * draw(st.integers(2, 3))
    return {"h{0}".format(place): host(copy.deepcopy(npu), place + 1, arch=arch, cpus=cpus) for place, (npu, arch, cpus) in enumerate(rows)}


@st.composite
def engines(draw):
    """Engines most of which can be placed somewhere."""
    found = []
    for place in range(draw(st.integers(1, 4))):
        row = {"name": "e{0}".format(place), "devices": draw(st.sampled_from(["explicit", "explicit", "runtime", "bare_metal"]))}
        kind = draw(st.sampled_from(["weights", "npus", "both", "layout"]))
        config = draw(st.sampled_from(sorted(CONFIGS)))
        row["config"] = CONFIGS[config]
        if kind in ("weights", "both"):
            row["weights_bytes"] = draw(st.sampled_from([1, 15, 30, 65, 141, 400, 690])) * GB
            row["quantization"] = draw(st.sampled_from([None, "w8a8", "w4a8"]))
        if kind in ("npus", "both"):
            row["npus"] = draw(st.sampled_from([1, 2, 3, 4, 8, 16]))
        if kind == "layout":
            row["layout"] = {
                "tensor_parallel_size": draw(st.sampled_from([1, 2, 4, 5, 8])),
                "data_parallel_size": draw(st.sampled_from([1, 2])),
            }
        if draw(st.integers(0, 3)) == 0:
            row["host_count"] = draw(st.sampled_from([2, 3]))
            row["distributed"] = draw(st.sampled_from(["native", "ray"]))
        if draw(st.integers(0, 5)) == 0:
            row["port"] = draw(st.sampled_from([8000, 8001, 60000]))
        if draw(st.integers(0, 5)) == 0:
            row["chips"] = draw(st.lists(st.integers(0, 7), min_size=1, max_size=4, unique=True))
        if draw(st.integers(0, 5)) == 0:
            row["cpuset"] = draw(st.sampled_from(["0-9", "5-24", "0-95"]))
        elif draw(st.integers(0, 5)) == 0:
            row["binding"] = draw(st.sampled_from(["plugin", "cpuset", "numactl", "none"]))
        found.append(row)
    return found


def planned(hosts, wanted):
    """The plan of the engines that have a place, and these engines; each of the others is refused with a whole message."""
    plan, placed = make_plan(hosts, []), []
    for row in wanted:
        try:
            plan = make_plan(hosts, [*placed, row])
        except NpufleetError as exc:
            assert exc.where and exc.remedy, str(exc)
        else:
            placed.append(row)
    return plan, placed


def held(rows, key):
    return [one for row in rows for one in key(row)]


def once(values):
    return len(values) == len(set(values))


@settings(max_examples=80, deadline=None)
@given(fleets(), engines())
def test_engines_share_nothing_and_use_only_what_is_good(hosts, wanted):
    plan, _left = planned(hosts, wanted)
    for name, row in hosts.items():
        rows = [one for one in plan["engines"] if one["host"] == name]
        numbers = held(rows, lambda one: [chip["phy_id"] for chip in one["chips"]])
        assert once(numbers)
        assert once(held(rows, lambda one: parse_cpus(one["cpuset"] or "")))
        assert once(held(rows, lambda one: [port for value in one["ports"].values() for port in span(value)]))
        assert len(rows) < 2 or all(one["binding"] != "plugin" for one in rows)
        by_number = {chip["phy_id"]: chip for chip in row["npu"]["chips"]}
        for number in numbers:
            chip = by_number[number]
            assert chip["health"] == "OK"
            assert chip["responding"]
            assert not chip["processes"]
            assert chip["generation"] != "A1"
            if chip["generation"] == "A3":
                assert number ^ 1 in numbers, "the other die"
                assert by_number[number ^ 1]["npu_id"] == chip["npu_id"]
        for one in rows:
            assert (
                one["devices"] == sorted({chip["device"] for chip in one["chips"]}, key=lambda path: int(path[12:])) or one["devices"] == []
            )
            assert len(parse_cpus(one["cpuset"] or "")) >= 5 * len(one["chips"]) or one["cpuset"] is None
            assert (one["cpuset"] is None) == (one["binding"] in ("plugin", "none"))


@settings(max_examples=80, deadline=None)
@given(fleets(), engines())
def test_layouts_add_up_and_the_weights_fit(hosts, wanted):
    plan, left = planned(hosts, wanted)
    for engine in left:
        rows = [row for row in plan["engines"] if row["name"] == engine["name"]]
        layout = rows[0]["layout"]
        sizes = Parallel(*(layout[key + "_parallel_size"] for key in ("tensor", "pipeline", "data")), layout["enable_expert_parallel"])
        assert sizes.chips == sum(len(row["chips"]) for row in rows) == layout["chips"]
        assert {len(row["chips"]) for row in rows} == {layout["chips_per_host"]}
        assert [row["rank"] for row in rows] == list(range(layout["hosts"]))
        assert [row["role"] for row in rows] == (["single"] if len(rows) == 1 else ["head"] + ["member"] * (len(rows) - 1))
        assert engine["config"].get("num_attention_heads", 0) % sizes.tensor == 0
        assert sizes.pipeline <= engine["config"].get("num_hidden_layers", sizes.pipeline)
        assert all(reason for row in rows for reason in row["reasons"])
        if "weights_bytes" in engine:
            model = read_model(engine["config"], engine["weights_bytes"], engine["quantization"], None)
            memory = min(chip["memory_total_mb"] for row in rows for chip in hosts[row["host"]]["npu"]["chips"] if chip["memory_total_mb"])
            need, lower = chip_bytes(model, sizes)
            assert not lower or -(-model.weights // (sizes.tensor * sizes.pipeline)) <= room(memory * MIB, UTILIZATION, GIVEN_RESERVE)
            assert need <= room(memory * MIB, UTILIZATION, GIVEN_RESERVE if {"npus", "chips"} & set(engine) else CHOSEN_RESERVE)


@st.composite
def joined(draw):
    """Whole hosts of one kind on which some ports are taken, and engines on several of them, with Ray or without."""
    count, kind = draw(st.integers(2, 4)), draw(st.sampled_from([a2_facts, a3_facts]))
    hosts = {}
    for place in range(count):
        row = host(kind(), place + 1)
        row["reserved_ports"] = draw(st.lists(st.sampled_from([6379, 6380, 14000, 14111, 14112, 14300]), unique=True))
        hosts["h{0}".format(place)] = row
    wanted = []
    for place in range(draw(st.integers(1, 4))):
        several = draw(st.integers(2, count))
        sizes = {"tensor_parallel_size": draw(st.sampled_from([2, 4])), "pipeline_parallel_size": several, "data_parallel_size": 1}
        row = {"name": "e{0}".format(place), "config": LLAMA_70B, "host_count": several, "layout": sizes}
        wanted.append(dict(row, distributed=draw(st.sampled_from(["native", "ray", "ray"]))))
    return hosts, wanted


@settings(max_examples=80, deadline=None)
@given(joined())
def test_ray_is_what_was_asked_for_and_joins_all_hosts_of_an_engine(fleet_and_wanted):
    hosts, wanted = fleet_and_wanted
    plan, left = planned(hosts, wanted)
    for name, row in hosts.items():
        rows = [one for one in plan["engines"] if one["host"] == name]
        assert once(held(rows, lambda one: [port for value in one["ports"].values() for port in span(value)]) + row["reserved_ports"])
    for engine in left:
        rows = [row for row in plan["engines"] if row["name"] == engine["name"]]
        if engine.get("distributed") != "ray":
            assert {row["ray"] for row in rows} == {None}
            continue
        layout, head = rows[0]["layout"], rows[0]["ray"]
        assert (layout["data_parallel_size"], layout["hosts"] > 1) == (1, True)
        assert head["address"] == head["node_address"] == rows[0]["master_address"]
        assert sorted(row["ray"]["node_address"] for row in rows) == sorted(hosts[row["host"]]["address"] for row in rows)
        assert sum(row["ray"]["npus"] for row in rows) == layout["tensor_parallel_size"] * layout["pipeline_parallel_size"]
        for row in rows:
            assert (row["ray"]["address"], row["ray"]["port"]) == (head["address"], rows[0]["ports"]["ray"])
            assert len(span(row["ray"]["node_ports"])) == 112
            assert row["ray"]["node_ports"] == row["ports"]["ray_node"]
            assert not {"nnodes", "master_addr", "headless"} & set(row["args"])
            assert row["headless"] is (row is not rows[0])


STAYS = (
    "host", "chips", "devices", "cpuset", "binding", "command_prefix", "ports", "env", "args", "layout", "rank", "role", "headless", "ray",
)  # fmt: skip


def what_stays(plan, names):
    return {(row["name"], row["rank"]): {key: row[key] for key in STAYS} for row in plan["engines"] if row["name"] in names}


@settings(max_examples=80, deadline=None)
@given(fleets(), engines(), st.data())
def test_adding_and_removing_engines_moves_no_other(hosts, wanted, data):
    plan, left = planned(hosts, wanted)
    kept = [row for row in left if data.draw(st.booleans())]
    gone = [dict(row, state="absent") for row in left if row not in kept]
    hosts = with_processes(hosts, plan)
    added = [
        {"name": "new{0}".format(place), "npus": data.draw(st.sampled_from([1, 2, 4]))} for place in range(data.draw(st.integers(0, 2)))
    ]
    again = None
    for rows in (added, []):
        try:
            again = make_plan(hosts, data.draw(st.permutations([*kept, *gone, *rows])), plan["engines"])
            break
        except NpufleetError:
            assert rows, "what runs can stay"
    names = [row["name"] for row in kept]
    assert what_stays(again, names) == what_stays(plan, names)
    assert not [row for row in again["engines"] if row["name"] in [one["name"] for one in gone]]


def with_processes(hosts, plan):
    """The engines of a plan run: their processes are on their chips."""
    hosts = copy.deepcopy(hosts)
    for row in plan["engines"]:
        numbers = {chip["phy_id"] for chip in row["chips"]}
        for chip in hosts[row["host"]]["npu"]["chips"]:
            if chip["phy_id"] in numbers:
                chip["processes"] = [{"pid": 1, "name": "VLLM::Worker"}]
    return hosts


@settings(max_examples=40, deadline=None)
@given(fleets(), engines())
def test_a_plan_is_plain_and_the_same_each_time(hosts, wanted):
    plan, left = planned(hosts, wanted)
    assert json.loads(json.dumps(plan)) == plan == make_plan(hosts, left)
    shown = text(plan)
    assert all(row["name"] in shown and row["host"] in shown for row in plan["engines"])


SCALAR = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 70000), st.floats(allow_nan=True), st.text(max_size=6),
    st.sampled_from(["0-3", "8000", "60000-60015", "A3", "a2", "OK", "h", "HCCS", "0-1", "plugin", "9" * 5000, "0-999999"]),
)  # fmt: skip
KEYS = st.sampled_from([
    "npu", "chips", "generation", "phy_id", "npu_id", "chip_id", "logic_id", "health", "responding", "device_node", "memory_total_mb",
    "memory_used_mb", "processes", "cpu_affinity", "numa_node", "topology", "links", "label", "devices", "available", "control_nodes",
    "address", "interface", "arch", "cpus", "numa_nodes", "memory_mb", "reserved_chips", "reserved_ports", "chip", "reason", "name",
    "state", "recipe", "model", "config", "weights_bytes", "expert_bytes", "quantization", "soc", "hosts", "host_count", "npus",
    "layout", "args", "env", "port", "binding", "cpuset", "distributed", "shm_bytes", "tensor_parallel_size", "data_parallel_size",
    "enable_expert_parallel", "weights", "minimum", "bytes", "additional_config", "host", "ports", "rank", "h", "num_attention_heads",
    "n_routed_experts", "HCCL_IF_BASE_PORT", "serving", "hccl", "errors", "codes",
])  # fmt: skip
ANYTHING = st.recursive(SCALAR, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=6), max_leaves=24)


@settings(max_examples=150, deadline=None)
@given(ANYTHING, ANYTHING, ANYTHING)
def test_anything_gives_a_plan_or_an_error_of_the_family(hosts, wanted, running):
    try:
        text(make_plan(hosts, wanted, running))
    except NpufleetError as exc:
        assert str(exc)


@st.composite
def damaged(draw, value):
    """A good input in which something is replaced by anything."""
    value = copy.deepcopy(value)
    for _time in range(draw(st.integers(1, 3))):
        inner = value
        while isinstance(inner, (dict, list)) and inner:
            key = draw(st.sampled_from(sorted(inner, key=str) if isinstance(inner, dict) else list(range(len(inner)))))
            if not isinstance(inner[key], (dict, list)) or not inner[key] or draw(st.integers(0, 3)) == 0:
                inner[key] = draw(ANYTHING)
                break
            inner = inner[key]
    return value


@settings(max_examples=80, deadline=None)
@given(fleets(), engines(), st.data())
def test_a_damaged_input_gives_a_plan_or_an_error_of_the_family(hosts, wanted, data):
    plan, left = planned(hosts, wanted)
    given_input = data.draw(damaged([hosts, left, plan["engines"]]))
    try:
        if isinstance(given_input, list) and len(given_input) == 3:
            text(make_plan(*given_input))
    except NpufleetError as exc:
        assert str(exc)
