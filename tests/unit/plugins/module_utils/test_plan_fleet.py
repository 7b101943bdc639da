# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Also the builders of facts that the other tests of the planner use."""

from __future__ import annotations

import copy

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_fleet import make_plan
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_values import parse_cpus

GB = 10**9
R1 = {
    "num_attention_heads": 128, "num_key_value_heads": 128, "num_hidden_layers": 61, "n_routed_experts": 256, "hidden_size": 7168,
    "moe_intermediate_size": 2048, "first_k_dense_replace": 3, "num_nextn_predict_layers": 1, "kv_lora_rank": 512,
}  # fmt: skip
QWEN_32B = {"num_attention_heads": 40, "num_key_value_heads": 8, "num_hidden_layers": 64}
LLAMA_70B = {"num_attention_heads": 64, "num_key_value_heads": 8, "num_hidden_layers": 80}
RECIPE = {
    "name": "deepseek-r1-w8a8",
    "model": "DeepSeek-R1-W8A8",
    "soc": "a3",
    "weights": {"quantization": "w8a8", "bytes": 690 * GB},
    "npus": {"minimum": 16, "per_host": 16, "hosts": 1},
    "layout": {"tensor_parallel_size": 4, "data_parallel_size": 4, "pipeline_parallel_size": 1, "enable_expert_parallel": True},
    "args": {"max_num_seqs": 16, "quantization": "ascend", "additional_config": {"scheduler_config": {"enable_balance_scheduling": True}}},
    "env": {"HCCL_OP_EXPANSION_MODE": "AIV"},
}


def chip_row(number, generation, **changes):
    """One chip as npu_facts returns it: healthy, idle, with /dev/davinciN."""
    row = {
        "npu_id": number, "chip_id": 0, "logic_id": number, "phy_id": number, "device_node": "/dev/davinci{0}".format(number),
        "generation": generation, "health": "OK", "responding": True, "memory_total_mb": 65536, "memory_used_mb": 3000,
        "numa_node": None, "cpu_affinity": None, "processes": [], "errors": None,
    }  # fmt: skip
    return dict(row, **changes)


def facts(generation, count, first=0, cards=None, cpus=None, **changes):
    """Facts of a host with some chips; ``first`` is the number of the first device node, as in a VM with a part of the chips."""
    chips = []
    for index in range(count):
        card = first + index if cards is None else cards[index]
        die = 0 if cards is None else cards[:index].count(card)
        row = chip_row(first + index, generation, npu_id=card, chip_id=die, logic_id=index, cpu_affinity=cpus[index] if cpus else None)
        chips.append(dict(row, **changes))
    nodes = ["davinci_manager", "devmm_svm", "hisi_hdc", "ummu", "uburma"]
    return {"available": True, "generation": generation, "control_nodes": nodes, "chips": chips, "topology": None}


def a2_facts(**changes):
    """An Atlas 800I A2: eight chips on the even ones of eight nodes of 24 CPUs."""
    nodes = (6, 0, 6, 0, 4, 2, 4, 2)
    npu = facts("A2", 8, cpus=["{0}-{1}".format(24 * node, 24 * node + 23) for node in nodes], **changes)
    for row, node in zip(npu["chips"], nodes):
        row["numa_node"] = node
    return npu


