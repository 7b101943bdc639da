# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import os

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._clock import Clock
from ansible_collections.npufleet.ascend.plugins.module_utils._engine import Engine, EngineFailedError
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_plan import Actual, make_plan
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._files import file_mode
from ansible_collections.npufleet.ascend.plugins.module_utils._service import RuntimeAdapterError, ServiceState
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.engine_fakes import KEY, FakeClock, FakeFetch, FakeRuntime, spec


class World:
    """One host with a fake service manager, a fake HTTP client and a clock. The engine answers from ``ready_at`` on."""

    def __init__(self, folder, **changes):
        self.changes = dict({"home": str(folder / "home"), "api_key": KEY}, **changes)
        self.clock = FakeClock()
        self.runtime = FakeRuntime(str(folder / "services"))
        self.good = FakeFetch()
        self.bad = FakeFetch().set("/health", "connection refused")
        self.ready_at = 0.0
        self.engine = self.fresh()

    def fetch(self, url, **options):
        return (self.good if self.clock.time >= self.ready_at else self.bad)(url, **options)

    def fresh(self, **changes):
        """A new object, as a new call of the module has it."""
        self.spec = spec(**dict(self.changes, **changes))
        self.engine = Engine(self.spec, self.runtime, self.fetch, Clock(self.clock.now, self.clock.sleep))
        self.engine.inspect()
        return self.engine

    def reach(self, state="started", **changes):
        engine = self.fresh(**changes)
        plan = make_plan(self.spec, engine.inspect(), state)
        engine.apply(plan)
        return plan

    @property
    def record_path(self):
        return self.spec.working_directory + "/launch.json"

    def record(self):
        with open(self.record_path, encoding="utf-8") as stream:
            return json.load(stream)


@pytest.fixture()
def world(tmp_path):
    return World(tmp_path)


def test_looking_at_a_bare_host_touches_nothing(world, tmp_path):
    assert world.engine.inspect() == Actual()
    assert world.engine.ready_seconds() is None
    assert os.listdir(str(tmp_path)) == []


def test_after_a_launch_everything_is_current(world):
    world.reach()
    found = world.fresh().inspect()
    assert found == Actual(True, True, True, True, world.spec.digest(), world.spec.public(), folder=True)
    assert make_plan(world.spec, found, "started").steps == ()


def test_the_record_is_private_and_holds_no_secret(world):
    world.reach()
    assert file_mode(world.record_path) == 0o600
    with open(world.record_path, encoding="utf-8") as stream:
        assert KEY not in stream.read()
    assert file_mode(world.spec.working_directory) == 0o750


@pytest.mark.parametrize("failing", ["stop", "define", "start"])
def test_an_interrupted_launch_is_seen_and_finished_by_the_next(world, failing):
    world.reach()

    def interrupt(_spec):
        raise RuntimeAdapterError("interrupted")

    original = getattr(world.runtime, failing)
    setattr(world.runtime, failing, interrupt)
    with pytest.raises(RuntimeAdapterError):
        world.reach(port=9000)
    setattr(world.runtime, failing, original)
    found = world.fresh(port=9000).inspect()
    assert found.unfinished
    assert not make_plan(world.spec, found, "started").interrupts
    del world.runtime.calls[:]
    world.reach(port=9000)
    assert world.runtime.calls[-2:] == ["define", "start"]
    assert make_plan(world.spec, world.fresh(port=9000).inspect(), "started").steps == ()


@pytest.mark.parametrize("text", ["", "garbage", "[]", "{}"])
def test_a_damaged_record_is_no_record(world, text):
    world.reach()
    with open(world.record_path, "w", encoding="utf-8") as stream:
        stream.write(text)
    found = world.fresh().inspect()
    assert (found.defined, found.digest, found.applied, found.unfinished) == (True, None, None, False)
    assert world.engine.ready_seconds() is None
    world.reach()
    assert world.fresh().inspect().digest == world.spec.digest()


def test_removing_takes_the_folder_with_it(world, tmp_path):
    world.reach()
    assert world.reach("absent").steps == ("stop", "remove")
    assert world.runtime.calls[-2:] == ["stop", "remove"]
    assert not os.path.exists(world.spec.working_directory)
    assert os.listdir(str(tmp_path / "services")) == []


def test_a_folder_that_cannot_be_removed_is_named(world, monkeypatch):
    world.reach()
    monkeypatch.setattr("shutil.rmtree", lambda path, ignore_errors: None)
    with pytest.raises(NpufleetError, match="the folder of the engine cannot be removed"):
        world.reach("absent")


