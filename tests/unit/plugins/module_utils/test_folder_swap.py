# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils import _folder_swap
from ansible_collections.npufleet.ascend.plugins.module_utils._folder_swap import (
    FolderError,
    leftovers,
    remove,
    remove_leftovers,
    replace,
    require_space,
    usable_path,
)

FILES = {"a": b"1", "b": b"22"}


def content(folder):
    return {name: (folder / name).read_bytes() for name in os.listdir(str(folder))}


@pytest.mark.parametrize("before", ["absent", "no parent", "empty", "full"])
def test_the_folder_is_put_in_place_readable_for_all(tmp_path, before):
    path = tmp_path / "deep" / "er" / "model"
    if before != "no parent":
        path.parent.mkdir(parents=True)
    if before in ("empty", "full"):
        path.mkdir()
    if before == "full":
        (path / "old").write_bytes(b"0")
    mask = os.umask(0o077)
    try:
        replace(str(path), FILES)
    finally:
        os.umask(mask)
    assert content(path) == FILES
    assert os.listdir(str(path.parent)) == ["model"]
    assert [stat.S_IMODE(os.stat(str(name)).st_mode) for name in (path, path / "a")] == [0o755, 0o644]
    if before == "no parent":
        assert stat.S_IMODE(os.stat(str(path.parent.parent)).st_mode) == 0o755


def test_the_folder_is_removed(tmp_path):
    replace(str(tmp_path / "model"), FILES)
    remove(str(tmp_path / "model"))
    assert os.listdir(str(tmp_path)) == []


@pytest.fixture()
def lower_layer(monkeypatch):
    """A folder of a lower layer of overlayfs: it cannot be renamed, its files can be deleted."""
    rename = os.rename

    def refuse(source, target):
        if os.path.basename(str(source)) == "model":
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        rename(source, target)

    monkeypatch.setattr(_folder_swap.os, "rename", refuse)


def test_a_folder_that_cannot_be_renamed_is_removed_and_replaced(tmp_path, lower_layer):
    path = tmp_path / "model"
    (path / "sub").mkdir(parents=True)
    (path / "old").write_bytes(b"0")
    replace(str(path), FILES)
    assert content(path) == FILES
    remove(str(path))
    assert os.listdir(str(tmp_path)) == []


def test_in_a_folder_that_cannot_be_renamed_the_manifest_goes_last(tmp_path, lower_layer, monkeypatch):
    path = tmp_path / "model"
    replace(str(path), dict(FILES, SHA256SUMS=b"sums", z=b"3"))
    gone = []
    unlink = os.unlink
    monkeypatch.setattr(_folder_swap.os, "unlink", lambda name: (gone.append(os.path.basename(name)), unlink(name)))
    remove(str(path))
    assert gone == ["a", "b", "z", "SHA256SUMS"]


class Killed(BaseException):
    """Like SIGKILL: no ``except OSError`` runs. Open descriptors are closed, as the kernel does."""


@contextlib.contextmanager
def killed_at(monkeypatch, call):
    """Die at the given call of any function that changes the disk."""
    calls = [0]

    def wrap(function):
        def counted(*args, **kwargs):
            calls[0] += 1
            if calls[0] == call:
                raise Killed
            return function(*args, **kwargs)

        return counted

    with monkeypatch.context() as patch:
        for name in ("rename", "mkdir", "chmod", "fchmod", "fsync"):
            patch.setattr(os, name, wrap(getattr(os, name)))
        patch.setattr(shutil, "rmtree", wrap(shutil.rmtree))
        yield calls


@pytest.mark.parametrize("job", ["create", "replace", "remove"])
def test_killed_anywhere_the_next_run_converges(tmp_path, monkeypatch, job):
    path = tmp_path / "root" / "model"
    job_of = {
        "create": lambda: replace(str(path), FILES),
        "replace": lambda: replace(str(path), FILES),
        "remove": lambda: remove(str(path)),
    }
    deaths = 0
    for call in range(1, 40):
        shutil.rmtree(str(path.parent), ignore_errors=True)
        if job != "create":
            path.mkdir(parents=True)
            (path / "old").write_bytes(b"0")
        try:
            with killed_at(monkeypatch, call):
                job_of[job]()
        except Killed:
            deaths += 1
        else:
            break
        # never a half: the old folder, the new one, or none at all
        assert not path.exists() or content(path) in ({"old": b"0"}, FILES)
        remove_leftovers(leftovers(str(path)))
        if job != "remove":
            replace(str(path), FILES)
            assert content(path) == FILES
        elif path.exists():
            remove(str(path))
        assert os.listdir(str(path.parent)) == ([] if job == "remove" else ["model"])
    assert deaths >= 3


