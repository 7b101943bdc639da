# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._container_due import (
    RELOADABLE,
    Daemon,
    describe,
    plan_due,
    remaining,
    restart_ends_containers,
    runtime_missing,
)
from ansible_collections.npufleet.ascend.plugins.module_utils._container_record import Record
from ansible_collections.npufleet.ascend.plugins.module_utils._container_spec import RuntimeEntry

ADR = RuntimeEntry("ascend", "/adr")
RUNS = {"DefaultRuntime": "runc", "LoggingDriver": "json-file", "LiveRestoreEnabled": False, "Debug": False, "Runtimes": {"runc": {}}}


def due(before, after, ours=(), entries=(), info=None, started=100.0, modified=50.0, record=None):
    daemon = Daemon(dict(RUNS, **(info or {})), "start1", started)
    return plan_due(before, after, set(ours), list(entries), daemon, record or Record(), modified)


@pytest.mark.parametrize(
    ("before", "after", "ours", "keys", "action"),
    [
        ({}, {}, (), (), "none"),
        ({}, {"labels": ["a=b"]}, ("labels",), ("labels",), "reload"),
        ({}, {"log-opts": {"a": "b"}}, ("log-opts",), ("log-opts",), "restart"),
        ({}, {"log-opts": {"a": "b"}, "labels": []}, (), ("labels", "log-opts"), "restart"),
        # What the daemon runs with already needs nothing, whether the file said so or not.
        ({}, {"log-driver": "json-file"}, ("log-driver",), (), "none"),
        ({"default-runtime": "ascend"}, {}, (), (), "none"),
        ({}, {"debug": True}, ("debug",), ("debug",), "reload"),
        ({}, {"data-root": "/data"}, ("data-root",), ("data-root",), "restart"),
    ],
)
def test_changes_of_the_file(before, after, ours, keys, action):
    plan = due(before, after, ours)
    assert (plan.keys, plan.action) == (keys, action)
    assert plan.waits == tuple(key for key in keys if key not in RELOADABLE)


LOGS = {"log-opts": {"max-size": "5m"}}


@pytest.mark.parametrize(
    ("started", "modified", "record", "keys"),
    [
        (100.0, 50.0, None, ()),  # started after the file was written
        (100.0, 100.0, None, ()),
        (100.0, None, None, ()),
        (100.0, 150.0, None, ("log-opts",)),  # written since
        (100.0, 150.0, Record(daemon="start1", values=LOGS), ()),  # and reloaded, or written without a change
        (100.0, 150.0, Record(daemon="start1", values={}), ("log-opts",)),
        (100.0, 150.0, Record(daemon="start1", values=None), ("log-opts",)),
        (100.0, 150.0, Record(daemon="start0", values=LOGS), ("log-opts",)),  # what another start read says nothing
    ],
)
def test_what_docker_info_does_not_show_is_known_by_times_and_record(started, modified, record, keys):
    assert due(LOGS, LOGS, LOGS, started=started, modified=modified, record=record).keys == keys


def test_settings_of_the_site_are_none_of_our_business():
    assert due({"mtu": 9}, {"mtu": 9}, ("debug",), modified=150.0).keys == ()
    assert due({"default-runtime": "site"}, {"default-runtime": "site"}).keys == ()


def test_a_default_runtime_that_an_installer_and_a_restart_brought_is_due():
    plan = due({"default-runtime": "site"}, {"default-runtime": "site"}, ("default-runtime",), info={"DefaultRuntime": "ascend"})
    assert (plan.keys, plan.action, plan.bridge) == (("default-runtime",), "reload", None)


KNOWN = {"Runtimes": {"ascend": {"path": "/adr", "runtimeArgs": []}}}
FILE = {"runtimes": {"ascend": {"path": "/adr"}}}


@pytest.mark.parametrize(
    ("before", "after", "entries", "info", "keys"),
    [
        ({}, FILE, [ADR], {}, ("runtimes",)),
        (FILE, FILE, [ADR], {}, ("runtimes",)),  # docker info lacks it although the file is old
        (FILE, FILE, [ADR], KNOWN, ()),
        (FILE, {}, [], KNOWN, ("runtimes",)),
        (FILE, {}, [], {}, ()),
        ({"runtimes": {"ascend": {"path": "/old"}}}, FILE, [ADR], {"Runtimes": {"ascend": {"path": "/old"}}}, ("runtimes",)),
        (FILE, {"runtimes": {"ascend": {"path": "/adr", "runtimeArgs": []}}}, [ADR], KNOWN, ()),
    ],
)
def test_runtimes_are_compared_with_docker_info(before, after, entries, info, keys):
    assert due(before, after, ("runtimes",) if entries else (), entries, info, modified=150.0).keys == keys


