# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._compatibility import (
    Recommendation,
    Setup,
    judge,
    problems,
    read_setup,
    recommend,
    unknowns,
)
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError

FITTING = Setup(
    vllm_ascend="0.23.0",
    cann="9.1.0",
    hdk="26.0.rc1",
    chip="910b",
    arch="aarch64",
    os_id="openEuler",
    os_version="22.03 (LTS-SP4)",
    glibc="2.34",
    python="3.11.6",
    docker="24.0.9",
)


def test_a_setup_that_fits_has_no_findings():
    assert judge(FITTING) == ([], [])
    assert judge(Setup()) == ([], [])


# What is changed in the fitting setup, and the one sentence that follows.
PROBLEMS = [
    (
        {"hdk": "25.0.1"},
        "CANN 9.1.0 does not allow HDK 25.0.1: install HDK 25.2.0 or later; CANN 9.1.0 was released with 26.0.rc1",
    ),
    (
        {"hdk": "25.0.rc1_sph001", "cann": None},
        "vllm-ascend 0.23.0 needs CANN 9.1.0, which does not allow HDK 25.0.rc1_sph001: install HDK 25.2.0 or later; "
        "CANN 9.1.0 was released with 26.0.rc1",
    ),
    (
        {"hdk": "24.1.rc3", "in_container": True},
        "the image of vllm-ascend 0.23.0 holds CANN 9.1.0, which does not allow HDK 24.1.rc3: install HDK 25.2.0 or later; "
        "CANN 9.1.0 was released with 26.0.rc1",
    ),
    (
        {"cann": "9.0.0"},
        "vllm-ascend 0.23.0 is built for CANN 9.1.0, and 9.0.0 is older: install CANN 9.1.0, or vllm-ascend 0.18.0 for CANN 9.0.0",
    ),
    (
        {"cann": "9.0.1"},
        "vllm-ascend 0.23.0 is built for CANN 9.1.0, and 9.0.1 is older: install CANN 9.1.0, or vllm-ascend 0.23.0rc1 for CANN 9.0.1",
    ),
    ({"cann": "8.5.2"}, "vllm-ascend 0.23.0 is built for CANN 9.1.0, and 8.5.2 is older: install CANN 9.1.0"),
    (
        {"python": "3.9.9"},
        "vllm-ascend 0.23.0 needs Python 3.10 to 3.12, and this is 3.9.9: install Python 3.12, or run it in a container",
    ),
    (
        {"python": "3.13.0"},
        "vllm-ascend 0.23.0 needs Python 3.10 to 3.12, and this is 3.13.0: install Python 3.12, or run it in a container",
    ),
    (
        {"glibc": "2.28"},
        "the wheels of vllm-ascend 0.23.0 need glibc 2.34, and this is 2.28: run it in a container, or install a system with glibc 2.34 or "
        "later, such as openEuler 22.03 or Ubuntu 22.04",
    ),
    (
        {"glibc": "2.17", "vllm_ascend": "0.23.0.post1"},
        "the wheels of torch-npu for vllm-ascend 0.23.0.post1 need glibc 2.28, and this is 2.17: run it in a container, or install a system "
        "with glibc 2.28 or later, such as openEuler 22.03 or Ubuntu 22.04",
    ),
    ({"chip": "910"}, "no version of vllm-ascend runs on the chip 910: use one of 310p, 910b, 950, A3"),
    ({"docker": "18.03.1"}, "Ascend Docker Runtime needs docker 18.09 or later, and this is 18.03.1: install docker 28.5.1"),
    (
        {"hdk": "new"},
        "hdk: 'new' is no version. What to do: Write it as the package does, like 25.5.0, 26.0.rc1, 25.0.rc1_sph001 or 9.1.0.",
    ),
    (
        {"os_id": "ubuntu", "os_version": "20.04.6 LTS (Focal Fossa)"},
        "no driver for 910b is listed for Ubuntu 20.04.6 LTS (Focal Fossa), which is older than all that are: install Ubuntu 22.04, Ubuntu 24.04",
    ),
    (
        {"os_version": "24.03 (LTS-SP1)", "hdk": "25.0.rc1.1", "vllm_ascend": None, "cann": "9.0.0"},
        "HDK 25.0.rc1.1 is older than the first one for 910b on openEuler 24.03 (LTS-SP1) (Atlas 800I A2 needs 25.2.0): install HDK 25.2.0 or later",
    ),
]


@pytest.mark.parametrize(("changes", "sentence"), PROBLEMS)
def test_each_problem_says_what_to_install_instead(changes, sentence):
    setup = FITTING._replace(**changes)
    assert problems(setup) == [sentence]


UNKNOWNS = [
    ({"vllm_ascend": "0.31.0", "cann": "9.2.0", "python": None}, "vllm-ascend 0.31.0 is not in the table, whose newest is 0.30.0rc2"),
    ({"vllm_ascend": "0.29.0rc1"}, "the project does not say which CANN vllm-ascend 0.29.0rc1 is built for"),
    ({"cann": "9.1.1"}, "vllm-ascend 0.23.0 is built for CANN 9.1.0; whether it works with 9.1.1 is not known"),
    (
        {"vllm_ascend": "0.18.0", "cann": "8.5.2"},
        "vllm-ascend 0.18.0 is built for CANN 8.5.1 or 9.0.0; whether it works with 8.5.2 is not known",
    ),
    ({"hdk": "27.0.0"}, "HDK 27.0.0 is newer than the table, which ends with 26.2: whether CANN 9.1.0 allows it is not known"),
    ({"docker": "29.0.0"}, "docker 29.0.0 is newer than 28.5.1, the last one that Ascend Docker Runtime names"),
    ({"cann": "9.3.0", "vllm_ascend": None, "python": None}, "which HDKs CANN 9.3.0 allows is not known"),
    ({"cann": "9.3.0", "vllm_ascend": None, "hdk": None}, "which Pythons CANN 9.3.0 supports is not known"),
    (
        {"os_id": "hce", "os_version": "2.0"},
        "hce 2.0 on aarch64 is not among the systems that ascend-deployer 26.0.0 lists for 910b: whether its driver works there is not known",
    ),
]


