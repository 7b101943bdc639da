# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One engine on two hosts with real vLLM CPU engines, by the role."""

from __future__ import annotations

import time
import typing as t

import pytest
from group_fleet import ADDRESS, HEAD, MEMBER, PORT, Fleet, changes, container, docker, fleet_of, inspect, pids, remove


@pytest.fixture(scope="module")
def fleet() -> t.Iterator[Fleet]:
    yield from fleet_of(Fleet)


def test_data_parallel_over_two_hosts(fleet: Fleet) -> None:
    assert changes(fleet.play("dp", "tiny-qwen2", "--check", "--diff")) == [1, 1]
    assert "No such" in docker("inspect", container(HEAD), check=False)
    assert changes(fleet.play("dp", "tiny-qwen2", "--diff")) == [1, 1]
    for number in range(12):
        assert fleet.text("tiny-qwen2", f"Number {number}:")
    finished = fleet.requests_of_engines()
    assert set(finished) == {"0", "1"}
    assert min(finished.values()) > 0, finished
    assert not inspect(MEMBER)["NetworkSettings"]["Ports"].get(f"{PORT}/tcp")


def test_a_second_run_changes_nothing(fleet: Fleet) -> None:
    before = pids()
    assert changes(fleet.play("dp", "tiny-qwen2", "--diff")) == [0, 0]
    assert changes(fleet.play("dp", "tiny-qwen2", "--check", "--diff")) == [0, 0]
    assert pids() == before


def test_a_member_that_was_killed_means_all_of_it(fleet: Fleet) -> None:
    before = pids()
    docker("kill", container(MEMBER))
    refused = fleet.play("dp", "tiny-qwen2", ok=False)
    assert [refused[host]["failed"] for host in ADDRESS] == [1, 1]
    assert "npu-02: it does not run. Where: vllm_engine_replace" in fleet.output
    assert pids()[MEMBER] == 0
    fleet.play("dp", "tiny-qwen2", vllm_engine_replace=True)
    assert not set(pids().values()) & {*before.values(), 0}
    assert fleet.text("tiny-qwen2", "Again:")
    assert changes(fleet.play("dp", "tiny-qwen2")) == [0, 0]


def test_tensor_parallel_over_two_hosts_says_what_one_host_says(fleet: Fleet) -> None:
    remove()
    prompts = ["What is an NPU?", "The quick brown fox", "1 2 3 4"]
    fleet.play("one", "tiny-deepseek", vllm_engine_name="one")
    alone = [fleet.complete("tiny-deepseek", prompt) for prompt in prompts]
    remove()
    began = time.monotonic()
    assert changes(fleet.play("tp", "tiny-deepseek", "--diff")) == [1, 1]
    print(f"    tensor parallel over two hosts after {time.monotonic() - began:.0f} s", flush=True)
    together = [fleet.complete("tiny-deepseek", prompt) for prompt in prompts]
    assert [text for text, _numbers in together] == [text for text, _numbers in alone]
    for (_text, numbers), (_same, expected) in zip(together, alone):
        assert numbers == pytest.approx(expected, abs=0.05)
    # The text alone would be the same where each host had computed all of it.
    assert [f"world_size=2 rank={rank} " in docker("logs", container(host)) for rank, host in enumerate(ADDRESS)] == [True, True]
    assert changes(fleet.play("tp", "tiny-deepseek")) == [0, 0]
