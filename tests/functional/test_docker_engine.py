# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""vllm_engine in real containers: launch, second run, consent, restart policy, secrets, devices and mounts, failures."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import typing as t

import pytest
import yaml
from docker_host import IMAGE, NAME, STANDIN, DockerBench, Registry, docker, make_driver, make_nodes
from functional_host import KEY

ARGS = {"max_model_len": 512, "max_num_seqs": 8, "enforce_eager": True}
CHANGED = dict(ARGS, max_model_len=256)


@pytest.fixture()
def bench(prepared: pathlib.Path, images: None) -> t.Iterator[DockerBench]:
    folder = pathlib.Path(tempfile.mkdtemp(prefix="npuf-"))
    shutil.copytree(prepared / "models", folder / "models")
    make_driver(folder / "root")
    bench = DockerBench(folder)
    bench.nodes = make_nodes(folder / "dev")
    yield bench
    docker("rm", "--force", "--volumes", NAME, NAME + "-replaced", check=False)
    shutil.rmtree(folder)


def wait_for(condition: t.Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.2)
    return False


def everything(bench: DockerBench) -> dict:
    """The full option set."""
    cpus = sorted(os.sched_getaffinity(0))[0]
    return bench.npu(
        api_key=KEY,
        env={"HCCL_BUFFSIZE": "200", "STANDIN_START_SECONDS": "0.2"},
        container={"cpuset": str(cpus), "mounts": ["/usr/share/zoneinfo"], "log_size": "1m", "log_files": 2, "restart": "always"},
    )


def test_launch_and_a_second_run_with_the_full_option_set(bench: DockerBench) -> None:
    told = bench.engine(check=True, **everything(bench))
    assert (told["changed"], told["engine"]["action"]) == (True, "create")
    assert not bench.home.exists()
    assert "No such" in docker("inspect", NAME, check=False)

    first = bench.engine(**everything(bench))
    assert first["changed"] is True, bench.output
    assert first["engine"]["completion"]["text"] == "stand-in"
    assert first["diff"] == told["diff"]

    second = bench.engine(**everything(bench))
    assert (second["changed"], second["engine"]["action"], second["engine"]["pid"]) == (False, "keep", first["engine"]["pid"])
    assert bench.engine(check=True, **everything(bench))["changed"] is False


def test_what_the_container_gets_and_what_not(bench: DockerBench) -> None:
    bench.engine(**everything(bench))
    found = bench.inspect()
    host = found["HostConfig"]
    assert (host["Privileged"], host["CapDrop"], host["CapAdd"]) == (False, ["ALL"], ["DAC_OVERRIDE", "SYS_NICE"])
    assert (host["ShmSize"], host["LogConfig"]["Config"]) == (256 << 20, {"max-file": "2", "max-size": "1m"})
    effective = bench.inside("grep", "-E", "CapEff|NoNewPrivs", "/proc/1/status").split()
    # CAP_DAC_OVERRIDE is bit 1, CAP_SYS_NICE bit 23 (capabilities(7)).
    assert effective == ["CapEff:", format(1 << 1 | 1 << 23, "016x"), "NoNewPrivs:", "1"]
    assert bench.inside("sh", "-c", "ls /dev/davinci* /dev/hisi_hdc /dev/devmm_svm").split() == [
        "/dev/davinci4", "/dev/davinci5", "/dev/davinci_manager", "/dev/devmm_svm", "/dev/hisi_hdc",
    ]  # fmt: skip
    # The nodes belong to another user, as HwHiAiUser's do, and can be opened all the same.
    assert bench.inside("sh", "-c", "head -c 3 /dev/davinci4 | od -An -tx1").split() == ["00", "00", "00"]
    assert bench.inside("cat", "/usr/local/Ascend/driver/version.info") == "Version=26.0.rc1\n"
    assert bench.inside("ls", "/usr/local/dcmi", "/usr/local/bin/npu-smi", "/etc/ascend_install.info", "/etc/hccn.conf")
    for path in ("/usr/local/Ascend/driver/x", "/etc/hccn.conf", str(bench.model / "x"), "/run/npufleet/api-key"):
        assert "Read-only file system" in docker("exec", NAME, "sh", "-c", ": >> " + path, check=False)
    engine = bench.inside("sh", "-c", "tr '\\0' '\\n' < /proc/1/environ")
    assert "CANN_ENVIRONMENT=loaded" in engine
    assert "LD_LIBRARY_PATH=/usr/local/Ascend/driver/lib64:/usr/local/lib\n" in engine
    assert "LD_PRELOAD" not in engine


