# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils import _bundle_host_task
from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_host_task import HostTask, open_folder
from ansible_collections.npufleet.ascend.plugins.module_utils._clock import Clock
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._host import HostError
from ansible_collections.npufleet.ascend.plugins.module_utils._sha256sums import sha256
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.engine_fakes import FakeClock, FakeRun

APT = {"kind": "apt", "folder": "os/debian-12"}
DNF = {"kind": "dnf", "folder": "os/oe"}


class Host:
    def __init__(self, tmp_path, monkeypatch):
        self.folder = tmp_path / "bundle"
        self.packages = tmp_path / "packages"
        self.clock = FakeClock()
        self.run = FakeRun()
        self.tools = {"apt-get"}
        self.parts = [APT]
        self.files = {"os/debian-12/Packages": "index", "os/debian-12/a.deb": "deb"}
        self.free = 10**12
        monkeypatch.setattr(_bundle_host_task, "check_disk", self.check_disk)

    def check_disk(self, path, needed, what):
        if needed > self.free:
            raise HostError("{0} needs {1} bytes".format(what, needed), where=path)

    def rows(self):
        found = [self.row(str(self.folder / name), text) for name, text in self.files.items()]
        return [*found, self.row(str(self.packages / "hdk.zip"), "zip")]

    @staticmethod
    def row(path, text):
        return {"path": path, "size": len(text), "sha256": sha256(text.encode()), "source": "x"}

    def bring(self, *names):
        for name in names or [*self.files, "hdk.zip"]:
            path = self.packages / name if name == "hdk.zip" else self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.files.get(name, "zip"))

    def execute(self, check_mode=False, **changes):
        params = {
            "folder": str(self.folder),
            "state": "present",
            "files": self.rows(),
            "parts": self.parts,
            "missing_ok": True,
            "rehash": False,
            "wait_slice": 10,
        }
        return HostTask(dict(params, **changes), self.run, Clock(self.clock.now, self.clock.sleep), self.find).execute(check_mode)

    def find(self, name):
        return "/bin/" + name if name in self.tools else None


@pytest.fixture()
def host(tmp_path, monkeypatch):
    return Host(tmp_path, monkeypatch)


def test_what_is_missing_is_named_and_nothing_else_happens(host):
    host.bring("os/debian-12/Packages")
    result = host.execute()
    assert result["missing"] == [str(host.folder / "os/debian-12/a.deb"), str(host.packages / "hdk.zip")]
    assert (result["changed"], result["ready"], result["environment"]) == (True, False, {})
    assert result["diff"]["after"] == "".join(path + "\n" for path in result["missing"])
    assert not (host.folder / "apt.conf").exists()


@pytest.mark.parametrize("text", ["xxx", "longer"])
def test_a_file_that_differs_is_missing(host, text):
    host.bring()
    (host.folder / "os/debian-12/a.deb").write_text(text)
    assert host.execute()["missing"] == [str(host.folder / "os/debian-12/a.deb")]


def test_missing_files_fail_after_they_were_brought(host):
    host.bring("hdk.zip")
    with pytest.raises(NpufleetError, match="2 of 3 files are missing or not what the bundle says"):
        host.execute(missing_ok=False)


def test_there_must_be_room_for_what_is_missing(host):
    host.free = 6 + (64 << 20)
    host.bring("os/debian-12/Packages")
    assert len(host.execute()["missing"]) == 2
    host.free -= 1
    with pytest.raises(NpufleetError, match="the copy of the bundle needs"):
        host.execute()


def test_ready_and_then_nothing(host):
    host.bring()
    result = host.execute(missing_ok=False)
    assert (result["changed"], result["ready"], result["missing"], result["dnf_config"]) == (True, True, [], "")
    assert result["environment"]["APT_CONFIG"] == str(host.folder / "apt.conf")
    assert (host.folder / "pip.conf").exists() and "trusted=yes" in result["diff"]["after"]
    (call,) = host.run.calls
    assert call == ["/bin/apt-get", "-q", "update"] and host.run.options[0]["env"] == result["environment"]
    again = host.execute(missing_ok=False)
    assert (again["changed"], again["ready"], again["diff"], len(host.run.calls)) == (False, True, {"before": "", "after": ""}, 1)
    assert again["environment"] == result["environment"]


def test_check_mode_names_no_setting_that_is_not_there(host):
    host.bring()
    before = host.execute(check_mode=True)
    assert (before["changed"], before["ready"], before["environment"]) == (True, False, {})
    assert not (host.folder / "apt.conf").exists() and host.run.calls == []
    host.execute()
    after = host.execute(check_mode=True)
    assert (after["changed"], after["ready"], after["environment"]["PIP_NO_INDEX"]) == (False, True, "1")


