# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import io
import stat
import zipfile

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils import _package_archive
from ansible_collections.npufleet.ascend.plugins.module_utils._package_archive import ArchiveError, Member, copy_member, find_member

RUN = b"#!/bin/sh\nexit 0\n" + bytes(range(256)) * 20


def packed(members, compression=zipfile.ZIP_DEFLATED):
    """The bytes of an archive; members are name -> bytes, or ZipInfo -> bytes."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


def entry(name, mode=0, flags=0, compression=zipfile.ZIP_DEFLATED):
    info = zipfile.ZipInfo(name)
    info.external_attr = mode << 16
    info.flag_bits |= flags
    info.compress_type = compression
    return info


@pytest.fixture()
def path(tmp_path):
    return tmp_path / "package.zip"


def taken(path, pattern=r"wanted.*\.run"):
    member = find_member(str(path), pattern)
    target = io.BytesIO()
    copy_member(str(path), member, target)
    return member, target.getvalue()


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_one_member_is_taken_out(path, compression):
    path.write_bytes(packed({"other.run": b"x", "sub/": b"", "sub/wanted-1.run": RUN, "readme": b"y"}, compression))
    assert taken(path) == (Member((), "sub/wanted-1.run", len(RUN)), RUN)


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_member_of_the_signed_archive_inside(path, compression):
    inner = packed({"wanted-1.run": RUN, "wanted-1.run.cms": b"signature"})
    path.write_bytes(packed({"inner.zip": inner, "inner.zip.cms": b"signature"}, compression))
    assert taken(path) == (Member(("inner.zip",), "wanted-1.run", len(RUN)), RUN)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (packed({"other.run": b"x"}), "does not hold the package"),
        (packed({}), "does not hold the package"),
        (packed({"a/wanted1.run": b"x", "b/wanted2.run": b"x"}), "several packages that fit: a/wanted1.run, b/wanted2.run"),
        (packed({"a.zip": packed({"b.zip": packed({"wanted.run": b"x"})})}), "does not hold the package"),
        (packed({"a.zip": b"no archive"}), "damaged or not safe"),
        (b"no archive at all", "damaged or not safe"),
        (b"", "damaged or not safe"),
        (packed({"wanted.run": RUN})[:-30], "damaged or not safe"),
        (packed({"wanted.run": b"x", "/etc/passwd": b"x"}), "an absolute name: '/etc/passwd'"),
        (packed({"wanted.run": b"x", "C:\\x": b"x"}), "an absolute name"),
        (packed({"wanted.run": b"x", "a/../../x": b"x"}), "a name that leaves the folder"),
        (packed({"wanted.run": b"x", "a\\..\\x": b"x"}), "a name that leaves the folder"),
        (packed({"wanted.run": b"x", entry("l", stat.S_IFLNK | 0o777): b"/etc"}), "a link or device"),
        (packed({"wanted.run": b"x", entry("d", stat.S_IFCHR): b""}), "a link or device"),
        (packed({entry("wanted.run", compression=zipfile.ZIP_LZMA): b"x"}), "unusually compressed"),
        (packed({"wanted.run": b"\0" * (_package_archive.CHUNK_BYTES * 101)}), "grows beyond all measure"),
    ],
    # The bytes hold the time, and test runners in parallel compare the names.
    ids=lambda value: value if isinstance(value, str) else "archive",
)
def test_what_is_refused(path, content, words):
    path.write_bytes(content)
    with pytest.raises(ArchiveError) as caught:
        find_member(str(path), r"wanted.*\.run")
    assert words in str(caught.value)
    assert caught.value.where == str(path)


def test_an_encrypted_file_is_refused(path):
    content = bytearray(packed({"wanted.run": b"x"}))
    place = content.index(b"PK\x01\x02")
    content[place + 8] |= 1
    path.write_bytes(bytes(content))
    with pytest.raises(ArchiveError, match="encrypted"):
        find_member(str(path), r"wanted.*\.run")


def test_too_many_entries(path, monkeypatch):
    monkeypatch.setattr(_package_archive, "MOST_ENTRIES", 3)
    path.write_bytes(packed({str(number): b"" for number in range(4)}))
    with pytest.raises(ArchiveError, match="4 entries"):
        find_member(str(path), "x")


@pytest.mark.parametrize(("size", "words"), [(len(RUN) - 1, "longer than it says"), (len(RUN) + 1, "shorter than it says")])
def test_a_member_of_another_length(path, size, words):
    path.write_bytes(packed({"wanted.run": RUN}))
    with pytest.raises(ArchiveError, match=words):
        copy_member(str(path), Member((), "wanted.run", size), io.BytesIO())


def test_a_member_that_is_gone_or_damaged(path):
    content = packed({"wanted.run": RUN}, zipfile.ZIP_STORED)
    path.write_bytes(content)
    with pytest.raises(ArchiveError):
        copy_member(str(path), Member((), "nothing", 1), io.BytesIO())
    path.write_bytes(content.replace(b"exit 0", b"exit 1"))
    with pytest.raises(ArchiveError, match="CRC"):
        copy_member(str(path), find_member(str(path), r"wanted.*\.run"), io.BytesIO())
