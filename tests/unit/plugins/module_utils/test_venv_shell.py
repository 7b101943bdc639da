# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from ansible_collections.npufleet.ascend.plugins.module_utils._venv_shell import create, pip, pip_words, words
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.venv_fakes import spec


def test_words_are_quoted():
    assert words(["a b", "c'd", "e"]) == "'a b' 'c'\"'\"'d' e"


def test_the_index_is_no_word_of_the_command():
    line = pip(spec(pip_args=("--pre",)), "https://user:secret@mirror.example/simple", "x==1")
    assert line.startswith("PIP_INDEX_URL=https://user:secret@mirror.example/simple /srv/venv/bin/python -m pip install ")
    assert line.endswith(" --pre x==1")
    assert pip(spec(), None, "x").startswith("/srv/venv/bin/python")
    assert "secret" not in " ".join(pip_words(spec(index_url="https://user:secret@mirror.example/simple"), "x"))


def test_the_environment_is_made_by_the_chosen_interpreter():
    assert create(spec()).splitlines()[1] == "/usr/bin/python3.11 -m venv /srv/venv"