def test_only_a_changed_spec_recreates_and_only_with_consent(bench: DockerBench) -> None:
    pid = bench.engine()["engine"]["pid"]
    created = bench.inspect()["Id"]

    refused = bench.engine(args=CHANGED)
    assert refused["failed"] is True
    assert "--max-model-len 512 -> --max-model-len 256" in refused["msg"]
    kept = bench.engine(args=CHANGED, replace=False)
    assert (kept["changed"], kept["engine"]["pid"]) == (False, pid)
    told = bench.engine(check=True, args=CHANGED)
    assert (told["changed"], told["engine"]["action"], told["engine"]["needs_consent"]) == (True, "replace", True)
    assert bench.inspect()["Id"] == created

    replaced = bench.engine(args=CHANGED, replace=True)
    assert (replaced["changed"], replaced["engine"]["differences"]) == (True, ["argv: --max-model-len 512 -> --max-model-len 256"])
    assert bench.inspect()["Id"] != created
    assert bench.engine(args=CHANGED)["changed"] is False

    shm = bench.engine(check=True, args=CHANGED, container={"shm_bytes": 300 << 20})
    assert shm["engine"]["differences"] == ["container.shm_bytes: {0} -> {1}".format(256 << 20, 300 << 20)]


def test_the_options_are_those_of_the_vllm_in_the_image(bench: DockerBench) -> None:
    wrong = bench.engine(args=dict(ARGS, max_num_seq=8))
    assert "vLLM 0.32.0+cpu knows no option --max-num-seq" in wrong["msg"]
    assert not bench.home.exists()
    pid = bench.engine()["engine"]["pid"]
    assert [path.name for path in bench.home.glob("images/options-*/*")] == ["npufleet-arguments.json"]
    bad = bench.engine(args=dict(ARGS, seed="many"), replace=True)
    assert "--seed of vLLM 0.32.0+cpu takes a whole number, not many" in bad["msg"]
    assert bench.inspect()["State"]["Pid"] == pid
    left = docker("ps", "--all", "--quiet", "--filter", "label=npufleet.ascend.engine={0}/engines/demo".format(bench.home))
    assert len(left.split()) == 1


def test_a_tag_that_moved_is_a_difference(bench: DockerBench) -> None:
    docker("tag", IMAGE + ":one", IMAGE + ":moving")
    options = {"container": {"image": IMAGE + ":moving"}}
    bench.engine(**options)
    docker("tag", IMAGE + ":two", IMAGE + ":moving")
    told = bench.engine(check=True, **options)
    assert told["changed"] is True
    assert "container.image: {0}:moving is sha256:".format(IMAGE) in told["engine"]["differences"][0]
    assert bench.engine(replace=True, **options)["changed"] is True
    assert bench.engine(**options)["changed"] is False


def test_the_image_comes_from_an_archive(bench: DockerBench) -> None:
    archive = bench.folder / "engine.tar"
    docker("save", "--output", str(archive), IMAGE + ":two")
    docker("image", "rm", IMAGE + ":two")
    missing = bench.engine(container={"image": IMAGE + ":two"})
    assert "the image {0}:two is not on this host".format(IMAGE) in missing["msg"]
    options = {"container": {"image": IMAGE + ":two", "archive": str(archive)}}
    assert bench.engine(check=True, **options)["changed"] is True
    assert "No such" in docker("inspect", IMAGE + ":two", check=False)
    assert bench.engine(state="fetched", **options)["engine"]["action"] == "fetch"
    assert not list((bench.home / "images").iterdir())
    docker("image", "rm", IMAGE + ":two")
    assert bench.engine(**options)["engine"]["completion"]["text"] == "stand-in"
    archive.unlink()
    assert bench.engine(**options)["changed"] is False


