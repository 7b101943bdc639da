# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What nobody wants by accident: an older version, and a driver that is replaced while something uses the NPUs."""

from __future__ import annotations

import pytest

OLDER = {"ascend_driver_version": "25.5.0", "ascend_driver_allow_downgrade": True}


def told(done):
    return " ".join(done.stdout.split())


def test_an_older_version_needs_consent(ubuntu, prepare):
    seen = ubuntu.executions()
    refused = prepare(ubuntu, "cann", cann_version="8.5.0")
    assert refused.returncode != 0
    assert "CANN toolkit 9.0.0 is installed, which is newer than the 8.5.0 that is wanted" in told(refused)
    assert "set allow_downgrade to true" in told(refused)
    assert ubuntu.executions() == seen

    done = prepare(ubuntu, "cann", cann_version="8.5.0", cann_allow_downgrade=True)
    assert done.returncode == 0, done.stdout
    assert ubuntu.cann() == ("8.5.0", "8.5.0", "8.5.0")

    back = prepare(ubuntu, "cann")
    assert back.returncode == 0, back.stdout
    assert ubuntu.cann() == ("9.0.0", "9.0.0", "9.0.0")


@pytest.fixture
def process(ubuntu):
    """A process that has an NPU open; the simulated node only lets itself be opened with O_PATH."""
    holder = "import os, time; node = os.open('/dev/davinci0', os.O_PATH); time.sleep(600)"
    pid = ubuntu.sh('python3 -c "{0}" </dev/null >/dev/null 2>&1 & echo $!'.format(holder))
    yield pid
    ubuntu.sh("kill " + pid)


@pytest.fixture
def container(ubuntu):
    """A container that was given an NPU."""
    ubuntu.sh("tar -chP /usr/bin/sleep $(ldd /usr/bin/sleep | grep -o '/[^ ]*') | docker import - box:1")
    ubuntu.sh("docker run --detach --name serving --device /dev/davinci0 --runtime runc --network none box:1 /usr/bin/sleep 600")
    yield "serving"
    ubuntu.sh("docker rm --force serving")


def test_who_uses_the_npus_is_named_and_nothing_is_executed(ubuntu, prepare, process, container):
    seen = ubuntu.executions()
    refused = prepare(ubuntu, "ascend_driver", **OLDER)
    assert refused.returncode != 0
    assert "the NPUs are in use by process {0} (python3) with /dev/davinci0; the container {1}".format(process, container) in told(refused)
    assert ubuntu.executions() == seen
