# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the first run did, with npufleet_serial: 1 in the inventory. Before the other tests, which reboot the hosts again."""

from __future__ import annotations

testinfra_hosts = ["local://"]


def test_each_host_was_rebooted_once(servers):
    for name, server in servers.items():
        assert [word for word, _when in server.boots()] == ["up", "down", "up"], name
        assert server.acts() == [("driver", "install"), ("firmware", "install")], name


def test_a_host_is_touched_once_the_one_before_is_back(servers):
    ordered = list(servers.values())
    for before, after in zip(ordered, ordered[1:]):
        assert before.boots()[-1][1] < after.first_start() < after.boots()[1][1]


def test_a_host_is_touched_once_the_npus_of_the_one_before_were_seen(servers):
    ordered = list(servers.values())
    for before, after in zip(ordered, ordered[1:]):
        up = before.boots()[-1][1]
        assert [when for when in before.npu_smi_calls() if up < when < after.first_start()]