@pytest.mark.parametrize("by", ["tag", "digest"])
def test_an_image_is_pulled_when_asked_for_and_only_then(bench: DockerBench, by: str) -> None:
    registry = Registry("hello {0} {1}".format(by, bench.port))
    image = registry.name + (":v1" if by == "tag" else "@" + registry.digest)
    try:
        refused = bench.engine(container={"image": image})
        assert "is not on this host" in refused["msg"]
        told = bench.engine(check=True, state="fetched", container={"image": image})
        assert (told["changed"], told["engine"]["action"]) == (True, "fetch")
        assert "No such" in docker("image", "inspect", image, check=False)
        pulled = bench.engine(state="fetched", container={"image": image})
        assert (pulled.get("msg"), pulled["changed"], pulled["engine"]["action"]) == (None, True, "fetch"), bench.output
        assert json.loads(docker("image", "inspect", image))[0]["RepoTags" if by == "tag" else "RepoDigests"] == [image]
        again = bench.engine(state="fetched", container={"image": image})
        assert (again["changed"], again["engine"]["action"]) == (False, "keep")
        assert not list((bench.home / "images").iterdir())
        assert "No such" in docker("inspect", NAME, check=False)
    finally:
        registry.server.shutdown()
        docker("image", "rm", image, check=False)


def test_an_image_that_cannot_be_pulled_is_one_message(bench: DockerBench) -> None:
    registry = Registry("hello")
    missing = bench.engine(state="fetched", container={"image": registry.name + ":no-such"})
    registry.server.shutdown()
    assert missing["failed"] is True
    assert "the image {0}:no-such cannot be had: ".format(registry.name) in missing["msg"]
    assert "manifest unknown" in missing["msg"]


def test_states(bench: DockerBench) -> None:
    defined = bench.engine(state="present")
    assert (defined["changed"], defined["engine"]["running"]) == (True, False)
    started = bench.engine(state="started")
    assert (started["engine"]["action"], started["engine"]["running"]) == ("start", True)
    assert bench.engine(state="present")["changed"] is False
    restarted = bench.engine(state="restarted")
    assert restarted["engine"]["pid"] != started["engine"]["pid"]
    stopped = bench.engine(state="stopped")
    assert (stopped["changed"], stopped["engine"]["running"]) == (True, False)
    assert bench.engine(state="stopped")["changed"] is False
    assert bench.engine(state="absent")["changed"] is True
    assert bench.engine(state="absent")["changed"] is False
    assert "No such" in docker("inspect", NAME, check=False)
    assert not (bench.home / "engines" / "demo").exists()


def test_a_killed_engine_comes_back(bench: DockerBench) -> None:
    pid = bench.engine()["engine"]["pid"]
    os.kill(pid, signal.SIGKILL)
    assert wait_for(lambda: bench.log().count("Application startup complete") == 2, 20)
    result = bench.engine()
    assert result["changed"] is False
    assert result["engine"]["pid"] != pid
    assert bench.inspect()["RestartCount"] == 1


def test_the_key_is_needed_and_shows_nowhere(bench: DockerBench) -> None:
    result = bench.engine(api_key=KEY)
    assert result["engine"]["completion"]["text"] == "stand-in", bench.output
    assert "401" in subprocess.run(
        ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "http://127.0.0.1:{0}/v1/models".format(bench.port)],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    places = {
        "output of Ansible": bench.output,
        "docker inspect": docker("inspect", NAME),
        "docker logs": docker("logs", NAME),
        "docker top": docker("top", NAME),
        "process list": subprocess.run(["ps", "axww", "-o", "args"], capture_output=True, text=True, check=True).stdout,
        "result": json.dumps(result),
        "events": docker("events", "--since", "5m", "--until", "0s", "--filter", "container=" + NAME),
    }
    assert "vllm.engine serve" in places["process list"]
    assert [place for place, text in places.items() if KEY in text] == []
    holders = [path for path in bench.home.rglob("*") if path.is_file() and KEY in path.read_text(errors="replace")]
    assert [(path.name, oct(path.stat().st_mode & 0o777)) for path in holders] == [("secret.key", "0o600")]

    rotated = bench.engine(api_key=KEY + "-2", replace=True)
    assert rotated["engine"]["differences"] == ["a secret changed"]
    assert KEY not in bench.output
    open_now = bench.engine(replace=True)
    assert open_now["engine"]["differences"] == ['secrets: ["VLLM_API_KEY"] -> []']
    assert not (bench.home / "engines/demo/secret.key").exists()


