# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._container_toml import BEGIN, read_dump
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.container_fakes import FakeHost

DEBIAN = """\
version = 2

[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "/usr/lib/cni" # as the package wrote it
"""
IMPORTS = 'version = 3\nimports = ["/etc/containerd/conf.d/*.toml"]\n'


@pytest.fixture()
def host(tmp_path):
    return FakeHost(tmp_path)


def adr(host):
    return {"ascend": host.program()}


def apply(host, **changes):
    return host.apply(engine="containerd", **changes)


def test_a_block_at_the_end_of_the_file(host):
    host.write(host.main, DEBIAN)
    host.started["containerd.service"] = host.time
    wanted = {"runtimes": adr(host)}
    predicted = apply(host, check=True, **wanted)
    assert host.text(host.main) == DEBIAN
    done = apply(host, **wanted)
    text = host.text(host.main)
    assert text.startswith(DEBIAN + "\n" + BEGIN) and predicted["diff"]["after"].startswith(text.rstrip("\n"))
    assert (host.verbs(), done["engine"]["action"], done["engine"]["version"]) == (["restart containerd.service"], "restart", "1.6.20~ds1")
    assert (done["engine"]["runtimes"], done["engine"]["site_default_runtime"]) == (["ascend", "runc"], "runc")
    assert read_dump(text).runtimes["ascend"].systemd_cgroup
    again = apply(host, **wanted)
    assert (again["changed"], host.verbs()) == (False, [])
    gone = apply(host, state="absent")
    assert (gone["changed"], host.text(host.main), host.verbs()) == (True, DEBIAN, ["restart containerd.service"])
    assert apply(host, state="absent")["changed"] is False


def test_without_a_file_one_is_made_and_goes_again(host):
    apply(host, runtimes=adr(host))
    assert host.text(host.main).startswith("version = 2\n\n" + BEGIN)
    assert apply(host, runtimes=adr(host))["changed"] is False
    apply(host, state="absent")
    assert host.text(host.main) is None


def test_earlier_runtimes_stay(host):
    apply(host, runtimes=adr(host))
    apply(host, runtimes={"crun": host.program("crun")})
    assert set(read_dump(host.text(host.main)).runtimes) == {"runc", "ascend", "crun"}
    assert apply(host)["changed"] is False


@pytest.mark.parametrize(("version", "text"), [("2.1.4", IMPORTS), ("2.2.0", None)])
def test_a_drop_in_where_such_files_are_merged(host, version, text):
    host.containerd_version = version
    if text:
        host.write(host.main, text)
        host.started["containerd.service"] = host.time
    done = apply(host, runtimes=adr(host))
    path = host.folder + "/containerd/conf.d/npufleet.toml"
    assert (done["engine"]["config_path"], host.text(host.main)) == (path, text)
    assert host.text(path).startswith("version = 3\n[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]")
    assert apply(host, runtimes=adr(host))["changed"] is False
    assert apply(host, state="absent")["changed"]
    assert host.text(path) is None


def test_containerd_2_without_imports_gets_a_block(host):
    host.containerd_version = "2.0.5"
    apply(host, runtimes=adr(host))
    assert host.text(host.main).startswith("version = 3\n\n" + BEGIN)


def test_a_runtime_that_somebody_else_defined(host):
    table = '[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.ascend]\n[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.ascend.options]\n'
    host.write(host.main, "version = 2\n" + table + '  BinaryName = "{0}"\n'.format(host.program()))
    assert apply(host, runtimes=adr(host))["changed"] is False
    with pytest.raises(NpufleetError, match="is there already, with the program"):
        apply(host, runtimes={"ascend": host.program("other")})


def test_cri_that_is_switched_off_reads_no_runtimes(host):
    host.write(host.main, 'disabled_plugins = ["cri"]\n')
    done = apply(host, runtimes=adr(host))
    assert not done["changed"] and "nerdctl run --runtime" in done["warnings"][0]


