# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import os
import subprocess

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_docker_render import (
    command,
    container_document,
    container_of,
    create_body,
    docker_command,
    spec_hash,
)
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_spec import build_spec
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.docker_fakes import IMAGE
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.engine_fakes import KEY, params

NPU = {
    "image": IMAGE,
    "devices": ["/dev/davinci4", "/dev/davinci5"],
    "control_devices": ["/dev/davinci_manager", "/dev/hisi_hdc"],
    "cpuset": "0-23",
    "shm_bytes": 16 << 30,
}


def spec(**changes):
    options = dict({"image": IMAGE}, **changes.pop("container", {}))
    return build_spec(params(runtime="docker", venv=None, container=options, **changes), lambda path: path == "/etc/hccn.conf")


FULL = {"accelerator": "ascend", "api_key": KEY, "env": {"HCCL_BUFFSIZE": "200"}, "container": NPU}
SERVE = ["vllm", "serve", "/srv/models/tiny", "--host", "127.0.0.1", "--port", "8000", "--served-model-name", "tiny"]
WORK = "/srv/home/engines/demo/work"


def test_the_body_of_an_engine_on_npus():
    body = create_body(spec(**FULL))
    assert body["HostConfig"] == {
        "NetworkMode": "host",
        "RestartPolicy": {"Name": "unless-stopped", "MaximumRetryCount": 0},
        "Privileged": False,
        "CapDrop": ["ALL"],
        "CapAdd": ["DAC_OVERRIDE", "SYS_NICE"],
        "SecurityOpt": ["no-new-privileges"],
        "Devices": [
            {"PathOnHost": "/dev/" + name, "PathInContainer": "/dev/" + name, "CgroupPermissions": "rwm"}
            for name in ("davinci4", "davinci5", "davinci_manager", "hisi_hdc")
        ],
        "Mounts": [
            {"Type": "bind", "Source": source, "Target": target, "ReadOnly": read_only}
            for source, target, read_only in [
                (WORK, WORK, False),
                ("/srv/models/tiny", "/srv/models/tiny", True),
                ("/usr/local/Ascend/driver", "/usr/local/Ascend/driver", True),
                ("/etc/ascend_install.info", "/etc/ascend_install.info", True),
                ("/etc/hccn.conf", "/etc/hccn.conf", True),
                ("/srv/home/engines/demo/secret.key", "/run/npufleet/api-key", True),
            ]
        ],
        "ShmSize": 16 << 30,
        "LogConfig": {"Type": "json-file", "Config": {"max-size": "50m", "max-file": "3"}},
        "CpusetCpus": "0-23",
    }
    assert body["Image"] == IMAGE
    assert body["Cmd"][-len(SERVE) :] == SERVE
    assert "HCCL_BUFFSIZE=200" in body["Env"]
    assert body["StopTimeout"] == 60
    assert body["Labels"] == {"npufleet.ascend.engine": "/srv/home/engines/demo", "npufleet.ascend.spec": spec_hash(spec(**FULL))}
    assert not {"Entrypoint", "ExposedPorts"} & set(body)
    assert KEY not in json.dumps(body)


def test_ascend_docker_runtime_gets_the_numbers_of_the_host():
    options = {"accelerator": "ascend", "env": {"ASCEND_VISIBLE_DEVICES": "4,5"}, "container": {"oci_runtime": "ascend"}}
    body = create_body(spec(**options))
    assert (body["HostConfig"]["Runtime"], body["HostConfig"]["Devices"]) == ("ascend", [])
    assert "ASCEND_VISIBLE_DEVICES=4,5" in body["Env"]
    argv = docker_command(spec(**options))
    assert argv[argv.index("--runtime") + 1] == "ascend"
    assert "--device" not in argv


@pytest.mark.parametrize(
    ("given", "sent", "typed"),
    [
        (None, None, None),
        ([], [""], ""),
        (["/bin/a", "b"], ["/bin/a", "b"], "/bin/a"),
    ],
)
def test_the_entrypoint(given, sent, typed):
    wanted = spec(container={"entrypoint": given})
    assert create_body(wanted).get("Entrypoint") == sent
    argv = docker_command(wanted)
    assert (argv[argv.index("--entrypoint") + 1] if "--entrypoint" in argv else None) == typed
    after = argv[argv.index(IMAGE) + 1 :]
    assert after == [*(given or [])[1:], *SERVE]


