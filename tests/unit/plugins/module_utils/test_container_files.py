# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._container_files import ConfigFile, modified
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._files import file_mode


def config(path, owner=None):
    return ConfigFile(str(path), os.getuid() if owner is None else owner)


def test_a_file_is_read_written_and_removed(tmp_path):
    file = config(tmp_path / "etc" / "docker" / "daemon.json")
    assert (file.read(), modified(file.path)) == (None, None)
    file.write("{}")
    assert (file.read(), file_mode(file.path), file_mode(os.path.dirname(file.path))) == ("{}", 0o644, 0o755)
    os.chmod(file.path, 0o600)
    os.utime(file.path, (1, 1))
    assert modified(file.path) == 1
    file.write("{ }")
    assert (file.read(), file_mode(file.path)) == ("{ }", 0o600)
    file.write(None)
    file.write(None)
    assert os.listdir(os.path.dirname(file.path)) == []


@pytest.mark.parametrize(
    ("spoil", "words", "remedy"),
    [
        (lambda path: path.chmod(0o664), "can be written to by others", "chmod go-w"),
        (lambda path: path.chmod(0o646), "can be written to by others", "chmod go-w"),
        (lambda path: path.parent.chmod(0o775), "can be written to by others", "chmod go-w"),
        (lambda path: (path.rename(path.parent / "real"), path.symlink_to(path.parent / "real")), "is a link", "real file"),
        (lambda path: path.symlink_to("/nowhere") if path.unlink() is None else None, "is a link", "real file"),
        (lambda path: path.mkdir() if path.unlink() is None else None, "is no file", "real file"),
        (lambda path: path.write_bytes(b"\xff\xfe"), "no UTF-8 text", "by hand"),
    ],
)
def test_a_file_that_the_runtimes_installer_would_refuse(tmp_path, spoil, words, remedy):
    path = tmp_path / "docker" / "daemon.json"
    path.parent.mkdir(mode=0o755)
    path.write_text("{}")
    path.chmod(0o644)
    spoil(path)
    with pytest.raises(NpufleetError) as caught:
        config(path).read()
    assert words in str(caught.value) and remedy in str(caught.value)


def test_a_folder_that_is_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "docker").symlink_to(tmp_path / "real")
    with pytest.raises(NpufleetError, match="is a link"):
        config(tmp_path / "docker" / "daemon.json").read()


def test_a_file_of_somebody_else(tmp_path):
    (tmp_path / "daemon.json").write_text("{}")
    with pytest.raises(NpufleetError, match=r"does not belong to root.*chown root:root"):
        config(tmp_path / "daemon.json", os.getuid() + 1).read()


def test_a_path_that_is_none():
    with pytest.raises(NpufleetError, match="no absolute path"):
        ConfigFile("daemon.json")
