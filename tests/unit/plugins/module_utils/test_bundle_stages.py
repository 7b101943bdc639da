# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import subprocess
import sys

from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_stages import Place, lines, python, words, write


def test_words_cannot_become_shell():
    assert words("a b", "$(x)", "plain") == "'a b' '$(x)' plain"


def test_written_text_arrives_as_it_is(tmp_path):
    path, text = str(tmp_path / "a file"), "percent %s \\ 'quote'\n$HOME\n"
    subprocess.run(["/bin/sh", "-c", write(path, text)], check=True)
    with open(path) as stream:
        assert stream.read() == text


def test_empty_commands_are_left_out():
    assert lines("a", "", "b") == "a\nb"


def test_python_gets_its_arguments(tmp_path):
    place = Place(str(tmp_path), "/t", sys.executable)
    assert place.listing == str(tmp_path) + "/listing.json"
    command = python(place, "import sys; print(sys.argv[1:])", "a b", "c")
    done = subprocess.run(["/bin/sh", "-c", command], stdout=subprocess.PIPE, universal_newlines=True, check=True)
    assert done.stdout == "['a b', 'c']\n"
