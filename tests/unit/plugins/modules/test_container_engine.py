# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json

import pytest
import yaml
from ansible_collections.npufleet.ascend.plugins.module_utils._clock import Clock
from ansible_collections.npufleet.ascend.plugins.module_utils._container_adapter import Host
from ansible_collections.npufleet.ascend.plugins.modules import container_engine
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.container_fakes import FakeHost
from ansible_collections.npufleet.ascend.tests.unit.plugins.modules.module_runner import run_module


@pytest.fixture()
def host(tmp_path, monkeypatch):
    """The module on a fake host."""
    fake = FakeHost(tmp_path)

    def make(_run, _clock):
        clock = Clock(lambda: fake.time, fake._sleep)
        return Host(fake.run, clock, fake._find, fake.folder + "/proc", fake.owner(), fake._up, fake._modified)

    monkeypatch.setattr(container_engine, "Host", make)
    return fake


def run(host, check=False, **options):
    places = {"config_path": host.path, "record_folder": host.folder + "/records"}
    return run_module(container_engine.main, dict(places, **options), check=check, diff=True)


def test_configure_again_and_take_back(host):
    wanted = {"runtimes": {"ascend": {"path": host.program()}}, "daemon_defaults": {"log-opts": {"max-file": 3}}}
    predicted = run(host, check=True, **wanted)
    assert (predicted["changed"], host.text()) == (True, None)
    done = run(host, **wanted)
    assert (done["failed"], done["changed"], done["engine"]["action"]) == (False, True, "restart")
    assert host.config()["log-opts"] == {"max-file": "3"}
    assert done["diff"]["after"].startswith(json.dumps(host.config(), indent=2))
    assert run(host, **wanted)["changed"] is False
    assert [run(host, state="absent")["changed"] for _turn in range(2)] == [True, False]
    assert host.text() is None


def test_what_is_wrong_is_one_message(host):
    result = run(host, runtimes={"runc": "/usr/bin/runc"})
    assert result == {
        "failed": True,
        "msg": "the name runc belongs to the engine itself. Where: runtimes. What to do: Give the runtime another name.",
    }


def test_what_the_kernel_refuses_is_one_message_too(host):
    host.write(host.folder + "/records", "a file where the folder should be")
    result = run(host)
    assert result["failed"] and result["msg"].startswith("the host refused: ") and "What to do: " in result["msg"]


def test_warnings_are_given(host, monkeypatch):
    warned = []
    monkeypatch.setattr(container_engine.AnsibleModule, "warn", lambda _module, text: warned.append(text))
    host.docker_version = "30.0.0"
    result = run(host, runtimes={"ascend": host.program("ascend-docker-runtime")})
    assert "warnings" not in result and len(warned) == 1 and "30.0.0 is newer" in warned[0]


def test_the_documentation_names_every_returned_value(host):
    returned = yaml.safe_load(container_engine.RETURN)
    assert sorted(returned["engine"]["contains"]) == sorted(run(host)["engine"])
