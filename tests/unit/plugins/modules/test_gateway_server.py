# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.modules import gateway_server
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.test_gateway_task import FakeHaproxy
from ansible_collections.npufleet.ascend.tests.unit.plugins.modules.module_runner import run_module


@pytest.fixture
def haproxy(monkeypatch):
    fake = FakeHaproxy()
    monkeypatch.setattr(gateway_server, "socket_ask", lambda path: fake.ask)
    return fake


def call(tmp_path, check=False, **options):
    return run_module(gateway_server.main, dict({"state_file": str(tmp_path / "servers.state")}, **options), check=check, diff=True)


def test_drained_and_saved(haproxy, tmp_path):
    done = call(tmp_path, server="a", state="drain")
    assert not done["failed"] and done["changed"] and done["diff"]["after"] == {"a": "drain"}
    assert (tmp_path / "servers.state").read_text() == "1\n# be_name srv_name srv_admin_state\nengines a 8\nengines b 0\n"
    assert (tmp_path / "servers.state").stat().st_mode & 0o777 == 0o600
    assert not call(tmp_path, server="a", state="drain")["changed"]


def test_check_mode_saves_nothing(haproxy, tmp_path):
    assert call(tmp_path, check=True, server="a", state="drain")["changed"]
    assert list(tmp_path.iterdir()) == [] and haproxy.bits["a"] == 0


def test_nothing_is_saved_where_there_is_no_folder(haproxy, tmp_path):
    assert call(tmp_path / "nowhere", server="a", state="drain")["changed"]
    assert list(tmp_path.iterdir()) == []


def test_tells(haproxy, tmp_path):
    assert [row["name"] for row in call(tmp_path)["servers"]] == ["a", "b"]


def test_failures(haproxy, tmp_path):
    assert "the gateway has no server 'c'" in call(tmp_path, server="c", state="drain")["msg"]
    assert "server" in call(tmp_path, state="drain")["msg"]
    (tmp_path / "servers.state").mkdir()
    (tmp_path / "servers.state" / "x").touch()
    assert call(tmp_path, server="a", state="drain")["failed"]


def test_nobody_answers(tmp_path):
    done = call(tmp_path, socket=str(tmp_path / "admin.sock"))
    assert done["failed"] and "the gateway does not answer" in done["msg"]
