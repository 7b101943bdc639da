# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Which operating systems and container engines go with which chips and drivers, as data. Every row has a source."""

from __future__ import annotations

import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._compatibility_table import DEPLOYER, Source

CLUSTER = Source("MindCluster 26.0.0 and 26.1.0", "https://github.com/Ascend/mind-cluster", "2026-08-21")


class OsRow(t.NamedTuple):
    """An operating system, as in os-release, and the chips whose driver is listed for it."""

    id: str
    version: str
    release: str
    arch: str
    chips: t.Tuple[str, ...]


# All from module_utils/compatibility_config.py. EulerOS 2.0 (SP10) is 2.10 here. UOS 20 is two systems there, told apart by the kernel: 1020e for
# 910, 1050e for 910b. Ubuntu 22.04.4 and BC-Linux 21.10U4 have rows of their own there, with the same chips but for A3 on 22.04.4.
OS_SOURCE = DEPLOYER
_A = "aarch64"
_X = "x86_64"
OS_ROWS = (
    OsRow("bclinux", "21.10", "", _A, ("310p", "910b", "A3")),
    OsRow("centos", "7.6", "", _A, ("310p", "910", "910b")),
    OsRow("centos", "7.6", "", _X, ("310p", "910", "910b")),
    OsRow("ctyunos", "22.06", "", _A, ("310p", "910b", "A3")),
    OsRow("ctyunos", "23.01", "", _A, ("310p", "910b", "A3")),
    OsRow("culinux", "3.0", "", _A, ("910b", "A3")),
    OsRow("debian", "10", "", _A, ("A3",)),
    OsRow("euleros", "2.8", "", _A, ("910",)),
    OsRow("euleros", "2.9", "", _A, ("310p", "910")),
    OsRow("euleros", "2.9", "", _X, ("310p", "910")),
    OsRow("euleros", "2.10", "", _A, ("310p", "910", "910b")),
    OsRow("euleros", "2.10", "", _X, ("310p", "910", "910b")),
    OsRow("euleros", "2.12", "", _A, ("310p", "910b")),
    OsRow("kylin", "10", "", _A, ("310b", "910b")),
    OsRow("kylin", "10", "tercel", _A, ("310p", "910")),
    OsRow("kylin", "10", "tercel", _X, ("310p", "910")),
    OsRow("kylin", "10", "sword", _A, ("310p", "910", "910b")),
    OsRow("kylin", "10", "lance", _A, ("310p", "910b")),
    OsRow("kylin", "10", "halberd", _A, ("310p", "910b", "A3")),
    OsRow("kylin", "11", "swan25", _A, ("310p", "910b", "A3")),
    OsRow("mtos", "22.03", "sp4", _A, ("A3",)),
    OsRow("openeuler", "20.03", "", _A, ("310p", "910")),
    OsRow("openeuler", "20.03", "", _X, ("310p", "910")),
    OsRow("openeuler", "22.03", "", _A, ("310p", "910", "910b")),
    OsRow("openeuler", "22.03", "", _X, ("310p", "910", "910b")),
    OsRow("openeuler", "22.03", "sp1", _A, ("A3",)),
    OsRow("openeuler", "22.03", "sp4", _A, ("310p", "910b", "950", "A3")),
    OsRow("openeuler", "22.03", "sp4", _X, ("950",)),
    OsRow("openeuler", "24.03", "sp1", _A, ("310p", "910b", "A3")),
    OsRow("ubuntu", "18.04", "", _A, ("910",)),
    OsRow("ubuntu", "18.04", "", _X, ("910",)),
    OsRow("ubuntu", "20.04", "", _A, ("310p", "910")),
    OsRow("ubuntu", "20.04", "", _X, ("310p", "910")),
    OsRow("ubuntu", "22.04", "", _A, ("310p", "910b", "A3")),
    OsRow("ubuntu", "22.04", "", _X, ("310p", "910b")),
    OsRow("ubuntu", "24.04", "", _A, ("910b",)),
    OsRow("uos", "20", "", _A, ("910", "910b")),
    OsRow("velinux", "1.3", "", _A, ("A3",)),
    OsRow("vesselos", "1.0", "", _A, ("A3",)),
    OsRow("vesselos", "2.0", "", _A, ("A3",)),
)


class OsMinimum(t.NamedTuple):
    """The first driver and firmware for a product on an operating system; it counts from that service pack on."""

    product: str
    chip: str
    id: str
    version: str
    release: str
    hdk: str
    firmware: str


OS_MINIMUMS = (
    OsMinimum("Atlas 300I Pro", "310p", "ctyunos", "22.06", "", "24.1.0", "7.5.0.2.220"),
    OsMinimum("Atlas 300I Pro", "310p", "ubuntu", "22.04", "", "24.1.0", "7.5.0.2.220"),
    OsMinimum("Atlas 300I Duo", "310p", "openeuler", "22.03", "", "24.1.rc2", "7.3.0.1.231"),
    OsMinimum("Atlas 300I Duo", "310p", "ctyunos", "22.06", "", "24.1.0", "7.5.0.2.220"),
    OsMinimum("Atlas 300I Duo", "310p", "ubuntu", "22.04", "", "24.1.rc2", "7.3.0.1.231"),
    OsMinimum("Atlas 800I A2", "910b", "openeuler", "24.03", "sp1", "25.2.0", "7.7.0.2.220"),
    OsMinimum("Atlas 900 A3", "A3", "openeuler", "24.03", "sp1", "25.2.0", "7.7.0.2.220"),
)


class DockerRange(t.NamedTuple):
    """First and last tested version of a container engine under Ascend Docker Runtime."""

    engine: str
    first: str
    last: str
    source: Source


DOCKERS = (DockerRange("docker", "18.09", "28.5.1", CLUSTER), DockerRange("containerd", "1.4", "2.1.4", CLUSTER))