@pytest.mark.parametrize(("address", "family", "flag"), [("192.0.2.2", "IPv4Address", "--ip"), ("2001:db8::2", "IPv6Address", "--ip6")])
def test_an_address_of_its_own(address, family, flag):
    wanted = spec(container={"network": "fleet", "address": address})
    endpoints = create_body(wanted)["NetworkingConfig"]["EndpointsConfig"]
    assert endpoints == {"fleet": {"IPAMConfig": {family: address}}}
    words = docker_command(wanted)
    assert words[words.index(flag) + 1] == address
    assert "NetworkingConfig" not in create_body(spec(container={"network": "fleet"}))
    assert spec_hash(wanted) != spec_hash(spec(container={"network": "fleet"}))


@pytest.mark.parametrize(("host", "typed"), [("192.0.2.1", "192.0.2.1:8000:8000"), ("fd00::7", "[fd00::7]:8000:8000")])
def test_a_published_port(host, typed):
    wanted = spec(host=host, container={"network": "fleet"})
    body = create_body(wanted)
    assert body["ExposedPorts"] == {"8000/tcp": {}}
    assert body["HostConfig"]["PortBindings"] == {"8000/tcp": [{"HostIp": host, "HostPort": "8000"}]}
    argv = docker_command(wanted)
    assert argv[argv.index("--publish") + 1] == typed


def test_the_line_that_a_person_types():
    argv = docker_command(spec(args={"max_num_seqs": 8}, container={"docker_host": "unix:///run/podman/podman.sock", "log_size": "1m"}))
    assert argv[:10] == [
        "docker", "--host", "unix:///run/podman/podman.sock", "run", "--detach", "--name", "npufleet-engine-demo", "--network", "host",
        "--restart",
    ]  # fmt: skip
    assert docker_command(spec())[:2] == ["docker", "run"]
    text = " ".join(argv)
    assert "--cap-drop ALL --cap-add DAC_OVERRIDE --cap-add SYS_NICE --security-opt no-new-privileges" in text
    assert (
        "--mount type=bind,source={0},target={0} --mount type=bind,source=/srv/models/tiny,target=/srv/models/tiny,readonly".format(WORK)
        in text
    )
    assert "--shm-size 1073741824 --stop-timeout 60 --log-driver json-file --log-opt max-file=3 --log-opt max-size=1m" in text
    assert argv[argv.index(IMAGE) :] == [IMAGE, *SERVE, "--max-num-seqs", "8"]
    assert "--privileged" not in argv
    full = docker_command(spec(**FULL))
    assert full[full.index("--cpuset-cpus") + 1] == "0-23"
    assert [full[place + 1] for place, word in enumerate(full) if word == "--device"][:2] == [
        "/dev/davinci4:/dev/davinci4", "/dev/davinci5:/dev/davinci5",
    ]  # fmt: skip
    assert KEY not in " ".join(full)


def test_the_label_knows_every_setting_and_no_secret():
    usual = spec_hash(spec(**FULL))
    assert spec_hash(spec(**{**FULL, "api_key": KEY + "-2"})) == usual
    changes = [
        {"api_key": None},
        {"env": {}},
        {"args": {"max_num_seqs": 8}},
        {"stop_timeout": 5},
        *({"container": dict(NPU, **one)} for one in ({"cpuset": "0"}, {"image": "x"}, {"devices": ["/dev/davinci4"]}, {"restart": "no"})),
    ]
    assert len({usual, *(spec_hash(spec(**dict(FULL, **change))) for change in changes)}) == len(changes) + 1


def test_nothing_stands_before_an_engine_that_needs_nothing():
    assert command(spec()) == SERVE


def in_shell(wanted, folder, script_changes=(), **env):
    """Run the words of a container here, with ``env`` for its engine and another command than vllm at the end."""
    words = command(wanted)
    script = words[2]
    for old, new in script_changes:
        assert old in script
        script = script.replace(old, new)
    show = "import os; print({name: os.environ[name] for name in ('VLLM_API_KEY', 'LD_PRELOAD', 'LD_LIBRARY_PATH') if name in os.environ})"
    argv = [words[0], words[1], script, words[3], "python3", "-c", show]
    done = subprocess.run(
        argv,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
        env=dict({"PATH": os.environ["PATH"]}, **env),
        cwd=str(folder),
        check=False,
    )
    return done.returncode, done.stdout.strip()