def comparable(found: dict) -> dict:
    """The part of a container that its maker set: the command line writes CAP_, the size of the console, and lists where the API keeps nothing."""
    host = dict(found["HostConfig"], ConsoleSize=None)
    host["CapAdd"] = [word.replace("CAP_", "") for word in host["CapAdd"]]
    return {part: value or None for part, value in host.items()}


def test_the_command_line_makes_the_same_container(bench: DockerBench) -> None:
    options = everything(bench)
    result = bench.engine(**options)
    made = bench.inspect()
    docker("rm", "--force", NAME)
    command = result["engine"]["command"]
    assert KEY not in json.dumps(command)
    docker(*command[1:])
    typed = bench.inspect()
    assert sorted(typed["Config"]["Env"]) == sorted(made["Config"]["Env"])
    for part in ("Cmd", "Entrypoint", "Labels", "Image", "StopTimeout"):
        assert typed["Config"][part] == made["Config"][part], part
    made_host, typed_host = comparable(made), comparable(typed)
    assert {part: (made_host[part], typed_host.get(part)) for part in made_host if made_host[part] != typed_host.get(part)} == {}
    assert bench.engine(**options)["changed"] is False


def test_a_published_port(bench: DockerBench) -> None:
    options = {"container": {"network": "bridge"}}
    assert bench.engine(**options)["engine"]["completion"]["text"] == "stand-in", bench.output
    assert bench.engine(**options)["changed"] is False
    assert bench.engine(args=CHANGED, replace=True, **options)["engine"]["action"] == "replace", bench.output


def test_an_engine_that_dies_fails_at_once_with_its_first_error_and_the_signature(bench: DockerBench) -> None:
    bench.fault(
        mode="die", after=0.2, log=["(EngineCore pid=7) OSError: libnuma.so.1: cannot open shared object file: No such file or directory"]
    )
    began = time.monotonic()
    result = bench.engine(
        wait_timeout=120, container={"mounts": ["{0}/fault.json:{1}/fault.json".format(bench.folder, STANDIN)]}
    )  # fmt: skip
    assert result["failed"] is True
    assert time.monotonic() - began < 60
    assert "died while starting" in result["msg"]
    assert "libnuma.so.1" in result["first_error"]
    assert result["signature"]["id"]
    assert result["tail"]
    assert bench.inspect()["State"]["Status"] == "exited", "a broken engine must not be started again and again"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"container": {"devices": ["/dev/no-such-node:/dev/davinci0"]}}, "/dev/no-such-node does not exist"),
        ({"container": {"driver_root": "/no/such/root"}}, "/no/such/root/usr/local/Ascend/driver"),
        ({"container": {"network": "npufleet-no-such-network"}}, "there is no network npufleet-no-such-network"),
        ({"env": {"ASCEND_RT_VISIBLE_DEVICES": "4"}}, "#13399"),
        (
            {"container": {"devices": [], "oci_runtime": "ascend"}, "env": {"ASCEND_VISIBLE_DEVICES": "4,5"}},
            "the container engine knows no runtime ascend",
        ),
    ],
)
def test_one_message_before_a_running_engine_is_touched(bench: DockerBench, changes: dict, words: str) -> None:
    pid = bench.engine(**bench.npu())["engine"]["pid"]
    result = bench.engine(replace=True, **bench.npu(**changes))
    assert result["failed"] is True
    assert words in result["msg"]
    assert bench.inspect()["State"]["Pid"] == pid


