# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is wrong in an inventory of bare servers is one message, before a layer is looked at. Real Ansible; nothing on this machine is changed."""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import typing as t

import pytest
import yaml
from functional_host import BIN, ROOT

NPUS = {"present": True, "available": False, "generation": "A2", "chips": [], "message": ""}

# variables -> what the one message says
PREPARE = {
    '{"npufleet_layers": "cann"}': "npufleet_layers is the text 'cann' and no list. Where: npufleet_layers.",
    '{"npufleet_layers": ["cnan"]}': "There is no layer cnan. Where: npufleet_layers.",
    '{"npufleet_serial": "some"}': "some is no number of hosts. Where: npufleet_serial.",
    '{"npufleet_serial": [1, "25 %"]}': "25 % is no number of hosts. Where: npufleet_serial.",
    '{"kunpeng_host_hugepage": []}': "kunpeng_host_hugepage is no variable of the role kunpeng_host",
    '{"npufleet_layers": ["ascend_driver"], "ascend_driver_verison": "25.5.0"}': "ascend_driver_verison is no variable of the role ascend_driver",
    '{"npufleet_layers": ["ascend_driver"], "npufleet_reboot": "maybe"}': "maybe is no answer to whether bare may be rebooted.",
    '{"npufleet_layers": ["ascend_driver"], "ascend_driver_chip": "910z"}': "There is no driver package for the chip 910z. Where: ascend_driver_chip.",
    '{"npufleet_layers": ["cann"], "cann_chip": "910z"}': "There are no CANN operators for the chip 910z. Where: cann_chip.",
}


class Site:
    """An inventory of one host, which is this machine, and playbooks on it in check mode, never as another user."""

    def __init__(self, folder: pathlib.Path) -> None:
        self._folder = folder
        host = {"ansible_connection": "local", "ansible_become": False, "ansible_python_interpreter": str(BIN / "python")}
        (folder / "hosts.yml").write_text(yaml.safe_dump({"engines": {"hosts": {"bare": host}}}), encoding="utf-8")

    def play(self, text: str, *options: str) -> subprocess.CompletedProcess:
        book = self._folder / "play.yml"
        book.write_text(text, encoding="utf-8")
        env = dict(os.environ, ANSIBLE_CONFIG=str(ROOT / "ansible.cfg"), ANSIBLE_COLLECTIONS_PATH=str(ROOT / "collections"), NO_COLOR="1")
        env["ANSIBLE_LOCAL_TEMP"] = str(self._folder / "tmp")
        argv = [str(BIN / "ansible-playbook"), "-i", str(self._folder / "hosts.yml"), "--check", str(book), *options]
        return subprocess.run(argv, env=env, capture_output=True, text=True, timeout=120, check=False)

    def preflight(self, variables: str) -> subprocess.CompletedProcess:
        fact = {"ansible.builtin.set_fact": {"npufleet_npu": NPUS, "cacheable": True}}
        plays = [
            {"hosts": "engines", "gather_facts": False, "tasks": [fact]},
            {"ansible.builtin.import_playbook": "npufleet.ascend.layers_preflight"},
        ]
        return self.play(json.dumps(plays), "-e", variables)

    def remove(self, layers: str) -> subprocess.CompletedProcess:
        return self.play(json.dumps([{"ansible.builtin.import_playbook": "npufleet.ascend.remove"}]), "-e", layers)


@pytest.fixture
def site(tmp_path: pathlib.Path) -> Site:
    return Site(tmp_path)


@pytest.mark.parametrize("variables", PREPARE)
def test_one_message_before_anything_is_touched(site: Site, variables: str) -> None:
    done = site.preflight(variables)
    assert done.returncode != 0 and PREPARE[variables] in done.stdout + done.stderr, done.stdout + done.stderr
    assert "What to do: " in done.stdout and "failed=1" in done.stdout and "changed=0" in done.stdout


@pytest.mark.parametrize("name", ["cann_versoin", "container_runtime_restert"])
def test_names_that_may_belong_to_something_else_are_told(site: Site, name: str) -> None:
    layer = name.rpartition("_")[0]
    done = site.preflight(json.dumps({"npufleet_layers": [layer], name: "8.5.0"}))
    assert "{0} is no variable of the role {1}, which ignores it.".format(name, layer) in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("role", ["vllm_engine", "vllm_gateway"])
def test_misspelt_variables_of_engines_and_gateways_are_refused(site: Site, role: str) -> None:
    ask = {"ansible.builtin.import_role": {"name": "npufleet.ascend." + role, "tasks_from": "preflight"}}
    done = site.play(json.dumps([{"hosts": "engines", "gather_facts": False, "tasks": [ask]}]), "-e", role + "_adress=0.0.0.0")
    assert done.returncode != 0 and "{0}_adress is no variable of the role {0}".format(role) in done.stdout, done.stdout + done.stderr
    assert "What to do: " in done.stdout and "changed=0" in done.stdout


@pytest.mark.parametrize(
    ("mindstudio", "there"),
    [(False, set()), (True, {"openjdk-17-jdk", "libcanberra-gtk-module", "java-17-openjdk-devel", "libcanberra-gtk3"})],
)
def test_java_and_sound_are_for_mindstudio_alone(site: Site, mindstudio: bool, there: t.Set[str]) -> None:
    tasks = [
        {"ansible.builtin.import_role": {"name": "npufleet.ascend.kunpeng_host", "tasks_from": "needs"}},
        {"ansible.builtin.debug": {"msg": "{{ __kunpeng_host_needs.os_packages.values() | flatten | join(' ') }}"}},
    ]
    play = [{"hosts": "engines", "gather_facts": False, "tasks": tasks}]
    done = site.play(json.dumps(play), "-e", json.dumps({"kunpeng_host_mindstudio": mindstudio}))
    (told,) = re.findall(r'"msg": "(.*)"', done.stdout)
    names = set(told.split())
    assert {"numactl", "pciutils", "net-tools", "gcc", "make", "dkms", "python3-pip", "python3-dev", "python3-devel"} <= names, told
    assert {name for name in names if "jdk" in name or "canberra" in name} == there


@pytest.mark.parametrize("layers", ["remove_layers=cnan", '{"remove_layers": ["vllm_gateway", "cnan"]}'])
def test_a_layer_that_there_is_not_is_not_removed(site: Site, layers: str) -> None:
    done = site.remove(layers)
    assert done.returncode != 0 and "There is no layer cnan. Where: remove_layers." in done.stdout, done.stdout


def test_layers_to_remove_may_be_typed_with_commas(site: Site) -> None:
    done = site.remove("remove_layers=vllm_engine,cnan")
    assert "There is no layer cnan. Where: remove_layers." in done.stdout, done.stdout
