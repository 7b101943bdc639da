# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The state file: what the simulated host is, read by npu-smi on every call and written by make_state.py and the tests."""

from __future__ import annotations

import json
import os
import tempfile
import typing as t

DEFAULT_STATE = "/etc/npu-simulator/state.json"
DEFAULT_CALL_LOG = "/var/log/npu-simulator/calls.jsonl"

State = t.Dict[str, t.Any]
Chip = t.Dict[str, t.Any]

REQUIRED_KEYS = (
    "layout", "generation", "form", "tool_version", "driver_version", "firmware_version", "board", "chips", "processes", "faults",
)  # fmt: skip


class SimulatorError(Exception):
    """The simulator itself cannot work: a broken state file, an unwritable call log. Never an answer of npu-smi."""


def state_path() -> str:
    """Return the state file: variable NPU_SIMULATOR_STATE, or the place on a simulated host."""
    return os.environ.get("NPU_SIMULATOR_STATE", DEFAULT_STATE)


def load(path: str) -> State:
    """Read a state file.

    :raises SimulatorError: when it is missing, not JSON, or lacks a key
    """
    try:
        with open(path, encoding="utf-8") as stream:
            state = json.load(stream)
    except (OSError, ValueError) as exc:
        raise SimulatorError("state file {0}: {1}".format(path, exc)) from exc
    missing = [key for key in REQUIRED_KEYS if key not in state]
    if missing:
        raise SimulatorError("state file {0}: missing {1}".format(path, ", ".join(missing)))
    return t.cast(State, state)


def save(state: State, path: str) -> None:
    """Write a state file in one step, so that a call that runs meanwhile reads the old or the new one."""
    folder = os.path.dirname(os.path.abspath(path))
    os.makedirs(folder, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=".state-")
    with os.fdopen(handle, "w", encoding="utf-8") as stream:
        json.dump(state, stream, indent=1, sort_keys=True)
        stream.write("\n")
    os.chmod(temporary, 0o644)
    os.replace(temporary, path)


def is_loaded(state: State) -> bool:
    """Does the driver run? A state that does not say is that of a host whose driver runs."""
    return bool(state.get("loaded", True))


def present(state: State) -> State:
    """Return the state without the NPUs that the last boot did not bring back (key ``absent``)."""
    absent = state.get("absent") or []
    return dict(state, chips=[chip for chip in state["chips"] if chip["npu"] not in absent]) if absent else state


def npu_ids(state: State) -> t.List[int]:
    """Return the NPU (card) ids in the order of the table."""
    seen: t.List[int] = []
    for chip in state["chips"]:
        if chip["npu"] not in seen:
            seen.append(chip["npu"])
    return seen


def chips_of(state: State, npu: int) -> t.List[Chip]:
    """Return the chips of one NPU (card)."""
    return [chip for chip in state["chips"] if chip["npu"] == npu]


def find_chip(state: State, npu: int, chip_id: int) -> Chip:
    """Return one chip.

    :raises SimulatorError: when the state has no such chip
    """
    for chip in chips_of(state, npu):
        if chip["chip"] == chip_id:
            return chip
    raise SimulatorError("the state has no chip {0} of NPU {1}".format(chip_id, npu))
