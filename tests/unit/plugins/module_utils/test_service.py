# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
import pwd

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._files import file_mode
from ansible_collections.npufleet.ascend.plugins.module_utils._service import (
    Runtime,
    ServiceFile,
    delete_files,
    empty_temporary,
    files_current,
    make_folder,
    write_files,
)
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.engine_fakes import FakeRuntime, spec


@pytest.fixture()
def files(tmp_path):
    return [ServiceFile(str(tmp_path / "a" / "unit"), "text\n", 0o644), ServiceFile(str(tmp_path / "b" / "secret"), "key\n", 0o600)]


def test_files_are_written_found_current_and_deleted(files):
    assert not files_current(files)
    write_files(files)
    assert files_current(files)
    assert [file_mode(item.path) for item in files] == [0o644, 0o600]
    delete_files(files)
    assert [os.path.exists(item.path) for item in files] == [False, False]
    delete_files(files)


@pytest.mark.parametrize("damage", ["text", "mode", "gone"])
def test_a_file_that_somebody_touched_is_not_current(files, damage):
    write_files(files)
    if damage == "text":
        with open(files[1].path, "a", encoding="utf-8") as stream:
            stream.write("more")
    elif damage == "mode":
        os.chmod(files[1].path, 0o644)
    else:
        os.unlink(files[1].path)
    assert not files_current(files)
    write_files(files)
    assert files_current(files)


def test_a_dangling_link_is_deleted(tmp_path):
    (tmp_path / "link").symlink_to("nowhere")
    delete_files([ServiceFile(str(tmp_path / "link"), "", 0o600)])
    assert os.listdir(str(tmp_path)) == []


class Owners:
    """The owners of folders, as root sees and sets them; all is root's at first."""

    def __init__(self, monkeypatch, user=0):
        self.owners = {}
        self.stat = os.stat
        monkeypatch.setattr(os, "geteuid", lambda: user)
        monkeypatch.setattr(os, "chown", lambda path, owner, _group, **_options: self.owners.update({path: owner}))
        monkeypatch.setattr(os, "stat", self.owned)
        monkeypatch.setattr(pwd, "getpwnam", lambda name: pwd.struct_passwd((name, "x", 991, 991, "", "/", "/bin/false")))

    def owned(self, path, *args, **options):
        found = list(self.stat(path, *args, **options))
        found[4] = self.owners.get(path, 0)
        return os.stat_result(found)


@pytest.mark.parametrize(
    ("user", "caller", "owner", "parent"),
    [("vllm", 0, 991, 0o755), ("vllm", 1000, None, 0o755), (None, 0, None, 0o750), (None, 1000, None, 0o750)],
)
def test_the_folder_belongs_to_the_user_of_the_engine_who_can_get_there(tmp_path, monkeypatch, user, caller, owner, parent):
    owners = Owners(monkeypatch, caller).owners
    wanted = spec(home=str(tmp_path / "home"), user=user)
    mask = os.umask(0o027)
    try:
        make_folder(wanted)
        make_folder(wanted)
    finally:
        os.umask(mask)
    assert oct(file_mode(wanted.working_directory)) == "0o750"
    assert {oct(file_mode(str(tmp_path / name))) for name in ("home", "home/engines")} == {oct(parent)}
    assert owners == ({} if owner is None else {wanted.working_directory: owner})


@pytest.mark.parametrize("user", ["vllm", None])
def test_temporary_files_belong_to_the_user_of_the_engine(tmp_path, monkeypatch, user):
    owners = Owners(monkeypatch).owners
    wanted = spec(home=str(tmp_path), user=user)
    make_folder(wanted)
    empty_temporary(wanted)
    assert owners[wanted.working_directory + "/tmp"] == (991 if user else 0)


def test_temporary_files_of_who_is_not_root(tmp_path, monkeypatch):
    owners = Owners(monkeypatch, 1000).owners
    wanted = spec(home=str(tmp_path))
    make_folder(wanted)
    empty_temporary(wanted)
    assert owners == {}
    assert file_mode(wanted.working_directory + "/tmp") == 0o700


@pytest.mark.parametrize(("before", "after", "owner"), [(None, "vllm", 991), ("vllm", None, 0)])
def test_what_an_engine_of_another_user_cached_goes_and_our_files_stay(tmp_path, monkeypatch, before, after, owner):
    owners = Owners(monkeypatch).owners
    folder = spec(home=str(tmp_path)).working_directory
    make_folder(spec(home=str(tmp_path), user=before))
    os.makedirs(folder + "/cache/vllm")
    os.symlink("/", folder + "/link")
    for name in (".local", "launch.json", "launch.sh", "secret.env", "engine.log", "engine.log.1"):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as stream:
            stream.write("x")
    make_folder(spec(home=str(tmp_path), user=before))
    assert len(os.listdir(folder)) == 8
    make_folder(spec(home=str(tmp_path), user=after))
    assert sorted(os.listdir(folder)) == ["engine.log", "engine.log.1", "launch.json", "launch.sh", "secret.env"]
    assert owners[folder] == owner


def test_an_adapter_has_every_verb():
    with pytest.raises(TypeError, match="abstract"):
        Runtime()  # pylint: disable=abstract-class-instantiated
    verbs = {"files", "inspect", "define", "enable", "start", "stop", "remove", "log_mark", "logs"}
    assert verbs == Runtime.__abstractmethods__


def test_an_adapter_without_needs_of_its_own_is_content(tmp_path):
    runtime = FakeRuntime(str(tmp_path))
    runtime.check(spec())
    assert runtime.calls == []


def test_a_service_of_files_needs_nothing_beyond_them(tmp_path):
    runtime = FakeRuntime(str(tmp_path))
    wanted = spec()
    assert not runtime.as_written(wanted)
    runtime.prepare(wanted)
    assert os.listdir(str(tmp_path)) == []
    runtime.define(wanted)
    assert runtime.as_written(wanted)
    assert (runtime.drift(wanted), runtime.holds_port(wanted), runtime.doubts(wanted)) == ([], False, [])
