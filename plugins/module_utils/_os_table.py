# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Operating systems, as data: who manages packages, and what the packages of the CPU engine's prerequisites are called.

Detection is our own, by ID and ID_LIKE of os-release(5): ``ansible_os_family`` is wrong for several Chinese distributions.
"""

from __future__ import annotations

import typing as t


class Family(t.NamedTuple):
    """A package family: the tool, the command a person types, and the package of each prerequisite."""

    tool: str
    install: str
    packages: t.Dict[str, str]


FAMILIES = {
    "debian": Family("apt-get", "apt-get install -y", {"compiler": "g++", "numa": "libnuma1", "venv": "python3-venv"}),
    "rpm": Family("dnf", "dnf install -y", {"compiler": "gcc-c++", "numa": "numactl-libs", "venv": "python3"}),
    "yum": Family("yum", "yum install -y", {"compiler": "gcc-c++", "numa": "numactl-libs", "venv": "python3"}),
}

# ID of os-release -> family. Kylin, UOS, EulerOS, BC-Linux and CULinux are openEuler or CentOS descendants; UOS also has an apt edition,
# which is why the tool that is really there has the last word.
SYSTEMS: t.Dict[str, str] = {
    "ubuntu": "debian",
    "debian": "debian",
    "openeuler": "rpm",
    "kylin": "rpm",
    "uos": "rpm",
    "uniontech": "rpm",
    "euleros": "rpm",
    "hce": "rpm",
    "bclinux": "rpm",
    "culinux": "rpm",
    "ctyunos": "rpm",
}
