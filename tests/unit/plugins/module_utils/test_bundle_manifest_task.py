# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import shutil

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils import _bundle_manifest_task
from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_hashes import file_mark
from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_manifest_task import ManifestTask, some
from ansible_collections.npufleet.ascend.plugins.module_utils._clock import Clock
from ansible_collections.npufleet.ascend.plugins.module_utils._command import run
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._sha256sums import sha256
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.engine_fakes import FakeClock

PART = {"kind": "wheels", "folder": "wheels/x", "sets": []}


class Bundle:
    def __init__(self, tmp_path, monkeypatch):
        self.path, self.work = tmp_path / "bundle", tmp_path / "work"
        (self.path / "wheels" / "x").mkdir(parents=True)
        (self.path / "wheels" / "x" / "a.whl").write_text("wheel")
        self.clock = FakeClock()
        self.signed, self.checked = [], []
        self.refuses = False
        monkeypatch.setattr(_bundle_manifest_task.signature, "sign", self.sign)
        monkeypatch.setattr(_bundle_manifest_task.signature, "check", self.check)

    def sign(self, folder, key, run, find):
        self.signed.append(key)
        (self.path / "SHA256SUMS.asc").write_text(key)

    def check(self, folder, key, sums, run, find):
        self.checked.append((key, sums))
        if self.refuses:
            raise NpufleetError("the signature of the bundle is not valid")

    def execute(self, check_mode=False, **changes):
        params = {
            "path": str(self.path),
            "state": "present",
            "sources": [],
            "parts": [PART],
            "packages": [],
            "sign_with": None,
            "trust": None,
            "work_folder": str(self.work),
            "rehash": False,
            "wait_slice": 10,
        }
        return ManifestTask(dict(params, **changes), run, Clock(self.clock.now, self.clock.sleep)).execute(check_mode)

    def sums(self):
        return (self.path / "SHA256SUMS").read_text()


def digest(text):
    return sha256(text.encode())


@pytest.fixture()
def bundle(tmp_path, monkeypatch):
    return Bundle(tmp_path, monkeypatch)


def test_write_and_then_nothing(bundle):
    result = bundle.execute()
    assert (result["changed"], result["files"], result["bytes"], result["pending"]) == (True, 1, 5, False)
    assert result["diff"]["before"] == "" and result["diff"]["after"] == bundle.sums()
    assert "wheels/x/a.whl" in bundle.sums() and "manifest.json" in bundle.sums()
    assert bundle.execute()["changed"] is False


def test_check_mode_writes_nothing(bundle):
    assert bundle.execute(check_mode=True)["changed"] is True
    assert not (bundle.path / "SHA256SUMS").exists()


@pytest.mark.parametrize("name", ["SHA256SUMS", "manifest.json"])
def test_what_is_lost_is_written_again(bundle, name):
    bundle.execute()
    (bundle.path / name).unlink()
    assert bundle.execute()["changed"] is True
    assert (bundle.path / name).exists()


def test_signed_once_until_content_or_key_change(bundle):
    assert bundle.execute(sign_with="KEY")["signature"] == "SHA256SUMS.asc"
    assert bundle.execute(sign_with="KEY")["changed"] is False
    (bundle.path / "more").write_text("1")
    assert bundle.execute(check_mode=True, sign_with="KEY")["changed"] is True
    assert bundle.execute(sign_with="KEY")["changed"] is True
    assert bundle.execute(sign_with="OTHER")["changed"] is True
    (bundle.path / "SHA256SUMS.asc").unlink()
    assert bundle.execute(sign_with="OTHER")["changed"] is True
    assert bundle.signed == ["KEY", "KEY", "OTHER", "OTHER"]


def test_check(bundle):
    bundle.execute()
    result = bundle.execute(state="verified")
    assert (result["changed"], result["files"], result["signature"]) == (False, 2, "not checked")
    assert list(result["manifest"]["files"]) == ["wheels/x/a.whl"]
    assert bundle.execute(state="verified", trust="/key")["signature"] == "valid"
    # What is checked is what is read, whatever the file holds by then.
    assert bundle.checked == [("/key", bundle.sums())]


def test_a_wrong_signature_ends_the_check(bundle):
    bundle.execute()
    bundle.refuses = True
    with pytest.raises(NpufleetError, match="not valid"):
        bundle.execute(state="verified", trust="/key")


@pytest.mark.parametrize("change", [lambda path: path.unlink(), lambda path: path.write_text("whell")])
def test_a_file_that_is_missing_or_differs(bundle, change):
    bundle.execute()
    change(bundle.path / "wheels" / "x" / "a.whl")
    with pytest.raises(NpufleetError) as caught:
        bundle.execute(state="verified")
    assert caught.value.what == "1 of 2 files are missing or not what the manifest says: wheels/x/a.whl"


