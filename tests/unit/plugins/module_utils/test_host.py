# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
import pwd
import socket

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils import _host
from ansible_collections.npufleet.ascend.plugins.module_utils._host import (
    GIB,
    HostError,
    OsRelease,
    PortOwner,
    check_disk,
    check_enough_memory,
    check_port,
    check_user,
    disk_free,
    memory_available,
    os_release,
    parent_pids,
    port_owner,
    resident_bytes,
    systemd_is_init,
)

HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
LINE = "   0: {0}:{1:04X} 00000000:0000 {2} 00000000:00000000 00:00000000 00000000     0        0 {3} 1 0000000000000000 100 0 0 10 0\n"
V4, V6 = "0100007F", "00000000000000000000000001000000"
LISTEN, ESTABLISHED = "0A", "01"


class Proc:
    """A folder that looks like /proc."""

    def __init__(self, folder):
        self.folder = folder
        self.path = str(folder)
        (folder / "net").mkdir()

    def sockets(self, name, *rows):
        (self.folder / "net" / name).write_text(HEAD + "".join(LINE.format(*row) for row in rows))

    def process(self, pid, parent=1, command="vllm", inodes=(), rss=None):
        folder = self.folder / str(pid)
        (folder / "fd").mkdir(parents=True)
        (folder / "comm").write_text(command + "\n")
        (folder / "stat").write_text("{0} ({1}) S {2} {0} {0} 0 -1\n".format(pid, command, parent))
        if rss is not None:
            (folder / "status").write_text("Name:\t{0}\nVmRSS:\t    {1} kB\n".format(command, rss))
        for number, inode in enumerate(inodes):
            (folder / "fd" / str(number)).symlink_to("socket:[{0}]".format(inode))
        return folder


@pytest.fixture()
def proc(tmp_path):
    return Proc(tmp_path)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("MemTotal:       16000000 kB\nMemFree: 1 kB\nMemAvailable:    8000 kB\n", 8000 * 1024),
        ("MemTotal:       16000000 kB\n", 0),
        (None, 0),
    ],
)
def test_available_memory(proc, text, size):
    if text is not None:
        (proc.folder / "meminfo").write_text(text)
    assert memory_available(proc.path) == size


