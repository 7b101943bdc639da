# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
import stat

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._clock import Clock
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_docker_client import Docker
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_docker_render import LABEL_ENGINE, LABEL_SPEC
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_spec import build_spec
from ansible_collections.npufleet.ascend.plugins.module_utils._runtime_docker import LOAD_SECONDS, DockerRuntime
from ansible_collections.npufleet.ascend.plugins.module_utils._service import RuntimeAdapterError, ServiceState
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.docker_fakes import ID, IMAGE, OTHER_ID, ApiError, FakeDocker
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.engine_fakes import KEY, params

NAME = "npufleet-engine-demo"


class Host:
    """A host with a container engine in memory, a model and the files of a driver."""

    def __init__(self, folder):
        self.folder = folder
        self.fake = FakeDocker()
        self.time = 1000.0
        self.runtime = DockerRuntime(Docker("unix:///x.sock", lambda _docker_host: self.fake), Clock(lambda: self.time, self.sleep))
        for name in ("model", "root/usr/local/Ascend/driver", "root/etc", "dev"):
            (folder / name).mkdir(parents=True)
        for name in ("root/etc/ascend_install.info", "dev/davinci4", "dev/davinci_manager"):
            (folder / name).write_text("")

    def sleep(self, seconds):
        self.time += seconds

    def spec(self, **changes):
        container = dict({"image": IMAGE}, **changes.pop("container", {}))
        home, model = str(self.folder / "home"), str(self.folder / "model")
        return build_spec(params(runtime="docker", venv=None, home=home, model=model, container=container, **changes), os.path.exists)

    def npu(self, **container):
        nodes = ["{0}/{1}:/dev/{1}".format(self.folder / "dev", name) for name in ("davinci4", "davinci_manager")]
        options = {"devices": nodes[:1], "control_devices": nodes[1:], "driver_root": str(self.folder / "root")}
        return self.spec(accelerator="ascend", container=dict(options, **container))

    def run(self, spec):
        os.makedirs(spec.working_directory, exist_ok=True)
        self.runtime.define(spec)
        self.runtime.start(spec)
        return self.runtime.inspect(spec)

    def found(self):
        return self.fake.containers[NAME]


@pytest.fixture()
def host(tmp_path):
    return Host(tmp_path)


def test_from_nothing_to_running_and_back(host):
    spec = host.spec(api_key=KEY)
    assert host.runtime.inspect(spec) == ServiceState(detail="there is no container npufleet-engine-demo")
    assert not host.runtime.as_written(spec)
    assert host.runtime.drift(spec) == []
    assert host.run(spec) == ServiceState(True, True, True, 42, "running")
    assert host.runtime.as_written(spec)
    key = spec.working_directory + "/secret.key"
    with open(key, encoding="utf-8") as stream:
        assert stream.read() == KEY
    assert stat.S_IMODE(os.stat(key).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(spec.working_directory + "/work").st_mode) == 0o700
    host.runtime.stop(spec)
    assert host.runtime.inspect(spec) == ServiceState(True, False, True, 0, "exited, exit code 0")
    host.runtime.remove(spec)
    assert host.fake.containers == {}
    # Again, where nothing is.
    host.runtime.stop(spec)
    host.runtime.remove(spec)


@pytest.mark.parametrize(
    ("state", "wanted"),
    [
        ({"Status": "running", "Running": True, "Pid": 7}, ServiceState(True, True, True, 7, "running")),
        # Between two starts Docker says that it runs, without a process.
        (
            {"Status": "restarting", "Running": True, "Restarting": True, "Pid": 0},
            ServiceState(True, False, True, 0, "restarting", True),
        ),
        (
            {"Status": "exited", "Running": False, "Pid": 0, "ExitCode": 137, "OOMKilled": True},
            ServiceState(True, False, True, 0, "exited, exit code 137, the kernel killed it for want of memory"),
        ),
        (
            {"Status": "created", "Running": False, "Pid": 0, "ExitCode": 128, "Error": "no such device"},
            ServiceState(True, False, True, 0, "created, exit code 128, no such device"),
        ),
        ({}, ServiceState(True, False, True, 0, "unknown, exit code None")),
    ],
)
def test_what_the_engine_says_of_a_container(host, state, wanted):
    spec = host.spec()
    host.run(spec)
    host.found()["State"] = state
    assert host.runtime.inspect(spec) == wanted


