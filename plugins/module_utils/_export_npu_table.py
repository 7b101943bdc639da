# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.
"""Names under which the Ascend device plugin offers NPUs to Kubernetes, by generation of chips. Data only."""

from __future__ import annotations

import typing as t


class Resource(t.NamedTuple):
    """Name of the extended resource, one of which is one /dev/davinciN, and where it is known from."""

    name: str
    source: str


# mind-cluster is gitcode.com/Ascend/mind-cluster, read in August 2026. Nothing of it was run.
_NAMES = "mind-cluster, component/ascend-common/api/default_name.go: "

RESOURCES: t.Dict[str, Resource] = {
    "a2": Resource("huawei.com/Ascend910", _NAMES + "HuaweiAscend910, for 910, 910B and 910A3"),
    "a3": Resource("huawei.com/Ascend910", _NAMES + "HuaweiAscend910, for 910, 910B and 910A3"),
    "310p": Resource(
        "huawei.com/Ascend310P", _NAMES + "HuaweiAscend310P; cards of several kinds in one host (use310PMixedInsert) have other names"
    ),
    "a5": Resource(
        "huawei.com/npu",
        _NAMES + "HuaweiNPU, for A5 and others; release notes of MindCluster 26: was huawei.com/Ascend910 before, told of Atlas 350 cards",
    ),
}
