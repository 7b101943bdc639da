# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._clock import Clock
from ansible_collections.npufleet.ascend.plugins.module_utils._container_adapter import Host
from ansible_collections.npufleet.ascend.plugins.module_utils._container_task import ContainerTask
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.container_fakes import FakeHost


@pytest.fixture()
def host(tmp_path):
    return FakeHost(tmp_path)


def test_a_tool_is_also_looked_for_where_only_root_looks():
    asked = []
    host = Host(lambda *_arguments: None, Clock(lambda: 0.0, lambda _seconds: None), lambda name, extra: asked.append((name, extra)))
    assert host.tool("dockerd") is None
    assert asked[0][0] == "dockerd" and "/usr/sbin" in asked[0][1]


@pytest.mark.parametrize("missing", ["systemctl", "journalctl"])
def test_a_host_without_systemd(host, missing):
    host.tools.discard(missing)
    with pytest.raises(NpufleetError, match="the host has no systemd"):
        host.apply()


@pytest.mark.parametrize(
    ("release", "tools", "expected"),
    [
        ('ID=debian\nVERSION_ID="12"\n', {"apt-get"}, ("debian", [], "12", "apt-get")),
        ('ID="openEuler"\nVERSION_ID="22.03"\n', {"dnf", "yum"}, ("openeuler", [], "22.03", "dnf")),
        ("ID=uos\n", {"apt-get"}, ("uos", [], "", "apt-get")),
        ('ID=mint\nID_LIKE="ubuntu debian"\n', {"apt-get"}, ("mint", ["ubuntu", "debian"], "", "apt-get")),
        ("ID=other\n", {"dnf"}, ("other", [], "", "dnf")),
        ("ID=other\n", set(), ("other", [], "", "")),
    ],
)
def test_what_packages_depend_on(host, release, tools, expected):
    host.tools = tools
    host.write(host.folder + "/etc/os-release", release)
    engine = host.apply(check=True)["engine"]
    assert (engine["os_id"], engine["os_like"], engine["os_version"], engine["package_tool"]) == expected


def test_the_result_names_everything(host):
    engine = host.apply(check=True, runtimes={"ascend": host.program()})["engine"]
    assert engine == {
        "name": "docker",
        "installed": True,
        "missing": "",
        "version": "20.10.24+dfsg1",
        "running": True,
        "config_path": host.path,
        "runtimes": ["ascend"],
        "missing_programs": [],
        "default_runtime": None,
        "site_default_runtime": None,
        "recorded": False,
        "differs": True,
        "action": "reload",
        "due": ["runtimes"],
        "pending": [],
        "needs_consent": False,
        "consent_reason": "",
        "containers": [],
        "os_id": "debian",
        "os_like": [],
        "os_version": "12",
        "package_tool": "apt-get",
    }


def test_the_diff_tells_what_the_engine_takes_over_and_what_waits(host):
    host.site(debug=False)
    host.containers = {"a": "runc"}
    diff = host.apply(runtimes={"ascend": host.program()}, daemon_options={"log-opts": {"max-size": "5m"}}, restart=False)["diff"]
    assert diff["before"].endswith("# docker: running\n")
    assert diff["after"].endswith("# docker: running\n# takes over: runtimes\n# waits for a restart: log-opts\n")


def test_bad_options_are_refused_before_anything_is_looked_at():
    with pytest.raises(NpufleetError, match="no name of a runtime"):
        ContainerTask(
            {
                "engine": "docker",
                "state": "present",
                "runtimes": {"a b": "/x"},
                "default_runtime": None,
                "daemon_options": {},
                "daemon_defaults": {},
                "restart": None,
                "config_path": None,
                "record_folder": "/r",
                "wait_timeout": 1,
            },
            Host(lambda *_arguments: pytest.fail("a command"), Clock(lambda: 0.0, lambda _seconds: None)),
        )


def test_a_unit_that_may_not_be_enabled_is_left_as_it_is(host):
    shown = host._show
    host._show = lambda unit: shown(unit).replace("UnitFileState=enabled", "UnitFileState=static")
    assert host.apply()["changed"] is False
    assert host.verbs() == []


def test_a_looking_run_asks_twice(host):
    """One call of systemctl and one of docker: what a second run costs."""
    host.apply(runtimes={"ascend": host.program()})
    asked = []
    run = host.run
    host.run = lambda argv, **options: asked.append(argv[1]) or run(argv, **options)
    host.apply(runtimes={"ascend": host.program()})
    assert asked == ["show", "info"]
