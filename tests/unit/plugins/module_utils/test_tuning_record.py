# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_record import Entry, Record, is_empty, read_record, record_text

FULL = Record(
    {"/proc/sys/vm/swappiness": Entry("swappiness", "/proc/sys/vm/swappiness", "number", "60", "0")},
    ("iommu.passthrough=1",),
    {"irqbalance": {"running": True, "enabled": False}},
    "balanced",
    True,
    ("update-grub",),
)


def test_a_record_survives_its_file():
    assert read_record(record_text(FULL), "x") == FULL
    assert read_record(record_text(Record()), "x") == Record()
    assert json.loads(record_text(FULL))["values"]["/proc/sys/vm/swappiness"]["before"] == "60"


def test_no_file_is_an_empty_record():
    assert is_empty(read_record(None, "x"))
    assert not is_empty(FULL)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nonsense",
        "[]",
        "{}",
        record_text(FULL).replace('"format": 1', '"format": 2'),
        record_text(FULL).replace('"before"', '"was"'),
        json.dumps(dict(json.loads(record_text(FULL)), services=3)),
        json.dumps(dict(json.loads(record_text(FULL)), values=[1])),
    ],
)
def test_a_broken_record_stops_everything(text):
    with pytest.raises(NpufleetError) as caught:
        read_record(text, "/var/lib/npufleet/host_tuning.json")
    assert caught.value.where == "/var/lib/npufleet/host_tuning.json"
    assert "delete it" in str(caught.value)