def test_a_file_that_containerd_refuses(host):
    host.write(host.main, "version = 2\n!\n")
    with pytest.raises(NpufleetError, match=r"containerd refuses its settings: containerd: failed to load TOML"):
        apply(host, runtimes=adr(host))


def test_a_result_that_loses_a_runtime_is_refused(host, monkeypatch):
    monkeypatch.setattr(
        "ansible_collections.npufleet.ascend.plugins.module_utils._container_containerd.tables",
        lambda *_arguments: "[plugins.cri.containerd.runtimes.other]\n",
    )
    host.write(host.main, DEBIAN)
    with pytest.raises(NpufleetError, match="would not have the runtime ascend, runc"):
        apply(host, runtimes=adr(host))
    assert host.text(host.main) == DEBIAN and host.verbs() == []


def test_a_program_that_changed(host):
    apply(host, runtimes=adr(host))
    apply(host, runtimes={"ascend": host.program("other")})
    assert read_dump(host.text(host.main)).runtimes["ascend"].program == host.folder + "/other"


def test_containers_of_a_unit_that_ends_them(host):
    host.kill_mode = "control-group"
    host.tasks = {"k8s.io": ["pod1"], "default": []}
    with pytest.raises(NpufleetError, match=r"containerd has to be restarted \(runtimes\).*: k8s\.io/pod1"):
        apply(host, runtimes=adr(host))
    waits = apply(host, runtimes=adr(host), restart=False)
    assert (waits["changed"], host.verbs(), waits["engine"]["pending"]) == (True, [], ["runtimes"])
    assert apply(host, runtimes=adr(host), restart=False)["engine"]["pending"] == ["runtimes"]
    assert apply(host, runtimes=adr(host), restart=True)["engine"]["action"] == "restart"
    assert apply(host, runtimes=adr(host))["changed"] is False


def test_a_docker_that_is_restarted_with_it(host):
    host.dependents = "docker.service"
    host.containers = {"serving": "runc"}
    with pytest.raises(NpufleetError, match="running containers: serving"):
        apply(host, runtimes=adr(host))
    host.running["docker.service"] = False
    assert apply(host, runtimes=adr(host))["changed"]


def test_a_file_written_since_the_start_is_read_by_a_restart(host):
    apply(host, runtimes=adr(host))
    host.starts += 1  # another start of the daemon, of which the record knows nothing
    host.write(host.main, host.text(host.main) + "# touched\n")
    assert apply(host, runtimes=adr(host))["engine"]["action"] == "restart"


def test_a_containerd_that_is_stopped(host):
    host.running["containerd.service"] = False
    assert apply(host, runtimes=adr(host))["engine"]["action"] == "start"


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda host: host.tools.discard("containerd"), "is not installed"),
        (lambda host: setattr(host, "known_unit", False), "systemd knows no"),
    ],
)
def test_no_containerd(host, spoil, words):
    spoil(host)
    with pytest.raises(NpufleetError, match=words):
        apply(host, runtimes=adr(host))


def test_a_first_run_in_check_mode(host):
    host.tools.discard("containerd")
    predicted = apply(host, check=True, runtimes=adr(host))
    assert (predicted["changed"], predicted["engine"]["missing"]) == (True, "containerd is not installed")


def test_a_containerd_that_ends_at_once(host):
    task = host.task(engine="containerd", runtimes=adr(host))
    begin = task._adapter.begin

    def dies(composed, action):
        begin(composed, action)
        host.running["containerd.service"] = False

    task._adapter.begin = dies
    with pytest.raises(NpufleetError, match="containerd does not run"):
        task.execute(False)


def test_the_version_is_compared_with_what_the_vendor_supports(host):
    host.containerd_version = "2.1.9"
    assert "is newer" in apply(host, runtimes={"ascend": host.program("ascend-docker-runtime")})["warnings"][0]