def test_lists_are_read_again_when_the_index_changed(host):
    host.bring()
    host.execute()
    host.files["os/debian-12/Packages"] = "other"
    host.bring()
    # In check mode the lists are old, and a play that used them would find other packages than a run.
    before = host.execute(check_mode=True)
    assert (before["changed"], before["ready"], before["environment"]) == (True, False, {})
    result = host.execute()
    assert (result["changed"], len(host.run.calls)) == (True, 2)


def test_lists_that_were_not_read_are_read_by_the_next_run(host):
    host.bring()
    host.run.answers["update"] = (100, "", "E: Permission denied\n")
    with pytest.raises(NpufleetError, match="apt-get cannot read the bundle: E: Permission denied"):
        host.execute()
    host.run.answers.clear()
    assert host.execute()["changed"] is True


def test_a_host_of_another_kind_than_declared(host):
    host.bring()
    host.tools = set()
    with pytest.raises(NpufleetError, match="this host has no apt-get"):
        host.execute()


@pytest.mark.parametrize("parts, tools, named", [([DNF], set(), True), ([], {"dnf"}, True), ([], set(), False)])
def test_dnf_is_told_where_it_is_used(host, parts, tools, named):
    host.bring()
    host.parts, host.tools = parts, tools
    result = host.execute()
    assert result["dnf_config"] == (str(host.folder / "dnf.conf") if named else "")
    assert host.run.calls == []


def test_long_reading_is_pending(host):
    host.bring()
    result = host.execute(wait_slice=0)
    assert (result["pending"], result["changed"]) == (True, False) and "left were hashed" in result["progress"]


def test_remove(host):
    host.bring()
    host.execute()
    assert host.execute(check_mode=True, state="absent")["changed"] is True
    assert host.folder.exists()
    result = host.execute(state="absent")
    assert result["diff"]["before"] == "{0}\n{1}\n".format(host.folder, host.packages / "hdk.zip")
    assert not host.folder.exists() and list(host.packages.iterdir()) == []
    assert host.execute(state="absent")["changed"] is False


def test_a_folder_of_somebody_else_is_not_removed(host):
    host.folder.mkdir()
    (host.folder / "precious").write_text("")
    for check_mode in (True, False):
        with pytest.raises(NpufleetError, match="was not made by this collection"):
            host.execute(check_mode, state="absent")
    assert (host.folder / "precious").exists()


@pytest.mark.parametrize("mode, words", [(0o755, None), (0o775, "bundle"), (0o757, "bundle"), (0o1777, None)])
def test_nobody_else_may_change_what_root_installs(host, mode, words):
    host.bring()
    host.folder.chmod(mode)
    if words is None:
        assert host.execute()["ready"] is True
        return
    with pytest.raises(NpufleetError) as caught:
        host.execute()
    assert caught.value.what == "others than root can change the copy of the bundle: {0}".format(host.folder)
    assert not (host.folder / "apt.conf").exists() and host.run.calls == []


def test_the_folders_above_count_as_well(tmp_path):
    user = os.geteuid()
    (tmp_path / "a" / "b").mkdir(parents=True)
    assert open_folder(str(tmp_path / "a" / "b"), user) == open_folder(str(tmp_path / "a" / "none" / "c"), user) == ""
    (tmp_path / "a").chmod(0o777)
    assert open_folder(str(tmp_path / "a" / "b"), user) == open_folder(str(tmp_path / "a" / "none" / "c"), user) == str(tmp_path / "a")
    (tmp_path / "a").chmod(0o755)
    (tmp_path / "link").symlink_to("a/b")
    os.chmod(str(tmp_path / "a" / "b"), 0o770)
    assert open_folder(str(tmp_path / "link"), user) == str(tmp_path / "a" / "b")


def test_the_folder_of_another_user_is_theirs_to_change(tmp_path, monkeypatch):
    real = os.stat

    def stat(path):
        found = real(path)
        return os.stat_result([found.st_mode, 0, 0, 0, 1234 if path == str(tmp_path) else 0, 0, 0, 0, 0, 0])

    monkeypatch.setattr(_bundle_host_task.os, "stat", stat)
    assert open_folder(str(tmp_path), 0) == str(tmp_path)
    assert open_folder(str(tmp_path), 1234) == ""


def test_a_relative_folder_is_refused(host):
    with pytest.raises(NpufleetError, match="no absolute path"):
        host.execute(folder="bundle")
