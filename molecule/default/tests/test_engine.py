# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The engine on a host whose NPUs stay idle: a system unit that runs as the user that the role made."""

from __future__ import annotations

testinfra_hosts = ["ansible://atlas-a2"]

NAME = "deepseek"
USER = "npufleet"


def test_user(host):
    user = host.user(USER)
    assert (user.shell, user.home, user.uid < 1000) == ("/usr/sbin/nologin", "/var/lib/npufleet", True)


def test_service_runs_as_that_user(place):
    assert [place.unit(NAME, name) for name in ("ActiveState", "UnitFileState", "User")] == ["active", "enabled", USER]
    assert place.root.check_output("ps -o user= -p {0}".format(place.pid(NAME))) == USER
    folder = place.root.file(place.folder(NAME))
    assert (oct(folder.mode), folder.user) == ("0o750", USER)
    assert oct(place.root.file(place.unit_path(NAME)).mode) == "0o644"


def test_engine_cannot_read_what_is_root_s(place):
    record = place.root.file(place.folder(NAME) + "/launch.json")
    assert (oct(record.mode), record.user) == ("0o600", "root")


def test_model_is_readable_for_it(place):
    place.root.check_output(
        "setpriv --reuid={0} --regid={0} --clear-groups cat {1}/models/tiny-deepseek/config.json".format(USER, place.home)
    )


def test_it_answers(run_module, place):
    answered = run_module(place.name, "npufleet.ascend.vllm_info", url="http://127.0.0.1:8000")["engine"]
    assert (answered["ready"], answered["models"], answered["completion"]["text"]) == (True, ["tiny-deepseek"], "stand-in")


def test_nothing_failed(place):
    assert place.systemctl("--failed --no-legend") == ""