def test_a_restart_policy_that_somebody_changed_is_given_back(host):
    spec = host.spec()
    host.run(spec)
    host.found()["HostConfig"]["RestartPolicy"] = {"Name": "", "MaximumRetryCount": 0}
    assert host.runtime.inspect(spec).enabled is False
    host.runtime.enable(spec)
    assert host.runtime.inspect(spec).enabled is True
    never = host.spec(container={"restart": "no"})
    assert host.run(never).enabled is True


def move_tag(host):
    host.fake.images[IMAGE] = OTHER_ID


def update_cpus(host):
    host.found()["HostConfig"]["CpusetCpus"] = "0"


def remove_image(host):
    del host.fake.images[IMAGE]


MOVED = "container.image: {0} is {1} now, and the container runs {2}".format(IMAGE, OTHER_ID[:19], ID[:19])


@pytest.mark.parametrize(
    ("event", "changes", "words"),
    [
        (lambda host: None, {}, []),
        (move_tag, {}, [MOVED]),
        # Another image was asked for, which the spec itself says.
        (move_tag, {"container": {"image": "other"}}, []),
        (remove_image, {}, []),
        (update_cpus, {}, ["container.cpuset: 0 -> None, as somebody changed it"]),
        (update_cpus, {"container": {"cpuset": "1"}}, []),
    ],
)
def test_what_only_the_engine_sees(host, event, changes, words):
    host.run(host.spec())
    event(host)
    wanted = host.spec(**changes)
    host.runtime.inspect(wanted)
    assert host.runtime.drift(wanted) == words


@pytest.mark.parametrize("damage", ["label", "labels", "key"])
def test_a_container_that_is_not_as_written(host, damage):
    spec = host.spec(api_key=KEY)
    host.run(spec)
    assert host.runtime.as_written(spec)
    if damage == "label":
        host.found()["Config"]["Labels"][LABEL_SPEC] = "another"
    elif damage == "labels":
        host.runtime._found["Config"]["Labels"] = None
    else:
        os.unlink(spec.working_directory + "/secret.key")
    assert not host.runtime.as_written(spec)


def test_a_replaced_container_is_kept_until_its_successor_is_made(host):
    old = host.spec()
    host.run(old)
    first = host.found()["Id"]
    host.runtime.stop(old)
    new = host.spec(container={"shm_bytes": 1 << 30, "cpuset": "0"})
    host.fake.refuse["create"] = ApiError(400, "bind source path does not exist: /x")
    with pytest.raises(RuntimeAdapterError, match="bind source path does not exist"):
        host.runtime.define(new)
    assert (host.found()["Id"], list(host.fake.containers)) == (first, [NAME])
    del host.fake.refuse["create"]
    host.runtime.define(new)
    assert host.found()["Id"] != first
    assert list(host.fake.containers) == [NAME]


def test_a_first_container_that_is_refused_leaves_none(host):
    spec = host.spec()
    os.makedirs(spec.working_directory)
    host.fake.refuse["create"] = ApiError(400, "no")
    with pytest.raises(RuntimeAdapterError):
        host.runtime.define(spec)
    assert host.fake.did("rename") == []


def test_what_an_interrupted_replacement_left_goes_with_the_next(host):
    spec = host.spec()
    host.run(spec)
    host.fake.rename(host.found()["Id"], NAME + "-replaced")
    assert host.run(spec).running
    assert list(host.fake.containers) == [NAME]
    host.fake.rename(host.found()["Id"], NAME + "-replaced")
    host.runtime.remove(spec)
    assert host.fake.containers == {}


def test_a_key_that_is_not_wanted_any_more_is_deleted(host):
    with_key = host.spec(api_key=KEY)
    host.run(with_key)
    host.run(host.spec())
    assert not os.path.exists(with_key.working_directory + "/secret.key")


