# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._ascend_version import parse_version
from ansible_collections.npufleet.ascend.plugins.module_utils._compatibility_host import (
    Findings,
    check_engine,
    check_system,
    check_system_driver,
    read_system,
    row_name,
)
from ansible_collections.npufleet.ascend.plugins.module_utils._compatibility_table_host import OS_ROWS


@pytest.mark.parametrize(
    ("os_id", "version", "numbers", "release"),
    [
        ("openEuler", "22.03", (22, 3), None),
        ("openEuler", "22.03 (LTS-SP4)", (22, 3), "sp4"),
        ("openEuler", "22.03 LTS-SP4", (22, 3), "sp4"),
        ("openEuler", "24.03 (LTS)", (24, 3), None),
        ("kylin", "V10", (10,), None),
        ("kylin", "V10 (Halberd)", (10,), "halberd"),
        ("kylin", "V10 Lance", (10,), "lance"),
        ("kylin", "v10 SP3", (10,), "lance"),
        ("kylin", "V10 SP3-2403", (10,), "halberd"),
        ("kylin", "V11 (Swan25)", (11,), "swan25"),
        ("ubuntu", "22.04.5 LTS (Jammy Jellyfish)", (22, 4, 5), None),
        ("euleros", "2.0 (SP10)", (2, 10), None),
        ("euleros", "2.0 (SP9x86_64)", (2, 9), None),
        ("centos", "7.6.1810", (7, 6, 1810), None),
        ("rocky", "9.4", (9, 4), None),
    ],
)
def test_what_os_release_says(os_id, version, numbers, release):
    system = read_system(os_id, version)
    assert (system.id, system.numbers, system.release) == (os_id.lower(), numbers, release)
    assert system.shown.endswith(version)


@pytest.mark.parametrize(("os_id", "version"), [(None, None), ("", "22.04"), ("debian", None), ("debian", "trixie/sid"), ("arch", "")])
def test_a_system_without_a_version_is_not_known(os_id, version):
    assert read_system(os_id, version) is None


def test_an_alias_of_uos():
    assert read_system("uniontech", "20").id == "uos"


def check(os_id, version, chip, arch="aarch64"):
    findings = Findings([], [])
    check_system(read_system(os_id, version), chip, arch, findings)
    return findings


@pytest.mark.parametrize("row", OS_ROWS, ids=lambda row: "{0}-{1}".format(row_name(row), row.arch))
def test_each_row_of_the_table_fits_itself(row):
    version = "2.0 (SP{0})".format(row.version.split(".")[1]) if row.id == "euleros" else "{0} {1}".format(row.version, row.release)
    for chip in row.chips:
        assert check(row.id, version, chip, row.arch) == ([], [])


@pytest.mark.parametrize(
    ("os_id", "version", "chip", "arch"),
    [
        ("openEuler", "22.03", "950", "aarch64"),  # The service pack is not said.
        ("openEuler", "22.03 (LTS-SP4)", "910b", None),
        ("kylin", "V10", "A3", "aarch64"),
        ("ubuntu", "22.04.5", "910b", "x86_64"),
        ("centos", "7", "910b", "x86_64"),
        ("bclinux", "21.10U4", "A3", "aarch64"),
    ],
)
def test_what_fits_a_row(os_id, version, chip, arch):
    assert check(os_id, version, chip, arch) == ([], [])


@pytest.mark.parametrize(
    ("os_id", "version", "chip", "arch"),
    [
        ("openEuler", "22.03 (LTS-SP3)", "910b", "aarch64"),
        ("openEuler", "25.09", "910b", "aarch64"),
        ("openEuler", "24.03 (LTS-SP1)", "910b", "x86_64"),
        ("kylin", "V10 (Tercel)", "910b", "aarch64"),
        ("ubuntu", "26.04", "910b", "aarch64"),
        ("rocky", "9.4", "910b", "x86_64"),
        ("openEuler", "22.03", "A3", "x86_64"),
    ],
)
def test_what_the_table_lacks_is_not_refused(os_id, version, chip, arch):
    findings = check(os_id, version, chip, arch)
    assert findings.problems == []
    (sentence,) = findings.unknowns
    assert version in sentence and chip in sentence and arch in sentence


