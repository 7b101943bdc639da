# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""/etc/ascend_install.info, which driver and firmware share (hicann/driver)."""

from __future__ import annotations

import typing as t

from standin.host import Host

PATH = "/etc/ascend_install.info"
STATUS = "Driver_Install_Status"


def values(host: Host) -> t.Dict[str, str]:
    """Return the keys; the first of several lines counts."""
    found: t.Dict[str, str] = {}
    for line in host.read(PATH).splitlines():
        key, equals, value = line.partition("=")
        if equals:
            found.setdefault(key, value)
    return found


def update(host: Host, new: t.Mapping[str, str]) -> None:
    """Set keys where they are, or at the end. A status line of an earlier installation stays: the real script does not remove it either."""
    lines = host.read(PATH).splitlines()
    for key, value in new.items():
        line = "{0}={1}".format(key, value)
        places = [number for number, old in enumerate(lines) if old.startswith(key + "=")]
        for number in places:
            lines[number] = line
        if not places:
            lines.append(line)
    host.write(PATH, "".join(line + "\n" for line in lines), 0o644)


def complete(host: Host) -> None:
    """Append the line that says the driver's installation came to its end; each installation appends one."""
    host.append(PATH, STATUS + "=complete\n", 0o644)


def drop(host: Host, keys: t.Sequence[str]) -> None:
    """Remove keys; the whole file goes with the last install path. Until then a status line stays (hicann/driver)."""
    lines = [line for line in host.read(PATH).splitlines() if line.partition("=")[0] not in keys]
    if any("Install_Path_Param" in line for line in lines):
        host.write(PATH, "".join(line + "\n" for line in lines), 0o644)
    elif host.exists(PATH):
        host.remove(PATH)
