# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Which service manager or container engine runs an engine on this host."""

from __future__ import annotations

import os
import pwd
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._command import Runner, find_tool
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_docker_client import Docker
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_docker_options import container_options
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._host import systemd_is_init
from ansible_collections.npufleet.ascend.plugins.module_utils._runtime_docker import DockerRuntime
from ansible_collections.npufleet.ascend.plugins.module_utils._runtime_supervisor import SupervisorRuntime
from ansible_collections.npufleet.ascend.plugins.module_utils._runtime_systemd import SystemdRuntime
from ansible_collections.npufleet.ascend.plugins.module_utils._service import Runtime


def choose_runtime(params: t.Mapping[str, t.Any], run: Runner) -> Runtime:
    """Return the adapter that fits this host and this user.

    :raises NpufleetError: the wanted service manager is not there
    """
    kind = params["runtime"]
    if kind == "docker":
        return DockerRuntime(Docker(container_options(params["container"])["docker_host"]))
    if kind == "systemd" or (kind == "auto" and systemd_is_init()):
        systemctl, journalctl = find_tool("systemctl", ["/bin", "/usr/bin"]), find_tool("journalctl", ["/bin", "/usr/bin"])
        if not systemctl or not journalctl or not systemd_is_init():
            raise NpufleetError("systemd does not run this host", where="runtime", remedy="Set vllm_engine_runtime to supervisor or auto")
        user_unit = os.geteuid() != 0
        # Not $HOME, which sudo may leave as it was: the service manager of a user looks into the home of that user.
        folder = pwd.getpwuid(os.geteuid()).pw_dir + "/.config/systemd/user" if user_unit else "/etc/systemd/system"
        return SystemdRuntime(run, systemctl, journalctl, user_unit, folder)
    return SupervisorRuntime(run, params["venv"].rstrip("/") + "/bin/supervisord", params["home"])
