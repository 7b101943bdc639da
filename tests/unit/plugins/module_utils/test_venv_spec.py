# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.venv_fakes import ascend, spec


@pytest.mark.parametrize("changes", [{"plugin": "0.30.0rc2"}, {"soc_version": "ascend910b1"}, {"triton": ""}])
def test_what_decides_the_content_for_npus_counts(changes):
    assert spec(ascend=ascend(**changes)).digest() != spec().digest()


@pytest.mark.parametrize("changes", [{"wheel": True}, {"index_url": None}, {"set_env": ()}])
def test_where_it_comes_from_does_not_count(changes):
    assert spec(ascend=ascend(**changes)).digest() == spec().digest()


def test_an_environment_for_npus_shows_plugin_and_chip():
    shown = spec().shown()
    assert (shown["vllm_ascend"], shown["soc"], shown["vllm"]) == ("0.23.0.post1", "a3", "0.23.0")
    plain = spec(ascend=None)
    assert sorted(set(shown) - set(plain.shown())) == ["soc", "vllm_ascend"]
    assert plain.digest() != spec().digest()
    assert plain.python_minor == "3.11"
