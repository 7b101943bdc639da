# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import re

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._export_compose import compose_document, compose_head, doubled
from ansible_collections.npufleet.ascend.plugins.module_utils._export_document import ExportError
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.docker_fakes import IMAGE
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.engine_fakes import KEY
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.export_fakes import ODD, document, npu, raw

NAME = "npufleet-engine-demo"


def service(given):
    return compose_document([document(given)])["services"][NAME]


def test_an_engine_on_npus():
    given = npu(env={"HCCL_BUFFSIZE": "200"})
    whole = compose_document([document(given)])
    assert set(whole) == {"services"}
    (found,) = whole["services"].values()
    command, env, volumes, labels = (found.pop(key) for key in ("command", "environment", "volumes", "labels"))
    assert found == {
        "container_name": NAME,
        "image": IMAGE,
        "network_mode": "host",
        "devices": ["/dev/davinci4:/dev/davinci4", "/dev/davinci5:/dev/davinci5", "/dev/davinci_manager:/dev/davinci_manager"],
        "cpuset": "0-23",
        "shm_size": 16 << 30,
        "cap_drop": ["ALL"],
        "cap_add": ["DAC_OVERRIDE", "SYS_NICE"],
        "security_opt": ["no-new-privileges"],
        "restart": "unless-stopped",
        "stop_grace_period": "60s",
        "logging": {"driver": "json-file", "options": {"max-size": "50m", "max-file": "3"}},
    }
    assert command[-9:] == ["vllm", "serve", "/srv/models/tiny", "--host", "127.0.0.1", "--port", "8000", "--served-model-name", "tiny"]
    assert env == given["env"]
    assert [(one["source"], one["target"], one["read_only"]) for one in volumes] == [
        (one["source"], one["target"], one["read_only"]) for one in given["mounts"]
    ]
    assert {(one["type"], one["bind"]["create_host_path"]) for one in volumes} == {("bind", False)}
    assert labels == given["labels"]
    assert KEY not in json.dumps(whole)


@pytest.mark.parametrize("given", [None, [], ["/bin/a", "b"]])
def test_the_entrypoint(given):
    found = service(raw(container={"entrypoint": given}))
    assert found.get("entrypoint") == given
    assert found["command"][:2] == ["vllm", "serve"]


@pytest.mark.parametrize(("network", "mode"), [("host", "host"), ("none", "none"), ("bridge", "bridge"), ("default", "bridge")])
def test_networks_of_the_container_engine(network, mode):
    whole = compose_document([document(raw(container={"network": network}))])
    assert (whole["services"][NAME]["network_mode"], "networks" in whole) == (mode, False)
    assert ("ports" in whole["services"][NAME]) == (network != "host")


def test_a_network_that_exists():
    whole = compose_document([document(raw(container={"network": "fleet"})), document(raw(name="b", container={"network": "other"}))])
    assert whole["networks"] == {name: {"name": name, "external": True} for name in ("fleet", "other")}
    found = whole["services"][NAME]
    assert (found["networks"], found["ports"], "network_mode" in found) == ({"fleet": {}}, ["127.0.0.1:8000:8000"], False)


@pytest.mark.parametrize(("address", "family"), [("192.0.2.5", "ipv4_address"), ("fd00::5", "ipv6_address")])
def test_an_address_in_the_network(address, family):
    assert service(raw(container={"network": "fleet", "address": address}))["networks"] == {"fleet": {family: address}}


def test_ascend_docker_runtime():
    found = service(raw(accelerator="ascend", env={"ASCEND_VISIBLE_DEVICES": "4,5"}, container={"oci_runtime": "ascend"}))
    assert (found["runtime"], found["environment"]["ASCEND_VISIBLE_DEVICES"], "devices" in found) == ("ascend", "4,5", False)


def interpolate(text):
    """As Compose reads a text: ``$$`` is the sign, anything else behind it would be a variable."""
    assert re.sub(r"\$\$", "", text).count("$") == 0
    return text.replace("$$", "$")


def test_no_text_is_taken_for_a_variable():
    given = npu(env={"A": ODD})
    found = service(given)
    assert interpolate(found["environment"]["A"]) == ODD
    assert [interpolate(word) for word in found["command"]] == given["command"]
    assert doubled({"$a": ["$", 1, None, True]}) == {"$a": ["$$", 1, None, True]}


def test_what_a_person_has_to_do_first():
    head = compose_head([document(npu())])
    assert "Make this folder first, mode 0700: /srv/home/engines/demo/work" in head
    assert "Put the key of the clients into this file first, mode 0600: /srv/home/engines/demo/secret.key" in head
    other = compose_head([document(raw(container={"docker_host": "unix:///run/podman/podman.sock"}))])
    assert "Set DOCKER_HOST=unix:///run/podman/podman.sock" in other
    assert not [line for line in other if "key" in line]


def test_one_file_is_for_one_container_engine():
    other = raw(name="b", container={"docker_host": "unix:///run/podman/podman.sock"})
    with pytest.raises(ExportError, match="one compose file is for one container engine"):
        compose_document([document(raw()), document(other)])
