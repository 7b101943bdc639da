# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_limits import (
    OWN_FILE,
    effective,
    parse_lines,
    read_limits,
    shown,
    wanted_lines,
    with_lines,
)
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_spec import Knobs
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.tuning_fakes import make_host, write

BOTH = ["* soft nofile 65536", "* hard nofile 65536", "root soft nofile 65536", "root hard nofile 65536"]


@pytest.fixture()
def root(tmp_path):
    make_host(tmp_path)
    return tmp_path


def lines_of(root, **knobs):
    return wanted_lines(Knobs(**knobs), read_limits(str(root)))


def test_parse_lines():
    text = (
        "# x\n* - nofile 100 # why\nroot hard memlock infinity\nbob soft memlock -1\n"
        "bob soft nproc 5\nbob soft nofile many\nshort\nbob both nofile 1\n"
    )
    assert parse_lines(text) == [
        ("*", "soft", "nofile", "100"),
        ("*", "hard", "nofile", "100"),
        ("root", "hard", "memlock", "unlimited"),
        ("bob", "soft", "memlock", "unlimited"),
    ]


def test_what_a_session_begins_with(root):
    state = read_limits(str(root))
    assert state.initial == {
        ("nofile", "soft"): "1024",
        ("nofile", "hard"): "4096",
        ("memlock", "soft"): "64",
        ("memlock", "hard"): "65536",
    }
    assert (state.hindrance, state.nr_open) == ("", 1048576)


@pytest.mark.parametrize(("domain", "value"), [("bob", "50"), ("amy", "70"), ("*", "70"), ("root", "1024"), ("@npu", "80")])
def test_effective_limit(root, domain, value):
    write(root, "/etc/security/limits.conf", "* soft nofile 60\nbob soft nofile 50\n")
    write(root, "/etc/security/limits.d/10-x.conf", "* soft nofile 70\n@npu soft nofile 80\n")
    write(root, OWN_FILE, "* soft nofile 90\n")
    state = read_limits(str(root))
    assert effective(state, domain, "nofile", "soft", False) == value
    assert effective(state, "*", "nofile", "soft", True) == "90"


def test_only_what_raises_something_is_written(root):
    assert lines_of(root, nofile=65536) == BOTH
    write(root, "/etc/security/limits.d/50-site.conf", "* - nofile 524288\nroot soft nofile 65536\n")
    assert lines_of(root, nofile=65536) == ["root hard nofile 65536"]
    assert lines_of(root) == []


def test_our_own_lines_do_not_count_as_found(root):
    write(root, OWN_FILE, "".join(line + "\n" for line in BOTH))
    assert lines_of(root, nofile=65536) == BOTH


def test_unlimited_is_more_than_any_number(root):
    assert lines_of(root, memlock="unlimited", limits_for=("@npu",)) == ["@npu soft memlock unlimited", "@npu hard memlock unlimited"]
    write(root, "/etc/security/limits.conf", "@npu - memlock unlimited\n")
    assert lines_of(root, memlock="1000000", limits_for=("@npu",)) == []


def test_unknown_limits_are_raised(root):
    write(root, "/proc/1/limits", "Max open files  unlimited  unlimited files\n")
    assert lines_of(root, nofile=2048) == []
    write(root, "/proc/1/limits", "")
    assert len(lines_of(root, nofile=2048)) == 4


def test_more_files_than_the_kernel_allows_are_refused(root):
    with pytest.raises(NpufleetError, match="2097152 open files are more than the 1048576"):
        lines_of(root, nofile=2097152)
    write(root, "/proc/sys/fs/nr_open", "")
    assert len(lines_of(root, nofile=2097152)) == 4


@pytest.mark.parametrize(
    ("mask", "hindrance"),
    [
        ("CapBnd:\t00000000a82c35fb\n", "sessions here have no CAP_SYS_RESOURCE and cannot raise limits"),
        ("CapBnd:\t000001ffffffffff\n", ""),
        ("", ""),
    ],
)
def test_limits_that_nobody_can_raise_are_not_written(root, mask, hindrance):
    write(root, "/proc/1/status", mask)
    assert read_limits(str(root)).hindrance == hindrance
    assert bool(lines_of(root, nofile=65536)) is (hindrance == "")


def test_without_pam_there_are_no_limits(tmp_path):
    state = read_limits(str(tmp_path))
    assert state.hindrance == "no /etc/security: PAM limits no session here"
    assert shown(Knobs(limits_for=("*",)), state, "nofile") == "*: ?/?"


def test_shown(root):
    state = read_limits(str(root))
    assert shown(Knobs(), state, "nofile") == "*: 1024/4096; root: 1024/4096"
    assert shown(Knobs(), with_lines(state, BOTH), "nofile") == "*: 65536/65536; root: 65536/65536"