def a3_facts(**changes):
    """An Atlas 800 A3: eight NPUs of two dies, each on a node of 80 CPUs."""
    cards = [index // 2 for index in range(16)]
    return facts("A3", 16, cards=cards, cpus=["{0}-{1}".format(80 * card, 80 * card + 79) for card in cards], **changes)


def duo_facts():
    """Four Atlas 300I Duo, whose two chips have one NPU id."""
    return facts("310P", 8, cards=[0, 0, 96, 96, 32768, 32768, 32896, 32896], memory_total_mb=43693)


def host(npu, number=1, **changes):
    """One host of the input, whose address ends with ``number``."""
    row = {
        "npu": npu,
        "arch": "aarch64",
        "cpus": "0-639",
        "address": "192.0.2.{0}".format(number),
        "interface": "eth0",
        "memory_mb": 1500000,
    }
    return dict(row, **changes)


def fleet(*npus):
    return {"npu-{0:02}".format(place): host(npu, place) for place, npu in enumerate(npus, 1)}


def rows(hosts, engines, running=None):
    return make_plan(hosts, engines, running)["engines"]


def numbers(row):
    return [chip["phy_id"] for chip in row["chips"]]


def test_one_host_with_a_recipe():
    (row,) = rows(fleet(a3_facts()), [{"name": "r1", "recipe": RECIPE, "config": R1}])
    assert row["devices"] == ["/dev/davinci{0}".format(number) for number in range(16)]
    assert row["control_devices"] == ["/dev/davinci_manager", "/dev/devmm_svm", "/dev/hisi_hdc"]
    assert row["chips"][3] == {"logic_id": 3, "phy_id": 3, "device": "/dev/davinci3", "card": 1, "chip": 1, "numa": None}
    assert row["args"] == {
        "tensor_parallel_size": 4,
        "pipeline_parallel_size": 1,
        "data_parallel_size": 4,
        "enable_expert_parallel": True,
        "additional_config": {"scheduler_config": {"enable_balance_scheduling": True}, "enable_cpu_binding": True},
    }
    assert row["env"] == {
        "HCCL_IF_IP": "192.0.2.1", "GLOO_SOCKET_IFNAME": "eth0", "TP_SOCKET_IFNAME": "eth0", "HCCL_SOCKET_IFNAME": "eth0",
        "HCCL_IF_BASE_PORT": "60000",
    }  # fmt: skip
    assert (row["role"], row["rank"], row["headless"], row["master_address"]) == ("single", 0, False, None)
    assert (row["binding"], row["cpuset"], row["command_prefix"]) == ("plugin", None, [])
    assert row["ports"] == {"serving": 8000, "hccl": "60000-60031"}
    assert row["shm_bytes"] == 1 << 30
    assert row["layout"]["data_parallel_size_local"] == 4
    assert any("of the recipe deepseek-r1-w8a8" in reason for reason in row["reasons"])


def test_two_hosts_with_native_data_parallel():
    head, second = rows(fleet(a2_facts(), a2_facts()), [{"name": "r1", "weights_bytes": 690 * GB, "quantization": "w8a8", "config": R1}])
    assert (head["role"], head["rank"], head["headless"], second["role"], second["rank"], second["headless"]) == (
        "head",
        0,
        False,
        "member",
        1,
        True,
    )
    assert {key: value for key, value in head["args"].items() if key.startswith("data_parallel")} == {
        "data_parallel_size": 4,
        "data_parallel_size_local": 2,
        "data_parallel_address": "192.0.2.1",
        "data_parallel_rpc_port": 13389,
    }
    assert second["args"]["data_parallel_start_rank"] == 2
    assert second["args"]["headless"] is True
    assert "headless" not in head["args"]
    assert second["master_address"] == "192.0.2.1"
    assert (head["env"]["HCCL_IF_IP"], second["env"]["HCCL_IF_IP"]) == ("192.0.2.1", "192.0.2.2")
    assert (second["env"]["HCCL_INTRA_PCIE_ENABLE"], second["env"]["HCCL_INTRA_ROCE_ENABLE"]) == ("1", "0")
    assert (head["ports"], second["ports"]) == (
        {"serving": 8000, "data_parallel_rpc": 13389, "hccl": "60000-60031"},
        {"hccl": "60000-60031"},
    )


def test_a_dense_model_over_two_hosts_takes_pipeline_parallel():
    config = {"num_attention_heads": 128, "num_key_value_heads": 8, "num_hidden_layers": 126}
    head, second = rows(fleet(a2_facts(), a2_facts(), a2_facts()), [{"name": "big", "weights_bytes": 810 * GB, "config": config}])
    assert (head["args"]["nnodes"], head["args"]["node_rank"], head["args"]["master_addr"], head["args"]["master_port"]) == (
        2,
        0,
        "192.0.2.1",
        29501,
    )
    assert (second["args"]["node_rank"], second["args"]["headless"]) == (1, True)
    assert (
        head["layout"]["tensor_parallel_size"],
        head["layout"]["pipeline_parallel_size"],
        head["layout"]["data_parallel_size_local"],
    ) == (8, 2, 1)


def test_ray_runs_vllm_on_the_head_alone():
    config = {"num_attention_heads": 128, "num_key_value_heads": 8, "num_hidden_layers": 126}
    engine = {"name": "big", "weights_bytes": 810 * GB, "config": config, "distributed": "ray"}
    head, second = rows(fleet(a2_facts(), a2_facts()), [engine])
    assert head["args"]["distributed_executor_backend"] == "ray"
    assert "nnodes" not in head["args"]
    assert (second["role"], second["headless"]) == ("member", True)
    assert "tensor_parallel_size" not in second["args"]
    assert (head["ports"]["ray"], head["ports"]["ray_node"], second["ports"]["ray_node"]) == (6379, "14000-14111", "14000-14111")
    assert "ray" not in second["ports"]
    common = {"address": "192.0.2.1", "port": 6379, "node_ports": "14000-14111", "npus": 8}
    assert head["ray"] == dict(common, node_address="192.0.2.1")
    assert second["ray"] == dict(common, node_address="192.0.2.2")
    assert rows(fleet(a2_facts(), a2_facts()), [dict(engine, distributed="native")])[0]["ray"] is None
    with pytest.raises(NpufleetError, match="Ray joins hosts for tensor and pipeline parallel"):
        rows(
            fleet(a2_facts(), a2_facts()),
            [{"name": "r1", "recipe": dict(RECIPE, soc="a2"), "host_count": 2, "config": R1, "distributed": "ray"}],
        )


def test_ray_takes_a_model_of_experts_with_a_layout_of_one_copy():
    sizes = {"tensor_parallel_size": 8, "pipeline_parallel_size": 2, "data_parallel_size": 1}
    engine = {"name": "r1", "recipe": dict(RECIPE, soc="a2"), "host_count": 2, "config": R1, "distributed": "ray", "layout": sizes}
    head, _second = rows(fleet(a2_facts(), a2_facts()), [engine])
    assert {name: head["args"][name] for name in sizes} == sizes
    assert head["args"]["enable_expert_parallel"] is True
    assert head["args"]["distributed_executor_backend"] == "ray"


def test_ray_on_one_host_is_refused():
    with pytest.raises(NpufleetError, match="Ray joins hosts, and the engine runs on one"):
        rows(fleet(a2_facts()), [{"name": "a", "weights_bytes": 65 * GB, "config": QWEN_32B, "distributed": "ray"}])


def test_engines_on_one_host_share_nothing():
    engines = [{"name": name, "weights_bytes": 65 * GB, "config": QWEN_32B} for name in ("a", "b", "c", "d")]
    found = rows(fleet(a2_facts()), engines)
    assert [numbers(row) for row in found] == [[0, 2], [1, 3], [4, 6], [5, 7]]
    assert [row["cpuset"] for row in found] == ["144-167", "0-23", "96-119", "48-71"]
    assert [row["ports"]["serving"] for row in found] == [8000, 8001, 8002, 8003]
    assert [row["ports"]["hccl"] for row in found] == ["60000-60031", "60032-60063", "60064-60095", "60096-60127"]
    assert all(row["args"]["additional_config"] == {"enable_cpu_binding": False} for row in found)


def test_engines_on_a_part_of_an_a3_get_ports_on_the_npu_too():
    engines = [{"name": name, "npus": 4, "weights_bytes": 65 * GB, "config": QWEN_32B} for name in ("a", "b")]
    found = rows(fleet(a3_facts()), engines)
    assert [row["env"]["HCCL_NPU_SOCKET_PORT_RANGE"] for row in found] == ["61000-61015", "61016-61031"]
    engines[0]["env"] = {"HCCL_NPU_SOCKET_PORT_RANGE": "auto"}
    assert "HCCL_NPU_SOCKET_PORT_RANGE" not in rows(fleet(a3_facts()), engines)[0]["env"]


def test_a_virtual_machine_with_two_chips_of_its_host():
    """Device nodes keep the numbers of the host; inside, and for the runtime of the VM, counting begins at 0."""
    hosts = {"vm": host(facts("A2", 2, first=4), cpus=24)}
    engine = {"name": "q", "weights_bytes": 65 * GB, "config": QWEN_32B}
    assert rows(hosts, [engine])[0]["devices"] == ["/dev/davinci4", "/dev/davinci5"]
    assert rows(hosts, [dict(engine, devices="runtime")])[0]["env"]["ASCEND_VISIBLE_DEVICES"] == "4-5"
    (row,) = rows(hosts, [dict(engine, devices="bare_metal")])
    assert (row["env"]["ASCEND_RT_VISIBLE_DEVICES"], row["devices"]) == ("0,1", [])


def test_a_recipe_that_selects_from_inside_counts_from_the_chips_it_got():
    recipe = {"name": "x", "env": {"ASCEND_RT_VISIBLE_DEVICES": "0,1,2,3"}, "layout": {"tensor_parallel_size": 2}}
    (row,) = rows(fleet(facts("A2", 4, first=2)), [{"name": "x", "recipe": recipe, "chips": [4, 5]}])
    assert (row["devices"], row["env"]["ASCEND_RT_VISIBLE_DEVICES"]) == (["/dev/davinci4", "/dev/davinci5"], "0,1")


def test_on_bare_metal_numactl_binds():
    (row,) = rows(fleet(a2_facts()), [{"name": "q", "npus": 2, "devices": "bare_metal"}])
    assert (row["binding"], row["cpuset"]) == ("numactl", "144-167")
    assert row["command_prefix"] == ["numactl", "--physcpubind=144-167", "--localalloc"]


def test_a_layout_without_experts_turns_off_what_a_recipe_turns_on():
    recipe = dict(RECIPE, args={"enable_expert_parallel": True}, layout={"tensor_parallel_size": 16})
    (row,) = rows(fleet(a3_facts()), [{"name": "r1", "recipe": recipe, "config": R1, "layout": {"enable_expert_parallel": False}}])
    assert row["args"]["enable_expert_parallel"] is False


def test_engines_that_run_stay_and_others_move_nothing():
    engines = [{"name": name, "weights_bytes": 65 * GB, "config": QWEN_32B} for name in ("a", "b", "c")]
    before = {row["name"]: row for row in rows(fleet(a2_facts()), engines)}
    busy = a2_facts(processes=[{"pid": 1, "name": "VLLM::Worker"}])
    busy["chips"][5]["processes"] = busy["chips"][7]["processes"] = []
    new = {"name": "0", "weights_bytes": 65 * GB, "config": QWEN_32B}
    after = {row["name"]: row for row in rows(fleet(busy), [new, engines[2], engines[0]], list(before.values()))}
    for name in ("a", "c"):
        for key in ("host", "chips", "devices", "cpuset", "binding", "ports", "env", "args", "rank"):
            assert after[name][key] == before[name][key], key
    assert numbers(after["0"]) == [5, 7]
    assert not {*parse_cpus(after["0"]["cpuset"])} & {*parse_cpus(before["b"]["cpuset"])}


def test_chips_of_an_engine_that_is_not_in_the_list_are_held_until_it_is_gone():
    engine = {"name": "a", "npus": 8}
    running = rows(fleet(a2_facts()), [engine])
    busy = fleet(a2_facts(processes=[{"pid": 1, "name": "x"}]))
    with pytest.raises(NpufleetError, match=r"engine a \(it runs, and is not in the list\) has it"):
        rows(busy, [{"name": "b", "npus": 2}], running)
    assert numbers(rows(busy, [{"name": "b", "npus": 2}, dict(engine, state="absent")], running)[0]) == [0, 2]


@pytest.mark.parametrize("had", [{"cpuset": "100-120", "binding": "cpuset"}, {"cpuset": None, "binding": "none"}])
def test_cpus_that_a_running_engine_has_are_not_chosen_anew(had):
    engine = {"name": "a", "npus": 2}
    (running,) = rows(fleet(a2_facts()), [engine])
    (row,) = rows(fleet(a2_facts()), [engine], [dict(running, **had)])
    assert {key: row[key] for key in had} == had
    assert any("as it runs" in reason and "CPUs" in reason for reason in row["reasons"])
    assert rows(fleet(a2_facts()), [dict(engine, binding="cpuset", cpuset="0-9")], [dict(running, **had)])[0]["cpuset"] == "0-9"


def test_an_engine_whose_host_is_gone_finds_another():
    engine = {"name": "a", "npus": 2}
    running = [dict(row, host="old") for row in rows(fleet(a2_facts()), [engine])]
    assert rows(fleet(a2_facts()), [engine], running)[0]["reasons"][0] == "it does not stay where it ran: host old is gone"


def test_an_engine_whose_chip_broke_moves_and_says_why():
    engine = {"name": "a", "npus": 2}
    running = rows(fleet(a2_facts()), [engine])
    npu = a2_facts(processes=[{"pid": 1, "name": "x"}])
    npu["chips"][0].update(health="Alarm")
    for number in (4, 6):
        npu["chips"][number]["processes"] = []
    (row,) = rows(fleet(npu, a2_facts()), [engine], running)
    assert numbers(row) == [4, 6]
    assert row["host"] == "npu-01"
    assert row["reasons"][0] == "it does not stay where it ran: /dev/davinci0 cannot be used: its health is Alarm"


def test_a_port_that_is_asked_for_later_is_the_only_thing_that_changes():
    engine = {"name": "a", "npus": 2}
    running = rows(fleet(a2_facts()), [engine])
    (row,) = rows(fleet(a2_facts()), [dict(engine, port=9000)], running)
    assert row["ports"] == dict(running[0]["ports"], serving=9000)
    assert (row["chips"], row["cpuset"]) == (running[0]["chips"], running[0]["cpuset"])


def test_a_cpuset_that_is_not_possible_any_more_is_chosen_anew():
    engine = {"name": "a", "npus": 2}
    running = rows(fleet(a2_facts()), [engine])
    hosts = fleet(a2_facts())
    hosts["npu-01"]["cpus"] = "0-160"
    assert rows(hosts, [engine], running)[0]["cpuset"] == "144-160"
    assert (
        rows(hosts, [dict(engine, npus=1, chips=[1])], [dict(running[0], chips=[1], layout={"tensor_parallel_size": 1})])[0]["cpuset"]
        == "0-11"
    )
    assert rows(fleet(a2_facts()), [dict(engine, binding="none")], running)[0]["cpuset"] is None


def test_chips_that_are_named_come_first():
    engines = [{"name": "a", "npus": 2}, {"name": "b", "chips": [0, 1]}]
    found = rows(fleet(a2_facts()), engines)
    assert [(row["name"], numbers(row)) for row in found] == [("a", [4, 6]), ("b", [0, 1])]


def test_engines_of_one_name_on_different_hosts():
    engines = [{"name": "a", "npus": 2, "hosts": [name]} for name in ("npu-01", "npu-02")]
    found = rows(fleet(a2_facts(), a2_facts()), engines)
    assert [row["host"] for row in found] == ["npu-01", "npu-02"]
    again = rows(fleet(a2_facts(), a2_facts()), list(reversed(engines)), found)
    assert [(row["host"], row["chips"]) for row in again] == [(row["host"], row["chips"]) for row in reversed(found)]


@pytest.mark.parametrize(
    "engines",
    [
        [{"name": "a"}, {"name": "a"}],
        [{"name": "a", "hosts": ["npu-01"]}, {"name": "a", "hosts": ["npu-02", "npu-01"]}],
        [{"name": "a", "hosts": ["npu-01"]}, {"name": "a"}],
        [{"name": "a"}, {"name": "a", "hosts": ["npu-01"]}],
    ],
)
def test_two_engines_of_one_name_never_meet(engines):
    with pytest.raises(NpufleetError, match="two engines have the name a"):
        make_plan(fleet(a2_facts(), a2_facts()), engines)


@pytest.mark.parametrize(
    ("hosts", "engines", "words"),
    [
        ({}, [{"name": "a", "npus": 1}], "engine a needs"),
        ({}, [{"name": "a", "hosts": ["x"]}], "there are no facts of host x"),
        ([], [], "a mapping was expected"),
        ({"h": {"npus": {}}}, [], r"Did you mean npu\?"),
        ({"": {}}, [], "a text was expected"),
        (fleet(a2_facts()), [{"name": "a"}], "nothing tells how large the model is"),
        (fleet(a2_facts()), [{"name": "a", "npus": 9}], r"needs 3 free chips on each of 3 host\(s\), and they are not there"),
    ],
)
def test_one_clear_error(hosts, engines, words):
    with pytest.raises(NpufleetError, match=words):
        make_plan(hosts, engines)


def test_a_group_needs_addresses():
    hosts = fleet(a2_facts(), a2_facts())
    hosts["npu-02"]["interface"] = None
    with pytest.raises(NpufleetError, match="host npu-02 is one of a group and its interface is not known"):
        make_plan(hosts, [{"name": "a", "npus": 16}])


def test_nothing_that_is_given_is_changed():
    given = (fleet(a3_facts()), [{"name": "r1", "recipe": RECIPE, "config": R1}], [])
    before = copy.deepcopy(given)
    make_plan(*given)
    assert given == before


def test_no_engine_is_a_plan_too():
    plan = make_plan(fleet(a2_facts()), None)
    assert plan["engines"] == []
    assert len(plan["hosts"]["npu-01"]["free"]) == 8
