# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_files import host_files

WHEELS = {"kind": "wheels", "folder": "wheels/cp311", "sets": [{"requirements": ["a"], "index_url": "https://user:secret@mirror"}]}
OS = {"kind": "apt", "folder": "os/debian-12-aarch64", "packages": ["g++", "numactl"]}
IMAGE = {"kind": "image", "folder": "images", "file": "x.tar", "image": "quay.io/x:1"}
PACKAGE = {"name": "toolkit", "version": "9.0.0", "file": "toolkit.zip", "sha256": "sum of packages/toolkit.zip"}
PLAN = {"packages": [PACKAGE], "parts": [WHEELS, OS, IMAGE]}
NAMES = [
    "images/x.tar",
    "images/y.tar",
    "os/debian-12-aarch64/Packages",
    "os/debian-12-aarch64-old/Packages",
    "packages/toolkit.zip",
    "packages/other.zip",
    "wheels/cp311/a.whl",
    "notes.txt",
]
MANIFEST = {
    "files": {name: {"size": len(name), "sha256": "sum of " + name} for name in NAMES},
    "parts": {
        "wheels/cp311": {"sets": [{"requirements": ["a"]}]},
        "os/debian-12-aarch64": {"packages": ["g++", "numactl", "python3-apt"]},
        "images/x.tar": {"image": "quay.io/x:1"},
    },
    "packages": {},
}


def files(plan=None, manifest=None):
    return host_files(plan or PLAN, manifest or MANIFEST, "/copy", "/packages")


def test_only_what_the_host_needs_and_where_it_goes():
    found = files()
    assert [(row["source"], row["path"]) for row in found["files"]] == [
        ("images/x.tar", "/copy/images/x.tar"),
        ("os/debian-12-aarch64/Packages", "/copy/os/debian-12-aarch64/Packages"),
        ("wheels/cp311/a.whl", "/copy/wheels/cp311/a.whl"),
        ("packages/toolkit.zip", "/packages/toolkit.zip"),
    ]
    assert found["files"][0] == {"source": "images/x.tar", "path": "/copy/images/x.tar", "size": 12, "sha256": "sum of images/x.tar"}
    assert found["parts"] == [{"kind": "wheels", "folder": "wheels/cp311"}, {"kind": "apt", "folder": "os/debian-12-aarch64"}]
    assert found["images"] == [{"archive": "/copy/images/x.tar", "image": "quay.io/x:1", "name": "quay.io/x:1"}]
    assert found["checksums"] == {"toolkit.zip": "sum of packages/toolkit.zip"}
    assert found["lacks"] == []


def test_an_image_by_digest_has_the_name_that_docker_loads_it_under():
    image = dict(IMAGE, image="quay.io/x@sha256:" + "ab" * 32)
    (found,) = files(plan=dict(PLAN, parts=[image]))["images"]
    assert found == {"archive": "/copy/images/x.tar", "image": image["image"], "name": "quay.io/x:" + "ab" * 6}


def test_what_the_bundle_lacks_is_named():
    parts = {
        "wheels/cp311": {"sets": [{"requirements": ["b"]}]},
        "os/debian-12-aarch64": {"packages": ["numactl"]},
    }
    manifest = {"files": {"os/debian-12-aarch64/Packages": {"size": 1, "sha256": "s"}}, "parts": parts}
    assert files(manifest=manifest)["lacks"] == [
        "the wanted versions in wheels/cp311",
        "g++ in os/debian-12-aarch64",
        "images/x.tar",
        "toolkit 9.0.0 (toolkit.zip)",
    ]
    assert files(manifest={"files": {}})["lacks"] == ["wheels/cp311", "os/debian-12-aarch64", "images/x.tar", "toolkit 9.0.0 (toolkit.zip)"]


def test_the_published_sum_counts_and_not_that_of_the_bundle():
    other = dict(PLAN, packages=[dict(PACKAGE, sha256="published")])
    found = files(other)
    assert found["lacks"] == [
        "toolkit 9.0.0 (toolkit.zip) with the SHA-256 published, since that in the bundle has sum of packages/toolkit.zip"
    ]
    assert found["checksums"] == {} and "/packages/toolkit.zip" not in [row["path"] for row in found["files"]]


@pytest.mark.parametrize("given, checksums", [(True, {"toolkit.zip": "sum of packages/toolkit.zip"}), (False, {}), (None, {})])
def test_a_sum_that_nobody_gave_is_none_to_execute_by(given, checksums):
    """It only says that the file is the one that was downloaded."""
    packages = {} if given is None else {"toolkit.zip": {"sum_was_given": given}}
    found = files(dict(PLAN, packages=[dict(PACKAGE, sha256=None)]), dict(MANIFEST, packages=packages))
    assert (found["checksums"], found["lacks"]) == (checksums, [])
    assert "/packages/toolkit.zip" in [row["path"] for row in found["files"]]


def test_a_package_in_a_folder_of_its_own():
    row = {"size": 1, "sha256": "s"}
    package = dict(PACKAGE, file="own/toolkit.zip", sha256="s")
    found = files({"packages": [package], "parts": []}, {"files": {"packages/own/toolkit.zip": row}, "parts": {}})
    assert (found["files"][0]["path"], found["checksums"]) == ("/packages/own/toolkit.zip", {"toolkit.zip": "s"})