def test_a_service_without_a_record_is_stopped_too(world):
    world.reach()
    os.unlink(world.record_path)
    world.reach("absent")
    assert world.runtime.calls[-2:] == ["stop", "remove"]


def test_what_an_interrupted_removal_left_is_removed(world, tmp_path):
    world.reach()
    world.runtime.remove(world.spec)
    world.runtime.pid = 0
    assert world.reach("absent").steps == ("remove",)
    assert not os.path.exists(world.spec.working_directory)
    assert world.reach("absent").steps == ()


def test_each_start_begins_with_an_empty_folder_of_temporary_files(world):
    world.reach()
    folder = world.spec.working_directory + "/tmp"
    assert (file_mode(folder), os.listdir(folder)) == (0o700, [])
    with open(folder + "/socket", "w", encoding="utf-8") as stream:
        stream.write("x")
    world.reach("stopped")
    assert os.listdir(folder) == ["socket"]
    world.reach()
    assert os.listdir(folder) == []


def test_starting_and_enabling_alone_do_not_touch_the_definition(world):
    world.reach("present")
    digest = world.record()["digest"]
    world.runtime.enabled = False
    plan = world.reach("started")
    assert plan.steps == ("start", "enable")
    assert world.runtime.calls == ["define", "start", "enable"]
    assert world.record()["digest"] == digest


def test_ready_at_once(world):
    world.reach()
    waited = world.engine.wait_ready(10, 100)
    assert (waited["pending"], waited["progress"], waited["ready_seconds"]) == (False, "ready", 0.0)
    assert waited["completion"]["text"] == "An NPU."
    assert world.good.calls[-1][2] == KEY


def test_ready_in_the_third_slice_and_measured_from_the_launch(world):
    world.ready_at = world.clock.time + 25
    world.reach()
    for slice_number in (1, 2):
        waited = world.fresh().wait_ready(10, 100)
        assert waited == {
            "pending": True,
            "seconds": 10.0 * slice_number,
            "progress": "starting: connection refused",
            "completion": None,
            "ready_seconds": None,
        }
    waited = world.fresh().wait_ready(10, 100)
    assert (waited["pending"], waited["ready_seconds"], waited["seconds"]) == (False, 25.0, 25.0)
    assert world.fresh().ready_seconds() == 25.0
    world.clock.time += 500
    assert world.fresh().wait_ready(10, 100)["ready_seconds"] == 25.0


def test_progress_is_the_last_line_of_this_launch_without_the_key(world):
    world.ready_at = world.clock.time + 99
    world.runtime.lines = ["of an earlier launch"]
    world.reach()
    assert "starting: connection refused" in world.fresh().wait_ready(1, 100)["progress"]
    world.runtime.lines += ["Loading weights with {0}".format(KEY), "---"]
    assert world.fresh().wait_ready(1, 100)["progress"] == "starting: Loading weights with ***"


def failure(world, slice_seconds=10, timeout=100):
    with pytest.raises(EngineFailedError) as caught:
        world.fresh().wait_ready(slice_seconds, timeout)
    return caught.value


def test_a_death_is_seen_at_once_and_explained(world):
    world.ready_at = world.clock.time + 99
    world.reach()
    world.runtime.lines += [
        "Traceback (most recent call last):",
        '  File "a.py", line 1, in f',
        "OSError: libnuma.so.1: cannot open shared object file: {0}".format(KEY),
    ]
    world.runtime.pid = 0
    error = failure(world)
    assert error.what == ("the engine demo died while starting, after 0 s: OSError: libnuma.so.1: cannot open shared object file: ***")
    assert error.where == "fake service demo"
    assert "libnuma" in error.remedy
    assert error.remedy.endswith("[{id}; {source}]".format(**error.report["signature"]))
    assert error.report["tail"] == [line.replace(KEY, "***") for line in world.runtime.lines]
    assert KEY not in str(error) + json.dumps(error.report)
    assert world.clock.naps == []


def test_an_engine_that_the_service_manager_starts_again_has_died_and_is_stopped(world):
    world.ready_at = world.clock.time + 99
    world.reach()
    world.runtime.pid += 1
    error = failure(world)
    assert error.what == "the engine demo died while starting, after 0 s: as the fake says"
    assert error.remedy == "Read the last lines of its log, below"
    assert (world.runtime.calls[-1], error.changed) == ("stop", True)


