# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""upgrade-tool: versions and boot status of the devices. The form of the version answers is from a capture, that of the others is assumed."""

from __future__ import annotations

import sys
import typing as t

from npu_simulator.state import SimulatorError, State, is_loaded, load, present, state_path

CODE_SIMULATOR = 70
COMPONENTS = ("nve", "xloader", "m3fw", "uefi", "tee")
# upgrade-tool --boot_status: 16 is a device that is ready, 0 one that has not started (hicann/driver).
READY = 16


def main(argv: t.Sequence[str]) -> int:
    """Answer one call; 1 when no driver runs or the question is unknown."""
    try:
        state = present(load(state_path()))
    except SimulatorError as exc:
        sys.stderr.write("npu-simulator: {0}\n".format(exc))
        return CODE_SIMULATOR
    lines = answer(state, list(argv)) if is_loaded(state) else None
    if lines is None:
        sys.stdout.write("{\nget device count failed\n}\n")
        return 1
    sys.stdout.write("{\n" + "".join(line + "\n" for line in lines) + "}\n")
    return 0


def answer(state: State, argv: t.Sequence[str]) -> t.Optional[t.List[str]]:
    """Return the lines about all devices (--device_index -1), None for an unknown question."""
    if list(argv[:2]) != ["--device_index", "-1"]:
        return None
    question, lines = list(argv[2:]), []
    for chip in state["chips"]:
        rows = _rows(state, question, chip["device"])
        if rows is None:
            return None
        lines += rows
    return lines


def _rows(state: State, question: t.Sequence[str], device: int) -> t.Optional[t.List[str]]:
    driver, firmware = state["driver_version"], state["firmware_version"]
    if question == ["--system_version"]:
        return [
            "Get system version({0}) succeed, deviceId({1})".format(driver, device),
            '\t{{"device_id":{0}, "version":{1}}}'.format(device, driver),
        ]
    if question == ["--boot_status"]:
        return ['\t{{"device_id":{0}, boot status:{1}}}'.format(device, READY)]
    if question == ["--hw_base_version"]:
        return ['\t{{"device_id":{0}, "version":{1}}}'.format(device, firmware)]
    if question == ["--component", "-1", "--version"]:
        rows = []
        for number, name in enumerate(COMPONENTS):
            rows.append("Get component version({0}) succeed for deviceId({1}), componentType({2}).".format(firmware, device, number))
            rows.append('\t{{"device_id":{0}, "component":{1}, "version":{2}}}'.format(device, name, firmware))
        return rows
    return None