def test_a_key_that_goes_is_first_reloaded_as_what_holds_without_it():
    before = dict(FILE, **{"default-runtime": "ascend", "registry-mirrors": ["a"], "mtu": 9})
    plan = due(before, {"mtu": 9}, info=dict(KNOWN, DefaultRuntime="ascend"))
    assert (plan.action, plan.waits) == ("reload", ())
    assert plan.bridge == {"mtu": 9, "runtimes": {}, "default-runtime": "runc", "registry-mirrors": []}


def test_every_reloadable_setting_has_a_bridge():
    info = {"Debug": True, "LiveRestoreEnabled": True, "DefaultRuntime": "ascend", **KNOWN}
    plan = due(dict(dict.fromkeys(RELOADABLE, "x"), **FILE), {}, info=info)
    assert (plan.keys, plan.action, plan.bridge) == (tuple(sorted(RELOADABLE)), "reload", RELOADABLE)


def test_with_a_part_that_waits_the_rest_still_has_its_bridge():
    plan = due({"labels": ["a=b"]}, LOGS)
    assert (plan.action, plan.waits, plan.bridge) == ("restart", ("log-opts",), dict(LOGS, labels=[]))


@pytest.mark.parametrize(
    ("info", "keys", "after", "ends"),
    [
        ({"ContainersRunning": 0}, ("mtu",), {}, False),
        ({"ContainersRunning": 2}, ("mtu",), {}, True),
        ({"ContainersRunning": 2, "LiveRestoreEnabled": True}, ("mtu",), {"live-restore": True}, False),
        ({"ContainersRunning": 2, "LiveRestoreEnabled": True}, ("mtu",), {}, False),  # by an option of dockerd
        ({"ContainersRunning": 2, "LiveRestoreEnabled": True}, ("mtu", "live-restore"), {}, True),  # it starts without
        ({"ContainersRunning": 2, "LiveRestoreEnabled": True}, ("mtu",), {"live-restore": False}, True),
        ({"ContainersRunning": 2, "LiveRestoreEnabled": False}, ("live-restore", "mtu"), {"live-restore": True}, True),  # it stops without
        ({"ContainersRunning": 2, "LiveRestoreEnabled": True}, ("data-root",), {"live-restore": True}, True),
    ],
)
def test_whether_a_restart_ends_containers(info, keys, after, ends):
    assert restart_ends_containers(info, keys, after) is ends


@pytest.mark.parametrize(
    ("have", "args", "missing"),
    [
        (None, (), True),
        ({"path": "/adr"}, (), False),
        ({"path": "/adr", "runtimeArgs": None}, (), False),
        ({"path": "/other"}, (), True),
        ({"path": "/adr"}, ("-x",), True),
        ({"path": "/adr", "runtimeArgs": ["-x"]}, ("-x",), False),
    ],
)
def test_a_runtime_is_there_with_its_path_and_arguments(have, args, missing):
    assert runtime_missing({"Runtimes": {"ascend": have} if have else None}, RuntimeEntry("ascend", "/adr", args)) is missing


def test_what_is_left_after_an_action():
    assert remaining(dict(RUNS, **KNOWN), {}, ("default-runtime", "mtu"), [ADR]) == []
    left = remaining(RUNS, {"default-runtime": "ascend", "log-driver": "local"}, ("default-runtime", "log-driver", "debug"), [ADR])
    assert left == [
        "it does not know the runtime ascend (/adr)",
        "default-runtime is 'runc', not 'ascend'",
        "log-driver is 'json-file', not 'local'",
    ]


def test_settings_in_words():
    after = {"debug": True, "log-opts": {}, "default-runtime": "site"}
    assert describe(["debug", "default-runtime", "log-opts", "mtu"], after) == ["debug: True", "default-runtime: site", "log-opts", "mtu"]
