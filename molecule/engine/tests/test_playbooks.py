# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The playbooks on both hosts at once. Removal comes last: it takes the engines away that converge made."""

from __future__ import annotations

import re

testinfra_hosts = ["local://"]

BARE = ["-e", "vllm_engine_install=true", "-e", '{"vllm_engine_venv": null}', "-e", "vllm_engine_home=/tmp/bare"]


def recap(done):
    """Return what the recap of a play says of each host."""
    rows = re.findall(r"^(\S+)\s+: (ok=.*)$", done.stdout.split("PLAY RECAP")[1], re.MULTILINE)
    return {name: {word.split("=")[0]: int(word.split("=")[1]) for word in words.split()} for name, words in rows}


def test_prerequisites_are_named_at_once_and_nothing_is_touched(run_playbook, places):
    place = places["system-engine"]
    done = run_playbook("npufleet.ascend.site", "--check", "--limit", place.name, *BARE)
    assert (done.returncode, recap(done)[place.name]["failed"]) == (2, 1)
    assert "the host lacks Python's venv module, a C++ compiler (g++), libnuma. Where: host packages." in done.stdout
    assert "What to do: Run as root: apt-get install -y python3-venv g++ libnuma1" in done.stdout
    assert not place.root.file("/tmp/bare").exists


def test_verify(run_playbook, places):
    done = run_playbook("npufleet.ascend.verify")
    assert done.returncode == 0, done.stdout
    assert {row["changed"] for row in recap(done).values()} == {0}
    assert len(re.findall(r"tiny-qwen2 on http://127.0.0.1:8000/v1 \(vLLM 0.32.0\) answered", done.stdout)) == len(places)
    assert "sk-molecule" not in done.stdout


def test_verify_fails_where_an_engine_is_stopped(run_playbook, places):
    place = places["user-engine"]
    place.systemctl("stop npufleet-engine-tiny")
    done = run_playbook("npufleet.ascend.verify", "--limit", place.name)
    assert done.returncode == 2
    assert "The engine tiny does not run. Where: user-engine, systemd. What to do: run site.yml" in done.stdout


def test_remove(run_playbook, places):
    for place in places.values():
        place.systemctl("start npufleet-engine-tiny")
    before = {place.name: place.processes("tiny") for place in places.values()}
    assert all(before.values())
    done = run_playbook("npufleet.ascend.remove", "-e", "npufleet_remove_weights=true")
    assert done.returncode == 0, done.stdout
    assert "sk-molecule" not in done.stdout
    for place in places.values():
        assert place.alive(before[place.name]) == []
        assert place.unit("tiny", "LoadState") == "not-found"
        assert place.root.check_output("find /etc /home /var/lib -name '*npufleet*' -not -path " + place.home) == ""
        assert place.root.check_output("find {0} -not -type d".format(place.home)) == ""
        assert place.root.file("/opt/standin/bin/vllm").exists
        assert place.systemctl("--failed --no-legend") == ""
        assert place.root.check_output("systemctl --failed --no-legend") == ""

    again = run_playbook("npufleet.ascend.remove", "-e", "npufleet_remove_weights=true")
    assert (again.returncode, {row["changed"] for row in recap(again).values()}) == (0, {0})
