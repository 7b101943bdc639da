# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import hashlib
import os

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils import _weights_manifest
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._weights_manifest import manifest


def digest(data):
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(_weights_manifest, "SMALL_BYTES", 3)
    (tmp_path / "blobs").mkdir()
    (tmp_path / "blobs" / "b1").write_bytes(b"big file")
    model = tmp_path / "model"
    (model / "encoding").mkdir(parents=True)
    (model / ".cache").mkdir()
    (model / ".cache" / "x").write_bytes(b"x")
    (model / ".gitattributes").write_bytes(b"x")
    (model / "config.json").write_bytes(b"{} ")
    (model / "encoding" / "e.py").write_bytes(b"")
    (model / "model.safetensors").symlink_to(tmp_path / "blobs" / "b1")
    return model


def test_small_files_are_read_and_others_listed(folder):
    assert manifest(str(folder)) == {
        "config.json": {"size": 3, "sha256": digest(b"{} ")},
        "model.safetensors": {"size": 8, "sha256": None},
        "encoding/e.py": {"size": 0, "sha256": digest(b"")},
    }
    assert manifest(str(folder), hash_all=True)["model.safetensors"] == {"size": 8, "sha256": digest(b"big file")}


def test_no_folder(tmp_path):
    assert manifest(str(tmp_path / "no")) is None


def test_a_file_that_cannot_be_read(folder):
    (folder / "gone.json").symlink_to("nowhere")
    with pytest.raises(NpufleetError, match=r"cannot be read: No such file or directory. Where: .*/gone.json. What to do: "):
        manifest(str(folder))


def test_a_folder_that_cannot_be_listed(folder, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(NpufleetError, match="Permission denied"):
        manifest(str(folder))


def test_a_folder_of_something_else(folder, monkeypatch):
    monkeypatch.setattr(_weights_manifest, "MOST_FILES", 2)
    with pytest.raises(NpufleetError, match="more than 2 files"):
        manifest(str(folder))
