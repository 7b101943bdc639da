# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Exports by real Ansible: the script starts the container that the module makes, and Kubernetes' own schemas accept the manifests."""

from __future__ import annotations

import json
import pathlib
import subprocess
import typing as t
import urllib.request

import kubernetes_validate
import pytest
import test_docker_engine
import yaml
from docker_host import NAME, DockerBench, docker
from functional_host import KEY

bench = test_docker_engine.bench
# The oldest, one of a time between, and the newest that the validator has.
VERSIONS = ("1.25", "1.31", "1.37")
HEAD = {"data_parallel_size": 2, "data_parallel_address": "192.0.2.10", "data_parallel_rpc_port": 13389}


def planned(bench: DockerBench, **changes: t.Any) -> dict:
    """What check mode says of the container."""
    return bench.engine(check=True, **changes)["engine"]["container"]


def export(bench: DockerBench, container: dict, format: str, check: bool = False, **options: t.Any) -> t.Tuple[dict, pathlib.Path]:
    """Write the text with a task, as playbooks/export.yml does."""
    path = bench.folder / ("exported-" + format)
    text = "{{ exported_container | npufleet.ascend.vllm_export(exported_format, **exported_options) }}"
    task = {
        "ansible.builtin.copy": {"content": text, "dest": str(path), "mode": "0755"},
        "vars": {"exported_container": container, "exported_format": format, "exported_options": options},
    }
    return bench.task(task, check), path


def settings(found: dict) -> dict:
    """What was asked for, of what Docker says about a container, one level deep. Its command line writes capabilities with CAP_."""
    config, host = found["Config"], found["HostConfig"]
    kept = ("Image", "Cmd", "Entrypoint", "Labels", "StopTimeout", "ExposedPorts")
    return {
        **{key: config.get(key) for key in kept},
        "Env": sorted(config["Env"]),
        **{key: value for key, value in host.items() if value and value != -1},
        "CapAdd": ["CAP_" + name.replace("CAP_", "") for name in host["CapAdd"]],
    }


def completion(port: int) -> str:
    body = {"model": "tiny", "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 4}
    request = urllib.request.Request(
        "http://127.0.0.1:{0}/v1/chat/completions".format(port),
        json.dumps(body).encode(),
        {"Content-Type": "application/json", "Authorization": "Bearer " + KEY},
    )
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)["choices"][0]["message"]["content"]


def answers(port: int) -> bool:
    try:
        return completion(port) == "stand-in"
    except OSError:
        return False


def test_the_script_starts_the_container_that_the_module_makes(bench: DockerBench) -> None:
    options = test_docker_engine.everything(bench)
    container = planned(bench, **options)
    told, path = export(bench, container, "docker-run", check=True)
    assert (told["changed"], path.exists()) == (True, False)
    assert export(bench, container, "docker-run")[0]["changed"] is True
    assert export(bench, container, "docker-run")[0]["changed"] is False
    assert KEY not in path.read_text()

    assert bench.engine(**options)["engine"]["container"] == container
    made = bench.inspect()
    docker("rm", "--force", NAME)
    # The file of the key stays, as the module removed nothing.
    subprocess.run(["sh", str(path)], check=True, capture_output=True)
    mine, theirs = settings(bench.inspect()), settings(made)
    assert {key: (mine.get(key), theirs.get(key)) for key in {*mine, *theirs} if mine.get(key) != theirs.get(key)} == {}
    assert test_docker_engine.wait_for(lambda: answers(bench.port), 30), bench.log()


def test_kubernetes_accepts_the_manifests_of_an_image_that_is_not_here(bench: DockerBench) -> None:
    image = {"image": "192.0.2.1:5000/never/pulled:v1"}
    runtime = dict(image, devices=[], control_devices=None, oci_runtime="ascend")
    for changes in (
        bench.npu(api_key=KEY, container=dict(image, cpuset="0", mounts=["/usr/share/zoneinfo"])),
        {"container": dict(image, network="fleet", entrypoint=[])},
        bench.npu(env={"ASCEND_VISIBLE_DEVICES": "4,5"}, container=runtime, args=HEAD),
        bench.npu(container=image, args=dict(HEAD, headless=True, data_parallel_start_rank=1)),
    ):
        container = planned(bench, **changes)
        told, path = export(bench, container, "kubernetes", soc="a2", node="npu-01.example.com", namespace="llm")
        assert told.get("failed") is not True, bench.output
        objects = list(yaml.safe_load_all(path.read_text()))
        assert [one["kind"] for one in objects] == (["Deployment"] if container["headless"] else ["Deployment", "Service"])
        for one in objects:
            for version in VERSIONS:
                kubernetes_validate.validate(one, version, strict=True)
    objects[0]["spec"]["template"]["spec"]["hostNetwrok"] = True
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(objects[0], VERSIONS[-1], strict=True)
