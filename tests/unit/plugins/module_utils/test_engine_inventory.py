# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from ansible_collections.npufleet.ascend.plugins.module_utils._engine_inventory import instances, options


def test_a_host_without_instances_has_one_engine_of_its_variables():
    own = {"vllm_engine_port": 8000}
    assert list(instances(own)) == list(instances(dict(own, vllm_engine_instances=[]))) == [{}]
    assert options(own, {}, ("port", "model")) == {"port": 8000, "model": None}


def test_what_an_instance_says_wins_even_when_it_says_null():
    own = {"vllm_engine_port": 8000, "vllm_engine_image": "a:1", "vllm_engine_instances": [{"name": "x", "port": 8001, "image": None}]}
    assert options(own, instances(own)[0], ("name", "port", "image")) == {"name": "x", "port": 8001, "image": None}
