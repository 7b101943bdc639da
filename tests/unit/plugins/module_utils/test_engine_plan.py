# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_plan import (
    Actual,
    ConsentError,
    Plan,
    consent,
    differences,
    make_plan,
)
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.engine_fakes import KEY, spec

WANTED = spec(api_key=KEY, args={"max_model_len": 512})
OTHER = spec(api_key=KEY, args={"max_model_len": 256})
ROTATED = spec(api_key=KEY + "-old", args={"max_model_len": 512})


def actual(applied=WANTED, **changes):
    """An engine that is defined, stopped, and as wanted."""
    fields = {"defined": True, "enabled": True, "files_current": True, "digest": applied.digest(), "applied": applied.public()}
    return Actual(**dict(fields, **changes))


RUNS = actual(running=True)
STOPPED = actual()
DIFFERS = actual(OTHER, running=True, files_current=False)
DIFFERS_STOPPED = actual(OTHER, files_current=False)
UNFINISHED = actual(running=True, digest=None, unfinished=True)
DISABLED = actual(enabled=False)
RUNS_DISABLED = actual(running=True, enabled=False)
CRASHES = actual(restarting=True)
CRASHES_DIFFERS = actual(OTHER, restarting=True, files_current=False)
LEFT_OVER = Actual(folder=True)


@pytest.mark.parametrize(
    ("found", "state", "action", "steps", "interrupts"),
    [
        (Actual(), "started", "create", "define start", False),
        (Actual(), "restarted", "create", "define start", False),
        (Actual(), "present", "create", "define", False),
        (Actual(), "stopped", "create", "define", False),
        (Actual(), "absent", "keep", "", False),
        (RUNS, "started", "keep", "", False),
        (RUNS, "ready", "keep", "", False),
        (DIFFERS, "ready", "keep", "", False),
        (STOPPED, "ready", "keep", "", False),
        (Actual(), "ready", "keep", "", False),
        (RUNS, "present", "keep", "", False),
        (RUNS, "stopped", "stop", "stop", True),
        (RUNS, "restarted", "restart", "stop start", True),
        (RUNS, "absent", "remove", "stop remove", True),
        (STOPPED, "started", "start", "start", False),
        (STOPPED, "restarted", "start", "start", False),
        (STOPPED, "present", "keep", "", False),
        (STOPPED, "stopped", "keep", "", False),
        (STOPPED, "absent", "remove", "remove", False),
        (DIFFERS, "started", "replace", "stop define start", True),
        (DIFFERS, "present", "replace", "stop define start", True),
        (DIFFERS, "restarted", "replace", "stop define start", True),
        (DIFFERS, "stopped", "stop", "stop define", True),
        (DIFFERS, "absent", "remove", "stop remove", True),
        (DIFFERS_STOPPED, "started", "replace", "define start", False),
        (DIFFERS_STOPPED, "present", "replace", "define", False),
        (DIFFERS_STOPPED, "stopped", "replace", "define", False),
        (UNFINISHED, "started", "replace", "stop define start", False),
        (CRASHES, "started", "start", "start", False),
        (CRASHES, "stopped", "stop", "stop", False),
        (CRASHES, "restarted", "restart", "stop start", False),
        (CRASHES, "present", "keep", "", False),
        (CRASHES, "absent", "remove", "stop remove", False),
        (CRASHES_DIFFERS, "started", "replace", "stop define start", False),
        (CRASHES_DIFFERS, "present", "replace", "stop define start", False),
        (CRASHES_DIFFERS, "stopped", "stop", "stop define", False),
        (LEFT_OVER, "absent", "remove", "remove", False),
        (LEFT_OVER, "started", "create", "define start", False),
        (DISABLED, "started", "start", "start enable", False),
        (DISABLED, "present", "keep", "", False),
        (RUNS_DISABLED, "started", "enable", "enable", False),
        (RUNS_DISABLED, "restarted", "restart", "stop start enable", True),
    ],
)
def test_the_plan_of_each_state(found, state, action, steps, interrupts):
    plan = make_plan(WANTED, found, state)
    assert (plan.action, " ".join(plan.steps), plan.interrupts, plan.changed) == (action, steps, interrupts, bool(steps))


