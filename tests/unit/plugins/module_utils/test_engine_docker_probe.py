# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_docker_client import Docker
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_docker_probe import ImageOptions, probe_body
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_spec import build_spec
from ansible_collections.npufleet.ascend.plugins.module_utils._service import RuntimeAdapterError
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.docker_fakes import IMAGE, OTHER_ID, ApiError, FakeDocker
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.engine_fakes import KEY, params

ARGV = ["/ignored/bin/python", "-c", "SOURCE", "dump"]


def spec(**changes):
    container = dict({"image": IMAGE}, **changes.pop("container", {}))
    return build_spec(params(runtime="docker", api_key=KEY, container=container, **changes), lambda path: path == "/usr/local/dcmi")


def asked(fake, **changes):
    return ImageOptions(spec(**changes), Docker("unix:///x.sock", lambda _docker_host: fake), "/srv/home/")


def test_a_container_that_reaches_nothing():
    npu = {"devices": ["/dev/davinci0", "/dev/davinci1"], "mounts": ["/etc/site.conf", "/srv/cache:/usr/local/cache:rw"]}
    body = probe_body(spec(accelerator="ascend", container=npu), ARGV, {"B": "2", "A": "1"})
    assert body["Cmd"] == ["python", "-c", "SOURCE", "dump"]
    assert body["Env"] == ["A=1", "B=2"]
    assert body["Labels"] == {"npufleet.ascend.engine": "/srv/home/engines/demo"}
    assert "Entrypoint" not in body
    host = body["HostConfig"]
    assert [row["Target"] for row in host.pop("Mounts")] == [
        "/usr/local/Ascend/driver",
        "/etc/ascend_install.info",
        "/usr/local/dcmi",
        "/etc/site.conf",
    ]
    assert host == {"Privileged": False, "CapDrop": ["ALL"], "CapAdd": [], "SecurityOpt": ["no-new-privileges"], "NetworkMode": "none"}
    assert KEY not in json.dumps(body)


def test_the_entrypoint_and_the_runtime_are_those_of_the_engine():
    wanted = spec(accelerator="ascend", env={"ASCEND_VISIBLE_DEVICES": "4"}, container={"oci_runtime": "ascend", "entrypoint": []})
    body = probe_body(wanted, ARGV, {})
    assert (body["HostConfig"]["Runtime"], body["Env"], body["Entrypoint"]) == ("ascend", ["ASCEND_VISIBLE_DEVICES=4"], [""])


def test_the_answer_of_an_image_and_nothing_left():
    fake = FakeDocker()
    fake.answers["dump"] = (3, b"out \xff", b"err")
    result = asked(fake).run(ARGV, 180.0)
    assert (result.argv, result.rc, result.stdout, result.stderr, result.timed_out) == (ARGV, 3, "out \ufffd", "err", False)
    assert fake.containers == {}
    assert fake.did("wait")[0][2] == 180.0


@pytest.mark.parametrize(
    ("method", "error", "timed_out"),
    [("wait", OSError("Read timed out"), True), ("start", ApiError(500, "no"), None), ("probe", ApiError(400, "no"), None)],
)
def test_whatever_happens_nothing_is_left(method, error, timed_out):
    fake = FakeDocker()
    fake.refuse[method] = error
    if timed_out is None:
        with pytest.raises(RuntimeAdapterError):
            asked(fake).run(ARGV, 1.0)
    else:
        result = asked(fake).run(ARGV, 1.0)
        assert (result.rc, result.timed_out) == (None, True)
    assert fake.containers == {}


def test_the_answer_is_kept_under_the_id_of_the_image():
    fake = FakeDocker()
    one = asked(fake).folder
    assert one.startswith("/srv/home/images/options-")
    assert asked(fake, container={"shm_bytes": 1}).folder == one
    fake.images[IMAGE] = OTHER_ID
    assert asked(fake).folder != one
    assert asked(fake, container={"image": "nowhere"}).folder == ""
