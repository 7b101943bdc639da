# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""User units need a service manager of the user, which only a session or lingering keeps up."""

from __future__ import annotations

import pytest

testinfra_hosts = ["ansible://user-engine"]

USER = "visitor"
OPTIONS = {"home": "/home/{0}/npufleet".format(USER), "model": "/srv/tiny"}


@pytest.fixture
def visitor(place):
    """Somebody who has neither a session nor lingering."""
    place.root.check_output("useradd --create-home {0}".format(USER))
    place.root.check_output("rm -rf /srv/tiny && cp -r {0}/models/tiny-qwen2 /srv/tiny".format(place.home))
    yield USER
    place.root.check_output("systemctl stop user@$(id -u {0}).service && userdel --remove {0}".format(USER))


def test_without_a_service_manager_nothing_is_touched(place, engines, visitor):
    for refused in engines([place.name], dict(OPTIONS, check=True), OPTIONS, ansible_user=visitor)[place.name]:
        assert refused["failed"]
        assert "loginctl enable-linger" in refused["msg"]
    assert place.root.check_output("find /home/{0} -name '*npufleet*'".format(USER)) == ""


def test_engine_that_ends_with_the_session_is_no_surprise(place, engines, visitor):
    place.root.check_output("systemctl start user@$(id -u {0}).service".format(USER))
    made, removed = engines([place.name], OPTIONS, dict(OPTIONS, state="absent"), ansible_user=visitor)[place.name]
    assert (made["changed"], removed["changed"]) == (True, True)
    expected = "the engine probe ends with the last session of visitor, and does not start with the host"
    assert [warning for warning in made["warnings"] if expected in warning and "loginctl enable-linger visitor" in warning]