def test_too_little_memory_says_how_much(proc):
    (proc.folder / "meminfo").write_text("MemAvailable: {0} kB\n".format(2 * GIB // 1024))
    check_enough_memory(2 * GIB, "the engine", proc.path)
    with pytest.raises(HostError) as caught:
        check_enough_memory(4 * GIB, "the engine", proc.path)
    assert str(caught.value) == (
        "the engine needs 4.0 GiB of memory and 2.0 GiB are available. Where: host memory (MemAvailable). "
        "What to do: Stop something, or take a larger host."
    )


def test_disk_space_is_that_of_the_folder_that_will_hold_the_path(tmp_path, monkeypatch):
    stat = os.statvfs(str(tmp_path))
    monkeypatch.setattr(os, "statvfs", lambda path: stat if path == str(tmp_path) else pytest.fail(path))
    assert disk_free(str(tmp_path / "not" / "yet")) == stat.f_bavail * stat.f_frsize
    monkeypatch.chdir(tmp_path)
    assert disk_free("not/yet") == stat.f_bavail * stat.f_frsize


def test_too_little_disk_says_how_much(tmp_path, monkeypatch):
    monkeypatch.setattr(_host, "disk_free", lambda _path: GIB)
    check_disk(str(tmp_path), GIB, "the model")
    with pytest.raises(HostError) as caught:
        check_disk(str(tmp_path), 6 * GIB, "the model")
    assert caught.value.what == "the model needs 6.0 GiB and 1.0 GiB are free"
    assert (caught.value.where, caught.value.remedy) == (str(tmp_path), "Free space, or choose another folder")


@pytest.mark.parametrize("name", ["tcp", "tcp6"])
def test_who_listens(proc, name):
    proc.sockets(name, (V4, 22, LISTEN, 1), (V6, 8000, LISTEN, 77))
    proc.process(10, inodes=[1, 5], command="sshd")
    proc.process(20, inodes=[6, 77], command="python3")
    assert port_owner(8000, proc.path) == PortOwner(20, "python3")
    assert port_owner(22, proc.path) == PortOwner(10, "sshd")


def test_a_connection_or_another_port_is_no_listener(proc):
    proc.sockets("tcp", (V4, 8000, ESTABLISHED, 77), (V4, 8001, LISTEN, 78))
    proc.process(20, inodes=[77, 78])
    assert port_owner(8000, proc.path) is None
    check_port(8000, 0, proc.path)


def test_a_damaged_line_is_left_out(proc):
    proc.sockets("tcp")
    with open(proc.path + "/net/tcp", "a", encoding="ascii") as stream:
        stream.write("garbage\n")
    assert port_owner(8000, proc.path) is None


def test_a_process_without_a_name_is_still_named(proc):
    proc.sockets("tcp", (V4, 8000, LISTEN, 77))
    (proc.process(20, inodes=[77]) / "comm").unlink()
    assert str(port_owner(8000, proc.path)) == "process 20 (?)"


def test_a_process_that_ends_meanwhile_is_passed_over(proc, monkeypatch):
    proc.sockets("tcp", (V4, 8000, LISTEN, 77))
    proc.process(20, inodes=[77])

    def vanished(_path):
        raise OSError(2, "No such file or directory")

    monkeypatch.setattr(os, "readlink", vanished)
    assert port_owner(8000, proc.path) == PortOwner(0, "")


def test_this_process_is_found_in_the_real_proc():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(1)
        port = listener.getsockname()[1]
        assert port_owner(port).pid == os.getpid()
        check_port(port, os.getppid())
        with pytest.raises(HostError, match="process {0} ".format(os.getpid())):
            check_port(port, 0)
    check_port(port, 0)


@pytest.mark.parametrize(
    ("own_pid", "message"),
    [
        (20, None),
        (10, None),
        (0, "the port 8000 is in use by process 30 (worker)"),
        (99, "the port 8000 is in use by process 30 (worker)"),
    ],
)
def test_the_engine_itself_may_hold_its_port(proc, own_pid, message):
    proc.sockets("tcp", (V4, 8000, LISTEN, 77))
    proc.process(10)
    proc.process(20, parent=10)
    proc.process(30, parent=20, inodes=[77], command="worker")
    proc.process(99)
    if message is None:
        check_port(8000, own_pid, proc.path)
        return
    with pytest.raises(HostError) as caught:
        check_port(8000, own_pid, proc.path)
    assert (caught.value.what, caught.value.where) == (message, "port")
    assert "vllm_engine_port" in caught.value.remedy


def test_a_listener_of_another_user_is_in_the_way_too(proc):
    proc.sockets("tcp", (V4, 8000, LISTEN, 77))
    proc.process(20)
    with pytest.raises(HostError, match="in use by a process of another user"):
        check_port(8000, 20, proc.path)


@pytest.mark.parametrize("command", ["vllm", "a b", "x) S 1 (y", ") R 7"])
def test_ancestors_whatever_the_process_calls_itself(proc, command):
    proc.process(10, parent=1, command=command)
    proc.process(20, parent=10, command=command)
    assert parent_pids(20, proc.path) == [20, 10, 1]
    assert parent_pids(5, proc.path) == [5]
    assert parent_pids(0, proc.path) == []


def test_ancestors_end_where_they_repeat(proc):
    proc.process(10, parent=20)
    proc.process(20, parent=10)
    assert parent_pids(20, proc.path) == [20, 10]


def test_memory_of_a_process_and_its_children(proc):
    proc.process(10, rss=100)
    proc.process(20, parent=10, rss=20)
    proc.process(30, parent=20, rss=3)
    proc.process(31, parent=20)
    proc.process(40, rss=1000)
    assert resident_bytes(10, proc.path) == 123 * 1024
    assert resident_bytes(30, proc.path) == 3 * 1024
    assert resident_bytes(7, proc.path) == 0


def test_a_user_must_exist():
    check_user(pwd.getpwuid(0).pw_name)
    with pytest.raises(HostError) as caught:
        check_user("no-such-user-here")
    assert str(caught.value) == (
        "the host has no user no-such-user-here. Where: user. What to do: Make it first, or leave vllm_engine_user out."
    )


def test_systemd_is_init_where_its_folder_is(tmp_path):
    assert not systemd_is_init(str(tmp_path))
    (tmp_path / "run" / "systemd" / "system").mkdir(parents=True)
    assert systemd_is_init(str(tmp_path))


@pytest.mark.parametrize(
    ("path", "text", "release"),
    [
        (
            "etc",
            '# comment\nNAME="openEuler"\nVERSION_ID="24.03"\nID="openEuler"\nPRETTY_NAME="openEuler 24.03 (LTS)"\n',
            OsRelease("openeuler", (), "24.03", "openEuler 24.03 (LTS)"),
        ),
        ("usr/lib", "ID=kylin\nID_LIKE='fedora RHEL'\nNAME=Kylin\n", OsRelease("kylin", ("fedora", "rhel"), "", "Kylin")),
        ("etc", "", OsRelease("", (), "", "an unknown system")),
        (None, "", OsRelease("", (), "", "an unknown system")),
    ],
)
def test_which_system_this_is(tmp_path, path, text, release):
    if path:
        (tmp_path / path).mkdir(parents=True)
        (tmp_path / path / "os-release").write_text(text)
    assert os_release(str(tmp_path)) == release