@pytest.mark.parametrize("labels", [None, {}, {LABEL_ENGINE: "/another/home/engines/demo"}])
def test_a_container_of_somebody_else_is_left_alone(host, labels):
    spec = host.spec()
    host.run(spec)
    host.found()["Config"]["Labels"] = labels
    for verb in (host.runtime.inspect, host.runtime.define, host.runtime.remove):
        with pytest.raises(RuntimeAdapterError, match="that is not this engine's"):
            verb(spec)
    assert host.fake.did("remove", "rename") == []


@pytest.mark.parametrize(
    ("network", "running", "bindings", "holds"),
    [
        ("bridge", True, {"8000/tcp": [{"HostIp": "127.0.0.1", "HostPort": "8000"}]}, True),
        ("bridge", False, {"8000/tcp": [{"HostIp": "127.0.0.1", "HostPort": "8000"}]}, False),
        ("bridge", True, {"8000/tcp": [{"HostIp": "127.0.0.1", "HostPort": "8001"}]}, False),
        ("bridge", True, {"8000/tcp": None}, False),
        ("host", True, None, False),
    ],
)
def test_who_holds_the_port(host, network, running, bindings, holds):
    spec = host.spec(container={"network": network})
    assert not host.runtime.holds_port(spec)
    host.run(spec)
    host.found()["HostConfig"]["PortBindings"] = bindings
    host.found()["State"]["Running"] = running
    host.runtime.inspect(spec)
    assert host.runtime.holds_port(spec) is holds


def test_nothing_is_missing(host):
    host.fake.networks.add("fleet")
    host.fake.runtimes["ascend"] = {}
    host.runtime.check(host.spec(api_key=KEY, container={"network": "fleet"}))
    host.runtime.check(host.npu())
    host.runtime.check(
        host.spec(accelerator="ascend", env={"ASCEND_VISIBLE_DEVICES": "4"}, container={"oci_runtime": "ascend"}),
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"image": "other"}, "the image other is not on this host"),
        ({"image": "other", "archive": "/no/such.tar"}, "Where: /no/such.tar"),
        ({"network": "fleet"}, "there is no network fleet"),
        ({"control_devices": []}, "gets no /dev/davinci_manager"),
        ({"devices": ["/dev/no-such:/dev/davinci0"]}, "/dev/no-such does not exist"),
        ({"driver_root": "/no/such"}, "/no/such/usr/local/Ascend/driver, /no/such/etc/ascend_install.info does not exist"),
        ({"mounts": ["/no/such/mount"]}, "/no/such/mount does not exist"),
    ],
)
def test_what_is_missing_is_named_before_anything_is_touched(host, options, words):
    with pytest.raises(RuntimeAdapterError) as caught:
        host.runtime.check(host.npu(**options))
    assert words in str(caught.value)
    assert host.fake.did("create", "start", "stop", "remove", "rename") == []


def test_a_runtime_that_the_engine_does_not_know(host):
    spec = host.spec(accelerator="ascend", env={"ASCEND_VISIBLE_DEVICES": "4"}, container={"oci_runtime": "ascend"})
    with pytest.raises(RuntimeAdapterError, match="knows no runtime ascend"):
        host.runtime.check(spec)
    host.fake.runtimes = None
    with pytest.raises(RuntimeAdapterError, match="knows no runtime ascend"):
        host.runtime.check(spec)


def test_an_image_comes_from_its_archive_once(host):
    archive = host.folder / "engine.tar"
    archive.write_bytes(b"tar")
    host.fake.archives[b"tar"] = ("new", "")
    spec = host.spec(container={"image": "new", "archive": str(archive)})
    host.runtime.check(spec)
    assert host.fake.did("load_image") == []
    host.runtime.prepare(spec)
    host.runtime.prepare(spec)
    assert (len(host.fake.did("load_image")), host.fake.timeouts) == (1, [LOAD_SECONDS])
    assert host.run(spec).running


def test_an_archive_of_another_image_is_named(host):
    archive = host.folder / "engine.tar"
    archive.write_bytes(b"tar")
    host.fake.archives[b"tar"] = ("other", "")
    with pytest.raises(RuntimeAdapterError, match="holds another image than new"):
        host.runtime.prepare(host.spec(container={"image": "new", "archive": str(archive)}))


