# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A play that is killed (SIGKILL) at any moment: the next run converges, and no installer was started that was not needed.

Moments are events on the server, never times. What is killed is the process group of ansible-playbook, whose workers then still finish what they
do; or all its processes; or those and what Ansible runs on the server; or the installer, too. Where nobody kills it, an installer goes on: that is
what it is a job for.
"""

from __future__ import annotations

import json
import typing as t

import pytest
from upgrade import EVERYTHING, PLAY

RECORDS = "/var/lib/npufleet/ascend_package/"
HDKS = ["26.0.rc1", "25.5.0"]
KINDS = ("driver", "firmware", "toolkit", "ops", "docker_runtime")
# Seconds that an installer takes: long enough to be killed in, or short enough to wait for.
KILLED_IN, WAITED_FOR = 60, 1
SHMMAX = "/proc/sys/kernel/shmmax"
TUNING = "/var/lib/npufleet/host_tuning.json"

Acts = t.List[t.Tuple[str, str]]


class Moment(t.NamedTuple):
    """
    When and how a play is killed.

    :param event: see watch_host.py
    :param whom: processes of this machine
    :param there: also what Ansible runs on the server
    :param installer: kind whose installer is killed, too
    :param power: by a server that loses its power
    """

    event: t.Dict[str, t.Any]
    whom: str = EVERYTHING
    there: bool = False
    installer: str = ""
    power: bool = False

    def acts(self, *plain: t.Tuple[str, str]) -> Acts:
        """What the two runs start together: each installer once, and the one that was killed anew."""
        return [act for one in plain for act in ([one, (one[0], "install")] if one[0] == self.installer else [one])]


def installer(event, kind, action):
    return {"event": event, "kind": kind, "action": action}


def holds(path, text):
    return {"path": path, "has": text}


DOWNLOAD = "the download has begun"
NO_DRIVER = {"gone": "/usr/local/Ascend/driver/version.info"}
HDK = {
    "the firmware's installer starts": Moment(installer("start", "firmware", "upgrade"), PLAY),
    "the driver's file is checked": Moment(installer("start", "driver", "check"), there=True),
    "the driver is half installed": Moment(NO_DRIVER, there=True, installer="driver"),
    "the power fails while the driver is installed": Moment(NO_DRIVER, installer="driver", power=True),
    "the driver's installer has ended": Moment(installer("end", "driver", "upgrade"), there=True),
    "the server reboots": Moment({"boot": True}),
}
CANN = {
    DOWNLOAD: Moment(holds("/var/lib/npufleet/packages/*.part", "standin"), there=True),
    "the toolkit's installer starts": Moment(installer("start", "toolkit", "install"), there=True, installer="toolkit"),
    "the operators are about to be installed": Moment(holds(RECORDS + "ops.json", '"phase": "begun"'), there=True),
    "the operators' installer starts": Moment(installer("start", "ops", "install")),
}
DOCKER = {
    "the runtime's installer starts": Moment(installer("start", "docker_runtime", "install"), PLAY),
    "daemon.json is written": Moment(holds("/etc/docker/daemon.json", '"max-concurrent-uploads": 7'), there=True),
    "Docker restarts": Moment({"gone": "/run/docker.pid"}, there=True),
}


@pytest.fixture
def interrupt(begin, watch, wait_for):
    """Begin a play and kill it at that moment. What the stand-ins were to do wrong ends with it."""

    def interrupt(server, moment, layer, **variables):
        server.fault(**{kind: {"slow": KILLED_IN if kind == moment.installer else WAITED_FOR} for kind in KINDS})
        play = begin(server, layer, **variables)
        frozen = watch(server, play, moment.event, freeze=moment.there, installer=bool(moment.installer) and not moment.power)
        assert not play.has_ended(), play.end().stdout
        play.kill(moment.whom)
        if frozen:
            server.sh("kill -9 {0} || true".format(" ".join(map(str, frozen))))
        if moment.power:
            server.lose_power()
        wait_for(server.is_up, 60)
        if moment.installer:
            server.note_killed()
        server.fault()

    return interrupt


def goes_on(done):
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", HDK)
def test_driver_and_firmware(ubuntu, interrupt, prepare, name):
    seen = ubuntu.acts()
    wanted = next(version for version in HDKS if version != ubuntu.driver()[0])
    options = {"ascend_driver_version": wanted, "ascend_driver_allow_downgrade": True}
    interrupt(ubuntu, HDK[name], "ascend_driver", **options)
    goes_on(prepare(ubuntu, "ascend_driver", **options))
    assert ubuntu.driver() == (wanted, True)
    assert "package_version={0}\n".format(wanted) in ubuntu.text("/usr/local/Ascend/firmware/version.info")
    assert ubuntu.acts()[len(seen) :] == HDK[name].acts(("firmware", "upgrade"), ("driver", "upgrade"))
    assert ubuntu.unfinished() == []


@pytest.mark.parametrize("name", CANN)
def test_cann(openeuler, store, interrupt, prepare, name):
    """Toolkit and operators are removed by hand, NNAL with its file; connections end early, so that its download takes seconds."""
    openeuler.sh("for script in /usr/local/Ascend/cann/*/script/*uninstall.sh; do $script || exit 1; done")
    openeuler.sh("rm -f /var/lib/npufleet/packages/*nnal_9* /usr/local/Ascend/nnal/atb/set_env.sh")
    if name == DOWNLOAD:
        store.fault(**{"*nnal*": {"cut_after": 10000}})
    acts, requests = openeuler.acts(), store.requests()
    interrupt(openeuler, CANN[name], "cann")
    begun = len(store.requests())
    store.fault()
    goes_on(prepare(openeuler, "cann"))
    assert openeuler.cann() == ("9.0.0", "9.0.0", "9.0.0")
    assert openeuler.acts()[len(acts) :] == CANN[name].acts(("toolkit", "install"), ("ops", "install"), ("nnal", "install"))
    assert openeuler.unfinished() == []
    # What was downloaded is not downloaded again.
    ranges = [line["range"] for line in store.requests()]
    assert ranges[len(requests)] is None and None not in ranges[len(requests) + 1 :]
    assert (len(ranges) > begun) == (name == DOWNLOAD)


@pytest.mark.parametrize("name", DOCKER)
def test_docker(openeuler, interrupt, prepare, name):
    """The value of one setting is another each time; a log level needs a restart."""
    number = list(DOCKER).index(name) + 6
    options = {"container_runtime_daemon_options": {"max-concurrent-uploads": number, "log-level": "warn" if number % 2 else "error"}}
    openeuler.sh("rm -f /usr/local/Ascend/Ascend-Docker-Runtime/ascend_docker_runtime_install.info")
    seen = openeuler.acts()
    interrupt(openeuler, DOCKER[name], "container_runtime", **options)
    goes_on(prepare(openeuler, "container_runtime", **options))
    info = json.loads(openeuler.sh("docker info --format '{{json .}}'"))
    assert (info["DefaultRuntime"], "ascend" in info["Runtimes"]) == ("site", True)
    assert json.loads(openeuler.text("/etc/docker/daemon.json"))["max-concurrent-uploads"] == number
    assert openeuler.acts()[len(seen) :] == [("docker_runtime", "install")]
    assert openeuler.unfinished() == []


def test_tuning(openeuler, interrupt, prepare):
    """What was found before the first change is known after the second run as well."""
    openeuler.sh("rm -f {0} && echo 33554432 >{1}".format(TUNING, SHMMAX))
    options = {"kunpeng_host_manage_packages": False}
    interrupt(openeuler, Moment(holds(TUNING, "shmmax"), there=True), "kunpeng_host", **options)
    goes_on(prepare(openeuler, "kunpeng_host", **options))
    assert openeuler.text(SHMMAX).strip() == "68719476736"
    assert "33554432" in openeuler.text(TUNING)
