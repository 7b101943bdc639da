# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import copy

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._group_findings import Answers
from ansible_collections.npufleet.ascend.plugins.module_utils._group_members import find_groups
from ansible_collections.npufleet.ascend.plugins.module_utils._group_network import check_network
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.test_group_members import NAMES, lab
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.test_plan_fleet import a2_facts, a3_facts, duo_facts

CHIPS = {"A2": (0, 2), "A3": (0, 1)}


def device(place, chip, **changes):
    row = {"link": "UP", "health": "Success", "address": "192.0.2.{0}{1}".format(place, chip), "gateway": None, "tls": False, "errors": []}
    return dict(row, vnic_address="198.51.100.{0}{1}".format(place, chip), **changes)


def good(kind="A2"):
    """Answers of two hosts that fit: two NPUs each, each of which reaches the one of its place."""
    plan, variables = lab({"A2": a2_facts, "A3": a3_facts}[kind])
    looks, pings = {}, {}
    key = "vnic_address" if kind == "A3" else "address"
    for place, name in enumerate(NAMES, 1):
        npus = {str(chip): device(place, chip) for chip in CHIPS[kind]}
        looks[name] = {"npus": npus, "hccn_conf": {chip: row["address"] for chip, row in npus.items()}}
        peers = [(chip, device(3 - place, chip)[key]) for chip in CHIPS[kind]]
        pings[name] = {"pings": [{"chip": chip, "address": peer, "sent": 3, "received": 3, "error": None} for chip, peer in peers]}
    return Answers(find_groups(plan, variables)[0], looks, pings, "hccs_ping" if kind == "A3" else "ping")


def changed(answers, host, chip, **changes):
    answers.looks[host]["npus"][str(chip)].update(changes)
    return answers


def texts(answers, problem=True):
    return [found.text for found in check_network(answers) if found.problem is problem]


@pytest.mark.parametrize("kind", ["A2", "A3"])
def test_hosts_that_fit(kind):
    assert check_network(good(kind)) == []


@pytest.mark.parametrize(
    ("changes", "what", "where"),
    [
        ({"link": "DOWN"}, "the network link of NPUs is down", "npu-02 NPU 2"),
        ({"health": "Receive timeout"}, "the network health of NPUs is not Success", "npu-02 NPU 2 (Receive timeout)"),
        ({"tls": True}, "the TLS switch of NPUs differs", "on: npu-02 NPU 2; off: npu-01 NPU 0, npu-01 NPU 2, npu-02 NPU 0"),
        ({"address": "192.0.2.77"}, "hccn.conf has other addresses", "npu-02 NPU 2 has 192.0.2.77, the file 192.0.2.22"),
        ({"address": "192.0.2.10"}, "NPUs have the same network address", "192.0.2.10: npu-01 NPU 0, npu-02 NPU 2"),
        ({"vnic_address": "198.51.100.10"}, "NPUs have the same network address", "198.51.100.10: npu-01 NPU 0, npu-02 NPU 2"),
        ({"address": None}, "NPUs have no network address", "npu-02 NPU 2"),
    ],
)
def test_one_fault(changes, what, where):
    found = [text for text in texts(changed(good(), "npu-02", 2, **changes)) if what in text]
    assert len(found) == 1
    assert found[0].startswith("engine q: ") and "Where: {0}. What to do: ".format(where) in found[0]


def test_values_that_are_not_known_are_no_faults():
    answers = good()
    for host in NAMES:
        for chip in (0, 2):
            changed(answers, host, chip, link=None, health=None, tls=None)
    assert check_network(answers) == []


def test_errors_are_passed_on_and_explain_what_is_missing():
    answers = changed(good(), "npu-01", 0, address=None, errors=["hccn_tool hung. Where: x. What to do: y."])
    assert texts(answers) == ["engine q, npu-01: hccn_tool hung. Where: x. What to do: y."]


def test_hccn_conf():
    answers = good()
    answers.looks["npu-01"]["hccn_conf"] = None
    del answers.looks["npu-02"]["hccn_conf"]["2"]
    missing, stale = texts(answers)
    assert "there is no hccn.conf that can be read" in missing and "Where: npu-01. " in missing
    assert "npu-02 NPU 2 has 192.0.2.22, the file none" in stale


def ping(host="npu-01", **changes):
    answers = good()
    answers.pings[host]["pings"][0].update(changes)
    return answers


@pytest.mark.parametrize(
    ("changes", "what", "where"),
    [
        ({"received": 0}, "NPUs do not reach each other", "npu-01 NPU 0 -> npu-02 NPU 0 (192.0.2.20)"),
        ({"received": 2}, "pings between NPUs lose packets", "npu-01 NPU 0 -> npu-02 NPU 0 (192.0.2.20), 2 of 3 packets"),
        ({"sent": None, "error": "what"}, "NPUs could not be pinged", "npu-01 NPU 0 -> npu-02 NPU 0 (192.0.2.20): what"),
    ],
)
def test_pings(changes, what, where):
    (found,) = texts(ping(**changes))
    assert what in found and "Where: {0}. What to do: ".format(where) in found and "-ping -g address" in found


def test_pings_of_other_engines_do_not_count():
    assert check_network(ping(chip=7, received=0)) == []
    assert check_network(ping(address="203.0.113.1", received=0)) == []


def test_a_product_without_the_command():
    answers = ping(sent=None, received=None)
    assert texts(answers) == []
    assert "these NPUs have no command ping" in texts(answers, problem=False)[0]


def test_a_super_pod_does_not_use_roce():
    answers = changed(good("A3"), "npu-01", 0, link="DOWN", health="Init", address=None)
    answers.looks["npu-02"]["hccn_conf"] = None
    assert texts(answers) == []
    assert len(texts(answers, problem=False)) == 3
    # Unless its links do not reach either.
    broken = copy.deepcopy(answers)
    broken.pings["npu-01"]["pings"][0]["received"] = 0
    assert ["link" in text for text in texts(broken)] == [True, False, False]
    assert "have no network address" in texts(changed(answers, "npu-01", 1, vnic_address=None))[0]


def test_npus_of_which_nothing_is_known():
    plan, variables = lab(duo_facts)
    group = find_groups(plan, variables)[0]
    (found,) = check_network(Answers(group, {name: {"npus": {}, "hccn_conf": None} for name in NAMES}, {}, "ping"))
    assert not found.problem and "Where: npu-01, npu-02. " in found.text


def test_a_host_that_could_not_ask_says_so_elsewhere():
    answers = good()
    answers.looks["npu-01"].update(npus={}, hccn_conf=None)
    answers.pings.clear()
    assert check_network(answers) == []
