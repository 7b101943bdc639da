# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_docker_options import SUBOPTIONS, container_options


@pytest.mark.parametrize(
    ("given", "name", "value"),
    [
        ({}, "restart", "unless-stopped"),
        ({"restart": None}, "restart", "unless-stopped"),
        ({"restart": "no"}, "restart", "no"),
        ({"devices": []}, "devices", []),
        ({"entrypoint": []}, "entrypoint", []),
        ({}, "entrypoint", None),
        ({}, "image", None),
    ],
)
def test_what_nobody_gave_has_its_default(given, name, value):
    options = container_options(given)
    assert options[name] == value
    assert set(options) == set(SUBOPTIONS)


def test_nothing_makes_a_container_privileged():
    assert not [name for name in SUBOPTIONS if "privileged" in name]
    assert SUBOPTIONS["cap_add"]["default"] == ["DAC_OVERRIDE", "SYS_NICE"]
