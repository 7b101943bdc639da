# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils import _bundle_script
from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_script import (
    DISK_SOURCE,
    KINDS,
    build_script,
    identity,
    slug,
    stages_of,
    tools_of,
)
from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_stages import Place, Stages
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError

APT = {
    "kind": "apt",
    "folder": "os/debian-12-aarch64",
    "arch": "arm64",
    "packages": ["g++"],
    "repositories": [{"url": "http://d", "suites": ["s"], "key": "/k"}],
    "hosts": ["npu-01"],
}
IMAGE = {"kind": "image", "folder": "images", "file": "x.tar", "image": "x:1", "arch": "arm64"}
DNF = {"kind": "dnf", "folder": "os/oe", "arch": "aarch64", "release": "1", "packages": ["gcc"], "repositories": []}


def test_the_identity_is_the_content_and_not_who_wants_it():
    assert identity(APT) == identity(dict(APT, hosts=["npu-02"]))
    assert identity(APT) != identity(dict(APT, packages=["g++", "make"]))


def test_names_of_parts_as_files():
    assert [slug(APT), slug(IMAGE)] == ["os--debian-12-aarch64", "images--x.tar"]


@pytest.mark.parametrize("folder, file", [("../x", ""), ("os/../../x", ""), ("/srv", ""), (".npufleet", ""), ("images", "../x.tar")])
def test_a_part_outside_of_the_bundle_is_refused(folder, file):
    """Whatever is no file of a part is removed from its folder."""
    with pytest.raises(NpufleetError, match="is no folder of a bundle"):
        stages_of(dict(APT, folder=folder, file=file), Place("/w", "/t", "/p"))


@pytest.mark.parametrize("part", [{"kind": "rpm", "folder": "x"}, {"kind": "apt"}, {}])
def test_an_unknown_part_is_refused(part):
    with pytest.raises(NpufleetError, match="no known kind and folder"):
        stages_of(part, Place("/w", "/t", "/p"))


def test_tools_are_named_once_with_the_packages_that_bring_them():
    tools = tools_of([APT, APT, DNF, IMAGE])
    assert [tool.name for tool in tools] == ["apt-get", "apt-ftparchive", "dnf", "createrepo_c", "skopeo"]
    assert [tool.debian for tool in tools][1:4] == ["apt-utils", "dnf", "createrepo-c"]
    assert set(KINDS) == {"apt", "dnf", "wheels", "image", "collection"}


@pytest.fixture()
def world(tmp_path, monkeypatch):
    """Two parts whose stages write down that they ran."""
    listing = json.dumps([{"file": "a", "size": 5}])

    def stages(part, place):
        note = "echo {0} {1} >> {2}/log"
        resolve = "mkdir -p {0} {1} && printf %s '{2}' > {3}\n".format(place.work, place.target, listing, place.listing)
        words = [note.format(word, part["file"], tmp_path) for word in ("resolve", "fetch", "finish")]
        return Stages(resolve + words[0], words[1] + "\n" + part.get("extra", ""), words[2])

    monkeypatch.setattr(_bundle_script, "stages_of", stages)
    parts = [{"kind": "image", "folder": "images", "file": name} for name in ("one", "two")]
    places = [Place(str(tmp_path / "work" / name), str(tmp_path / "bundle"), sys.executable) for name in ("one", "two")]
    return tmp_path, parts, places


def start(tmp_path, parts, places, resolve_only=False):
    script = build_script(parts, places, str(tmp_path), resolve_only)
    return subprocess.run(["/bin/sh", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, check=False)


def log(tmp_path):
    return (tmp_path / "log").read_text().split("\n")[:-1]


def test_everything_is_resolved_before_the_first_download(world):
    tmp_path, parts, places = world
    done = start(tmp_path, parts, places)
    assert done.returncode == 0
    assert log(tmp_path) == ["resolve one", "resolve two", "fetch one", "finish one", "fetch two", "finish two"]
    assert (tmp_path / "work/one/done").read_text() == identity(parts[0])
    assert [line for line in done.stdout.splitlines() if line.startswith("npufleet: stage")] == [
        "npufleet: stage 1/7 Resolve images/one",
        "npufleet: stage 2/7 Resolve images/two",
        "npufleet: stage 3/7 Check the disk",
        "npufleet: stage 4/7 Fetch images/one",
        "npufleet: stage 5/7 Finish images/one",
        "npufleet: stage 6/7 Fetch images/two",
        "npufleet: stage 7/7 Finish images/two",
    ]


def test_check_mode_only_resolves(world):
    tmp_path, parts, places = world
    assert start(tmp_path, parts, places, resolve_only=True).returncode == 0
    assert log(tmp_path) == ["resolve one", "resolve two"]
    assert not (tmp_path / "work/one/done").exists()


def test_temporary_files_lie_in_the_work_folder_and_are_gone_with_the_next_run(world):
    tmp_path, parts, places = world
    (tmp_path / "work/tmp").mkdir(parents=True)
    (tmp_path / "work/tmp/of an interrupted run").write_text("")
    assert start(tmp_path, [dict(parts[0], extra='mktemp; echo "$TMPDIR" >> {0}/log'.format(tmp_path))], places[:1]).returncode == 0
    assert log(tmp_path)[2] == str(tmp_path / "work/tmp")
    assert [path.name[:4] for path in (tmp_path / "work/tmp").iterdir()] == ["tmp."]


def test_a_part_that_fails_leaves_the_mark_of_those_before_it(world):
    tmp_path, parts, places = world
    assert start(tmp_path, [parts[0], dict(parts[1], extra="exit 7")], places).returncode == 7
    assert (tmp_path / "work/one/done").exists() and not (tmp_path / "work/two/done").exists()


@pytest.mark.parametrize("free, code", [(1000, 1), (10**15, 0)])
def test_the_disk_is_checked_before_the_first_download(tmp_path, free, code):
    """Only what is not there yet counts, and an image takes more than it weighs."""
    (tmp_path / "a").write_bytes(b"x" * 400)
    (tmp_path / "listing").write_text(
        json.dumps([{"file": "a", "size": 500}, {"file": "b", "size": 100, "disk": 1000}, {"file": "c", "size": None}])
    )
    fake = "import os, types\nos.statvfs = lambda path: types.SimpleNamespace(f_bavail={0}, f_frsize=1)\n".format(free)
    argv = [sys.executable, "-c", fake + DISK_SOURCE, str(tmp_path), "0", str(tmp_path / "listing"), str(tmp_path)]
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, check=False, env=dict(os.environ))
    assert done.returncode == code and ("ERROR: the disk is too small" in done.stderr) is bool(code)


def test_the_disk_holds_exactly_what_is_missing(tmp_path):
    (tmp_path / "a").write_bytes(b"x" * 400)
    (tmp_path / "listing").write_text(json.dumps([{"file": "a", "size": 500}, {"file": "b", "size": 100, "disk": 1000}]))
    for free, code in ((1100, 0), (1099, 1)):
        fake = "import os, types\nos.statvfs = lambda path: types.SimpleNamespace(f_bavail={0}, f_frsize=1)\n".format(free)
        argv = [sys.executable, "-c", fake + DISK_SOURCE, str(tmp_path), "0", str(tmp_path / "listing"), str(tmp_path)]
        assert subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False).returncode == code
