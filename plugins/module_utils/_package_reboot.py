# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Is a reboot due? The driver that runs against the one on disk, and what the installers said."""

from __future__ import annotations

import os
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._command import Runner, find_tool
from ansible_collections.npufleet.ascend.plugins.module_utils._package_record import REMOVED, Record
from ansible_collections.npufleet.ascend.plugins.module_utils._package_state import Installed, same_version

NPU_SMI_SECONDS = 20.0


def running_driver(run: Runner, install_path: str, find: t.Callable[..., t.Optional[str]] = find_tool) -> str:
    """Return the version of the driver that runs, from the header of ``npu-smi info``: one process. '' when nobody says so."""
    # Only the driver needs it, and a target compiles what is imported at each call.
    from ansible_collections.npufleet.ascend.plugins.module_utils._npu_queries import TOOL_DIRS, NpuSmi

    path = find("npu-smi", [*TOOL_DIRS, os.path.join(install_path, "driver", "tools")])
    if path is None:
        return ""
    info, _failure = NpuSmi(path, run, NPU_SMI_SECONDS, install_path).table()
    return info.driver_version if info else ""


def reboot_reason(state: t.Mapping[str, Installed], records: t.Mapping[str, Record], boot_id: str, running: str) -> str:
    """Return why this host has to be rebooted; '' when it has not to.

    :param state: kinds that are looked at; only driver and firmware ever need a reboot
    :param records: of these kinds
    :param boot_id: of the boot that runs
    :param running: version of the running driver, '' for unknown
    """
    reasons = []
    if "driver" in state:
        reasons.append(_driver_reason(state["driver"], records["driver"], boot_id, running))
    if "firmware" in state:
        reasons.append(_pending_reason("firmware", state["firmware"], records["firmware"], boot_id))
    return "; ".join(reason for reason in reasons if reason)


def _driver_reason(installed: Installed, record: Record, boot_id: str, running: str) -> str:
    if running and installed.version:
        if same_version(running, installed.version):
            return ""
        return "driver {0} runs and {1} is installed".format(running, installed.version)
    if running and record.phase == REMOVED:
        return "driver {0} still runs and was removed".format(running)
    return _pending_reason("driver", installed, record, boot_id)


def _pending_reason(kind: str, installed: Installed, record: Record, boot_id: str) -> str:
    if not record.reboot or not boot_id or record.boot_id != boot_id:
        return ""
    if installed.version:
        return "{0} {1} takes effect at the next boot".format(kind, installed.version)
    return "{0} was removed since the last boot".format(kind) if record.phase == REMOVED else ""
