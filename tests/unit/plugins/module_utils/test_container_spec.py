# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._container_spec import RuntimeEntry, wanted_of
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError

PARAMS = {
    "engine": "docker",
    "state": "present",
    "runtimes": {},
    "default_runtime": None,
    "daemon_options": {},
    "daemon_defaults": {},
    "restart": None,
    "config_path": None,
    "record_folder": "/records",
    "wait_timeout": 60,
}


def spec(**changes):
    return wanted_of(dict(PARAMS, **changes))


def test_what_is_wanted():
    wanted = spec(
        runtimes={"b": "/usr/bin/b", "a": {"path": "/usr/bin/ascend-docker-runtime", "args": ["--x"]}},
        default_runtime="",
        daemon_options={"log-opts": {"max-file": 3, "compress": True}, "debug": None, "shutdown-timeout": 20, "someday": object},
        restart=False,
    )
    assert wanted.runtimes == (RuntimeEntry("a", "/usr/bin/ascend-docker-runtime", ("--x",)), RuntimeEntry("b", "/usr/bin/b"))
    assert [entry.is_adr for entry in wanted.runtimes] == [True, False]
    assert wanted.options == {"log-opts": {"max-file": "3", "compress": "true"}, "shutdown-timeout": 20, "someday": object}
    assert (wanted.default_runtime, wanted.restart, wanted.timeout) == (None, False, 60.0)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"runtimes": {"a b": "/x"}}, "'a b' is no name of a runtime"),
        ({"runtimes": {"runc": "/usr/bin/runc"}}, "the name runc belongs to the engine"),
        ({"runtimes": {"a": None}}, "the runtime a needs a path"),
        ({"runtimes": {"a": {"path": "/x", "arg": []}}}, "the runtime a needs a path"),
        ({"runtimes": {"a": {"args": []}}}, "the runtime a needs a path"),
        ({"runtimes": {"a": {"path": "/x", "args": "--x"}}}, "args of the runtime a"),
        ({"runtimes": {"a": {"path": "/x", "args": [1]}}}, "args of the runtime a"),
        ({"runtimes": {"a": "bin/x"}}, "'bin/x' is no absolute path"),
        ({"runtimes": {"a": '/bin/"x'}}, "is no absolute path"),
        ({"daemon_options": {"runtimes": {}}}, "Use runtimes"),
        ({"daemon_defaults": {"default-runtime": "a"}}, "Use default_runtime"),
        ({"daemon_options": {"log-opts": []}}, "log-opts must be a mapping, not []"),
        ({"daemon_options": {"debug": "yes"}}, "debug must be true or false, not 'yes'"),
        ({"daemon_options": {"shutdown-timeout": True}}, "shutdown-timeout must be a whole number, not True"),
        ({"daemon_options": {"registry-mirrors": "https://x.example.com"}}, "registry-mirrors must be a list"),
        ({"daemon_options": {"data-root": 1}}, "data-root must be a text"),
        ({"engine": "podman", "daemon_options": {"debug": True}}, "daemon_options is for Docker alone"),
        ({"engine": "containerd", "daemon_defaults": {"debug": True}}, "daemon_defaults is for Docker alone"),
        ({"engine": "containerd", "default_runtime": "a"}, "default runtime of containerd is not changed"),
        ({"engine": "containerd", "runtimes": {"a": {"path": "/x", "args": ["-v"]}}}, "containerd gives no arguments"),
    ],
)
def test_what_cannot_be_is_one_message(changes, words):
    with pytest.raises(NpufleetError) as caught:
        spec(**changes)
    assert words in str(caught.value) and "What to do: " in str(caught.value)