def test_only_own_and_dead_leftovers_are_found(tmp_path, monkeypatch):
    path = str(tmp_path / "model")
    monkeypatch.setattr(os, "uname", lambda: ("Linux", "node.example 1", "", "", ""))
    names = [
        ".model.npufleet-node_example_1-dead",
        ".model.npufleet-node_example_1-busy",
        ".model.npufleet-other-dead",
        ".model2.npufleet-node_example_1-x",
    ]
    for name in names:
        (tmp_path / name).mkdir()
    with _folder_swap._hold(str(tmp_path / names[1])):
        assert leftovers(path) == [str(tmp_path / names[0])]
    assert leftovers(path) == [str(tmp_path / names[1]), str(tmp_path / names[0])]
    assert leftovers("/nowhere/at/all") == []


def test_file_systems_without_locks(tmp_path, monkeypatch):
    def refuse(_descriptor, _operation):
        raise OSError(9, "Bad file descriptor")

    monkeypatch.setattr(_folder_swap.fcntl, "flock", refuse)
    replace(str(tmp_path / "model"), FILES)
    (tmp_path / (os.path.basename(_folder_swap._prefix("model")) + "x")).mkdir()
    assert len(leftovers(str(tmp_path / "model"))) == 1


def test_a_leftover_that_vanishes_meanwhile_is_not_held(tmp_path):
    assert not _folder_swap._is_held(str(tmp_path / "none"))


@pytest.mark.parametrize("failing", ["rename", "fsync", "mkdir"])
def test_a_failing_disk_leaves_nothing_behind(tmp_path, monkeypatch, failing):
    path = tmp_path / "root" / "model"

    def refuse(*_args, **_kwargs):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, failing, refuse)
        with pytest.raises(FolderError, match=r"cannot write the folder: .*No space left on device") as caught:
            replace(str(path), FILES)
    assert caught.value.where == str(path)
    assert not path.parent.exists() or os.listdir(str(path.parent)) == []


@pytest.mark.parametrize(("times", "succeeds"), [(3, True), (_folder_swap.MOVE_ATTEMPTS, False)])
def test_other_runs_at_the_same_path_are_overtaken(tmp_path, monkeypatch, times, succeeds):
    path = tmp_path / "model"
    rename = os.rename
    turns = []

    def contended(source, target):
        """Another run puts its folder there before each of our moves, and takes it away before we can."""
        if target == str(path) and len(turns) < times:
            turns.append(target)
            raise OSError(39, "Directory not empty")
        return rename(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", contended)
        if succeeds:
            replace(str(path), FILES)
        else:
            with pytest.raises(FolderError, match="Directory not empty"):
                replace(str(path), FILES)
    assert os.listdir(str(tmp_path)) == (["model"] if succeeds else [])


def test_a_folder_that_cannot_be_removed_is_named(tmp_path, monkeypatch):
    with pytest.raises(FolderError, match="cannot remove the folder"):
        remove(str(tmp_path / "none" / "model"))
    replace(str(tmp_path / "model"), FILES)
    monkeypatch.setattr(shutil, "rmtree", lambda *_args, **_kwargs: None)
    with pytest.raises(FolderError, match="cannot delete the folder") as caught:
        remove(str(tmp_path / "model"))
    assert not (tmp_path / "model").exists()
    assert caught.value.where in leftovers(str(tmp_path / "model"))


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("models/tiny", "the path is not absolute"),
        ("{0}/link", "the path is a symbolic link"),
        ("{0}/link/", "the path is a symbolic link"),
        ("{0}/file", "the path is not a folder"),
        ("{0}/file/model", "the path lies below a file"),
        ("/", "the path is a mount point"),
    ],
)
def test_paths_that_are_refused(tmp_path, path, message):
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(FolderError, match=message) as caught:
        usable_path(path.format(tmp_path))
    assert caught.value.where == path.format(tmp_path)


@pytest.mark.parametrize("path", ["{0}/model", "{0}/a/b/model/", "{0}//x/../model"])
def test_paths_that_are_normalized(tmp_path, path):
    assert usable_path(path.format(tmp_path)) == os.path.normpath(path.format(tmp_path))


def test_a_mount_point_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(os.path, "ismount", lambda path: path == str(tmp_path))
    with pytest.raises(FolderError, match="mount point"):
        usable_path(str(tmp_path))


def test_space_and_permission(tmp_path, monkeypatch):
    path = str(tmp_path / "not" / "there" / "model")
    require_space(path, 1000)
    with pytest.raises(FolderError, match=r"bytes are needed and [0-9]+ are free") as caught:
        require_space(path, 1 << 60)
    assert caught.value.where == str(tmp_path)
    monkeypatch.setattr(os, "access", lambda _path, _mode: False)
    with pytest.raises(FolderError, match="cannot be written to"):
        require_space(path, 1000)
