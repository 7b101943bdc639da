# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from ansible_collections.npufleet.ascend.plugins.module_utils._plan_fleet import make_plan
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_summary import text
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.test_plan_fleet import GB, QWEN_32B, R1, a2_facts, fleet


def broken():
    npu = a2_facts()
    npu["chips"][3]["health"] = "Alarm"
    npu["chips"][4]["processes"] = [{"pid": 7, "name": "python"}]
    return npu


def test_what_is_left_of_a_host():
    plan = make_plan(fleet(broken()), [{"name": "q", "weights_bytes": 65 * GB, "config": QWEN_32B}])
    assert plan["hosts"]["npu-01"] == {
        "soc": "a2",
        "problem": None,
        "chips": 8,
        "free": ["/dev/davinci1", "/dev/davinci5", "/dev/davinci6", "/dev/davinci7"],
        "unusable": [
            {"device": "/dev/davinci3", "card": 3, "chip": 0, "reason": "its health is Alarm"},
            {"device": "/dev/davinci4", "card": 4, "chip": 0, "reason": "process 7 (python) uses it"},
        ],
        "engines": ["q"],
        "hccl_ports": "60000-60031",
    }


def test_a_plan_for_people():
    hosts = fleet(broken(), {"available": False, "message": "no driver"})
    assert text(make_plan(hosts, [{"name": "q", "weights_bytes": 65 * GB, "config": QWEN_32B, "hosts": ["npu-01"]}])) == (
        "engine  host    role    chips  layout  CPUs            ports             shm\n"
        "------  ------  ------  -----  ------  --------------  ----------------  -------\n"
        "q       npu-01  single  0, 2   TP2     cpuset 144-167  8000 60000-60031  1.0 GiB\n"
        "\n"
        "Why q:\n"
        "  - 2 chips: the fewest on which the weights fit\n"
        "  - one copy over as many chips as the heads allow: quick answers, most KV cache\n"
        "  - 30.3 GiB of weights a chip, 49.3 GiB of 64.0 GiB may be weights\n"
        "  - host npu-01: chips 0, 2, links not known on NUMA node 6\n"
        "  - CPUs 144-167: near its chips, 12 a chip\n"
        "  - shared memory 1.0 GiB: as vllm-ascend runs its containers on this chip\n"
        "\n"
        "Hosts:\n"
        "  npu-01: 8 a2 chips, 4 free\n"
        "    /dev/davinci3: its health is Alarm\n"
        "    /dev/davinci4: process 7 (python) uses it\n"
        "  npu-02: cannot be used: no driver\n"
    )


def test_members_and_expert_parallel_are_shown():
    shown = text(
        make_plan(fleet(a2_facts(), a2_facts()), [{"name": "r1", "weights_bytes": 690 * GB, "quantization": "w8a8", "config": R1}])
    )
    assert "r1      npu-01  head 0    0-7    TP4 DP4 EP  plugin  8000 13389 60000-60031  1.0 GiB" in shown
    assert "r1      npu-02  member 1  0-7    TP4 DP4 EP  plugin  60000-60031             1.0 GiB" in shown
    assert shown.count("the fewest on which the weights fit") == 1


def test_nothing_wanted():
    assert text(make_plan({}, [])) == "No engine is wanted.\n\nHosts:\n"