def test_one_that_died_between_two_looks_is_not_started_again(world):
    world.reach()
    world.ready_at = 5000.0
    assert world.engine.wait_ready(10, 600)["pending"]
    world.clock.time += 2
    world.runtime.pid, world.runtime.lines = 0, ["OSError: libnuma.so.1: cannot open shared object file"]
    with pytest.raises(EngineFailedError, match="died while starting, after 12 s: OSError: libnuma"):
        world.fresh().check_launch()
    # The next run is another attempt.
    world.fresh().check_launch()


def test_each_look_keeps_the_watch(world):
    world.reach()
    world.ready_at = 5000.0
    for _slice in range(8):
        assert world.fresh().wait_ready(10, 600)["pending"]
    world.runtime.pid = 0
    with pytest.raises(EngineFailedError, match="died while starting, after 80 s"):
        world.fresh().check_launch()


@pytest.mark.parametrize("how", ["ready", "stopped", "long ago", "running", "never"])
def test_no_launch_is_watched(world, how):
    if how != "never":
        world.reach()
    if how == "ready":
        world.engine.wait_ready(10, 600)
    if how == "stopped":
        world.reach("stopped")
    if how == "long ago":
        world.clock.time += 61
    if how != "running":
        world.runtime.pid = 0
    world.fresh().check_launch()


def test_one_that_never_spawned_has_died(world):
    world.runtime.starts = False
    world.reach()
    assert failure(world).what.startswith("the engine demo died while starting, after 0 s")


def test_one_that_spawned_late_is_watched_from_then(world):
    world.runtime.starts = False
    world.reach()
    world.runtime.pid = 77
    assert world.fresh().wait_ready(10, 100)["pending"] is False


def test_not_ready_in_time(world):
    world.ready_at = world.clock.time + 999
    world.reach()
    assert world.fresh().wait_ready(10, 15)["pending"]
    error = failure(world, timeout=15)
    assert error.what == "the engine demo is not ready after 15 s: connection refused"
    assert (world.runtime.calls[-1], error.changed) == ("stop", True)


def test_a_wrong_answer_fails_after_one_slice(world):
    world.good.set("/v1/models", 200, {"data": [{"id": "other"}]})
    world.reach()
    error = failure(world)
    assert error.what == "the engine demo answers, but not as asked, after 10 s: the engine lists other, not tiny"
    assert error.changed


def test_what_the_starting_engine_did_not_say_is_asked_of_the_service_manager(world):
    world.reach()
    world.runtime.pid = 0
    assert failure(world).what.endswith(": as the fake says")


def ready(world):
    world.reach()
    world.fresh().wait_ready(10, 100)
    world.clock.time += 5000


@pytest.mark.parametrize("seconds", [0, 5])
def test_an_engine_that_was_ready_gets_a_slice_to_answer(world, seconds):
    ready(world)
    world.ready_at = world.clock.time + seconds
    assert world.fresh().wait_ready(10, 100)["pending"] is False


def test_an_engine_that_was_ready_and_is_silent_is_reported_and_left_alone(world):
    ready(world)
    world.ready_at = world.clock.time + 999
    error = failure(world)
    assert error.what == "the engine demo was ready before and does not answer for 10 s: connection refused"
    assert not error.changed
    assert "stop" not in world.runtime.calls


def test_an_engine_that_was_ready_and_answers_wrongly(world):
    ready(world)
    world.good.set("/v1/models", 401, "")
    assert failure(world).what.startswith("the engine demo was ready before and answers, but not as asked: /v1/models answered 401")


def test_an_engine_that_was_ready_and_dies_under_the_question(world):
    ready(world)
    world.ready_at = world.clock.time + 999
    engine = world.fresh()
    inspect = world.runtime.inspect
    looks = []

    def dies(wanted):
        looks.append(1)
        return inspect(wanted) if len(looks) < 3 else ServiceState(True, detail="killed")

    world.runtime.inspect = dies
    with pytest.raises(EngineFailedError) as caught:
        engine.wait_ready(10, 100)
    assert (caught.value.what, caught.value.changed) == ("the engine demo was ready and has died: killed", False)


def test_an_engine_that_came_back_by_itself_is_measured_from_now(world):
    ready(world)
    world.runtime.pid += 1
    world.runtime.lines.append("of the first life")
    world.ready_at = world.clock.time + 15
    assert world.fresh().wait_ready(10, 100)["progress"] == "starting: connection refused"
    assert world.fresh().wait_ready(10, 100)["ready_seconds"] == 15.0