def test_the_manifest_itself_is_checked(bundle):
    bundle.execute()
    path = bundle.path / "manifest.json"
    path.write_text(path.read_text().replace("put there by hand", "somewhere"))
    with pytest.raises(NpufleetError, match=r"1 of 2 files .*: manifest\.json"):
        bundle.execute(state="verified")
    path.unlink()
    with pytest.raises(NpufleetError, match=r"1 of 2 files .*: manifest\.json"):
        bundle.execute(state="verified")


@pytest.mark.parametrize("name, row", [("evil.run", {"size": 1, "sha256": "0" * 64}), ("wheels/x/a.whl", {"size": 5, "sha256": "0" * 64})])
def test_manifest_and_sums_say_the_same(bundle, name, row):
    bundle.execute()
    path = bundle.path / "manifest.json"
    before = path.read_text()
    manifest = json.loads(before)
    manifest["files"][name] = row
    path.write_text(json.dumps(manifest))
    text = bundle.sums().replace(digest(before), digest(path.read_text()))
    (bundle.path / "SHA256SUMS").write_text(text)
    with pytest.raises(NpufleetError, match="SHA256SUMS does not list {0} as manifest.json does".format(name)):
        bundle.execute(state="verified")


def test_nothing_in_the_bundle_is_believed_about_its_files(bundle):
    """Whoever carried the medium put a file of their own there, and what would remember the digest of the right one."""
    bundle.execute()
    path = bundle.path / "wheels" / "x" / "a.whl"
    right = digest(path.read_text())
    path.write_text("whell")
    remembered = json.dumps({"wheels/x/a.whl": [*file_mark(str(path)), right]})
    (bundle.path / ".npufleet").mkdir(exist_ok=True)
    for folder in (bundle.path, bundle.path / ".npufleet"):
        (folder / "hashes.json").write_text(remembered)
    with pytest.raises(NpufleetError, match=r"1 of 2 files .*: wheels/x/a\.whl"):
        bundle.execute(state="verified")
    assert [path.name for path in bundle.work.rglob("hashes.json")] == ["hashes.json"]


def test_an_old_signature_goes_with_what_it_signed(bundle):
    bundle.execute(sign_with="KEY")
    (bundle.path / "SHA256SUMS.sig").write_text("of another key")
    assert bundle.execute()["changed"] is False
    assert len(list(bundle.path.glob("SHA256SUMS.*"))) == 2
    (bundle.path / "more").write_text("1")
    bundle.execute(check_mode=True)
    assert len(list(bundle.path.glob("SHA256SUMS.*"))) == 2
    bundle.execute()
    assert list(bundle.path.glob("SHA256SUMS.*")) == []


def test_another_key_in_the_same_file_signs_again(bundle, tmp_path):
    key = tmp_path / "key.pem"
    key.write_text("1")
    bundle.execute(sign_with=str(key))
    key.write_text("another")
    assert bundle.execute(sign_with=str(key))["changed"] is True
    assert bundle.signed == [str(key)] * 2


def test_files_that_nobody_lists_do_no_harm(bundle):
    bundle.execute()
    (bundle.path / "lost+found").mkdir()
    (bundle.path / "extra").write_text("")
    assert bundle.execute(state="verified")["files"] == 2


def test_a_folder_without_sums_is_no_bundle(bundle):
    with pytest.raises(NpufleetError, match="there is no SHA256SUMS"):
        bundle.execute(state="verified")


def test_long_reading_is_pending(bundle):
    (bundle.path / "more").write_text("1")
    for state in ("present", "verified"):
        shutil.rmtree(str(bundle.work), ignore_errors=True)
        first = bundle.execute(state=state, wait_slice=0)
        assert (first["pending"], first["changed"]) == (True, False) and "left were hashed" in first["progress"]
        assert bundle.execute(state=state, wait_slice=0)["pending"] is False


def test_reading_all_again_comes_to_an_end(bundle):
    (bundle.path / "more").write_text("1")
    assert bundle.execute(wait_slice=0, rehash=True)["pending"] is False


def test_paths_that_cannot_be(bundle):
    with pytest.raises(NpufleetError, match="no absolute path"):
        bundle.execute(path="bundle")
    with pytest.raises(NpufleetError, match="no such folder"):
        bundle.execute(path=str(bundle.path / "none"))


def test_some_names():
    assert some(["a", "b"]) == "a, b"
    assert some([str(number) for number in range(12)]).endswith("8, 9 and 2 more")