@pytest.mark.parametrize(
    ("os_id", "version", "chip", "instead"),
    [
        ("ubuntu", "20.04", "910b", "Ubuntu 22.04, Ubuntu 24.04"),
        ("ubuntu", "20.04", "A3", "Ubuntu 22.04"),
        ("openEuler", "20.03 (LTS-SP3)", "910b", "openEuler 22.03, openEuler 22.03 SP4, openEuler 24.03 SP1"),
        ("euleros", "2.0 (SP8)", "910b", "EulerOS 2.10, EulerOS 2.12"),
        ("ctyunos", "21.01", "A3", "CTyunOS 22.06, CTyunOS 23.01"),
    ],
)
def test_what_is_older_than_every_row_is_refused(os_id, version, chip, instead):
    findings = check(os_id, version, chip)
    assert findings.unknowns == []
    (sentence,) = findings.problems
    assert sentence.endswith(": install " + instead) and version in sentence


def test_the_old_system_is_told_from_other_architectures_too():
    (sentence,) = check("openEuler", "20.03", "A3", "x86_64").problems
    assert sentence.endswith(": install openEuler 22.03 SP1, openEuler 22.03 SP4, openEuler 24.03 SP1")


def check_driver(os_id, version, chip, hdk):
    findings = Findings([], [])
    check_system_driver(read_system(os_id, version), chip, parse_version(hdk), findings)
    return findings


@pytest.mark.parametrize(
    ("os_id", "version", "chip", "hdk", "problems", "unknowns"),
    [
        ("openEuler", "24.03 (LTS-SP1)", "910b", "25.2.0", 0, 0),
        ("openEuler", "24.03 (LTS-SP1)", "910b", "25.0.rc1.1", 1, 0),
        ("openEuler", "24.03 (LTS-SP2)", "A3", "25.0.rc1.1", 1, 0),
        ("openEuler", "24.03 (LTS-SP0)", "A3", "25.0.rc1.1", 0, 0),
        ("openEuler", "24.03", "910b", "25.0.rc1.1", 1, 0),
        ("openEuler", "22.03 (LTS-SP4)", "910b", "25.0.rc1.1", 0, 0),
        ("openEuler", "22.03 (LTS-SP4)", "310p", "24.1.rc1", 1, 0),
        ("ubuntu", "22.04.5", "310p", "24.1.rc1", 1, 0),
        ("ubuntu", "22.04.5", "310p", "24.1.rc3", 0, 1),  # Enough for the Duo, too old for the Pro.
        ("ubuntu", "22.04.5", "310p", "24.1.0", 0, 0),
        ("debian", "10", "A3", "20.0", 0, 0),
    ],
)
def test_the_first_driver_on_a_system(os_id, version, chip, hdk, problems, unknowns):
    findings = check_driver(os_id, version, chip, hdk)
    assert (len(findings.problems), len(findings.unknowns)) == (problems, unknowns)


def test_the_sentence_names_products_and_the_driver_to_install():
    (sentence,) = check_driver("ubuntu", "22.04", "310p", "23.0.0").problems
    assert sentence == (
        "HDK 23.0.0 is older than the first one for 310p on Ubuntu 22.04 (Atlas 300I Pro needs 24.1.0, Atlas 300I Duo needs 24.1.rc2): "
        "install HDK 24.1.0 or later"
    )


@pytest.mark.parametrize(
    ("engine", "version", "problems", "unknowns"),
    [
        ("docker", "18.09", 0, 0),
        ("docker", "18.09.0", 0, 0),
        ("docker", "17.06.2", 1, 0),
        ("docker", "28.5.1", 0, 0),
        ("docker", "28.5.2", 0, 1),
        ("containerd", "1.3.9", 1, 0),
        ("containerd", "1.6.22", 0, 0),
        ("containerd", "2.2.0", 0, 1),
    ],
)
def test_container_engines(engine, version, problems, unknowns):
    findings = Findings([], [])
    check_engine(engine, parse_version(version), findings)
    assert (len(findings.problems), len(findings.unknowns)) == (problems, unknowns)
