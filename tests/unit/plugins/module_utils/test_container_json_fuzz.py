# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json

from ansible_collections.npufleet.ascend.plugins.module_utils._container_json import changes, merge, render, undo
from ansible_collections.npufleet.ascend.plugins.module_utils._container_spec import RuntimeEntry, Wanted
from hypothesis import given, settings
from hypothesis import strategies as st

ADR = RuntimeEntry("ascend", "/usr/local/Ascend/Ascend-Docker-Runtime/ascend-docker-runtime")
WORDS = st.sampled_from(["a", "b", "c=1", "c=2", "https://m.example.com"])
VALUES = st.one_of(st.booleans(), st.integers(0, 9), WORDS)
CONFIGS = st.fixed_dictionaries(
    {},
    optional={
        "debug": st.booleans(),
        "mtu": st.integers(0, 9),
        "log-driver": st.sampled_from(["json-file", "journald"]),
        "log-opts": st.dictionaries(st.sampled_from(["max-size", "max-file", "tag"]), WORDS, max_size=3),
        "registry-mirrors": st.lists(WORDS, max_size=3, unique=True),
        "labels": st.lists(WORDS, max_size=3, unique=True),
        "features": st.dictionaries(st.sampled_from(["x", "y"]), st.booleans(), max_size=2),
        "default-address-pools": st.lists(st.dictionaries(st.sampled_from(["base", "size"]), VALUES, max_size=2), max_size=2),
    },
)


# The time of one example says nothing on a busy machine.
@settings(deadline=None)
@given(site=CONFIGS, options=CONFIGS, defaults=CONFIGS)
def test_merging_twice_is_merging_once_and_undo_takes_all_of_it_back(site, options, defaults):
    request = Wanted("docker", "present", (ADR,), None, options, defaults, None, None, "", 60.0)
    after = merge(site, request, None)
    assert merge(after, request, None) == after
    assert undo(after, changes(site, after)) == site
    text = json.dumps(site, indent=3)
    assert json.loads(render(after, text)) == after
