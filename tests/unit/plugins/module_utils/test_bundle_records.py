# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import zipfile

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_records import Records, file_size, prune, read_json, tree_size
from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_script import identity
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError

WHEELS = {"kind": "wheels", "folder": "wheels/cp311", "sets": [], "hosts": ["npu-01"]}
APT = {"kind": "apt", "folder": "os/debian-12", "packages": ["a"], "hosts": []}
IMAGE = {"kind": "image", "folder": "images", "file": "x.tar", "image": "x:1", "hosts": []}


class Made:
    """A bundle and a work folder, and a job that leaves things there."""

    def __init__(self, tmp_path):
        self.bundle = tmp_path / "bundle"
        self.work = tmp_path / "work"
        self.records = Records(str(self.bundle), str(self.work), "/p")
        self.url = "u"

    def job(self, part, files, listed=None, mark=None):
        """The state after a job: files in the target, the listing, and the mark of the finished part."""
        target = self.bundle / part["folder"]
        for name, content in files.items():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            (target / name).write_text(content)
        work = self.work / self.records.place(part).work.rpartition("/")[2]
        work.mkdir(parents=True, exist_ok=True)
        names = files if listed is None else listed
        rows = [{"file": name, "size": 99, "url": self.url, "licence": "l", "disk": 5} for name in names]
        (work / "listing.json").write_text(json.dumps(rows))
        (work / "done").write_text(identity(part) if mark is None else mark)
        return target


@pytest.fixture()
def made(tmp_path):
    return Made(tmp_path)


def test_a_finished_part_becomes_a_record_with_the_real_sizes(made):
    made.job(WHEELS, {"a.whl": "12345"})
    assert made.records.files(WHEELS) is None
    made.records.promote([WHEELS])
    assert made.records.files(WHEELS) == [{"file": "a.whl", "size": 5, "url": "u", "licence": "l"}]
    # The mark is used up: what comes later does not touch the record.
    assert not (made.work / "wheels--cp311" / "done").exists()
    made.records.promote([WHEELS])
    # Who wants the part is no part of it.
    assert made.records.files(dict(WHEELS, hosts=[])) is not None


def test_records_and_listings_hold_no_password_of_a_mirror(made):
    made.url = "https://me:secret@mirror/a.whl"
    made.job(WHEELS, {"a.whl": "1"})
    assert made.records.listing(WHEELS)[0]["url"] == "https://***@mirror/a.whl"
    made.records.promote([WHEELS])
    assert made.records.files(WHEELS)[0]["url"] == "https://***@mirror/a.whl"
    assert "secret" not in "".join(path.read_text() for path in made.bundle.rglob("*.json"))


def test_a_record_of_another_content_does_not_count(made):
    made.job(WHEELS, {"a.whl": "12345"})
    made.records.promote([WHEELS])
    assert made.records.files(dict(WHEELS, sets=[{"requirements": ["b"]}])) is None


@pytest.mark.parametrize("change", [lambda target: (target / "a.whl").unlink(), lambda target: (target / "a.whl").write_text("1234")])
def test_a_file_that_is_gone_or_another_makes_the_part_stale(made, change):
    target = made.job(WHEELS, {"a.whl": "12345"})
    made.records.promote([WHEELS])
    change(target)
    assert made.records.files(WHEELS) is None


def test_a_repository_without_its_index_is_none(made):
    target = made.job(APT, {"a.deb": "1", "Packages": "Package: a"}, listed=["a.deb"])
    made.records.promote([APT])
    assert made.records.files(APT) is not None
    (target / "Packages").unlink()
    assert made.records.files(APT) is None


def test_a_mark_of_another_content_is_not_promoted(made):
    made.job(WHEELS, {"a.whl": "1"}, mark="of an older plan")
    made.records.promote([WHEELS])
    assert made.records.files(WHEELS) is None


@pytest.mark.parametrize("listed, words", [(["a.whl", "b.whl"], "is not complete: b.whl"), ([], "nothing was resolved")])
def test_a_part_that_is_not_whole_is_no_record(made, listed, words):
    made.job(WHEELS, {"a.whl": "1"}, listed=listed)
    with pytest.raises(NpufleetError, match=words):
        made.records.promote([WHEELS])
    made.records.promote([WHEELS])
    assert made.records.files(WHEELS) is None


def test_older_versions_go_and_the_index_stays(made):
    files = {"a.deb": "1", "old.deb": "2", "Packages": "3", "repodata/x.xml": "4", "partial/b.deb": "5"}
    target = made.job(APT, files, listed=["a.deb"])
    made.records.promote([APT])
    assert sorted(path.name for path in target.iterdir()) == ["Packages", "a.deb", "repodata"]


def test_images_do_not_remove_each_other(made):
    made.job(IMAGE, {"x.tar": "1", "y.tar": "2"}, listed=["x.tar"])
    made.records.promote([IMAGE])
    assert (made.bundle / "images" / "y.tar").exists()
    assert made.records.files(IMAGE) == [{"file": "x.tar", "size": 1, "url": "u", "licence": "l"}]


def test_the_licence_is_that_of_the_wheel(made):
    target = made.job(WHEELS, {"a.whl": ""})
    with zipfile.ZipFile(str(target / "a.whl"), "w") as archive:
        archive.writestr("a-1.dist-info/METADATA", "License-Expression: MIT\n")
    made.records.promote([WHEELS])
    assert made.records.files(WHEELS)[0]["licence"] == "MIT"


def test_a_new_job_starts_without_what_earlier_ones_said(made):
    made.job(WHEELS, {"a.whl": "1"})
    assert len(made.records.listing(WHEELS)) == 1
    made.records.start([WHEELS, APT])
    made.records.promote([WHEELS])
    assert made.records.files(WHEELS) is None and made.records.listing(WHEELS) == []


@pytest.mark.parametrize("text, value", [('{"a": 1}', {"a": 1}), ("{", None), ("", None), (None, None)])
def test_reading_json(tmp_path, text, value):
    if text is not None:
        (tmp_path / "x").write_text(text)
    assert read_json(str(tmp_path / "x")) == value


def test_a_listing_that_is_no_list_is_none(made):
    made.job(WHEELS, {})
    (made.work / "wheels--cp311" / "listing.json").write_text("{}")
    assert made.records.listing(WHEELS) == []


def test_sizes(tmp_path):
    (tmp_path / "a").write_text("123")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "c").write_text("45")
    (tmp_path / "b" / "broken").symlink_to("nowhere")
    assert file_size(str(tmp_path / "a")) == 3 and file_size(str(tmp_path / "none")) is None
    assert tree_size(str(tmp_path)) == 5 and tree_size(str(tmp_path / "none")) == 0


def test_prune_keeps_names(tmp_path):
    (tmp_path / "a").write_text("")
    (tmp_path / "b").write_text("")
    prune(str(tmp_path), {"a"})
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
