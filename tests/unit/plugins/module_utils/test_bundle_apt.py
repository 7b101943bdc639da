# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import subprocess
import sys

from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_apt import LISTING_SOURCE, source_line, stages
from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_stages import Place

PLACE = Place("/srv/a part", "/bundle/os/debian-12-aarch64", "/usr/bin/python3")
REPOSITORY = {
    "url": "http://deb.example.com/debian",
    "suites": ["bookworm", "bookworm-updates"],
    "components": ["main", "extra"],
    "key": "/k.gpg",
}
PART = {"kind": "apt", "folder": "os/debian-12-aarch64", "arch": "arm64", "packages": ["g++", "libnuma1"], "repositories": [REPOSITORY]}
URIS = """Reading package lists...
'http://deb.example.com/pool/g++_12%2b1_arm64.deb' g++_12+1_arm64.deb 37624 MD5Sum:c5d785f62da63c2976bf748f19aa3911
'http://deb.example.com/pool/acl_1%3a2_arm64.deb' acl_1%3a2_arm64.deb 5 SHA256:00
"""


def test_each_suite_is_a_line():
    assert source_line(REPOSITORY, PART) == (
        "deb [arch=arm64 signed-by=/k.gpg] http://deb.example.com/debian bookworm main extra\n"
        "deb [arch=arm64 signed-by=/k.gpg] http://deb.example.com/debian bookworm-updates main extra\n"
    )
    # A flat repository has a path for a suite, and no components; one without a key was declared trusted.
    assert source_line({"url": "file:/repo", "suites": ["./"]}, PART) == "deb [arch=arm64 trusted=yes] file:/repo ./\n"


def test_nothing_of_this_machine_gets_in():
    made = stages(PART, PLACE)
    for line in (
        'Dir "/srv/a part";',
        'Dir::Etc::sourceparts "-";',
        'APT::Architecture "arm64";',
        'Dir::State::status "/srv/a part/status";',
    ):
        assert line in made.resolve
    assert "apt-get -q update" in made.resolve and "--print-uris g++ libnuma1" in made.resolve
    assert "/srv/a part/uris" in made.resolve and "'/srv/a part/listing.json'" in made.resolve


def test_packages_come_into_the_bundle_and_become_a_repository():
    made = stages(PART, PLACE)
    assert "APT_CONFIG='/srv/a part/apt.conf' apt-get -q -y install --download-only g++ libnuma1" in made.fetch
    assert 'Dir::Cache::archives "/bundle/os/debian-12-aarch64";' in made.resolve
    assert "rm -rf /bundle/os/debian-12-aarch64/partial" in made.fetch
    assert made.finish.startswith("(cd /bundle/os/debian-12-aarch64 && apt-ftparchive packages .")


def test_listing_of_what_apt_prints(tmp_path):
    (tmp_path / "uris").write_text(URIS)
    subprocess.run([sys.executable, "-c", LISTING_SOURCE, str(tmp_path / "uris"), str(tmp_path / "listing")], check=True)
    assert json.loads((tmp_path / "listing").read_text()) == [
        {
            "file": "acl_1%3a2_arm64.deb",
            "size": 5,
            "url": "http://deb.example.com/pool/acl_1%3a2_arm64.deb",
            "licence": "usr/share/doc/acl/copyright in the package",
        },
        {
            "file": "g++_12+1_arm64.deb",
            "size": 37624,
            "url": "http://deb.example.com/pool/g++_12%2b1_arm64.deb",
            "licence": "usr/share/doc/g++/copyright in the package",
        },
    ]
