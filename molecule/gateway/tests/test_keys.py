# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Keys come and go while streams run, each has its limit, and no file, process, log or output of Ansible holds one."""

from __future__ import annotations

import openai
import pytest
from gateway_door import ALICE, SCENARIO

CHARLIE = "sk-molecule-charlie-0123456789"
NEW_ALICE = "sk-molecule-alice-9876543210"
ENGINE_KEY = "sk-engine-'\"$HOME`%n\\t#;{}[]"


def refused(door, key):
    with pytest.raises(openai.APIStatusError) as caught:
        door.client(key).models.list()
    return caught.value.status_code, caught.value.response.json()["error"]["code"], caught.value.response.headers.get("retry-after")


def test_rotation_and_limit_while_a_stream_runs(door, converge):
    """The stream began with a key that is gone when it ends. Refused requests do not count for the limit, and keys do not share it."""
    stream = door.stream(2400)
    changed = converge(vllm_gateway_api_keys={"alice": NEW_ALICE, "charlie": CHARLIE}, vllm_gateway_requests_per_minute=3)
    assert changed.returncode == 0, changed.stdout
    assert stream.is_alive() and stream.error is None
    assert refused(door, ALICE)[:2] == (401, "invalid_api_key")
    for _number in range(3):
        assert door.client(CHARLIE).models.list().data
    for _number in range(3):
        assert refused(door, CHARLIE) == (429, "rate_limit_exceeded", "10")
    assert door.client(NEW_ALICE).models.list().data
    back = converge()
    assert back.returncode == 0, back.stdout
    assert refused(door, CHARLIE)[0] == 401 and door.client().models.list().data
    stream.check()
    for key in (ALICE, NEW_ALICE, CHARLIE, ENGINE_KEY):
        assert key not in changed.stdout + back.stdout


def test_no_key_anywhere(door):
    """Outside engine.map, which the engines' own key has to be read from."""
    places = {
        "arguments and environments": door.host.check_output("cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n'"),
        "journal": door.host.check_output("journalctl --no-pager -o cat"),
        "configuration": door.config() + door.host.file("/etc/npufleet-gateway/keys.map").content_string,
        "states": door.host.file("/var/lib/npufleet-gateway/servers.state").content_string,
        "unit": door.host.check_output("systemctl cat npufleet-gateway"),
    }
    for where, text in places.items():
        assert text, where
        for key in (ALICE, CHARLIE, NEW_ALICE):
            assert key not in text, where
    # The stand-in engines have theirs in the environment.
    haproxy = door.host.check_output("cat /proc/$(systemctl show -p MainPID --value npufleet-gateway)/environ | tr '\\0' '\\n'")
    for text in (haproxy, places["journal"], places["configuration"], places["unit"]):
        assert ENGINE_KEY not in text
    assert door.host.check_output("grep -rlF sk-engine /etc/npufleet-gateway /var/lib/npufleet-gateway").split() == [
        "/etc/npufleet-gateway/engine.map"
    ]


def test_what_cannot_work_is_refused_and_the_gateway_goes_on(door, converge):
    """By the preflight before anything is touched, or by HAProxy before the file in place is replaced."""
    before, workers = door.config(), door.workers()
    door.host.check_output(
        "openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=x -keyout /root/other.key -out /root/other.pem 2>/dev/null; "
        "systemctl is-active foreign || systemd-run --unit=foreign python3 -m http.server 8500"
    )
    own = {"vllm_gateway_generate_certificate": False, "vllm_gateway_certificate": "/root/other.pem"}
    cases = [
        (
            dict(own, vllm_gateway_certificate_key="/etc/npufleet-gateway/generated/private.pem"),
            "The private key does not belong to the certificate",
        ),
        (dict(own, vllm_gateway_certificate_key="/root/nothing.key"), "missing /root/nothing.key"),
        ({"vllm_gateway_port": 8500}, "0.0.0.0:8500/foreign.service"),
        ({"vllm_gateway_api_keys": {"alice": "short"}}, "A key or its name is not usable"),
        ({"vllm_gateway_engines": [{"name": "one", "address": "nobody.invalid", "port": 8001}]}, "could not resolve address"),
    ]
    for variables, message in cases:
        done = converge(**variables)
        assert done.returncode != 0 and message in done.stdout, done.stdout[-3000:]
    door.host.run("systemctl stop foreign")
    assert door.config() == before and door.workers() == workers
    assert door.client().models.list().data


def test_an_interrupted_run_and_a_renewed_certificate(door, converge):
    """What was written and not loaded is loaded by the next run."""
    before = door.workers()
    door.host.check_output("touch /etc/npufleet-gateway/generated/certificate.pem")
    assert door.host.run("cd /tmp && true").rc == 0 and SCENARIO
    told = converge("--check")
    assert told.returncode == 0 and door.workers() == before
    done = converge()
    assert done.returncode == 0 and not door.workers() & before
