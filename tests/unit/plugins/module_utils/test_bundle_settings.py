# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import configparser

from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_settings import environment, settings

PARTS = [
    {"kind": "apt", "folder": "os/debian-12-aarch64"},
    {"kind": "dnf", "folder": "os/oe-aarch64"},
    {"kind": "wheels", "folder": "wheels/cp311"},
    {"kind": "wheels", "folder": "wheels/cp312"},
]


def ini(text):
    parser = configparser.ConfigParser()
    parser.read_string(text)
    return parser


def test_tools_find_the_bundle_and_nothing_else():
    texts = settings("/copy", PARTS)
    assert set(texts) == {"apt.conf", "sources.list", "dnf.conf", "pip.conf"}
    assert 'Dir::Etc::sourcelist "/copy/sources.list";' in texts["apt.conf"] and 'Dir::Etc::sourceparts "-";' in texts["apt.conf"]
    assert texts["sources.list"].splitlines()[1:] == ["deb [trusted=yes] file:/copy/os/debian-12-aarch64 ./"]
    dnf = ini(texts["dnf.conf"])
    assert dnf["main"]["reposdir"] == "/copy/.none"
    assert dnf["npufleet-bundle-0"]["baseurl"] == "file:///copy/os/oe-aarch64" and dnf["npufleet-bundle-0"]["gpgcheck"] == "0"
    pip = ini(texts["pip.conf"])["global"]
    assert pip["no-index"] == "true" and pip["find-links"].split() == ["/copy/wheels/cp311", "/copy/wheels/cp312"]


def test_a_host_without_parts_gets_tools_that_find_nothing():
    texts = settings("/copy", [])
    assert "deb " not in texts["sources.list"]
    assert ini(texts["dnf.conf"]).sections() == ["main"]
    assert ini(texts["pip.conf"])["global"]["find-links"] == ""


def test_environment():
    assert environment("/copy") == {"APT_CONFIG": "/copy/apt.conf", "PIP_CONFIG_FILE": "/copy/pip.conf", "PIP_NO_INDEX": "1"}
