# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""playbooks/rollback.yml with an engine that a plan has put on two hosts: nobody plans again, and both go back by what they have kept.

The hosts are this machine, the engine a stand-in, and so are the scripts of CANN.
"""

from __future__ import annotations

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import typing as t

import pytest
import yaml
from functional_host import ROOT, Bench

HOSTS = ("npu-01", "npu-02")
UPGRADE = {"ansible.builtin.include_role": {"name": "npufleet.ascend.vllm_engine", "tasks_from": "upgrade"}}


class Planned(Bench):
    """Two homes, and rows of a plan for both."""

    def __init__(self, folder: pathlib.Path) -> None:
        super().__init__(folder)
        self.script = folder / "set_env.sh"
        self.script.write_text("export ASCEND_HOME_PATH=/opt/cann-9.1.0\n")
        for name in HOSTS:
            make = [sys.executable, str(ROOT / "molecule/shared/standin_engine/make_standin.py"), str(folder / name / "venv")]
            subprocess.run(make, check=True)

    def rows(self) -> t.List[t.Dict[str, t.Any]]:
        return [
            {
                "name": "q",
                "host": host,
                "chips": [{"device": "/dev/davinci4", "phy_id": 4}],
                "layout": {"hosts": 2},
                "args": dict({"data_parallel_size": 2}, **({"headless": True} if rank else {})),
                "env": {"ASCEND_RT_VISIBLE_DEVICES": "4"},
                "rank": rank,
                "headless": rank > 0,
                "master_address": "127.0.0.1",
            }
            for rank, host in enumerate(HOSTS)
        ]

    def play(self, playbook: str, **args: t.Any) -> str:
        common = {
            "ansible_connection": "local",
            "ansible_python_interpreter": sys.executable,
            "vllm_engine_name": "q",
            "vllm_engine_hosts": 2,
            "vllm_engine_accelerator": "ascend",
            "vllm_engine_runtime": "supervisor",
            "vllm_engine_vllm_ascend": "0.23.0.post1",
            "vllm_engine_install": False,
            "vllm_engine_home": str(self.folder) + "/{{ inventory_hostname }}",
            "vllm_engine_venv": str(self.folder) + "/{{ inventory_hostname }}/venv",
            "vllm_engine_model": str(self.model),
            "vllm_engine_host": "0.0.0.0",
            "vllm_engine_port": self.port,
            "vllm_engine_args": dict({"max_model_len": 512}, **args),
            "vllm_engine_set_env": [str(self.script)],
            "vllm_engine_replace": True,
            "vllm_engine_wait_timeout": 60,
            "vllm_engine_stop_timeout": 5,
        }
        inventory = self.folder / "inventory.yml"
        inventory.write_text(yaml.safe_dump({"engines": {"hosts": {host: {} for host in HOSTS}, "vars": common}}))
        done = self.run("ansible-playbook", "-i", str(inventory), playbook)
        assert done.returncode == 0, self.output
        return self.output

    def upgrade(self, **args: t.Any) -> None:
        """As upgrade.yml does, but for the plan."""
        play = {"hosts": "engines", "gather_facts": False, "vars": {"vllm_engine_rows": self.rows()}, "tasks": [UPGRADE]}
        (self.folder / "upgrade.yml").write_text(yaml.safe_dump([play]))
        self.play(str(self.folder / "upgrade.yml"), **args)

    def argv(self) -> t.List[t.List[str]]:
        return [json.loads((self.folder / host / "engines/q/launch.json").read_text())["spec"]["argv"] for host in HOSTS]


@pytest.fixture()
def planned(prepared: pathlib.Path) -> t.Iterator[Planned]:
    folder = pathlib.Path(tempfile.mkdtemp(prefix="npuf-"))
    shutil.copytree(prepared / "models", folder / "models")
    planned = Planned(folder)
    yield planned
    for name in HOSTS:
        if (folder / name / "supervisor").exists():
            home = {"home": str(folder / name), "venv": str(folder / name / "venv")}
            planned.task({"npufleet.ascend.vllm_engine": planned.options(name="q", state="absent", **home)})
    shutil.rmtree(folder)


def test_both_hosts_go_back_by_their_own_rows(planned: Planned) -> None:
    planned.upgrade(max_num_seqs=8)
    before = planned.argv()
    assert ["--headless" in words for words in before] == [False, True]
    planned.upgrade(max_num_seqs=16)
    assert planned.argv() != before
    # What the inventory says by now does not count.
    output = planned.play("npufleet.ascend.rollback", max_num_seqs=32)
    assert planned.argv() == before, output
    assert output.count("PLAY [Go back with the engines") == 1, "one batch"
    rows = [json.loads((planned.folder / host / "engines/q/plan.json").read_text()) for host in HOSTS]
    assert [(row["host"], row["rank"], row["chips"][0]["phy_id"]) for row in rows] == [("npu-01", 0, 4), ("npu-02", 1, 4)]
    assert "changed=0" in planned.play("npufleet.ascend.rollback").partition("PLAY RECAP")[2]
