# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""After all that was done to the servers: a run of everything brings them to what the inventory says, and nothing is left of it. Last of all tests."""

from __future__ import annotations

from prepared_host import recap


def test_a_run_after_all_that_and_one_more(server, prepare):
    first = prepare(server, "")
    assert first.returncode == 0, first.stdout
    seen = server.executions()
    again = prepare(server, "")
    assert recap(again)[server.name] == {"changed": 0, "failed": 0}, again.stdout
    assert server.executions() == seen


def test_the_server_has_what_the_inventory_says(server):
    assert server.driver() == ("26.0.rc1", True)
    assert server.cann() == ("9.0.0", "9.0.0", "9.0.0")
    assert server.sh("npu-smi info -l | grep -c 'NPU ID'") == "8"
    assert server.sh("systemctl is-system-running") == "running"


def test_nothing_is_left_of_what_was_interrupted(server):
    assert server.unfinished() == []
    assert server.sh("find /var/lib/npufleet -name '*.part*'") == ""


def test_no_two_installers_ran_at_once(server):
    assert server.overlaps() == []
