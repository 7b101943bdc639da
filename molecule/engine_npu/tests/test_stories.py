# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What operators do with engines that run: verify, plan, change one, ask for what does not fit, and take one away."""

from __future__ import annotations

import json

import pytest

testinfra_hosts = ["ansible://npu-a2"]


@pytest.fixture
def started(host):
    def when(name):
        return host.check_output("docker inspect -f '{{{{.Id}}}} {{{{.State.StartedAt}}}}' npufleet-engine-{0}".format(name))

    return when


def instances(variables, **changes):
    """The engines of the inventory, the second with changes."""
    first, second = variables["engines"]["vars"]["vllm_engine_instances"]
    return json.dumps({"vllm_engine_instances": [first, dict(second, **changes)]})


def recap(done):
    line = next(line for line in done.stdout.splitlines() if line.startswith("npu-a2 ") and "changed=" in line)
    return dict(word.split("=") for word in line.split() if "=" in word)


def test_verify_asks_both(run_playbook):
    done = run_playbook("npufleet.ascend.verify")
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("tiny-qwen2 on http://127.0.0.1:800") >= 2
    assert recap(done)["changed"] == "0"


def test_the_plan_leaves_them_where_they_are(run_playbook):
    done = run_playbook("npufleet.ascend.plan")
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("host npu-a2: stays where it runs") >= 2 and recap(done)["changed"] == "0"


def test_what_runs_can_be_exported(run_playbook, tmp_path):
    folder = "npufleet_export_folder={0}".format(tmp_path)
    tried = run_playbook("npufleet.ascend.export", "--extra-vars", folder, "--check")
    assert tried.returncode == 0 and list(tmp_path.iterdir()) == [], tried.stdout
    done = run_playbook("npufleet.ascend.export", "--extra-vars", folder)
    assert done.returncode == 0 and recap(done)["changed"] == recap(tried)["changed"] != "0", done.stdout
    assert recap(run_playbook("npufleet.ascend.export", "--extra-vars", folder))["changed"] == "0"
    manifest = (tmp_path / "npu-a2/second/kubernetes.yml").read_text()
    assert "huawei.com/Ascend910: 2" in manifest or 'huawei.com/Ascend910: "2"' in manifest, manifest
    script = (tmp_path / "npu-a2/second/docker-run.sh").read_text()
    assert "--device /dev/davinci4:/dev/davinci4" in script and "davinci0" not in script, script


def test_a_change_of_one_engine_needs_consent_and_touches_no_other(run_playbook, variables, started):
    before = started("first"), started("second")
    changed = instances(variables, args={"max_model_len": 256})
    refused = run_playbook("npufleet.ascend.site", "--extra-vars", changed)
    assert refused.returncode == 2 and "replacing it ends the requests in flight" in refused.stdout, refused.stdout
    assert (started("first"), started("second")) == before
    done = run_playbook("npufleet.ascend.site", "--extra-vars", changed, "--extra-vars", "vllm_engine_replace=true")
    assert done.returncode == 0 and recap(done)["changed"] == "1", done.stdout
    assert started("first") == before[0] and started("second") != before[1]
    again = run_playbook("npufleet.ascend.site", "--extra-vars", changed)
    assert recap(again)["changed"] == "0", again.stdout


def test_it_goes_back_to_what_no_plan_knows(run_playbook, started):
    before = started("first"), started("second")
    tried = run_playbook("npufleet.ascend.rollback", "--extra-vars", "vllm_engine_replace=true", "--check", "--diff")
    assert tried.returncode == 0 and recap(tried)["changed"] == "1" and (started("first"), started("second")) == before, tried.stdout
    assert '-      "256"' in tried.stdout, tried.stdout
    done = run_playbook("npufleet.ascend.rollback", "--extra-vars", "vllm_engine_replace=true")
    assert done.returncode == 0 and recap(done)["changed"] == "1", done.stdout
    assert started("first") == before[0] and started("second") != before[1]
    assert recap(run_playbook("npufleet.ascend.rollback"))["changed"] == "0"
    # The inventory asks for what it was before.
    assert recap(run_playbook("npufleet.ascend.site"))["changed"] == "0"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"npus": [0, 1, 2, 3, 4, 5, 6, 7], "layout": {"tensor_parallel_size": 8}}, "davinci"),
        ({"recipe": "deepseek-r1-distill-qwen-1.6b"}, "there is no recipe deepseek-r1-distill-qwen-1.6b"),
        ({"recipe": "deepseek-r1-w8a8"}, "Use 2 host(s), with 8 NPUs each"),
        ({"args": {"quantization": "fp8"}}, "fp8"),
        ({"prot": 8001}, "prot"),
    ],
    ids=["chips of another", "no such recipe", "too few hosts", "a wrong option", "no such key"],
)
def test_what_cannot_be_is_refused_before_anything_is_touched(run_playbook, variables, started, changes, words):
    before = started("first"), started("second")
    done = run_playbook(
        "npufleet.ascend.preflight", "--extra-vars", instances(variables, **changes), "--extra-vars", "vllm_engine_replace=true"
    )
    assert done.returncode == 2 and words in done.stdout, done.stdout
    assert (started("first"), started("second")) == before


def test_npus_that_do_not_answer_are_named(run_playbook, simulator, started):
    before = started("first")
    simulator.change("--fault", "missing_library")
    done = run_playbook("npufleet.ascend.site")
    assert done.returncode == 2 and "Its NPUs do not answer" in done.stdout, done.stdout
    assert started("first") == before


def test_taking_one_away_leaves_the_other(run_playbook, variables, host, started):
    before = started("first")
    done = run_playbook("npufleet.ascend.site", "--extra-vars", instances(variables, state="absent"))
    assert done.returncode == 0, done.stdout
    assert started("first") == before
    assert host.check_output("docker ps --all --format '{{.Names}}'") == "npufleet-engine-first"
    assert not host.file("/var/lib/npufleet/engines/second").exists
    plan = run_playbook("npufleet.ascend.plan", "--extra-vars", instances(variables, state="absent"))
    assert "8 a2 chips, 7 free" in plan.stdout, plan.stdout
