# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._container_podman import MARK, render_conf, runtimes_of
from ansible_collections.npufleet.ascend.plugins.module_utils._container_spec import RuntimeEntry
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.container_fakes import FakeHost


@pytest.fixture()
def host(tmp_path):
    return FakeHost(tmp_path)


def apply(host, **changes):
    return host.apply(engine="podman", **changes)


def test_the_drop_in():
    entries = [RuntimeEntry("a", "/bin/a"), RuntimeEntry("b-1.2", "/bin/b")]
    text = render_conf(entries, "a")
    assert text == MARK + '[engine]\nruntime = "a"\n\n[engine.runtimes]\na = ["/bin/a"]\nb-1.2 = ["/bin/b"]\n'
    assert runtimes_of(text) == entries
    assert render_conf([], None) == MARK + "[engine.runtimes]\n"
    assert runtimes_of(None) == []


def test_runtimes_come_stay_and_go(host):
    predicted = apply(host, check=True, runtimes={"ascend": host.program()})
    assert predicted["changed"] and host.text(host.podman_conf) is None
    done = apply(host, runtimes={"ascend": host.program()})
    assert (done["changed"], done["engine"]["version"], done["engine"]["running"]) == (True, "4.3.1", True)
    assert (done["engine"]["default_runtime"], done["engine"]["site_default_runtime"]) == ("crun", "crun")
    assert apply(host, runtimes={"ascend": host.program()})["changed"] is False
    apply(host, runtimes={"other": host.program("other")})
    assert [entry.name for entry in runtimes_of(host.text(host.podman_conf))] == ["ascend", "other"]
    assert apply(host)["changed"] is False
    assert (apply(host, state="absent")["changed"], host.text(host.podman_conf)) == (True, None)
    assert apply(host, state="absent")["changed"] is False
    assert host.verbs() == []


def test_the_default_runtime_changes_and_comes_back(host):
    done = apply(host, runtimes={"ascend": host.program()}, default_runtime="ascend")
    assert (done["engine"]["default_runtime"], done["engine"]["site_default_runtime"]) == ("ascend", "crun")
    back = apply(host, runtimes={"ascend": host.program()})
    assert (back["changed"], back["engine"]["default_runtime"]) == (True, "crun")
    assert 'runtime = "' not in host.text(host.podman_conf)


def test_a_runtime_that_podman_does_not_take(host):
    host.podman_broken = True
    with pytest.raises(NpufleetError, match=r'does not have the runtime ascend: Error: default OCI runtime "ascend" not found'):
        apply(host, runtimes={"ascend": host.program()})


def test_a_default_that_podman_does_not_take(host):
    task = host.task(engine="podman", runtimes={"ascend": host.program()}, default_runtime="ascend")
    task._adapter.act = lambda look, composed, action: host.write(host.podman_conf, render_conf([RuntimeEntry("ascend", "/x")], None))
    with pytest.raises(NpufleetError, match="does not have the runtime ascend: it uses crun"):
        task.execute(False)


def test_a_file_of_somebody_else_is_left_alone(host):
    host.write(host.podman_conf, "[engine]\n")
    for state in ("present", "absent"):
        with pytest.raises(NpufleetError, match="was not written by this collection"):
            apply(host, state=state)


def test_no_podman(host):
    host.tools.discard("podman")
    with pytest.raises(NpufleetError, match="Podman is not installed"):
        apply(host)
    assert apply(host, check=True, runtimes={"ascend": host.program()})["changed"]


def test_the_runtime_of_ascend_does_not_support_it(host):
    with pytest.raises(NpufleetError, match="does not support podman"):
        apply(host, runtimes={"ascend": host.program("ascend-docker-runtime")})


@pytest.mark.parametrize("answer", ["", "[]", "{}", '{"host": {"ociRuntime": {}}}'])
def test_an_answer_that_says_nothing(host, answer):
    host._podman = lambda words: (0, answer if "info" in words else "podman version 5.0\n", "")
    assert apply(host)["engine"]["default_runtime"] is None