@pytest.mark.parametrize(("changes", "sentence"), UNKNOWNS)
def test_what_is_not_known_is_said_and_not_refused(changes, sentence):
    setup = FITTING._replace(**changes)
    assert unknowns(setup) == [sentence]
    assert problems(setup) == []


def test_in_a_container_what_the_image_brings_does_not_matter():
    old = FITTING._replace(cann="8.0.0", python="2.7", glibc="2.17", os_id="kylin", os_version="V10 (Lance)")
    assert len(problems(old)) == 4
    assert judge(old._replace(in_container=True)) == ([], [])


def test_in_a_container_of_an_unknown_release_the_cann_that_is_named_counts():
    setup = Setup(vllm_ascend="0.29.0rc1", cann="9.2.0", hdk="25.2.0", in_container=True)
    assert problems(setup) == ["CANN 9.2.0 does not allow HDK 25.2.0: install HDK 25.3.rc1 or later; CANN 9.2.0 was released with 26.2.rc1"]


def test_all_problems_are_told_at_once():
    setup = FITTING._replace(hdk="25.0.1", python="3.9", glibc="2.28", chip="910", docker="1.0")
    assert len(problems(setup)) == 5


@pytest.mark.parametrize(
    ("python", "cann", "allowed"),
    [
        ("3.7", "8.2.RC1", True),
        ("3.11.4", "8.2.RC1", True),
        ("3.11.5", "8.2.RC1", False),
        ("3.6.9", "9.0.0", False),
        ("3.13.9", "9.0.0", True),
        ("3.14.0", "9.0.0", False),
        ("3.14.2", "9.1.1", True),
    ],
)
def test_pythons_of_cann(python, cann, allowed):
    assert (problems(Setup(cann=cann, python=python)) == []) is allowed


@pytest.mark.parametrize(
    ("vllm_ascend", "arch", "glibc", "allowed"),
    [
        ("0.20.2rc1", "aarch64", "2.28", False),
        ("0.20.2rc1", "x86_64", "2.28", True),
        ("0.20.2rc1", None, "2.28", True),
        ("0.20.2rc1", None, "2.17", False),
        ("0.18.0", "aarch64", "2.28", True),
        ("0.7.3", "aarch64", "2.5", True),
        ("0.30.0rc2", "aarch64", "2.28", True),
    ],
)
def test_the_c_library(vllm_ascend, arch, glibc, allowed):
    assert (problems(Setup(vllm_ascend=vllm_ascend, arch=arch, glibc=glibc)) == []) is allowed


@pytest.mark.parametrize(
    ("vllm_ascend", "chip", "hdk", "cann"),
    [
        ("0.23.0", "910b", "26.0.rc1", "9.1.0"),
        ("v0.23.0.post1", "A3", "26.0.rc1", "9.1.0"),
        ("0.18.0", "310p", "25.5.0", "8.5.1"),
        ("0.11.0", "910b", "25.3.rc1", "8.3.RC2"),
        ("0.9.1", "910b", "25.2.0", "8.2.RC1"),
        ("0.30.0rc2", "910b", "26.2.rc1", "9.2.0"),
    ],
)
def test_recommendations(vllm_ascend, chip, hdk, cann):
    assert recommend(vllm_ascend, chip) == Recommendation(hdk, cann)
    setup = Setup(vllm_ascend=vllm_ascend, cann=cann, hdk=hdk, chip=chip)
    assert judge(setup) == ([], [])


@pytest.mark.parametrize(
    ("vllm_ascend", "chip", "words"),
    [
        ("0.29.0rc1", "910b", "which CANN vllm-ascend 0.29.0rc1 needs is not known"),
        ("0.99.0", "910b", "which CANN vllm-ascend 0.99.0 needs is not known"),
        ("0.8.4rc2", "910b", "which HDK goes with CANN 8.0.0 is not known"),
        ("0.23.0", "910", "does not run on the chip '910'"),
        ("0.23.0", "950", "Atlas 350 with 25.7.RC1, Atlas 850 with 25.6.RC1, Atlas 950 SuperPoD with 25.1.RC1"),
        ("0.30.0rc2", "950", "none is known"),
        ("new", "910b", "is no version"),
    ],
)
def test_without_a_source_there_is_no_recommendation(vllm_ascend, chip, words):
    with pytest.raises(NpufleetError, match=words):
        recommend(vllm_ascend, chip)


def test_a_setup_is_read_from_a_mapping():
    assert read_setup({"cann": "9.1.0", "hdk": None, "chip": "", "in_container": True}) == Setup(cann="9.1.0", in_container=True)


@pytest.mark.parametrize(
    ("values", "words"), [({"driver": "1"}, "there is no driver in a setup"), ("9.1.0", "must be a mapping"), (None, "must be")]
)
def test_other_setups_are_refused(values, words):
    with pytest.raises(NpufleetError, match=words):
        read_setup(values)
