# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Hosts that had everything went to newer versions: in which order, what runs now, and what of the site is still as it was."""

from __future__ import annotations

import json
import os

from upgrade import foretold

FIRST = [
    ("driver", "install"),
    ("firmware", "install"),
    ("docker_runtime", "install"),
    ("toolkit", "install"),
    ("ops", "install"),
    ("nnal", "install"),
]
# The toolkit brings another tree, and in that there were no operators yet.
THEN = [
    ("firmware", "upgrade"),
    ("driver", "upgrade"),
    ("docker_runtime", "upgrade"),
    ("toolkit", "upgrade"),
    ("ops", "install"),
    ("nnal", "upgrade"),
]
# Which firmware belongs to an HDK is told by a file that the host did not have yet.
DIFFERENCE = """\
-driver 25.5.0
-firmware 7.8.0.5.220
+driver 26.0.rc1
+firmware of HDK 26.0.rc1
-docker_runtime 26.0.0
+docker_runtime 26.1.0
-toolkit 8.5.0
-ops 8.5.0
-nnal 8.5.0
+toolkit 9.0.0
+ops 9.0.0
+nnal 9.0.0
"""


def test_check_mode_said_which_versions_would_change(server):
    with open(os.path.join(os.environ["MOLECULE_EPHEMERAL_DIRECTORY"], "ansible.log"), encoding="utf-8") as log:
        assert foretold(log.read())[server.name] == DIFFERENCE.splitlines()


def test_every_package_was_replaced_once_the_firmware_before_the_driver(server):
    """Check mode came before, and a run that had nothing to do came after. Where these tests have run before, they left faults.json, and more acts."""
    acts = server.acts()
    assert (acts[: len(FIRST + THEN)] if server.exists("/etc/standin-packages/faults.json") else acts) == FIRST + THEN


def test_the_driver_asked_for_a_reboot_and_got_it(server):
    """The stand-in ends with 2, and only a boot makes what is on the disk the version that runs."""
    assert server.ends("driver", "upgrade")[0] == 2
    assert server.driver() == ("26.0.rc1", True)


def test_the_firmware_is_that_of_the_driver(server):
    assert "package_version=26.0.rc1\n" in server.text("/usr/local/Ascend/firmware/version.info")
    assert json.loads(server.text("/etc/npu-simulator/state.json"))["firmware_version"] == "8.0.0.1.220"


def test_cann_is_the_new_one(server):
    assert server.cann() == ("9.0.0", "9.0.0", "9.0.0")


def test_the_runtime_that_asks_for_its_licence_is_there(server):
    assert "version=v26.1.0\n" in server.text("/usr/local/Ascend/Ascend-Docker-Runtime/ascend_docker_runtime_install.info")
    log = server.text("/var/lib/npufleet/ascend_package/jobs/docker_runtime/job.log")
    assert (log.count("Do you accept the EULA"), log.count("user accepted EULA")) == (1, 1)


def test_docker_has_what_the_site_configured(server):
    daemon = json.loads(server.text("/etc/docker/daemon.json"))
    assert daemon["runtimes"]["site"] == {"path": "/usr/local/bin/site-runtime"}
    assert (daemon["default-runtime"], daemon["max-concurrent-downloads"]) == ("site", 5)
    assert daemon["registry-mirrors"] == ["https://mirror.example.com"]


def test_docker_runs_with_it(server):
    info = json.loads(server.sh("docker info --format '{{json .}}'"))
    assert info["DefaultRuntime"] == "site"
    assert {"ascend", "site"} <= set(info["Runtimes"])
    assert info["RegistryConfig"]["Mirrors"] == ["https://mirror.example.com/"]