def test_an_engine_that_was_started_by_hand_after_a_failure_is_not_stopped(world):
    world.ready_at = world.clock.time + 999
    world.reach()
    world.runtime.pid = 0
    failure(world)
    world.runtime.pid = 777
    world.ready_at = 0
    assert world.fresh().wait_ready(10, 100)["pending"] is False
    assert world.runtime.pid == 777


def test_a_launch_that_nobody_watched_to_its_end_is_not_held_against_a_later_process(world):
    world.ready_at = world.clock.time + 999
    world.reach()
    world.fresh().wait_ready(10, 100)
    world.clock.time += 3600
    world.ready_at = 0
    world.runtime.pid += 1
    assert world.fresh().wait_ready(10, 100)["pending"] is False


def test_a_launch_that_nobody_watched_and_that_hangs_is_ended(world):
    world.ready_at = world.clock.time + 9999
    world.reach()
    world.clock.time += 3600
    assert failure(world).what == "the engine demo is not ready after 3600 s: connection refused"
    assert world.runtime.calls[-1] == "stop"


def test_a_service_that_somebody_else_made_is_watched_too(world):
    world.reach()
    os.unlink(world.record_path)
    assert world.fresh().wait_ready(10, 100)["pending"] is False
    assert world.record()["pid"] == world.runtime.pid


HEAD = "http://192.0.2.1:8000"


class Member(World):
    """A host with a member of a group; what answers over HTTP is the head."""

    head = None

    def fresh(self, **changes):
        self.spec = spec(**dict(self.changes, args={"headless": True}, **changes))
        self.asked = []
        self.engine = Engine(self.spec, self.runtime, self.listen, Clock(self.clock.now, self.clock.sleep), self.head)
        self.engine.inspect()
        return self.engine

    def listen(self, url, **options):
        self.asked.append(url)
        return self.fetch(url, **options)


@pytest.fixture()
def member(tmp_path):
    return Member(tmp_path)


def test_a_member_that_knows_no_head_has_to_live_for_a_while(member):
    member.reach()
    assert member.fresh().wait_ready(10, 100)["progress"] == "starting: it lives for 10 s, of 30"
    waited = member.fresh().wait_ready(60, 100)
    assert (waited["pending"], waited["ready_seconds"], waited["completion"]) == (False, 30.0, None)
    assert member.asked == []
    assert member.fresh().wait_ready(0, 100)["pending"] is False


def test_a_member_is_ready_when_the_head_answers(member):
    member.head = HEAD + "/"
    member.ready_at = member.clock.time + 25
    member.reach()
    waited = member.fresh().wait_ready(10, 100)
    assert (waited["pending"], waited["progress"]) == (True, "waiting for the head: the head {0}: connection refused".format(HEAD))
    waited = member.fresh().wait_ready(60, 100)
    assert (waited["pending"], waited["ready_seconds"], waited["completion"]) == (False, 25.0, None)
    assert {url.rpartition("/v1/")[0] or url for url in member.asked} == {HEAD, HEAD + "/health"}
    assert member.good.calls[-1][2] == KEY


def test_a_member_fails_by_its_own_death_and_by_a_head_that_does_not_come(member):
    member.head = HEAD
    member.ready_at = member.clock.time + 999
    member.reach()
    assert failure(member, slice_seconds=20, timeout=15).what == (
        "the engine demo is not ready after 15 s: the head {0}: connection refused".format(HEAD)
    )
    member.reach("restarted")
    member.runtime.pid = 0
    member.runtime.lines.append("OSError: libnuma.so.1: cannot open shared object file")
    assert "died while starting, after 0 s: OSError: libnuma" in failure(member).what


def test_only_the_process_of_the_launch_counts(world):
    ready(world)
    world.runtime.pid += 1
    with pytest.raises(EngineFailedError, match="was ready and has died"):
        world.fresh().wait_ready(10, 100, launched=True)
    assert world.fresh().restarted
    world.fresh().wait_ready(10, 100)
    assert not world.fresh().restarted


@pytest.mark.parametrize("how", ["never", "stopped", "not running"])
def test_what_was_not_launched_has_not_come_back(world, how):
    if how != "never":
        ready(world)
    if how == "stopped":
        world.reach("stopped")
        world.runtime.pid = 4711
    if how == "not running":
        world.runtime.pid = 0
    assert world.fresh().restarted is False
