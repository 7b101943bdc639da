# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_history import HISTORY_NAME, LAUNCH_NAME, remember
from ansible_collections.npufleet.ascend.plugins.module_utils._group_back import plan_back
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.engine_fakes import params
from hypothesis import given, settings
from hypothesis import strategies as st

HOSTS = ["a", "b"]
DAY = 86400.0


class Part:
    """What a host keeps of its part, as the module writes it; time passes only by launches."""

    def __init__(self, folder):
        self.folder = folder
        self.spec = None
        folder.mkdir(parents=True)

    def define(self, spec, status="stopped"):
        self.spec = spec
        known = self.record()
        self.write(dict(known, digest=spec, status=status))

    def start(self, when):
        self.write(dict(self.record(), status="starting", started_at=when))

    def answer(self):
        self.write(dict(self.record(), status="ready"))
        remember(str(self.folder), params(env={"SPEC": self.spec}), self.spec)

    def record(self):
        path = self.folder / LAUNCH_NAME
        return json.loads(path.read_text()) if path.exists() else {}

    def write(self, record):
        (self.folder / LAUNCH_NAME).write_text(json.dumps(record))

    def kept(self):
        return tuple(path.read_text() if path.exists() else None for path in (self.folder / HISTORY_NAME, self.folder / LAUNCH_NAME))


class Group:
    """Two parts on hosts whose clocks differ by some seconds."""

    def __init__(self, folder):
        self.parts = [Part(folder / name) for name in HOSTS]
        self.now = 1000.0

    def launch(self, *specs, until=None, skew=4.0):
        """Stop and define all parts, start all, note all; ``until`` is the number of such steps before somebody interrupts it."""
        steps = [lambda part=part, spec=spec: part.define(spec) for part, spec in zip(self.parts, specs)]
        steps += [lambda place=place, part=part: part.start(self.now + place * skew) for place, part in enumerate(self.parts)]
        steps += [part.answer for part in self.parts]
        for step in steps[:until]:
            step()
        self.now += DAY

    def plan(self):
        return plan_back("q", HOSTS, [part.kept() for part in self.parts])

    def target(self):
        plan = self.plan()
        assert plan["problem"] == ""
        return tuple(options["env"]["SPEC"] for options in plan["target"]), plan["earlier"]

    def answered(self):
        return tuple(options["env"]["SPEC"] for options in self.plan()["answered"])


@pytest.fixture
def group(tmp_path):
    return Group(tmp_path)


def test_all_parts_take_one_step_back_and_no_second_one(group):
    group.launch("a1", "b1")
    group.launch("a2", "b2")
    assert (group.target(), group.answered()) == ((("a1", "b1"), True), ("a2", "b2"))
    group.launch("a1", "b1")
    assert group.target() == (("a1", "b1"), False)


def test_a_part_that_did_not_change_stays(group):
    group.launch("a1", "b1")
    group.launch("a2", "b1")
    assert group.target() == (("a1", "b1"), True)
    group.launch("a1", "b1")
    assert group.target() == (("a1", "b1"), False)


def test_the_step_before_is_one_in_which_all_parts_answered(group):
    group.launch("a1", "b1")
    group.launch("a1", "b2")
    group.launch("a2", "b2")
    assert group.target() == (("a1", "b2"), True)
    group.launch("a1", "b2")
    assert group.target() == (("a1", "b2"), False)


def test_a_spec_that_never_answered_is_left_for_the_one_that_did(group):
    group.launch("a1", "b1")
    group.launch("a2", "b2")
    group.launch("a3", "b3", until=4)
    assert group.target() == (("a2", "b2"), True)


@pytest.mark.parametrize("until", range(5))
def test_an_upgrade_that_was_interrupted_is_left_for_what_answered(group, until):
    group.launch("a1", "b1")
    group.launch("a2", "b2", until=until)
    assert group.target() == (("a1", "b1"), until > 0)


@pytest.mark.parametrize("until", range(1, 6))
def test_a_rollback_that_was_interrupted_is_gone_on_with(group, until):
    group.launch("a1", "b1")
    group.launch("a2", "b2")
    group.launch("a1", "b1", until=until)
    assert group.target() == (("a1", "b1"), True)


@pytest.mark.parametrize("until", range(1, 6))
def test_a_part_that_stays_does_not_turn_an_interrupted_rollback(group, until):
    group.launch("a1", "b1")
    group.launch("a1", "b2")
    group.launch("a2", "b2")
    group.launch("a1", "b2", until=until)
    # Where the last step is missing, both have arrived.
    assert group.target() == (("a1", "b2"), until < 5)


def test_a_part_without_an_earlier_spec_holds_all(group):
    group.launch("a1", "b1")
    group.launch("a2", "b2")
    (group.parts[1].folder / HISTORY_NAME).write_text(json.dumps(json.loads((group.parts[1].folder / HISTORY_NAME).read_text())[-1:]))
    plan = group.plan()
    assert plan["target"] == [] and "goes back on all of a, b or on none, and b has no earlier spec that answered" in plan["problem"]


@pytest.mark.parametrize("text", [None, "{", "[1]"])
def test_a_part_that_never_answered(group, text):
    group.launch("a1", "b1")
    path = group.parts[1].folder / HISTORY_NAME
    path.unlink()
    if text:
        path.write_text(text)
    plan = group.plan()
    assert (plan["target"], plan["answered"]) == ([], [])
    assert "the engine q has never answered on b" in plan["problem"]


def test_a_spec_of_another_number_of_hosts_is_none_for_this_group(tmp_path):
    def kept(digests):
        rows = [
            {"digest": one, "since": DAY * place, "options": params(plan={"layout": {"hosts": 4 - 2 * place}})}
            for place, one in enumerate(digests)
        ]
        return json.dumps(rows), json.dumps({"digest": digests[-1], "status": "ready"})

    plan = plan_back("q", HOSTS, [kept("12"), kept("12")])
    assert plan["target"] == [] and "the engine q was on 4 hosts before, and is on 2 now" in plan["problem"]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(0, 6)), min_size=1, max_size=6), st.floats(0, 20))
def test_any_story(tmp_path_factory, story, skew):
    """Whatever was launched and interrupted: the target is one that answered as a whole, and the way back has an end."""
    group = Group(tmp_path_factory.mktemp("story") / "home")
    group.launch("a0", "b0", skew=skew)
    together = {("a0", "b0")}
    for head, member, until in story:
        specs = ("a{0}".format(head), "b{0}".format(member))
        # Between the notes of two parts of one task nobody interrupts; a run that goes on would note the other.
        group.launch(*specs, until=until if until < 5 else 6, skew=skew)
        together |= {specs} if until >= 5 else set()
    for _number in range(4):
        plan = group.plan()
        if plan["problem"]:
            assert "no earlier spec" in plan["problem"]
            return
        target, earlier = group.target()
        assert target in together
        if not earlier:
            return
        group.launch(*target, skew=skew)
    pytest.fail("it goes back for ever")
