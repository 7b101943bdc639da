# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._os_table import FAMILIES, SYSTEMS

# From os-release(5): lower case, no blanks.
ID_CHARACTERS = set("abcdefghijklmnopqrstuvwxyz0123456789._-")


@pytest.mark.parametrize("name", sorted(SYSTEMS))
def test_each_system_has_a_family_and_an_id_as_in_os_release(name):
    assert SYSTEMS[name] in FAMILIES
    assert set(name) <= ID_CHARACTERS


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_each_family_can_install_each_prerequisite(name):
    family = FAMILIES[name]
    assert family.install.split()[0] == family.tool
    assert set(family.packages) == {"compiler", "numa", "venv"}
    assert all(package and " " not in package for package in family.packages.values())


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("ubuntu", "debian"),
        ("debian", "debian"),
        ("openeuler", "rpm"),
        ("kylin", "rpm"),
        ("uos", "rpm"),
        ("bclinux", "rpm"),
        ("culinux", "rpm"),
    ],
)
def test_the_systems_of_the_plan(name, family):
    assert SYSTEMS[name] == family
