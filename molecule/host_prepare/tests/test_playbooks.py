# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The playbooks on hosts that are prepared: what a further run changes, what is refused, and what the object store was asked for."""

from __future__ import annotations

import collections
import json

import pytest
import testinfra
from prepared_host import PreparedHost, recap

ONE = "ubuntu-a2"

# option of the play -> what its one message says
REFUSED = {
    "ascend_driver_version=latest": "latest",
    "npufleet_layers=['ascend_drvier']": "There is no layer ascend_drvier",
    "cann_packages=['toolkitt']": "Got no match for: toolkitt",
    "ascend_driver_version=26.0.rc1 ascend_driver_accept_licence=false": "licence",
    "ascend_driver_version=25.2.0": "allow_downgrade",
    "ascend_driver_version=25.9.9": "nobody published a SHA-256 sum of Ascend-hdk-910b-npu_25.9.9_linux-",
    "ascend_driver_version=26.0.rc1 npufleet_download=false": "is not in /var/lib/npufleet/packages",
    "npufleet_serial=some": "some is no number of hosts",
    "kunpeng_host_hugepage=[]": "kunpeng_host_hugepage is no variable of the role kunpeng_host",
}


@pytest.fixture(scope="module")
def servers(variables):
    names = list(variables["engines"]["hosts"])
    return {name: testinfra.get_host("docker://" + variables["molecule"]["hosts"][name]["ansible_host"]) for name in names}


@pytest.fixture(scope="module")
def store(variables):
    return testinfra.get_host("docker://" + variables["molecule"]["hosts"]["files"]["ansible_host"])


def executions(servers):
    return {name: PreparedHost(server).executions() for name, server in servers.items()}


def test_a_further_run_starts_no_installer_and_changes_nothing(run_playbook, servers):
    before = executions(servers)
    done = run_playbook("npufleet.ascend.prepare")
    assert done.returncode == 0, done.stdout
    assert {name: recap(done)[name] for name in servers} == {name: {"changed": 0, "failed": 0} for name in servers}
    assert executions(servers) == before


@pytest.mark.parametrize("options", REFUSED)
def test_bad_input_is_refused_in_one_message_and_nothing_is_touched(run_playbook, servers, options):
    before = executions(servers)[ONE]
    words = [part for option in options.split() for part in ("-e", _json(option))]
    done = run_playbook("npufleet.ascend.prepare", "--limit", "localhost," + ONE, *words)
    assert done.returncode != 0
    assert REFUSED[options] in done.stdout, done.stdout
    assert recap(done)[ONE] == {"changed": 0, "failed": 1}
    assert executions(servers)[ONE] == before


def _json(option):
    name, _sign, value = option.partition("=")
    return json.dumps({name: json.loads(value.replace("'", '"')) if value[:1] in "[ft" else value})


def test_store_was_asked_with_the_referer_and_once_for_each_file_and_host(store, servers):
    asked = [json.loads(line) for line in store.file("/srv/requests.jsonl").content_string.splitlines()]
    served = collections.Counter(line["path"] for line in asked if line["method"] == "GET" and line["status"] in (200, 206))
    assert len(served) == 5
    assert set(served.values()) == {len(servers)}
    assert all("hiascend.com" in line["referer"] for line in asked if line["method"] == "GET")
