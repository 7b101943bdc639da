# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_spec import KNOBS, HugePages, Knobs, knobs_of, size_kb, size_text


@pytest.mark.parametrize(
    ("text", "kilobytes"), [("2M", 2048), ("2048", 2048), ("64K", 64), ("1G", 1048576), ("32 MiB", 32768), ("512mb", 524288)]
)
def test_size_kb(text, kilobytes):
    assert size_kb(text) == kilobytes


@pytest.mark.parametrize("text", ["", "0", "2T", "M", "-2M", "2.5M"])
def test_no_size(text):
    with pytest.raises(NpufleetError, match="is no size of a huge page"):
        size_kb(text)


@pytest.mark.parametrize(("kilobytes", "text"), [(64, "64K"), (2048, "2M"), (32768, "32M"), (1048576, "1G"), (16777216, "16G")])
def test_size_text(kilobytes, text):
    assert size_text(kilobytes) == text


def test_nothing_wanted_is_the_default():
    assert knobs_of({}) == knobs_of({"swappiness": None, "hugepages": []}) == Knobs()


def test_every_value_arrives():
    knobs = knobs_of(
        {
            "hugepages": [{"size": "2M", "count": 4, "node": 1}, {"count": 2}],
            "hugepages_share": 0.2,
            "swappiness": 0,
            "memlock": "infinity",
            "limits_for": ["*", "@HwHiAiUser", "npufleet"],
            "nofile": 65536,
        }
    )
    assert knobs.hugepages == (HugePages(2048, 4, 1), HugePages(None, 2, None))
    assert (knobs.hugepages_share, knobs.swappiness, knobs.memlock, knobs.nofile) == (0.2, 0, "unlimited", 65536)
    assert knobs.limits_for == ("*", "@HwHiAiUser", "npufleet")
    assert knobs_of({"memlock": "0064"}).memlock == "64"
    assert knobs_of({"reserved_ports": "61000, 60000-60031,60016-60255"}).reserved_ports == "60000-60255,61000"


@pytest.mark.parametrize(
    ("params", "where"),
    [
        ({"swappiness": 201}, "knobs.swappiness"),
        ({"swappiness": -1}, "knobs.swappiness"),
        ({"numa_balancing": 2}, "knobs.numa_balancing"),
        ({"shmmax_bytes": 0}, "knobs.shmmax_bytes"),
        ({"nofile": 10}, "knobs.nofile"),
        ({"hugepages_share": 0.95}, "knobs.hugepages_share"),
        ({"hugepages_share": 0}, "knobs.hugepages_share"),
        ({"hugepages": [{"count": -1}]}, "knobs.hugepages"),
        ({"hugepages": [{"count": 1, "node": -1}]}, "knobs.hugepages"),
        ({"memlock": "a lot"}, "knobs.memlock"),
        ({"reserved_ports": "http"}, "knobs.reserved_ports"),
        ({"reserved_ports": "0-15"}, "knobs.reserved_ports"),
        ({"reserved_ports": "65535-65536"}, "knobs.reserved_ports"),
        ({"reserved_ports": "60015-60000"}, "knobs.reserved_ports"),
        ({"limits_for": ["root hard nofile 1\n*"]}, "knobs.limits_for"),
    ],
)
def test_bad_values_are_one_message(params, where):
    with pytest.raises(NpufleetError) as caught:
        knobs_of(params)
    assert caught.value.where == where
    assert caught.value.remedy


def test_every_knob_of_the_spec_is_a_row_of_the_table():
    settings = {"hugepages_share", "limits_for"}
    assert set(Knobs._fields) - settings == set(KNOBS) - {"numa_plan", "tuned"}
