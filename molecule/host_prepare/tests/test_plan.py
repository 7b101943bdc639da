# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The plan for an engine on the NPUs of one host: what would be given to it, or one reason why nothing can."""

from __future__ import annotations

import json

import pytest

testinfra_hosts = ["local://"]


@pytest.fixture
def plan(run_playbook):
    def run(recipe):
        variables = {"npufleet_vllm_ascend_version": "0.23.0.post1", "vllm_engine_recipe": recipe}
        return run_playbook("npufleet.ascend.plan", "--limit", "localhost,ubuntu-a2", "--extra-vars", json.dumps(variables))

    return run


def test_an_engine_gets_a_chip_and_nothing_is_changed(plan):
    done = plan("deepseek-r1-distill-qwen-7b")
    assert done.returncode == 0, done.stdout
    assert "TP 1: of the recipe deepseek-r1-distill-qwen-7b" in done.stdout and "8 a2 chips, 7 free" in done.stdout
    assert "changed=1" not in done.stdout


@pytest.mark.parametrize(
    ("recipe", "words"),
    [("deepseek-r1-distill-qwen-32b", "27.8 GiB of 32.0 GiB may be weights"), ("deepseek-r1-w8a8", "Use 2 host(s), with 8 NPUs each")],
)
def test_what_does_not_fit_is_one_reason(plan, recipe, words):
    done = plan(recipe)
    assert done.returncode == 2 and words in done.stdout, done.stdout
