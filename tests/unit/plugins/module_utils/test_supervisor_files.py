# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
import signal
import subprocess

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._service import RuntimeAdapterError
from ansible_collections.npufleet.ascend.plugins.module_utils._supervisor_files import (
    LAUNCHER,
    quote,
    quote_env,
    render_files,
    render_program,
)
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.engine_fakes import KEY, spec

FOLDER = "/srv/home/engines/demo"


def lines(text):
    return [line for line in text.splitlines() if not line.startswith(";")]


def test_the_program():
    wanted = spec(user="vllm", stop_timeout=45, env={"B": "2"}, api_key=KEY)
    words = ["/bin/sh", FOLDER + "/launch.sh", *wanted.argv]
    pairs = sorted([*wanted.env, ("VLLM_API_KEY", KEY)])
    assert lines(render_program(wanted)) == [
        "[program:demo]",
        "command=" + " ".join('"{0}"'.format(word) for word in words),
        "directory=" + FOLDER,
        "environment=" + ",".join('{0}="{1}"'.format(name, value) for name, value in pairs),
        "user=vllm",
        "autostart=true",
        "autorestart=true",
        "startsecs=1",
        "startretries=3",
        "stopsignal=TERM",
        "stopwaitsecs=45",
        "killasgroup=true",
        "redirect_stderr=true",
        "stdout_logfile={0}/engine.log".format(FOLDER),
        "stdout_logfile_maxbytes=50MB",
        "stdout_logfile_backups=2",
    ]
    assert "user=" not in render_program(spec())


def test_the_files_and_who_may_read_them():
    common, program, launcher = render_files("/srv/home/supervisor", spec(api_key=KEY))
    assert (common.path, common.mode) == ("/srv/home/supervisor/supervisord.conf", 0o644)
    assert (program.path, program.mode) == ("/srv/home/supervisor/conf.d/demo.conf", 0o600)
    assert (launcher.path, launcher.mode) == (FOLDER + "/launch.sh", 0o644)
    assert KEY in program.text
    assert KEY not in common.text + launcher.text
    assert "file=/srv/home/supervisor/supervisor.sock\nchmod=0700\n" in common.text
    assert "files=/srv/home/supervisor/conf.d/*.conf\n" in common.text


@pytest.mark.parametrize(
    ("word", "quoted"),
    [
        ("plain", '"plain"'),
        ("", '""'),
        ("a b", '"a b"'),
        ('say "x"', '"say \\"x\\""'),
        ("it's", '"it\'s"'),
        ("back\\slash", '"back\\\\slash"'),
        ("100%", '"100%%"'),
        ("$HOME", '"$HOME"'),
        ("a;b#c", '"a;b#c"'),
        ("a ;b\t#c", '"a "";b\t""#c"'),
        ("# x", '"# x"'),
        ("a%(here)s", '"a%%""(here)s"'),
        ("%(here)", '"%%(here)"'),
    ],
)
def test_quoting_of_the_command(word, quoted):
    assert quote(word) == quoted


@pytest.mark.parametrize(
    ("value", "quoted"),
    [
        ("plain", '"plain"'),
        ("", '""'),
        ("a,b=c", '"a,b=c"'),
        ("it's", '"it\'s"'),
        ('{"a": 1}', "'{\"a\": 1}'"),
        ("100%", '"100%%"'),
        ("back\\slash", '"back\\slash"'),
        ("a;b#c", '"a;b#c"'),
        ("# x", '"# x"'),
    ],
)
def test_quoting_of_the_environment(value, quoted):
    assert quote_env("A", value) == quoted


@pytest.mark.parametrize("value", ["both ' and \" within", '"quoted"', "ends with '", '"', "a ;b", "a #b", "a\t#b", "%(here)s"])
@pytest.mark.parametrize(("name", "where"), [("A", "env.A"), ("VLLM_API_KEY", "api_key")])
def test_what_supervisor_cannot_read_is_refused_without_repeating_it(name, where, value):
    with pytest.raises(RuntimeAdapterError) as caught:
        quote_env(name, value)
    assert caught.value.what == (
        "supervisor cannot read the value of {0}: both kinds of quotes, a quote at an end, %(here)s, or ; or # after a blank".format(name)
    )
    assert caught.value.where == where
    assert "systemd" in caught.value.remedy


@pytest.fixture()
def folder(tmp_path):
    (tmp_path / "launch.sh").write_text(LAUNCHER)
    return tmp_path


def launch(folder, *argv):
    return subprocess.run(
        ["/bin/sh", str(folder / "launch.sh"), *argv], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd="/", timeout=30, check=True
    ).stdout.decode()


def test_the_launcher_becomes_the_engine_in_its_folder(folder):
    printed = launch(folder, "/bin/sh", "-c", 'echo $$; pwd -P; echo "$1"', "sh", "a  b")
    pid, where, word = printed.splitlines()
    assert (where, word) == (os.path.realpath(str(folder)), "a  b")
    assert (folder / "engine.pgid").read_text() == pid + "\n"


@pytest.fixture()
def sleeper():
    """Start processes in a group and a folder; end those that are left."""
    started = []

    def start(folder, group=None):
        def join():
            os.setpgid(0, group or 0)

        process = subprocess.Popen(["/bin/sleep", "60"], cwd=str(folder), preexec_fn=join)
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()


def test_the_launcher_ends_what_a_crashed_engine_left_behind_and_nothing_else(folder, sleeper, tmp_path):
    other_folder = tmp_path / "other"
    other_folder.mkdir()
    left = sleeper(folder)
    left_too = sleeper(folder, left.pid)
    elsewhere = sleeper(other_folder, left.pid)
    stranger = sleeper(folder)
    (folder / "engine.pgid").write_text("{0}\n".format(left.pid))
    assert launch(folder, "/bin/echo", "started") == "started\n"
    assert left.wait(5) == left_too.wait(5) == -signal.SIGKILL
    assert (elsewhere.poll(), stranger.poll()) == (None, None)


@pytest.mark.parametrize("text", ["", "4711\n", "garbage\n"])
def test_a_group_that_is_gone_does_not_hold_the_launcher(folder, text):
    (folder / "engine.pgid").write_text(text)
    assert launch(folder, "/bin/echo", "started") == "started\n"