def test_the_key_is_read_in_the_container(tmp_path):
    key = tmp_path / "key"
    key.write_text(KEY)
    wanted = spec(api_key=KEY)
    assert KEY not in " ".join(command(wanted))
    assert in_shell(wanted, tmp_path, [("/run/npufleet/api-key", str(key))]) == (0, str({"VLLM_API_KEY": KEY}))
    key.unlink()
    assert in_shell(wanted, tmp_path, [("/run/npufleet/api-key", str(key))]) == (1, "")


@pytest.mark.parametrize(
    ("given", "there", "loaded"),
    [
        (None, False, None),
        (None, True, "{libjemalloc}"),
        ("/no/such.so", True, None),
        ("{mine}", True, "{mine}"),
        ("{mine} /no/such.so:{libjemalloc}", True, "{mine}:{libjemalloc}"),
    ],
)
def test_only_libraries_that_are_there_are_loaded(tmp_path, given, there, loaded):
    names = {name: str(tmp_path / (name + ".so")) for name in ("libjemalloc", "mine")}
    env = {} if given is None else {"LD_PRELOAD": given.format(**names)}
    wanted = spec(accelerator="ascend", container=NPU, env=env)
    assert not [one for one in create_body(wanted)["Env"] if one.startswith("LD_PRELOAD=")]
    for path in names.values():
        if there:
            # Empty files: ld.so complains on stderr and goes on, which is the trap; here only the variable counts.
            with open(path, "w", encoding="utf-8"):
                pass
    changes = [("/usr/lib64/libjemalloc.so.2", names["libjemalloc"])] if given is None else []
    changes += [("/usr/lib/x86_64-linux-gnu/libjemalloc.so.2", "/no/x86.so")] if given is None else []
    code, shown = in_shell(wanted, tmp_path, changes, LD_LIBRARY_PATH="/driver/lib64")
    expected = {} if loaded is None else {"LD_PRELOAD": loaded.format(**names)}
    assert (code, shown) == (0, str(dict(expected, LD_LIBRARY_PATH="/driver/lib64:/usr/local/lib")))


def test_an_own_library_on_the_cpu_leaves_the_path_alone(tmp_path):
    wanted = spec(env={"LD_PRELOAD": "/no/such.so"})
    assert in_shell(wanted, tmp_path) == (0, "{}")
    empty = spec(accelerator="ascend", container=NPU)
    assert in_shell(empty, tmp_path, [("/usr/lib/x86_64-linux-gnu/libjemalloc.so.2", "/no/x86.so")]) == (
        0,
        str({"LD_LIBRARY_PATH": "/usr/local/lib"}),
    )


def test_an_engine_without_a_container_is_no_case_for_it():
    with pytest.raises(ValueError, match="runs in no container"):
        container_of(spec()._replace(container=None))


RAY = {"address": "192.0.2.1", "node_address": "192.0.2.1", "npus": 2}


def test_a_node_of_ray_behind_the_lines_of_the_container():
    head = spec(**dict(FULL, ray=RAY))
    lines, *words = command(head)[2:]
    assert lines.startswith("VLLM_API_KEY=$(cat") and lines.endswith('exec "$@"')
    assert words[:3] == ["npufleet-engine", "/bin/sh", "-c"]
    assert words[5:7] == ["vllm", "serve"]
    assert "--object-store-memory={0}".format(4 << 30) in words[3]
    document = container_document(head)
    assert (document["group"], document["headless"]) == (True, False)
    assert KEY not in json.dumps(create_body(head))


def test_a_host_that_runs_ray_alone_publishes_nothing():
    part, container = dict(RAY, node_address="192.0.2.2"), dict(NPU, network="fleet", shm_bytes=1 << 30)
    member = spec(**{**FULL, "ray": part, "container": container})
    words = command(member)
    assert "serve" not in words
    assert "--object-store-memory={0}".format(1 << 29) in words
    body, document = create_body(member), container_document(member)
    assert "PortBindings" not in body["HostConfig"]
    assert (document["group"], document["headless"], document["ports"]) == (True, True, [])
    # What vLLM is told is no reason to replace it.
    assert spec_hash(member) == spec_hash(member._replace(served_model_name="other"))
