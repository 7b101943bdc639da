# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""vLLM itself as a system unit: it answers, comes back after a crash without its old workers, and leaves nothing."""

from __future__ import annotations

import pytest

testinfra_hosts = ["local://"]

# A start takes 40 to 70 s on two cores; the rest is for machines that do something else as well.
START_SECONDS = 400


@pytest.fixture
def place(places):
    return places["real-engine"]


def test_it_answers(place, run_module):
    answered = run_module(place.name, "npufleet.ascend.vllm_info", url="http://127.0.0.1:8000")["engine"]
    assert (answered["ready"], answered["models"]) == (True, ["tiny-deepseek"])
    assert answered["version"].startswith("0.32.0")
    assert answered["completion"]["completion_tokens"] > 0
    assert "Application startup complete" in place.log("tiny")


def test_crash_leaves_no_worker_and_the_engine_comes_back(place, run_playbook, wait_for):
    before = place.processes("tiny")
    assert len(before) > 1, "vLLM runs its engine core in a process of its own"
    place.host.check_output("kill -KILL {0}".format(place.pid("tiny")))
    wait_for(lambda: place.unit("tiny", "NRestarts") == "1" and place.pid("tiny"), 60)
    assert place.alive(before) == []
    # The next run of the play waits for it, and has nothing to do.
    done = run_playbook("npufleet.ascend.deploy", "-e", "vllm_engine_wait_timeout={0}".format(START_SECONDS))
    assert done.returncode == 0, done.stdout
    assert "changed=0" in done.stdout
    assert run_playbook("npufleet.ascend.verify").returncode == 0


def test_removal_leaves_nothing(place, run_playbook):
    before = place.processes("tiny")
    done = run_playbook("npufleet.ascend.remove", "-e", "npufleet_remove_weights=true")
    assert done.returncode == 0, done.stdout
    assert place.alive(before) == []
    assert place.unit("tiny", "LoadState") == "not-found"
    assert place.root.check_output("find /etc/systemd -name 'npufleet-*'") == ""
    assert place.root.check_output("find {0} -not -type d".format(place.home)) == ""
    # vLLM itself never deletes these: shared memory, sockets, files of torch.
    assert place.root.check_output("find /dev/shm /tmp /var/tmp -xdev -user npufleet") == ""
    assert place.systemctl("--failed --no-legend") == ""
