# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
import pwd

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils import _runtime_choice
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._runtime_choice import choose_runtime
from ansible_collections.npufleet.ascend.plugins.module_utils._runtime_docker import DockerRuntime
from ansible_collections.npufleet.ascend.plugins.module_utils._runtime_supervisor import SupervisorRuntime
from ansible_collections.npufleet.ascend.plugins.module_utils._runtime_systemd import SystemdRuntime
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.engine_fakes import FakeRun, params

IMAGE = {"image": "engine:1"}


@pytest.mark.parametrize(
    ("kind", "booted", "user", "wanted"),
    [
        ("auto", True, 0, (False, "/etc/systemd/system")),
        ("auto", True, 1000, (True, "/home/u/.config/systemd/user")),
        ("systemd", True, 0, (False, "/etc/systemd/system")),
        ("auto", False, 0, None),
        ("supervisor", True, 0, None),
    ],
)
def test_the_service_manager_fits_the_host_and_the_user(monkeypatch, kind, booted, user, wanted):
    monkeypatch.setattr(_runtime_choice, "systemd_is_init", lambda: booted)
    monkeypatch.setattr(_runtime_choice, "find_tool", lambda name, _extra: "/bin/" + name)
    monkeypatch.setattr(os, "geteuid", lambda: user)
    # What sudo may leave in the environment.
    monkeypatch.setenv("HOME", "/root")
    monkeypatch.setattr(pwd, "getpwuid", lambda uid: pwd.struct_passwd(("u", "x", uid, uid, "", "/home/u", "/bin/sh")))
    runtime = choose_runtime(params(runtime=kind, venv="/srv/venv/"), FakeRun())
    if wanted is None:
        assert isinstance(runtime, SupervisorRuntime)
        assert runtime._supervisord == "/srv/venv/bin/supervisord"
    else:
        assert isinstance(runtime, SystemdRuntime)
        assert (runtime._user_unit, runtime._unit_folder) == wanted


@pytest.mark.parametrize(("booted", "missing"), [(False, None), (True, "systemctl"), (True, "journalctl")])
def test_a_systemd_that_is_not_there_is_named(monkeypatch, booted, missing):
    monkeypatch.setattr(_runtime_choice, "systemd_is_init", lambda: booted)
    monkeypatch.setattr(_runtime_choice, "find_tool", lambda name, _extra: None if name == missing else "/bin/" + name)
    with pytest.raises(NpufleetError) as caught:
        choose_runtime(params(runtime="systemd"), FakeRun())
    assert str(caught.value) == (
        "systemd does not run this host. Where: runtime. What to do: Set vllm_engine_runtime to supervisor or auto."
    )


def test_containers_are_asked_for_by_name(monkeypatch):
    runtime = choose_runtime(params(runtime="docker", container=dict(IMAGE, docker_host="unix:///podman.sock")), FakeRun())
    assert isinstance(runtime, DockerRuntime)
    assert runtime.docker._docker_host == "unix:///podman.sock"
    default = choose_runtime(params(runtime="docker", container=IMAGE), FakeRun())
    assert default.docker._docker_host == "unix:///var/run/docker.sock"
