# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._files import file_mode, make_folders, read_text, tail, write_text


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755])
@pytest.mark.parametrize("umask", [0o077, 0o000])
def test_text_and_mode_are_as_wanted_whatever_the_umask(tmp_path, mode, umask):
    path = str(tmp_path / "file")
    before = os.umask(umask)
    try:
        write_text(path, "line\n\u00e9\n", mode)
    finally:
        os.umask(before)
    assert (read_text(path), file_mode(path)) == ("line\n\u00e9\n", mode)
    assert os.listdir(str(tmp_path)) == ["file"]


def test_a_secret_is_never_readable_on_the_way(tmp_path, monkeypatch):
    seen = []
    rename = os.rename
    fchmod = os.fchmod

    def watched_fchmod(handle, mode):
        seen.append(os.fstat(handle).st_mode & 0o777)
        fchmod(handle, mode)

    def watched_rename(source, target):
        seen.append(os.stat(source).st_mode & 0o777)
        rename(source, target)

    monkeypatch.setattr(os, "fchmod", watched_fchmod)
    monkeypatch.setattr(os, "rename", watched_rename)
    write_text(str(tmp_path / "secret"), "x", 0o600)
    assert seen == [0o600, 0o600]


def test_a_link_is_replaced_and_not_followed(tmp_path):
    (tmp_path / "other").write_text("kept")
    (tmp_path / "link").symlink_to(tmp_path / "other")
    write_text(str(tmp_path / "link"), "new")
    assert (tmp_path / "other").read_text() == "kept"
    assert not (tmp_path / "link").is_symlink()


@pytest.mark.parametrize("failing", ["rename", "fsync", "fchmod"])
def test_a_failing_disk_leaves_the_old_text_and_nothing_else(tmp_path, monkeypatch, failing):
    (tmp_path / "file").write_text("old")

    def refuse(*_args):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, failing, refuse)
        with pytest.raises(OSError, match="No space left"):
            write_text(str(tmp_path / "file"), "new")
    assert (tmp_path / "file").read_text() == "old"
    assert os.listdir(str(tmp_path)) == ["file"]


def test_a_file_is_for_all_to_read_unless_told_otherwise(tmp_path):
    write_text(str(tmp_path / "file"), "x")
    assert file_mode(str(tmp_path / "file")) == 0o644


def test_a_folder_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        write_text(str(tmp_path / "none" / "file"), "x")


def test_what_is_not_there_reads_as_none(tmp_path):
    for path in (tmp_path / "none", tmp_path / "none" / "file"):
        assert (read_text(str(path)), file_mode(str(path))) == (None, None)
    assert read_text(str(tmp_path)) is None


def test_bytes_that_are_no_text_are_shown_as_such(tmp_path):
    (tmp_path / "file").write_bytes(b"a\xffb")
    assert read_text(str(tmp_path / "file")) == "a\ufffdb"


@pytest.mark.parametrize("umask", [0o077, 0o027, 0o000])
def test_folders_that_are_missing_are_open_and_those_that_are_there_stay(tmp_path, umask):
    (tmp_path / "there").mkdir(mode=0o700)
    before = os.umask(umask)
    try:
        for _turn in range(2):
            make_folders(str(tmp_path / "there" / "a" / "b"))
    finally:
        os.umask(before)
    assert [oct(file_mode(str(tmp_path / name))) for name in ("there", "there/a", "there/a/b")] == ["0o700", "0o755", "0o755"]


def test_a_folder_that_another_run_has_just_made_is_fine(tmp_path, monkeypatch):
    mkdir = os.mkdir

    def late(path, *args):
        mkdir(path, *args)
        raise FileExistsError(path)

    monkeypatch.setattr(os, "mkdir", late)
    make_folders(str(tmp_path / "a" / "b"))
    assert (tmp_path / "a" / "b").is_dir()


@pytest.mark.parametrize(
    ("offset", "limit", "lines"),
    [
        (0, 10, ["one", "two", "three"]),
        (0, 2, ["two", "three"]),
        (4, 10, ["two", "three"]),
        (14, 10, []),
        (99, 10, ["one", "two", "three"]),
    ],
)
def test_the_end_of_a_log_from_a_mark(tmp_path, offset, limit, lines):
    (tmp_path / "log").write_text("one\ntwo\nthree\n")
    assert tail(str(tmp_path / "log"), offset, limit) == lines


def test_a_huge_log_is_read_from_its_end_only(tmp_path):
    with open(str(tmp_path / "log"), "wb") as stream:
        stream.write(b"first\n")
        stream.truncate(1 << 30)
        stream.seek(0, os.SEEK_END)
        stream.write(b"\nlast \xff\n")
    lines = tail(str(tmp_path / "log"), 0, 10**6)
    assert lines[-1] == "last \ufffd"
    assert "first" not in lines


def test_no_log_is_no_lines(tmp_path):
    assert tail(str(tmp_path / "none"), 0, 10) == []
