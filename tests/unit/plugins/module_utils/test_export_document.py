# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._export_document import FIELDS, Bind, Document, ExportError, read_documents
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.engine_fakes import KEY
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.export_fakes import GROUP, document, npu, raw


def test_what_the_module_returns_is_read_back():
    given = npu()
    assert set(given) == set(FIELDS) == set(Document._fields)
    assert json.loads(json.dumps(given)) == given
    assert KEY not in json.dumps(given)
    read = document(given)
    assert read.devices[0] == Bind("/dev/davinci4", "/dev/davinci4")
    assert read.mounts[1] == Bind("/srv/models/tiny", "/srv/models/tiny", True)
    assert (read.chips, read.key_file, read.key_source) == (2, "/run/npufleet/api-key", "/srv/home/engines/demo/secret.key")
    assert (read.headless, read.group) == (False, False)
    plain = document()
    assert (plain.chips, plain.key_file, plain.key_source, plain.cpuset, plain.entrypoint) == (0, None, None, None, None)


@pytest.mark.parametrize(
    ("args", "headless", "group"),
    [
        (GROUP, False, True),
        (dict(GROUP, headless=True), True, True),
        ({"nnodes": 2}, False, True),
        ({"data_parallel_size": 2}, False, False),
    ],
)
def test_a_member_of_a_group(args, headless, group):
    read = document(npu(args=args))
    assert (read.headless, read.group) == (headless, group)


def test_chips_that_the_runtime_chooses_are_counted():
    given = raw(accelerator="ascend", env={"ASCEND_VISIBLE_DEVICES": "4-6"}, container={"oci_runtime": "ascend"})
    assert (given["chips"], given["devices"], given["oci_runtime"]) == (3, [], "ascend")


def test_published_ports():
    assert document(raw(host="192.0.2.1", container={"network": "fleet"})).ports == [("192.0.2.1", 8000)]


class Text(str):
    """As ansible-core hands over texts; str() of them is no other text in 2.17."""

    def __str__(self):
        return next(iter((self,)))


def test_values_become_those_of_python():
    given = npu()
    given.update(image=Text("a"), command=[Text("b")], env={Text("c"): Text("d")}, mounts=[{"source": Text("/e"), "target": Text("/f")}])
    read = document(given)
    values = [read.image, *read.command, *read.env, *read.env.values(), read.mounts[0].source, read.mounts[0].target]
    assert values == ["a", "b", "c", "d", "/e", "/f"]
    assert {type(value) for value in values} == {str}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("engine", "A b"),
        ("name", "x\ny"),
        ("image", ""),
        ("image", None),
        ("command", "vllm"),
        ("command", [1]),
        ("env", {"A": 1}),
        ("env", []),
        ("devices", ["/dev/davinci0"]),
        ("mounts", [{"source": "/a"}]),
        ("ports", [{"address": "", "port": "80"}]),
        ("ports", {}),
        ("shm_bytes", True),
        ("shm_bytes", -1),
        ("headless", 1),
        ("host", None),
    ],
)
def test_a_wrong_value_is_named(key, value):
    with pytest.raises(ExportError, match=r"Where: input\[1\]\.{0}\. What to do: ".format(key)):
        read_documents([npu(name="other"), dict(npu(), **{key: value})])


@pytest.mark.parametrize("key", sorted(FIELDS))
def test_every_key_is_needed(key):
    given = npu()
    del given[key]
    with pytest.raises(ExportError, match=r"Where: input\[0\]\.{0}\.".format(key)):
        read_documents(given)


@pytest.mark.parametrize(
    ("given", "where"), [(None, "input"), ("x", "input"), ([], "input"), ([1], r"input\[0\]"), ([npu(), npu()], "input"), (b"x", "input")]
)
def test_what_is_no_document(given, where):
    with pytest.raises(ExportError, match="Where: {0}. What to do: ".format(where)):
        read_documents(given)