def test_a_container_of_somebody_else_is_left_alone(bench: DockerBench) -> None:
    docker("create", "--name", NAME, IMAGE + ":one")
    result = bench.engine()
    assert "is not this engine's" in result["msg"]
    assert bench.inspect()["Config"]["Labels"].get("npufleet.ascend.spec") is None


def test_the_role_brings_an_engine_to_another_image_and_back(bench: DockerBench) -> None:
    """Both images are on the host, so that nothing is to be fetched; and the engine is replaced all the same."""

    def role(entry: str, tag: str) -> bool:
        variables = {
            "ansible_python_interpreter": sys.executable,
            "vllm_engine_accelerator": "cpu",
            "vllm_engine_runtime": "docker",
            "vllm_engine_image": "{0}:{1}".format(IMAGE, tag),
            "vllm_engine_container": {"name": NAME, "shm_bytes": 256 << 20},
            "vllm_engine_home": str(bench.home),
            "vllm_engine_name": "demo",
            "vllm_engine_model": str(bench.model),
            "vllm_engine_port": bench.port,
            "vllm_engine_args": ARGS,
            "vllm_engine_replace": True,
            "vllm_engine_wait_timeout": 60,
            "vllm_engine_stop_timeout": 5,
        }
        task = {"ansible.builtin.include_role": {"name": "npufleet.ascend.vllm_engine", "tasks_from": entry}}
        play = {"hosts": "localhost", "connection": "local", "gather_facts": False, "vars": variables, "tasks": [task]}
        (bench.folder / "role.yml").write_text(yaml.safe_dump([play]))
        done = bench.run("ansible-playbook", str(bench.folder / "role.yml"))
        assert done.returncode == 0, bench.output
        return " changed=0 " not in bench.output

    def image() -> str:
        return bench.inspect()["Config"]["Image"].rpartition(":")[2]

    assert role("main", "one") and image() == "one"
    assert role("upgrade", "two") and image() == "two"
    assert not role("upgrade", "two")
    assert role("rollback", "two") and image() == "one"
    assert not role("rollback", "two")


def test_rollback_of_an_engine_on_npus_needs_neither_plan_nor_recipe(bench: DockerBench) -> None:
    """Its chips come from a plan and its image from a recipe, and rollback.yml looks at neither: what the host has kept counts."""
    two = bench.npu(container={"image": IMAGE + ":two"})
    assert bench.engine(**bench.npu())["engine"]["ready"] and bench.engine(replace=True, **two)["engine"]["ready"], bench.output
    host = {
        "ansible_connection": "local",
        "ansible_python_interpreter": sys.executable,
        "vllm_engine_accelerator": "ascend",
        "vllm_engine_recipe": "deepseek-r1-w8a8",
        "vllm_engine_home": str(bench.home),
        "vllm_engine_name": "demo",
        "vllm_engine_model": str(bench.model),
        "vllm_engine_container": {"name": NAME},
        "vllm_engine_replace": True,
    }
    (bench.folder / "inventory.yml").write_text(yaml.safe_dump({"engines": {"hosts": {"npu-01": host}}}))

    def rollback() -> bool:
        return bench.run("ansible-playbook", "-i", str(bench.folder / "inventory.yml"), "npufleet.ascend.rollback").returncode == 0

    docker("tag", IMAGE + ":one", IMAGE + ":kept")
    docker("image", "rm", IMAGE + ":one")
    refused = not rollback()
    docker("tag", IMAGE + ":kept", IMAGE + ":one")
    docker("image", "rm", IMAGE + ":kept")
    assert refused and "The engine demo is as it was before and serves, since the new one failed: the image" in bench.output, bench.output
    assert bench.inspect()["Config"]["Image"] == IMAGE + ":two"
    assert rollback() and bench.inspect()["Config"]["Image"] == IMAGE + ":one", bench.output
    assert rollback() and " changed=0 " in bench.output, bench.output
