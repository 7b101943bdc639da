# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_docker_spec import ContainerError
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_spec import build_spec
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.docker_fakes import IMAGE
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.engine_fakes import KEY, params

DRIVER_FILES = {"/usr/local/dcmi", "/usr/local/bin/npu-smi", "/etc/hccn.conf"}
A2_NODES = {"/dev/davinci_manager", "/dev/devmm_svm", "/dev/hisi_hdc"}
A5_NODES = {"/dev/davinci_manager", "/dev/hisi_hdc", "/dev/ummu", "/dev/uburma"}


def container(there=frozenset(), accelerator="ascend", container=None, **changes):
    options = dict({"image": IMAGE}, **(container or {}))
    return build_spec(
        params(runtime="docker", venv=None, accelerator=accelerator, container=options, **changes), lambda path: path in there
    ).container


ONE = {"devices": ["/dev/davinci4"]}
TWO = {"devices": ["/dev/davinci4", "/dev/davinci5"]}
WORK = "/srv/home/engines/demo/work:/srv/home/engines/demo/work:rw"
MODEL = "/srv/models/tiny:/srv/models/tiny:ro"
DRIVER = "/usr/local/Ascend/driver:/usr/local/Ascend/driver:ro"
INSTALLED = "/etc/ascend_install.info:/etc/ascend_install.info:ro"
DCMI = "/usr/local/dcmi:/usr/local/dcmi:ro"
SMI = "/usr/local/bin/npu-smi:/usr/local/bin/npu-smi:ro"
HCCN = "/etc/hccn.conf:/etc/hccn.conf:ro"


@pytest.mark.parametrize(
    ("there", "options", "env", "mounts"),
    [
        (DRIVER_FILES, ONE, {}, [DRIVER, INSTALLED, DCMI, SMI]),
        (DRIVER_FILES, TWO, {}, [DRIVER, INSTALLED, DCMI, SMI, HCCN]),
        ({"/usr/local/sbin/npu-smi"}, TWO, {}, [DRIVER, INSTALLED, "/usr/local/sbin/npu-smi:/usr/local/sbin/npu-smi:ro"]),
        (DRIVER_FILES, {"oci_runtime": "ascend"}, {"ASCEND_VISIBLE_DEVICES": "4"}, []),
        (DRIVER_FILES, {"oci_runtime": "ascend"}, {"ASCEND_VISIBLE_DEVICES": "4-5"}, [HCCN]),
        (
            {"/r" + path for path in DRIVER_FILES},
            dict(TWO, driver_root="/r/"),
            {},
            ["/r" + mount for mount in (DRIVER, INSTALLED, DCMI, SMI, HCCN)],
        ),
        (
            set(),
            dict(ONE, mounts=["/a", "/b:/c", "/d:rw", "/e:/f:rw"]),
            {},
            [DRIVER, INSTALLED, "/a:/a:ro", "/b:/c:ro", "/d:/d:rw", "/e:/f:rw"],
        ),
    ],
)
def test_the_driver_and_the_model_are_mounted(there, options, env, mounts):
    assert container(there, container=options, env=env).mounts == (WORK, MODEL, *mounts)


def test_a_cpu_engine_gets_neither_driver_nor_devices():
    wanted = container(DRIVER_FILES | A2_NODES, accelerator="cpu", model="/srv/models/tiny/")
    assert (wanted.mounts, wanted.devices) == ((WORK, MODEL), ())


@pytest.mark.parametrize(
    ("there", "options", "env", "devices"),
    [
        (A2_NODES, TWO, {}, ["/dev/davinci4", "/dev/davinci5", "/dev/davinci_manager", "/dev/devmm_svm", "/dev/hisi_hdc"]),
        (A5_NODES, ONE, {}, ["/dev/davinci4", "/dev/davinci_manager", "/dev/hisi_hdc", "/dev/ummu", "/dev/uburma"]),
        (A2_NODES, dict(ONE, control_devices=["/dev/davinci_manager"]), {}, ["/dev/davinci4", "/dev/davinci_manager"]),
        (A2_NODES, {"oci_runtime": "ascend"}, {"ASCEND_VISIBLE_DEVICES": "0"}, []),
    ],
)
def test_the_nodes_of_the_chips_and_those_that_every_container_needs(there, options, env, devices):
    assert container(there, container=options, env=env).devices == tuple("{0}:{0}".format(node) for node in devices)


def test_a_node_may_have_another_place_on_the_host():
    assert container(container={"devices": ["/x/a:/dev/davinci0"]}).devices == ("/x/a:/dev/davinci0",)


RUNTIME = {"oci_runtime": "ascend"}


