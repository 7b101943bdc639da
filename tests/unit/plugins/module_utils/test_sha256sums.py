# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._sha256sums import (
    ManifestError,
    check_files,
    file_sha256,
    format_manifest,
    parse_manifest,
    read_manifest,
    sha256,
)

EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_digests(tmp_path):
    assert (sha256(b""), sha256(b"abc")) == (EMPTY, ABC)
    (tmp_path / "a").write_bytes(b"x" * (2 << 20))
    assert file_sha256(str(tmp_path / "a")) == sha256(b"x" * (2 << 20))


def test_what_is_written_is_read():
    text = format_manifest({"b": EMPTY, "a": ABC}, "made by hand")
    assert text == "# made by hand\n{0}  a\n{1}  b\n".format(ABC, EMPTY)
    assert parse_manifest(text, "x") == {"a": ABC, "b": EMPTY}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", []),
        ("# comment\n\n", []),
        (EMPTY + " *binary\n", ["binary"]),
        (EMPTY + "  ./a b\n", ["a b"]),
        (EMPTY.upper() + "  sub/c", ["sub/c"]),
    ],
)
def test_what_sha256sum_writes_is_read(text, names):
    assert parse_manifest(text, "x") == dict.fromkeys(names, EMPTY)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("d41d8cd98f00b204e9800998ecf8427e  md5", "line 2 is no SHA-256 digest and file name"),
        (EMPTY, "line 2 is no SHA-256 digest and file name"),
        ("\\" + EMPTY + "  a\\nb", "line 2 is no SHA-256 digest and file name"),
        (EMPTY + "  /etc/passwd", "line 2 names a file outside of the folder"),
        (EMPTY + "  a/../../b", "line 2 names a file outside of the folder"),
    ],
)
def test_other_lines_are_refused(line, message):
    with pytest.raises(ManifestError, match=message) as caught:
        parse_manifest("# x\n" + line + "\n", "/m/SHA256SUMS")
    assert caught.value.where == "/m/SHA256SUMS"


def test_the_list_of_a_folder(tmp_path):
    assert read_manifest(str(tmp_path)) is None
    (tmp_path / "SHA256SUMS").write_text("# x\n")
    assert read_manifest(str(tmp_path)) == "# x\n"


@pytest.mark.parametrize("content", [b"\xff\xfe", None])
def test_an_unreadable_list_is_named(tmp_path, content):
    target = tmp_path / "SHA256SUMS"
    if content is None:
        target.mkdir()
    else:
        target.write_bytes(content)
    with pytest.raises(ManifestError, match="cannot read the digests") as caught:
        read_manifest(str(tmp_path))
    assert caught.value.where == str(target)


def test_files_are_compared_with_their_digests(tmp_path):
    (tmp_path / "good").write_bytes(b"abc")
    (tmp_path / "bad").write_bytes(b"abd")
    faults = check_files(str(tmp_path), {"good": ABC, "bad": ABC, "lost": ABC})
    assert faults == ["bad: its SHA-256 differs", "lost: No such file or directory"]