@pytest.mark.parametrize(
    ("found", "state", "before", "after"),
    [
        (Actual(), "started", {"state": "absent"}, {"state": "started", "spec": WANTED.public()}),
        (Actual(), "present", {"state": "absent"}, {"state": "stopped", "spec": WANTED.public()}),
        (RUNS, "stopped", {"state": "started", "spec": WANTED.public()}, {"state": "stopped", "spec": WANTED.public()}),
        (DIFFERS, "present", {"state": "started", "spec": OTHER.public()}, {"state": "started", "spec": WANTED.public()}),
        (RUNS, "absent", {"state": "started", "spec": WANTED.public()}, {"state": "absent"}),
        (actual(folder=True), "absent", {"state": "stopped", "spec": WANTED.public()}, {"state": "absent"}),
        (Actual(folder=True), "absent", {"state": "absent", "folder": WANTED.working_directory}, {"state": "absent"}),
        (Actual(), "absent", {"state": "absent"}, {"state": "absent"}),
        (Actual(defined=True), "absent", {"state": "stopped", "spec": {}}, {"state": "absent"}),
        (
            RUNS_DISABLED,
            "started",
            {"state": "started", "spec": WANTED.public(), "enabled": False},
            {"state": "started", "spec": WANTED.public(), "enabled": True},
        ),
    ],
)
def test_the_diff_shows_what_would_change(found, state, before, after):
    plan = make_plan(WANTED, found, state)
    assert (plan.before, plan.after) == (before, after)


@pytest.mark.parametrize(
    ("found", "reasons"),
    [
        (RUNS, []),
        (DIFFERS, ["argv: --max-model-len 256 -> --max-model-len 512"]),
        (actual(ROTATED, running=True), ["a secret changed"]),
        (UNFINISHED, ["the last launch did not finish"]),
        (actual(running=True, files_current=False), ["a service file is missing or not as this version of the collection writes it"]),
    ],
)
def test_why_an_engine_is_touched(found, reasons):
    assert differences(WANTED, found) == reasons
    assert list(make_plan(WANTED, found, "started").reasons) == reasons


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"args": {"enforce_eager": True}}, ["argv: (none) -> --enforce-eager"]),
        ({"host": "::1", "port": 8001}, ["argv: --host 127.0.0.1 --port 8000 -> --host ::1 --port 8001"]),
        (
            {"model": "/srv/models/two"},
            ["argv: /srv/models/tiny --served-model-name tiny -> /srv/models/two --served-model-name two"],
        ),
        (
            {"env": {"A": "1", "VLLM_CPU_KVCACHE_SPACE": "2"}},
            ["env: (A not set) VLLM_CPU_KVCACHE_SPACE=1 -> A=1 VLLM_CPU_KVCACHE_SPACE=2"],
        ),
        ({"api_key": KEY}, ['secrets: [] -> ["VLLM_API_KEY"]']),
        ({"user": "vllm", "stop_timeout": 5}, ["stop_seconds: 60 -> 5", "user: null -> vllm"]),
    ],
)
def test_what_differs_in_words_and_nothing_else(changes, words):
    assert differences(spec(**changes), actual(spec())) == words


def test_the_other_direction():
    assert differences(spec(), actual(spec(args={"enforce_eager": True}, env={"A": "1"}))) == [
        "argv: --enforce-eager -> (none)",
        "env: A=1 -> (A not set)",
    ]


def contained(**options):
    return spec(runtime="docker", api_key=KEY, container=dict({"image": "engine:1"}, **options))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, []),
        ({"image": "engine:2"}, ["container.image: engine:1 -> engine:2"]),
        ({"cpuset": "0-3"}, ["container.cpuset: null -> 0-3"]),
        ({"shm_bytes": 2 << 30}, ["container.shm_bytes: 1073741824 -> 2147483648"]),
        ({"mounts": ["/a"]}, ['container.mounts: (none) -> ["/a:/a:ro"]']),
        ({"cap_add": ["SYS_NICE"]}, ['container.cap_add: ["DAC_OVERRIDE"] -> (none)']),
        ({"entrypoint": []}, ["container.entrypoint: null -> []"]),
        ({"archive": "/x.tar", "docker_host": "unix:///y.sock"}, []),
    ],
)
def test_each_difference_of_a_container_is_named(options, words):
    wanted, found = contained(**options), actual(contained())
    assert differences(wanted, found) == words
    assert make_plan(wanted, found._replace(running=True), "started").interrupts is bool(words)


