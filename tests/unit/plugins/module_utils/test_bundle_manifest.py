# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_manifest import (
    content_of,
    make_manifest,
    manifest_text,
    parse_bundle_manifest,
    sums_text,
    walk,
)
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._sha256sums import parse_manifest, sha256

PART = {
    "kind": "wheels",
    "folder": "wheels/x",
    "python": "3.11",
    "hosts": ["npu-01"],
    "sets": [{"requirements": ["a"], "index_url": "https://user:secret@mirror"}],
    "repositories": [{"url": "https://user:secret@mirror"}],
    "source": "/home/me/checkout",
}
PACKAGES = [
    {
        "name": "firmware",
        "version": "25.5.0",
        "chip": "910b",
        "arch": "aarch64",
        "file": "hdk.zip",
        "url": "https://h/hdk.zip",
        "licence": "L",
        "sha256": "5e",
    },
    {
        "name": "driver",
        "version": "25.5.0",
        "chip": "910b",
        "arch": "aarch64",
        "file": "hdk.zip",
        "url": "https://h/hdk.zip",
        "licence": "L",
        "sha256": "5e",
    },
    {
        "name": "nnal",
        "version": "9.0.0",
        "chip": "",
        "arch": "aarch64",
        "file": "nnal.run",
        "url": "https://h/nnal.run",
        "licence": "L",
        "sha256": None,
    },
]
NAMES = ["packages/hdk.zip", "os/d/Packages", "os/o/repodata/repomd.xml", "wheels/x/a.whl", "notes.txt"]


def manifest():
    digests = {name: "sum of " + name for name in NAMES}
    sizes = {name: 10 for name in NAMES}
    sources = [{"path": "wheels/x/a.whl", "url": "https://me:secret@mirror/a.whl", "licence": "MIT", "file": "a.whl"}]
    return make_manifest(digests, sizes, sources, [PART], PACKAGES)


def test_every_file_has_sum_size_source_and_licence():
    files = manifest()["files"]
    assert files["wheels/x/a.whl"] == {"sha256": "sum of wheels/x/a.whl", "size": 10, "source": "https://mirror/a.whl", "licence": "MIT"}
    assert (files["packages/hdk.zip"]["source"], files["packages/hdk.zip"]["licence"]) == ("https://h/hdk.zip", "L")
    assert {files[name]["source"] for name in NAMES[1:3]} == {"made here, index of the folder"}
    assert (files["notes.txt"]["source"], files["notes.txt"]["licence"]) == ("put there by hand", "not known")
    assert manifest()["bytes"] == 50


def test_what_another_run_fetched_keeps_its_origin():
    """A run for one kind alone, or for another inventory, is asked for less than what the folder holds."""
    digests = {name: "sum of " + name for name in [*NAMES, "wheels/y/b.whl"]}
    sizes = {name: 10 for name in digests}
    source = {"path": "wheels/y/b.whl", "url": "https://h/b.whl", "licence": "BSD"}
    other = {"kind": "wheels", "folder": "wheels/y", "sets": []}
    found = make_manifest(digests, sizes, [source], [other], [], manifest())
    assert {name: found["files"][name] for name in NAMES} == manifest()["files"]
    assert found["packages"] == {"hdk.zip": manifest()["packages"]["hdk.zip"]} and sorted(found["parts"]) == ["wheels/x", "wheels/y"]
    assert found["files"]["wheels/y/b.whl"]["licence"] == "BSD"
    # The same run again, and one for all of it, give the same.
    assert make_manifest(digests, sizes, [source], [other], [], found) == found


@pytest.mark.parametrize("gone", [True, False])
def test_what_is_not_the_same_any_more_does_not(gone):
    digests = {name: "sum of " + name for name in NAMES}
    for name in ("packages/hdk.zip", "wheels/x/a.whl"):
        digests[name] = "another"
        if gone:
            del digests[name]
    found = make_manifest(digests, {name: 10 for name in digests}, [], [], [], manifest())
    assert (found["parts"], found["packages"]) == ({}, {})
    assert [name for name, row in found["files"].items() if row["source"] == "put there by hand"] == (
        ["notes.txt"] if gone else ["notes.txt", "packages/hdk.zip", "wheels/x/a.whl"]
    )


