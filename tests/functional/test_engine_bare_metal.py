# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An engine on NPUs outside a container, with the stand-in engine and stand-ins of CANN's scripts: by the module, and by the role from a plan."""

from __future__ import annotations

import json
import os
import pathlib
import sys

import yaml
from functional_host import Bench

SCRIPT = "export ASCEND_HOME_PATH={0} LD_LIBRARY_PATH={0}/lib:$LD_LIBRARY_PATH PATH={0}/bin:$PATH\n"


def cann(bench: Bench, version: str) -> list:
    script = bench.folder / "set_env.sh"
    script.write_text(SCRIPT.format("/opt/cann-" + version))
    return [str(script)]


def environment(pid: int) -> dict:
    pairs = pathlib.Path(f"/proc/{pid}/environ").read_text().split("\0")
    return dict(pair.split("=", 1) for pair in pairs if "=" in pair)


def test_the_process_has_what_canns_scripts_set(bench: Bench) -> None:
    options = {"accelerator": "ascend", "set_env": cann(bench, "9.1.0"), "command_prefix": ["/usr/bin/nice", "-n", "1"]}
    options["env"] = {"ASCEND_RT_VISIBLE_DEVICES": "4,5"}
    first = bench.engine(**options)
    assert first["changed"] is True, bench.output
    env = environment(first["engine"]["pid"])
    assert (env["ASCEND_HOME_PATH"], env["ASCEND_RT_VISIBLE_DEVICES"], env["TASK_QUEUE_ENABLE"]) == ("/opt/cann-9.1.0", "4,5", "1")
    assert env["LD_LIBRARY_PATH"].split(":")[-1] == "/opt/cann-9.1.0/lib"
    assert env["PATH"].startswith(f"{bench.venv}/bin:/opt/cann-9.1.0/bin:")
    assert os.getpriority(os.PRIO_PROCESS, first["engine"]["pid"]) == os.getpriority(os.PRIO_PROCESS, 0) + 1
    assert bench.engine(**options)["changed"] is False
    options["set_env"] = cann(bench, "9.2.0")
    asked = bench.engine(**options)
    assert asked["failed"] is True
    assert "ASCEND_HOME_PATH=/opt/cann-9.1.0" in asked["msg"]
    assert bench.engine(replace=True, **options)["engine"]["action"] == "replace"


def test_the_role_runs_a_row_of_a_plan(bench: Bench) -> None:
    row = {
        "name": "demo",
        "host": "localhost",
        "chips": [{"device": "/dev/davinci4"}],
        "args": {"tensor_parallel_size": 1},
        "env": {"ASCEND_RT_VISIBLE_DEVICES": "4"},
        "command_prefix": ["/usr/bin/nice", "-n", "1"],
    }
    variables = {
        "ansible_python_interpreter": sys.executable,
        "vllm_engine_name": "demo",
        "vllm_engine_accelerator": "ascend",
        "vllm_engine_runtime": "supervisor",
        "vllm_engine_vllm_ascend": "0.23.0.post1",
        "vllm_engine_install": False,
        "vllm_engine_home": str(bench.home),
        "vllm_engine_venv": str(bench.venv),
        "vllm_engine_model": str(bench.model),
        "vllm_engine_port": bench.port,
        "vllm_engine_args": {"max_model_len": 512, "max_num_seqs": 8},
        "vllm_engine_set_env": cann(bench, "9.1.0"),
        "vllm_engine_stop_timeout": 5,
        "vllm_engine_rows": [row],
    }
    facts = {"ansible.builtin.set_fact": {"npufleet_npu": {"present": True, "generation": "A3"}, "cacheable": True}}
    roles = [
        {"ansible.builtin.include_role": dict(name="npufleet.ascend.vllm_engine", **more)} for more in ({"tasks_from": "preflight"}, {})
    ]
    play = {"hosts": "localhost", "connection": "local", "gather_facts": False, "vars": variables, "tasks": [facts, *roles]}
    playbook = bench.folder / "role.yml"
    playbook.write_text(yaml.safe_dump([play]))
    predicted = bench.run("ansible-playbook", str(playbook), "--check", "--diff")
    assert predicted.returncode == 0, bench.output
    first = bench.run("ansible-playbook", str(playbook))
    assert first.returncode == 0, bench.output
    assert "changed=1" in first.stdout
    assert "on NPU chips 4 the engine demo, vllm-ascend 0.23.0.post1" in " ".join(first.stdout.split())
    launch = json.loads((bench.home / "engines" / "demo" / "launch.json").read_text())
    assert launch["spec"]["argv"][:4] == ["/usr/bin/nice", "-n", "1", str(bench.venv) + "/bin/vllm"]
    assert launch["spec"]["env"]["ASCEND_RT_VISIBLE_DEVICES"] == "4"
    assert launch["spec"]["env"]["ASCEND_HOME_PATH"] == "/opt/cann-9.1.0"
    second = bench.run("ansible-playbook", str(playbook))
    assert (second.returncode, "changed=0" in second.stdout) == (0, True), bench.output
    gone = bench.run("ansible-playbook", str(playbook), "-e", "vllm_engine_state=absent")
    assert gone.returncode == 0, bench.output
    assert not (bench.home / "engines" / "demo").exists()
