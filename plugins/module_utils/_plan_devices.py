# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""How an engine gets its chips and no others. Pure.

Two rules, never both for one engine. From outside, by physical number: device nodes given to the container, or ASCEND_VISIBLE_DEVICES for
Ascend Docker Runtime. From inside, by position among the chips that the process sees: ASCEND_RT_VISIBLE_DEVICES. In a container that has
a subset the positions begin at 0 again, and the number of the host fails (vllm-ascend #13399).
"""

from __future__ import annotations

import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._plan_chips import Chip
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_values import PlanError
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_values import format_cpus

METHODS = ("explicit", "runtime", "bare_metal")
OUTER, INNER = "ASCEND_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES"

# Nodes beside /dev/davinciN (docker run lines of vllm-ascend; recent documents for 950 do not list devmm_svm).
CONTROL = {
    "a2": ("davinci_manager", "devmm_svm", "hisi_hdc"),
    "a3": ("davinci_manager", "devmm_svm", "hisi_hdc"),
    "310p": ("davinci_manager", "devmm_svm", "hisi_hdc"),
    "a5": ("davinci_manager", "hisi_hdc", "ummu", "uburma"),
}


class Devices(t.NamedTuple):
    """Device nodes for the container, and the environment that selects."""

    nodes: t.List[str]
    control: t.List[str]
    env: t.Dict[str, str]


def outer_selection(physical: t.Iterable[int]) -> str:
    """Return ASCEND_VISIBLE_DEVICES for the container runtime: physical numbers, ``0-3`` or ``4,5``."""
    return format_cpus(physical)


def inner_selection(wanted: t.Sequence[int], visible: t.Sequence[int]) -> str:
    """Return ASCEND_RT_VISIBLE_DEVICES: the places of the wanted chips among those that the process sees, which count from 0.

    :param wanted, visible: numbers of device nodes
    :raises PlanError: a wanted chip is not visible
    """
    places = {number: place for place, number in enumerate(sorted(set(visible)))}
    missing = [number for number in wanted if number not in places]
    if missing:
        raise PlanError(
            "/dev/davinci{0} is wanted and not visible".format(missing[0]),
            INNER,
            "Give the device to the container, or choose among those it has",
        )
    return ",".join(str(places[number]) for number in sorted(set(wanted)))


def select(method: str, chosen: t.Sequence[Chip], all_chips: t.Sequence[Chip], control_nodes: t.Sequence[str], where: str) -> Devices:
    """Return how the engine gets the chosen chips.

    :param method: explicit (device nodes), runtime (Ascend Docker Runtime), or bare_metal (a process that sees all chips of the host)
    :param all_chips: chips of the host
    :param control_nodes: names below /dev that the facts found; empty when nobody looked
    :raises PlanError: a node that every engine needs does not exist
    """
    physical = [chip.phy for chip in chosen if chip.phy is not None]
    if method == "runtime":
        return Devices([], [], {OUTER: outer_selection(physical)})
    if method == "bare_metal":
        return Devices([], [], {INNER: _on_the_host(chosen, all_chips)})
    needed = CONTROL[chosen[0].soc or "a2"]
    missing = [node for node in needed if control_nodes and node not in control_nodes]
    if missing:
        raise PlanError(
            "/dev/{0} does not exist, and a container with NPUs needs it".format(missing[0]),
            where,
            "Install or repair the driver (role ascend_driver)",
        )
    return Devices([chip.device for chip in chosen], ["/dev/" + node for node in needed], {})


def _on_the_host(chosen: t.Sequence[Chip], all_chips: t.Sequence[Chip]) -> str:
    """On the host the runtime counts as npu-smi does (logic id). Where that is not printed (A5), by the order of the device nodes."""
    if all(chip.logic is not None for chip in chosen):
        return ",".join(str(logic) for logic in sorted(chip.logic for chip in chosen if chip.logic is not None))
    visible = [chip.phy for chip in all_chips if chip.phy is not None]
    return inner_selection([chip.phy for chip in chosen if chip.phy is not None], visible)
