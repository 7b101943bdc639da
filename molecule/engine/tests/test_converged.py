# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What site.yml left on both hosts: a service that answers, keeps its key to itself, and comes back."""

from __future__ import annotations

testinfra_hosts = ["ansible://system-engine", "ansible://user-engine"]


def test_unit(place, key):
    unit = place.host.file(place.unit_path("tiny"))
    assert (oct(unit.mode), unit.user, unit.group) == ("0o644", place.user, place.user)
    assert 'ExecStart="/opt/standin/bin/vllm" "serve"' in unit.content_string
    assert ("StandardOutput" in unit.content_string) is not place.is_root
    assert key not in unit.content_string
    assert "sk-molecule" not in unit.content_string


def test_unit_is_without_fault(place):
    verify = "systemd-analyze {0} verify {1}".format("" if place.is_root else "--user", place.unit_path("tiny"))
    done = place.host.run("XDG_RUNTIME_DIR=/run/user/$(id -u) {0}".format(verify))
    assert (done.rc, done.stdout, done.stderr) == (0, "", "")


def test_service_runs_and_starts_with_the_host(place):
    assert [place.unit("tiny", name) for name in ("ActiveState", "SubState", "UnitFileState", "NRestarts")] == [
        "active",
        "running",
        "enabled",
        "0",
    ]
    users = place.root.check_output("ps -o user= -p " + ",".join(map(str, place.processes("tiny")))).split()
    assert set(users) == {place.user}
    assert len(users) == 3


def test_only_its_own_files_hold_the_key(place, key):
    secret = place.host.file(place.folder("tiny") + "/secret.env")
    assert (oct(secret.mode), secret.user) == ("0o600", place.user)
    assert "sk-molecule" in secret.content_string
    record = place.host.file(place.folder("tiny") + "/launch.json")
    assert (oct(record.mode), record.user) == ("0o600", place.user)
    assert "sk-molecule" not in record.content_string
    holders = place.root.run("grep -rlF sk-molecule /etc /home /opt /root /run /tmp /var 2>/dev/null").stdout.split()
    assert holders == [secret.path]


def test_nothing_shows_the_key(place, key):
    shown = [
        place.systemctl("show npufleet-engine-tiny"),
        place.systemctl("cat npufleet-engine-tiny"),
        place.systemctl("status --full --lines=200 npufleet-engine-tiny"),
        place.systemctl("show-environment"),
        place.root.check_output("ps axww -o args"),
        place.log("tiny"),
    ]
    assert all(text for text in shown)
    assert [text for text in shown if "sk-molecule" in text] == []
    # The engine itself has it, as it was given.
    environment = place.host.check_output("tr '\\0' '\\n' < /proc/{0}/environ".format(place.pid("tiny"))).splitlines()
    assert "VLLM_API_KEY=" + key in environment


def test_folder_belongs_to_the_engine(place):
    folder = place.host.file(place.folder("tiny"))
    assert (oct(folder.mode), folder.user) == ("0o750", place.user)


def test_log(place):
    log = place.log("tiny")
    assert "vLLM API server version 0.32.0" in log
    assert "Application startup complete." in log