def test_an_image_that_is_there_or_nowhere_is_not_loaded(host):
    host.runtime.prepare(host.spec())
    host.runtime.prepare(host.spec(container={"image": "nowhere"}))
    assert host.fake.did("load_image") == []


LOG = b"""\
2026-12-01T00:16:39.999999999Z before
2026-12-01T00:16:40.500000000Z first
2026-12-01T00:16:41Z
a line without a time
2026-12-01T00:16:42.1Z last \xff
"""


@pytest.mark.parametrize(
    ("mark", "limit", "lines", "since"),
    [
        ("1796084200.250000", 10, ["first", "", "a line without a time", "last \ufffd"], 1796084200),
        ("1796084200.750000", 10, ["", "a line without a time", "last \ufffd"], 1796084200),
        ("1796084200.250000", 1, ["last \ufffd"], 1796084200),
        ("", 10, ["before", "first", "", "a line without a time", "last \ufffd"], None),
    ],
)
def test_the_log_since_a_mark(host, mark, limit, lines, since):
    spec = host.spec()
    host.run(spec)
    host.fake.log = LOG
    assert host.runtime.logs(spec, mark, limit) == lines
    options = host.fake.did("logs")[0][2]
    assert (options["tail"], options["timestamps"], options.get("since")) == (limit, True, since)


def test_a_container_that_is_gone_has_no_log(host):
    host.time = 1796084200.25
    assert host.runtime.log_mark(host.spec()) == "1796084200.250000"
    assert host.runtime.logs(host.spec(), "1", 10) == []


def test_a_stop_waits_as_long_as_the_engine_may_take(host):
    spec = host.spec(stop_timeout=7)
    host.run(spec)
    host.runtime.stop(spec)
    assert host.fake.did("stop") == [("stop", NAME, 7)]


def test_files_that_somebody_else_than_root_cannot_remove(host, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert host.runtime.doubts(host.spec()) == []
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "home/engines/demo/work may belong to root" in host.runtime.doubts(host.spec())[0]


class PodmanStates:
    """Podman starts a container that has died again, although it was told to stop it before it had looked at the restart policy."""

    def __init__(self, fake, *states):
        self.fake, self.states = fake, list(states)

    def __call__(self, name, timeout):
        self.fake.calls.append(("stop", name, timeout))
        status = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        self.fake.containers[name]["State"].update(Status=status, Running=status == "running", Pid=7 if status == "running" else 0)


def test_a_container_that_podman_was_about_to_start_again_is_stopped_again(host):
    spec = host.spec()
    host.run(spec)
    host.fake.stop = PodmanStates(host.fake, "stopped", "running", "exited")
    host.runtime.stop(spec)
    assert len(host.fake.did("stop")) == 3
    assert host.found()["State"]["Status"] == "exited"


def test_a_container_that_does_not_stay_stopped_is_an_error_in_time(host):
    spec = host.spec(stop_timeout=7)
    host.run(spec)
    host.fake.stop = PodmanStates(host.fake, "running")
    began = host.time
    with pytest.raises(RuntimeAdapterError, match="does not stay stopped"):
        host.runtime.stop(spec)
    assert 27 <= host.time - began < 28


@pytest.mark.parametrize("shown", [IMAGE, "docker.io/" + IMAGE, "docker.io/library/" + IMAGE, "localhost/" + IMAGE])
def test_a_tag_that_moved_is_seen_under_the_name_that_podman_gives_it(host, shown):
    spec = host.spec()
    host.run(spec)
    host.found()["Config"]["Image"] = shown
    host.fake.images[IMAGE] = OTHER_ID
    host.runtime.inspect(spec)
    assert "is sha256:bbbbbbbbbbbb now" in host.runtime.drift(spec)[0]


def test_a_line_of_the_second_of_the_launch_counts_where_stamps_have_whole_seconds(host):
    spec = host.spec()
    host.run(spec)
    host.fake.log = b"2026-12-01T00:00:04Z before\n2026-12-01T00:00:05Z launched\n"
    assert host.runtime.logs(spec, "1796083205.750000", 10) == ["launched"]