@pytest.mark.parametrize(
    ("changes", "where", "words"),
    [
        # Chips are chosen once.
        ({"container": ONE, "env": {"ASCEND_RT_VISIBLE_DEVICES": "4"}}, "env.ASCEND_RT_VISIBLE_DEVICES", "choose a second time"),
        ({"container": ONE, "env": {"ASCEND_VISIBLE_DEVICES": "4"}}, "env.ASCEND_VISIBLE_DEVICES", "no runtime is asked for"),
        ({"container": RUNTIME}, "env.ASCEND_VISIBLE_DEVICES", "it is missing"),
        ({"container": dict(ONE, **RUNTIME), "env": {"ASCEND_VISIBLE_DEVICES": "4"}}, "container.devices", "chosen twice"),
        ({"container": {}}, "container.devices", "gets no NPU"),
        ({"container": {"devices": ["/dev/davinci_manager"]}}, "container.devices", "gets no NPU"),
        # Words that the container engine would refuse, or understand in another way.
        ({"container": {"devices": ["davinci0"]}}, "container.devices", "'davinci0' is no device node"),
        ({"container": {"devices": ["/dev/davinci0:/tmp/x"]}}, "container.devices", "is no device node"),
        ({"container": {"devices": ["/dev/davinci0:/dev/davinci0:rwm"]}}, "container.devices", "is no device node"),
        ({"container": dict(ONE, mounts=["a"])}, "container.mounts", "'a' is no mount"),
        ({"container": dict(ONE, mounts=["/a:/b:/c"])}, "container.mounts", "is no mount"),
        ({"container": dict(ONE, mounts=["/x:/srv/models/tiny"])}, "container.mounts", "one place in the container: /srv/models/tiny"),
        ({"container": {"image": "a b"}}, "container.image", "'a b'"),
        ({"container": {"image": "x@sha256:12"}}, "container.image", "sha256:12"),
        ({"container": {"name": "-x"}}, "container.name", "'-x'"),
        ({"container": {"log_size": "many"}}, "container.log_size", "'many'"),
        ({"container": {"log_files": 0}}, "container.log_files", "0"),
        ({"container": {"shm_bytes": 0}}, "container.shm_bytes", "0"),
        ({"container": {"cap_add": ["SYS_ADMIN"]}}, "container.cap_add", "Leave out ALL"),
        ({"container": {"cap_add": ["sys_nice"]}}, "container.cap_add", "sys_nice"),
        ({"container": {"network": "container:other"}}, "container.network", "container:other"),
        ({"container": {"network": "fleet", "address": "npu-01"}}, "container.address", "'npu-01'"),
        ({"container": {"network": "host", "address": "192.0.2.2"}}, "container.address", "192.0.2.2"),
        ({"container": {"network": "bridge", "address": "192.0.2.2"}}, "container.address", "a subnet of its own"),
        ({"user": "vllm"}, "user", "run as root"),
        ({"model": "/srv/a:b"}, "model", "colon"),
        ({"home": "/srv/a:b"}, "home", "colon"),
        ({"container": ONE, "env": {"LD_LIBRARY_PATH": "/x"}}, "env.LD_LIBRARY_PATH", "#6949"),
    ],
)
def test_what_cannot_be_is_refused_by_name(changes, where, words):
    with pytest.raises(ContainerError) as caught:
        container(**changes)
    assert caught.value.where == where
    assert words in str(caught.value)


def test_a_cpuset_that_is_none_is_refused():
    with pytest.raises(NpufleetError, match="is no list of CPUs"):
        container(container=dict(ONE, cpuset="many"))
    assert container(container=dict(ONE, cpuset="0-3")).cpuset == "0-3"
    assert container(container=dict(ONE, cpuset="")).cpuset is None


@pytest.mark.parametrize("image", ["engine", "sha256:" + "a" * 64, "r.example.com:5000/a/b:v1@sha256:" + "a" * 64])
def test_images_by_tag_digest_and_id(image):
    assert container(container=dict(ONE, image=image)).image == image


@pytest.mark.parametrize(("network", "published", "host"), [("host", None, "192.0.2.1"), ("fleet", ["192.0.2.1", 8000], "0.0.0.0")])
def test_where_it_listens(network, published, host):
    options = params(runtime="docker", host="192.0.2.1", container={"image": IMAGE, "network": network})
    wanted = build_spec(options, lambda _path: False)
    assert wanted.argv[:5] == ("vllm", "serve", "/srv/models/tiny", "--host", host)
    assert wanted.public()["container"]["published"] == published
    assert wanted.base_url == "http://192.0.2.1:8000"


@pytest.mark.parametrize(
    ("args", "published"), [({"headless": True}, False), ({"--headless": True}, False), ({"headless": False}, True), ({}, True)]
)
def test_a_member_of_a_group_has_no_api_to_publish(args, published):
    wanted = container(accelerator="cpu", container={"network": "fleet"}, args=args)
    assert (wanted.published is not None) is published


def test_the_environment_is_that_of_the_image_but_for_its_folders():
    options = params(runtime="docker", accelerator="ascend", env={"HCCL_BUFFSIZE": 200}, container=dict(ONE, image=IMAGE))
    env = dict(build_spec(options, lambda _path: False).env)
    assert env["HCCL_BUFFSIZE"] == "200"
    assert env["HOME"] == "/srv/home/engines/demo/work"
    assert not {"PATH", "TMPDIR", "VLLM_CPU_KVCACHE_SPACE"} & set(env)


def test_where_image_and_engine_come_from_makes_no_difference():
    def built(**changes):
        options = params(runtime="docker", api_key=KEY, container=dict({"image": IMAGE}, **changes))
        return build_spec(options, lambda _path: False)

    first, second = built(), built(archive="/x.tar", docker_host="unix:///run/podman/podman.sock")
    assert first.public() == second.public()
    assert first.digest() == second.digest() != built(shm_bytes=1).digest()
    assert json.loads(json.dumps(first.public())) == first.public()
