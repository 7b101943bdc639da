# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The shape shared by the key/value answers: a TAB, the key padded to 30, `` : `` and the value.

An answer for a card begins with NPU ID and Chip Count; then comes one block for each chip and at most one for the MCU of the card.
"""

from __future__ import annotations

import typing as t

from npu_simulator.state import Chip, State, chips_of

Lines = t.List[str]
Pair = t.Tuple[str, t.Any]

# In these generations the Chip ID line opens a block, in the others it closes it. "common" opens it everywhere.
OPENING_GENERATIONS = ("310", "310B")


def pair(key: str, value: t.Any) -> str:
    """Return one line of an answer."""
    return "\t{0:<30} : {1}".format(key, value)


def number(value: t.Any) -> str:
    """One decimal for power in watts; markers such as NA and - as they are."""
    return "{0:.1f}".format(value) if isinstance(value, float) else str(value)


def card_answer(
    state: State,
    npu: int,
    keys: t.Optional[t.Callable[[Chip], t.List[Pair]]],
    mcu: t.Optional[t.List[Pair]] = None,
    chip_id_first: bool = False,
) -> Lines:
    """Return the answer for one card: ``keys`` gives the pairs of a chip; None when chips have no such value.

    A5 has no Chip Count and no Chip ID: one flat list.
    """
    if state["generation"] == "A5" and keys is not None:
        return [pair(*each) for each in [("NPU ID", npu), *keys(chips_of(state, npu)[0])]]
    lines = [pair("NPU ID", npu), pair("Chip Count", len(chips_of(state, npu))), ""]
    for chip in chips_of(state, npu) if keys else []:
        block = [pair(*each) for each in keys(chip)] if keys else []
        first = chip_id_first or state["generation"] in OPENING_GENERATIONS
        block.insert(0 if first else len(block), pair("Chip ID", chip["chip"]))
        lines += [*block, ""]
    if mcu and state["generation"] != "910":
        block = [pair(*each) for each in mcu]
        block.insert(0 if chip_id_first else len(block), pair("Chip Name", "mcu" if chip_id_first else "MCU"))
        lines += block if chip_id_first else [*block, ""]
    return lines