@pytest.mark.parametrize(
    ("before", "after", "word"), [(WANTED, contained(), "null -> engine:1"), (contained(), WANTED, "engine:1 -> null")]
)
def test_from_a_service_to_a_container_and_back(before, after, word):
    assert "container: " + word in differences(after, actual(before))


MOVED = "container.image: engine:1 is sha256:b now, and the container runs sha256:a"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"drift": (MOVED,)}, [MOVED]),
        ({"files_current": False}, ["the container or the file of its key is not as this version of the collection writes it"]),
    ],
)
def test_what_only_the_container_engine_sees_is_a_difference(changes, words):
    plan = make_plan(contained(), actual(contained(), running=True, **changes), "started")
    assert (plan.action, list(plan.reasons), plan.after["rewritten"]) == ("replace", words, words)
    assert consent(plan, False, False) is False


def test_a_service_without_a_record_differs_in_everything():
    words = differences(spec(), Actual(defined=True))
    assert [word.partition(":")[0] for word in words] == ["accelerator", "argv", "env", "secrets", "stop_seconds", "working_directory"]
    assert words[0] == "accelerator: null -> cpu"


@pytest.mark.parametrize("found", [actual(ROTATED), UNFINISHED, actual(files_current=False)])
def test_a_change_that_the_public_spec_does_not_show_is_still_in_the_diff(found):
    plan = make_plan(WANTED, found, "started")
    assert plan.before != plan.after
    assert plan.after["rewritten"] == list(plan.reasons)


def test_no_secret_is_in_a_plan():
    for found in (Actual(), RUNS, actual(ROTATED, running=True), DIFFERS):
        text = json.dumps(make_plan(WANTED, found, "started")._asdict())
        assert KEY not in text
        assert WANTED.digest() not in text


ASKED = (
    "the engine is running with another spec, and replacing it ends the requests in flight. Changed: {0}. Where: replace. What to do: "
    "Set vllm_engine_replace to true to replace it now, or to false to keep the running engine and go on."
)


@pytest.mark.parametrize(
    ("replace", "check_mode", "agreed"),
    [(True, False, True), (True, True, True), (False, False, False), (False, True, False), (None, True, True), (None, False, "asks")],
)
def test_consent_to_replace_a_running_engine(replace, check_mode, agreed):
    plan = make_plan(WANTED, DIFFERS, "started")
    if agreed == "asks":
        with pytest.raises(ConsentError) as caught:
            consent(plan, replace, check_mode)
        assert str(caught.value) == ASKED.format("; ".join(plan.reasons))
    else:
        assert consent(plan, replace, check_mode) is agreed


@pytest.mark.parametrize("replace", [True, False, None])
@pytest.mark.parametrize(
    ("found", "state"),
    [
        (Actual(), "started"),
        (RUNS, "started"),
        (RUNS, "restarted"),
        (RUNS, "stopped"),
        (RUNS, "absent"),
        (DIFFERS, "stopped"),
        (DIFFERS, "absent"),
        (DIFFERS_STOPPED, "started"),
        (UNFINISHED, "started"),
    ],
)
def test_everything_else_needs_no_consent(found, state, replace):
    assert consent(make_plan(WANTED, found, state), replace, False) is True


def test_a_plan_without_steps_changes_nothing():
    assert not Plan("keep", (), False, (), {}, {}).changed
    assert Plan("stop", ("stop",), True, (), {}, {}).changed


@pytest.mark.parametrize(
    ("found", "state", "before"),
    [
        (CRASHES, "stopped", {"state": "restarting", "spec": WANTED.public()}),
        (LEFT_OVER, "absent", {"state": "absent", "folder": WANTED.working_directory}),
    ],
)
def test_the_diff_shows_what_is_not_running_and_not_gone(found, state, before):
    plan = make_plan(WANTED, found, state)
    assert plan.before == before
    assert plan.after != before
