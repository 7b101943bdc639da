# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Last of all: nothing is left of the gateway but the packages."""

from __future__ import annotations

from gateway_door import SCENARIO

PLACES = "/etc/npufleet-gateway /etc/systemd/system/npufleet-gateway.service /usr/local/lib/npufleet-gateway /var/lib/npufleet-gateway"


def test_remove_twice(door, run_playbook):
    first = run_playbook(SCENARIO + "/plays/remove.yml", "-e", '{"vllm_gateway_api_keys": {}}')
    assert first.returncode == 0, first.stdout
    second = run_playbook(SCENARIO + "/plays/remove.yml")
    assert second.returncode == 0 and "changed=0" in second.stdout, second.stdout
    for place in (*PLACES.split(), "/run/npufleet-gateway"):
        assert not door.host.file(place).exists, place
    assert not door.host.run("pgrep -x haproxy").stdout
    assert door.host.exists("haproxy") and door.host.file("/etc/haproxy/haproxy.cfg").exists