def test_a_new_plan_of_a_part_counts_and_not_the_old_one():
    part = dict(PART, sets=[{"requirements": ["b"]}])
    digests = {name: "sum of " + name for name in NAMES}
    found = make_manifest(digests, {name: 10 for name in digests}, [], [part], [], manifest())
    assert found["parts"]["wheels/x"]["sets"] == [{"requirements": ["b"]}]


def test_packages_by_file_and_whether_their_sum_was_given():
    assert manifest()["packages"] == {
        "hdk.zip": {"names": ["driver", "firmware"], "version": "25.5.0", "chip": "910b", "arch": "aarch64", "sum_was_given": True},
        "nnal.run": {"names": ["nnal"], "version": "9.0.0", "chip": "", "arch": "aarch64", "sum_was_given": False},
    }


def test_it_tells_neither_hosts_nor_passwords():
    text = manifest_text(manifest())
    assert manifest()["parts"] == {"wheels/x": {"kind": "wheels", "python": "3.11", "sets": [{"requirements": ["a"]}]}}
    assert "npu-01" not in text and "secret" not in text and "/home/me" not in text
    assert content_of({"kind": "apt", "packages": ["a"], "folder": "os/d"}) == {"kind": "apt", "packages": ["a"]}


def test_the_same_content_gives_the_same_text():
    assert manifest_text(manifest()) == manifest_text(json.loads(manifest_text(manifest())))


def test_the_sums_list_the_manifest_too():
    text = manifest_text(manifest())
    found = parse_manifest(sums_text({"files": {"a": {"sha256": "0" * 64}}}, text), "x")
    assert found == {"a": "0" * 64, "manifest.json": sha256(text.encode())}


def test_walk_leaves_out_itself_and_what_begins_with_a_dot(tmp_path):
    for name in (
        "a",
        "b/c",
        "b/.part",
        ".npufleet/x.json",
        "manifest.json",
        "SHA256SUMS",
        "SHA256SUMS.sig",
        "SHA256SUMS.asc",
        "b/manifest.json",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "link").symlink_to("a")
    assert walk(str(tmp_path)) == ["a", "b/c", "b/manifest.json", "link"]


def test_walk_refuses_a_link_that_leads_out(tmp_path):
    (tmp_path / "bundle").mkdir()
    (tmp_path / "outside").write_text("")
    (tmp_path / "bundle" / "link").symlink_to("../outside")
    with pytest.raises(NpufleetError, match="leads out of the bundle"):
        walk(str(tmp_path / "bundle"))


@pytest.mark.parametrize("name", ["a\nb", "a\\b"])
def test_walk_refuses_names_that_a_list_cannot_hold(tmp_path, name):
    (tmp_path / name).write_text("")
    with pytest.raises(NpufleetError, match="line break or a backslash"):
        walk(str(tmp_path))


@pytest.mark.parametrize(
    "text, words",
    [
        ("{", "is damaged"),
        ("[]", "another format"),
        ('{"format": 2}', "another format than 1"),
        ('{"format": 1, "files": {}, "parts": {}}', "files, parts or packages are no tables"),
        ('{"format": 1, "files": {}, "parts": [], "packages": {}}', "are no tables"),
        ('{"format": 1, "files": {"a": 1}, "parts": {}, "packages": {}}', "are no tables"),
        ('{"format": 1, "files": {"a": {"size": "1", "sha256": "5e"}}, "parts": {}, "packages": {}}', "size or SHA-256 of a is missing"),
        ('{"format": 1, "files": {"a": {"size": 1}}, "parts": {}, "packages": {}}', "size or SHA-256 of a is missing"),
    ],
)
def test_a_manifest_that_cannot_be_used(text, words):
    with pytest.raises(NpufleetError, match=words) as caught:
        parse_bundle_manifest(text, "/b/manifest.json")
    assert caught.value.where == "/b/manifest.json"


def test_a_manifest_that_can():
    assert parse_bundle_manifest(manifest_text(manifest()), "x") == manifest()
