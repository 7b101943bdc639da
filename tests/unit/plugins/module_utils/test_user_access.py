# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
import pwd
import stat

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils import _user_access
from ansible_collections.npufleet.ascend.plugins.module_utils._user_access import AccessError, Need, check_access, first_refused

READ = os.R_OK | os.X_OK
READ_ALL = 0o755


@pytest.fixture()
def user(monkeypatch):
    """Somebody whom permission bits stop: nobody where the test runs as root, else the user of the test, who may not call initgroups."""
    if os.geteuid() == 0:
        return "nobody"
    monkeypatch.setattr(os, "initgroups", lambda name, group: None)
    return pwd.getpwuid(os.geteuid()).pw_name


@pytest.fixture()
def place(tmp_path):
    """A folder that all may enter, also from above, where pytest keeps its own private."""
    folder = tmp_path
    while folder != folder.parent and os.stat(str(folder)).st_uid == os.geteuid():
        mode = stat.S_IMODE(os.stat(str(folder)).st_mode)
        # Those of the machine, such as /tmp, are as they should be.
        if mode & READ_ALL != READ_ALL:
            folder.chmod(mode | READ_ALL)
        folder = folder.parent
    (tmp_path / "model").mkdir(mode=0o755)
    (tmp_path / "model" / "weights").write_text("x")
    (tmp_path / "model" / "weights").chmod(0o644)
    return tmp_path


def test_what_all_may_use_is_fine(place, user):
    needs = [Need(str(place / "model"), READ), Need(str(place / "model" / "weights"), os.R_OK), Need(str(place / "none"), READ)]
    check_access(user, needs)
    assert first_refused(user, []) is None


@pytest.mark.parametrize(
    ("closed", "mode", "refused", "word"),
    [("model", 0o000, "model", "read"), ("model/weights", 0o200, "model/weights", "read"), ("model", 0o644, "model", "read")],
)
def test_the_first_path_that_is_closed_is_named(place, user, closed, mode, refused, word):
    needs = [Need(str(place), os.X_OK), Need(str(place / "model"), READ), Need(str(place / "model" / "weights"), os.R_OK)]
    existing = [need for need in needs if os.path.exists(need.path)]
    (place / closed).chmod(mode)
    try:
        found = first_refused(user, existing)
        assert found is not None
        assert found.path == str(place / refused)
        with pytest.raises(AccessError) as caught:
            check_access(user, needs)
        assert caught.value.what == "the user {0} may not {1} {2}".format(user, word, place / refused)
    finally:
        (place / closed).chmod(0o755)


def test_who_cannot_become_that_user_says_so(monkeypatch):
    def refuse(_user):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(_user_access, "_become", refuse)
    with pytest.raises(AccessError, match="cannot become the user vllm to look"):
        check_access("vllm", [Need("/", os.X_OK)])


def test_becoming_another_user_leaves_nothing_of_the_groups_of_root(monkeypatch):
    done = []
    monkeypatch.setattr(pwd, "getpwnam", lambda name: pwd.struct_passwd((name, "x", 991, 992, "", "/", "/bin/false")))
    for name in ("initgroups", "setgid", "setuid"):
        monkeypatch.setattr(os, name, lambda *args, name=name: done.append((name, *args)))
    _user_access._become("vllm")
    assert done == [("initgroups", "vllm", 992), ("setgid", 992), ("setuid", 991)]


@pytest.mark.parametrize(("existing", "missing", "number"), [(2, 0, -1), (2, 1, 2), (0, 1, 0), (0, 0, -1)])
def test_the_number_of_the_first_need_that_is_refused(tmp_path, existing, missing, number):
    needs = [Need(str(tmp_path), os.R_OK)] * existing + [Need(str(tmp_path / "none"), os.R_OK)] * missing
    assert _user_access._refused(needs) == number
