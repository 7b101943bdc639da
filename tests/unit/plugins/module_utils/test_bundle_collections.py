# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import os
import pathlib
import subprocess

from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_collections import LEFT_OUT, stages, with_digest
from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_stages import Place

ROOT = pathlib.Path(__file__).resolve().parents[4]
PLACE = Place("/srv/part", "/bundle/collections", "/venv/bin/python")
PART = {"kind": "collection", "folder": "collections", "file": "a-b-1.0.0.tar.gz", "name": "a.b", "version": "1.0.0", "licence": "MIT"}


def test_a_checkout_is_built():
    made = stages(dict(PART, source="/src"), PLACE)
    command = "/venv/bin/python -m ansible galaxy collection build /src --output-path /bundle/collections --force"
    assert made.fetch == "mkdir -p /bundle/collections\n" + command
    assert made.finish == ""


def test_another_comes_from_galaxy_without_those_it_needs():
    made = stages(PART, PLACE)
    assert "-m ansible galaxy collection download a.b:==1.0.0 --no-deps --download-path /srv/part" in made.fetch
    assert made.fetch.endswith("mv /srv/part/a-b-1.0.0.tar.gz /bundle/collections/a-b-1.0.0.tar.gz")


def test_listing(tmp_path):
    place = Place(str(tmp_path / "work"), str(tmp_path), "/venv/bin/python")
    for licence, expected in (("MIT", "MIT"), (None, "in the archive, MANIFEST.json")):
        subprocess.run(["/bin/sh", "-c", stages(dict(PART, licence=licence), place).resolve], check=True)
        with open(place.listing) as stream:
            assert json.load(stream) == [{"file": "a-b-1.0.0.tar.gz", "size": None, "url": "a.b:1.0.0", "licence": expected}]


def test_a_change_of_the_source_makes_the_part_another(tmp_path):
    for name in ("plugins/a.py", "tests/t.py", ".git/HEAD", "README.md"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("1")
        os.utime(str(path), (1, 1))
    part = dict(PART, source=str(tmp_path))
    before = with_digest(part)
    assert before == dict(part, digest=before["digest"]) == with_digest(part)
    for name in ("tests/t.py", ".git/HEAD"):
        (tmp_path / name).write_text("another")
    assert with_digest(part) == before
    (tmp_path / "plugins/a.py").write_text("2")
    assert with_digest(part)["digest"] != before["digest"]


def test_what_does_not_count_is_not_in_the_archive_either():
    ignored = (ROOT / "galaxy.yml").read_text(encoding="utf-8").partition("build_ignore:")[2].split()
    assert set(LEFT_OUT) - set(ignored) == {"__pycache__"}
