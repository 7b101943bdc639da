# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whatever the files of a host and the options hold, the readers of packages give values or raise their own exception."""

from __future__ import annotations

import contextlib
import io
import json
import os
import zipfile

from ansible_collections.npufleet.ascend.plugins.module_utils._command import CommandResult
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._package_archive import copy_member, find_member
from ansible_collections.npufleet.ascend.plugins.module_utils._package_busy import containers
from ansible_collections.npufleet.ascend.plugins.module_utils._package_fetch import _State
from ansible_collections.npufleet.ascend.plugins.module_utils._package_files import Sums
from ansible_collections.npufleet.ascend.plugins.module_utils._package_flags import explain
from ansible_collections.npufleet.ascend.plugins.module_utils._package_plan import Target, plan_absent, plan_present
from ansible_collections.npufleet.ascend.plugins.module_utils._package_record import Records
from ansible_collections.npufleet.ascend.plugins.module_utils._package_state import Tree, key_values, read_state
from ansible_collections.npufleet.ascend.plugins.module_utils._package_table import KINDS
from ansible_collections.npufleet.ascend.plugins.module_utils._package_wanted import read_kinds, read_packages
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.package_fakes import (
    PATH,
    World,
    link,
    put_cann,
    put_docker_runtime,
    put_driver,
    put_firmware,
    put_nnal,
    put_toolbox,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

MANY = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
PIECES = [
    "Version=",
    "version=",
    "version_dir=",
    "Driver_Install_Status=complete",
    "Driver_Install_Path_Param=",
    "25.5.0",
    "/",
    "..",
    "\0",
    "\n",
    "=",
    ":",
]
TEXTS = st.one_of(st.binary(max_size=60), st.lists(st.sampled_from(PIECES), max_size=8).map(lambda words: "".join(words).encode()))
WORDS = st.one_of(
    st.none(),
    st.text(max_size=12),
    st.sampled_from(["driver", "firmware", "ops", "25.5.0", "26.0.rc1", "910b", "A3", "x86_64", "x.run", "x.zip"]),
)
FILES = (
    "/etc/ascend_install.info",
    PATH + "/driver/version.info",
    PATH + "/firmware/version.info",
    PATH + "/cann-9.0.0/x86_64-linux/ascend_toolkit_install.info",
    PATH + "/cann-9.0.0/x86_64-linux/ascend_ops_install.info",
    PATH + "/nnal/atb/latest/version.info",
    PATH + "/Ascend-Docker-Runtime/ascend_docker_runtime_install.info",
    PATH + "/toolbox/26.0.1/ascend_toolbox_install.info",
)


def full_host(root):
    put_driver(root, "25.5.0")
    put_firmware(root, "7.8.0.5.220", "25.5.0")
    put_cann(root, "9.0.0")
    put_cann(root, "9.0.0", "ops")
    put_nnal(root, "9.0.0")
    put_docker_runtime(root, "26.0.0")
    put_toolbox(root, "26.0.1")


@MANY
@given(
    texts=st.dictionaries(st.sampled_from(FILES), TEXTS, min_size=1),
    links=st.dictionaries(
        st.sampled_from(["/cann", "/toolbox/latest", "/nnal/atb/latest"]),
        st.sampled_from([".", "/", "cann", "nowhere", "../.."]),
        max_size=2,
    ),
)
def test_whatever_the_host_says_there_is_a_plan(tmp_path_factory, texts, links):
    root = str(tmp_path_factory.mktemp("host"))
    full_host(root)
    for path, text in texts.items():
        with contextlib.suppress(OSError), open(root + path, "wb") as stream:
            stream.write(text)
    for path, target in links.items():
        if os.path.islink(root + PATH + path):
            link(root, PATH + path, target)
    state = read_state(KINDS, Tree(PATH, root))
    records = Records(root).read_all(KINDS)
    plan = plan_present([Target(kind, "26.0.1", "26.0.1") for kind in KINDS], state, records, allow_downgrade=False)
    assert [row.kind for row in plan.rows] == list(KINDS)
    assert len(plan_absent(list(KINDS), state, records).rows) == len(KINDS)


@MANY
@given(
    text=st.one_of(
        st.text(max_size=80),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(max_size=5),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from(["version", "reboot", "attempts", "failures", "total", "url", "started", "/x"]), inner, max_size=4
                )
            ),
            max_leaves=6,
        ).map(json.dumps),
    )
)
def test_whatever_was_remembered_is_read(tmp_path_factory, text):
    folder = tmp_path_factory.mktemp("records")
    for name in ("driver.json", "sums.json", "part.json", "x"):
        (folder / name).write_text(text, encoding="utf-8", errors="replace")
    record = Records(str(folder)).read("driver")
    assert isinstance(record.version, str) and isinstance(record.attempts, int)
    assert len(Sums(str(folder / "sums.json")).of(str(folder / "x"), keep=True)) == 64
    state = _State(str(folder / "part.json"), 1000.0)
    assert isinstance(state.failures, int) and state.total >= 0 and state.started >= 0


@MANY
@given(
    entry=st.fixed_dictionaries({"name": WORDS}, optional={key: WORDS for key in ("version", "file", "sha256", "url", "chip", "arch")}),
    chip=WORDS,
    state=st.sampled_from(["present", "downloaded"]),
)
def test_whatever_is_asked_for_is_a_package_or_one_error(tmp_path_factory, entry, chip, state):
    world = World(tmp_path_factory.mktemp("world"))
    params = world.params(packages=[entry], chip=chip, state=state)
    with contextlib.suppress(NpufleetError):
        (wanted,) = read_packages(params, "x86_64")
        assert isinstance(wanted.number(), str) and isinstance(wanted.sha256("x"), str)
        wanted.locate(world.packages)
    with contextlib.suppress(NpufleetError):
        read_kinds(params)


@MANY
@given(text=st.text(max_size=200), raw=st.binary(max_size=200))
def test_texts_of_any_kind(text, raw):
    assert isinstance(key_values(text), dict)
    meaning, remedy = explain([*text.splitlines(), raw.decode("utf-8", "replace")])
    assert bool(meaning) <= bool(remedy)
    names, using = containers(lambda argv, timeout: CommandResult(list(argv), 0, text, ""), lambda _name: "/usr/bin/docker")
    assert isinstance(names, dict) and isinstance(using, list)


def packed(members):
    """The bytes of an archive."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


BASE = packed({"wanted.run": bytes(range(256)) * 20, "sub/other": b"text", "inner.zip": packed({"deep.run": b"deep"})})


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(edits=st.lists(st.tuples(st.integers(0, len(BASE) - 1), st.integers(0, 255)), min_size=1, max_size=6), cut=st.integers(0, len(BASE)))
def test_whatever_is_in_an_archive_only_one_kind_of_error_comes(tmp_path, edits, cut):
    path = tmp_path / "package.zip"
    content = bytearray(BASE)
    for place, value in edits:
        content[place] = value
    path.write_bytes(bytes(content[: cut or None]))
    for pattern in (r"wanted.*\.run", r"deep\.run"):
        with contextlib.suppress(NpufleetError):
            copy_member(str(path), find_member(str(path), pattern), io.BytesIO())
