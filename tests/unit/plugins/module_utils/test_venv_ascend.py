# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib
import re

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._prerequisites import PythonChoice
from ansible_collections.npufleet.ascend.plugins.module_utils._recipe_versions import RELEASES as RECIPE_RELEASES
from ansible_collections.npufleet.ascend.plugins.module_utils._recipe_versions import SOCS
from ansible_collections.npufleet.ascend.plugins.module_utils._venv_ascend import (
    BUILD_TOOLS,
    RELEASES,
    SOC_VERSIONS,
    ascend_of,
    check_tools,
    release_of,
)
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.engine_fakes import FakeRun
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.venv_fakes import ascend

FILES = pathlib.Path(__file__).resolve().parents[4] / "roles" / "vllm_engine" / "files"
PYTHON = PythonChoice("/usr/bin/python3.11", (3, 11, 9), True)


def wanted(**changes):
    return dict({"vllm_ascend": "0.26.0rc1", "soc": "A2", "ascend_index_url": None}, **changes)


def test_every_release_of_the_recipes_has_pins_and_each_pin_its_files():
    assert {release.version: release.vllm for release in RECIPE_RELEASES} == {name: row.vllm for name, row in RELEASES.items()}
    for name, row in RELEASES.items():
        requirements = (FILES / ("vllm-ascend-" + name) / "requirements.txt").read_text(encoding="utf-8").splitlines()
        constraints = (FILES / ("vllm-ascend-" + name) / "constraints.txt").read_text(encoding="utf-8").splitlines()
        assert "torch-npu=={0}.post4".format(row.torch) in requirements
        assert "supervisor==4.3.0" in requirements
        # These have stages of their own, and a CUDA build must not come in by them.
        assert not [
            line for line in requirements + constraints if re.match(r"(torch|torchvision|torchaudio|triton|nvidia|cuda)\b(?!-npu)", line)
        ]
        pinned = {re.split(r"==", line)[0] for line in constraints if not line.startswith("#")}
        names = {re.match(r"[\w.-]+", line).group().lower().replace("_", "-") for line in requirements if not line.startswith("#")}
        assert names <= pinned
        assert [line for line in constraints if not line.startswith("#") and "==" not in line] == []


def test_every_chip_has_its_build():
    assert set(SOC_VERSIONS) == set(SOCS)


@pytest.mark.parametrize(
    ("release", "soc", "glibc", "wheel"),
    [
        ("0.26.0rc1", "A2", "glibc 2.34", True),
        ("0.26.0rc1", "A2", "glibc 2.31", False),
        ("0.26.0rc1", "A2", "", False),
        ("0.26.0rc1", "A2", "musl x.y", False),
        ("0.26.0rc1", "A3", "glibc 2.36", False),
        ("0.23.0.post1", "A2", "glibc 2.36", False),
        ("0.30.0rc2", "A2", "glibc 2.36", False),
    ],
)
def test_a_wheel_is_taken_only_where_it_was_made_for_the_chip(release, soc, glibc, wheel):
    assert ascend_of(wanted(vllm_ascend=release, soc=soc), [], glibc).wheel is wheel


@pytest.mark.parametrize(
    ("soc", "token", "soc_version", "triton"),
    [
        ("A2", "a2", "ascend910b1", "3.2.2"),
        ("a3", "a3", "ascend910_9391", "3.2.2"),
        ("310P", "310p", "ascend310p1", ""),
        ("A5", "a5", "ascend950dt_9582", "3.2.2"),
    ],
)
def test_what_is_built_for_a_chip(soc, token, soc_version, triton):
    made = ascend_of(wanted(soc=soc), ["/a"], "")
    assert (made.soc, made.soc_version, made.triton, made.set_env) == (token, soc_version, triton, ("/a",))


@pytest.mark.parametrize(
    ("plugin", "what"),
    [("0.18.0", "there are no pins for vllm-ascend 0.18.0 outside"), (None, "there are no pins for vllm-ascend of no version outside")],
)
def test_a_release_without_pins(plugin, what):
    with pytest.raises(NpufleetError, match=what) as caught:
        release_of(plugin)
    assert "0.23.0.post1, 0.26.0rc1, 0.30.0rc2" in str(caught.value)


def test_a_chip_that_no_release_runs_on():
    with pytest.raises(NpufleetError, match="the first-generation Ascend 910 is not supported"):
        ascend_of(wanted(soc="A1"), [], "")


def tools(*missing):
    return lambda name: None if name in missing else "/usr/bin/" + name


def test_a_host_that_can_build():
    check_tools(ascend(), PYTHON, FakeRun(**{PYTHON.path: (0, "True\n", "")}), tools())
    check_tools(ascend(wheel=True), PYTHON, FakeRun(), tools(*BUILD_TOOLS))


def test_all_that_is_missing_is_one_message():
    with pytest.raises(NpufleetError) as caught:
        check_tools(ascend(), PYTHON, FakeRun(), tools("bash", "git", "make"))
    assert str(caught.value).startswith(
        "vllm-ascend 0.23.0.post1 is built on the host for A3, and the host lacks bash, make, git, the headers of python3.11 (Python.h). "
        "Where: host packages."
    )
    with pytest.raises(NpufleetError, match="is installed for A3, and the host lacks bash"):
        check_tools(ascend(wheel=True), PYTHON, FakeRun(), tools("bash"))
