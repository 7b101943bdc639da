# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_host import read_host
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_plan import REASONS, finished, judge, observed, predicted, recorded
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_record import Entry, Record
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_spec import KNOBS
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_targets import KnobTargets
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_values import Target
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.tuning_fakes import Bench

PATH = "/proc/sys/vm/swappiness"


@pytest.fixture()
def host(tmp_path, monkeypatch):
    return read_host(str(Bench(tmp_path, monkeypatch).root), [])


def judged(host, found, wanted, entry=None, floor=False, within="", form="number", skip="", readonly=False):
    """The verdict about one file that holds ``found``; ``entry`` is (before, set)."""
    host = host._replace(values=dict(host.values, **{PATH: found + "\n"}), readonly=frozenset({PATH} if readonly else ()))
    target = Target("swappiness", PATH, PATH, wanted, form, floor, within)
    record = Record({PATH: Entry("swappiness", PATH, form, *entry)} if entry else {})
    return judge("swappiness", KnobTargets([target], wanted or "", skip), host, record)


@pytest.mark.parametrize(
    ("found", "options", "action", "value"),
    [
        ("60", {"wanted": "0"}, "set", "0"),
        ("0", {"wanted": "0"}, "ok", None),
        ("60", {"wanted": None}, "off", None),
        ("60", {"wanted": "0", "skip": "missing"}, "skipped", None),
        # What was found first is put back when nobody wants it any more, whatever is there now.
        ("0", {"wanted": None, "entry": ("60", "0")}, "undone", "60"),
        ("30", {"wanted": None, "entry": ("60", "0")}, "undone", "60"),
        ("60", {"wanted": None, "entry": ("60", "0")}, "off", None),
        ("0", {"wanted": None, "entry": ("60", "0"), "readonly": True}, "off", None),
        # A floor: raised, and never lowered below what others have set.
        ("10", {"wanted": "64", "floor": True}, "set", "64"),
        ("100", {"wanted": "64", "floor": True}, "kept", None),
        ("64", {"wanted": "64", "floor": True}, "ok", None),
        # It was ours, so it may go down again, but not below what was found first.
        ("64", {"wanted": "32", "floor": True, "entry": ("10", "64")}, "set", "32"),
        ("64", {"wanted": "8", "floor": True, "entry": ("10", "64")}, "set", "10"),
        # Somebody else raised it since.
        ("100", {"wanted": "64", "floor": True, "entry": ("10", "64")}, "kept", None),
        ("what", {"wanted": "64", "floor": True}, "set", "64"),
        # CPUs near the NPU are good, whichever.
        ("9", {"wanted": "8", "within": "8-15", "form": "cpus"}, "ok", None),
        ("0-15", {"wanted": "8", "within": "8-15", "form": "cpus"}, "set", "8"),
        ("ffff", {"wanted": "8-15", "within": "8-15", "form": "mask"}, "set", "8-15"),
    ],
)
def test_one_file(host, found, options, action, value):
    verdict = judged(host, found, **options)
    assert verdict.action == action
    assert [write.value for write in verdict.writes] == ([] if value is None else [value])


@pytest.mark.parametrize(
    ("found", "options", "lasts"),
    [
        ("60", {"wanted": "0"}, True),
        ("0", {"wanted": "0"}, True),
        # At boot the kernel's own, higher value stays.
        ("100", {"wanted": "64", "floor": True}, False),
        ("9", {"wanted": "8", "within": "8-15", "form": "cpus"}, True),
        ("60", {"wanted": "0", "skip": "missing"}, False),
        ("60", {"wanted": None}, False),
    ],
)
def test_what_lasts_over_a_reboot(host, found, options, lasts):
    assert bool(judged(host, found, **options).lasting) is lasts


def test_the_first_value_stays_in_the_record(host):
    first = recorded(Record(), {"swappiness": judged(host, "60", "0")})
    assert first.values[PATH] == Entry("swappiness", PATH, "number", "60", "0")
    again = recorded(first, {"swappiness": judged(host, "30", "5", entry=("60", "0"))})
    assert (again.values[PATH].before, again.values[PATH].set) == ("60", "5")
    assert recorded(first, {"swappiness": judged(host, "0", None, entry=("60", "0"))}) == first


def plan_of(wanted, skip=""):
    return {"swappiness": KnobTargets([Target("swappiness", PATH, PATH, wanted, "number")], wanted or "", skip)}


@pytest.mark.parametrize(
    ("wanted", "now", "skip", "stays"),
    [
        ("0", "0", "", True),
        ("0", "60", "", True),  # the kernel refused; it is still ours to try
        (None, "60", "", False),
        (None, "0", "", True),  # could not be put back
        ("0", "0", "missing", True),
        ("0", "60", "missing", False),
    ],
)
def test_what_is_left_in_the_record(host, wanted, now, skip, stays):
    record = Record({PATH: Entry("swappiness", PATH, "number", "60", "0")})
    verdict = judged(host, now, wanted, entry=("60", "0"), skip=skip)
    after = host._replace(values=dict(host.values, **{PATH: now + "\n"}))
    assert (PATH in finished(record, plan_of(wanted, skip), {"swappiness": verdict}, after).values) is stays


def test_a_file_that_is_gone_leaves_the_record(host):
    record = Record({"irq:x": Entry("swappiness", "/proc/irq/9/smp_affinity_list", "cpus", "0-15", "8")})
    verdicts = {"swappiness": judged(host, "0", None)}
    assert finished(record, plan_of(None), verdicts, host).values == {}


def test_prediction_and_summary(host):
    target = Target("q", "k", "/m", "8-15", "mask")
    host = host._replace(values={"/m": "ffff\n"})
    verdict = judge("npu_work_queue_affinity", KnobTargets([target], "near"), host, Record())
    assert observed([target], host) == "0-15"
    assert observed([target], predicted(host, {"q": verdict})) == "8-15"
    assert observed([target._replace(path="/missing")], host) == "-"


def test_every_row_that_is_set_has_a_reason():
    assert set(REASONS) == set(KNOBS) - {"numa_plan"}
