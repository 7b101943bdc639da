# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a driver package and the simulated npu-smi share: the state file of molecule/shared/simulator, when the host has one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import typing as t

from standin.host import Host

FOLDER = "/opt/npu-simulator"
STATE = "/etc/npu-simulator/state.json"


def is_there(host: Host) -> bool:
    return host.exists(FOLDER + "/npu_smi")


def state(host: Host) -> t.Dict[str, t.Any]:
    """Return the state, empty when there is none."""
    text = host.read(STATE)
    return dict(json.loads(text)) if text else {}


def change(host: Host, **keys: t.Any) -> None:
    """Change keys of the state, when there is one."""
    old = state(host)
    if old:
        old.update(keys)
        host.write(STATE, json.dumps(old, indent=1, sort_keys=True) + "\n", 0o644)


def is_loaded(host: Host) -> bool:
    """Does a driver run now? A state without the key is that of a host whose driver runs."""
    present = state(host)
    return bool(present) and bool(present.get("loaded", True))


def flashed(host: Host) -> t.Tuple[int, ...]:
    """Return the version of the firmware in the devices, as numbers; empty when unknown."""
    present = state(host)
    text = str(present.get("firmware_flashed") or present.get("firmware_version") or "")
    return numbers(text)


def numbers(version: str) -> t.Tuple[int, ...]:
    """Return a firmware version as numbers."""
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def reload_driver(host: Host) -> bool:
    """Let the installed driver run without a boot, as a hot reset does; False when it cannot."""
    script = FOLDER + "/boot.py"
    if not host.exists(script):
        return False
    argv = [sys.executable, host.at(script), "--root", host.root or "/", "--no-mounts"]
    env = dict(os.environ, NPU_SIMULATOR_STATE=host.at(STATE))
    return subprocess.run(argv, stdin=subprocess.DEVNULL, env=env, check=False).returncode == 0


def npu_smi(host: Host) -> str:
    """Return the npu-smi of a driver package: the simulated one, or one that finds no driver."""
    if is_there(host):
        return '#!/bin/sh\nexec python3 "{0}/npu_smi" "$@"\n'.format(FOLDER)
    return "#!/bin/sh\necho 'dcmi module initialize failed. ret is -8005'\nexit 187\n"


def upgrade_tool(host: Host) -> str:
    """Return the upgrade-tool of a driver package."""
    if is_there(host):
        return '#!/bin/sh\nexec python3 "{0}/upgrade_tool" "$@"\n'.format(FOLDER)
    return "#!/bin/sh\nexit 1\n"
