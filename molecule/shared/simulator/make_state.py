# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Write the state file of the simulated host, or change the one that is there.

make_state.py --product atlas-800i-a2                          a healthy, idle host
make_state.py --product atlas-800i-a2 --npus 0,2,5             ids with gaps
make_state.py --product atlas-800-a3 --layout L8-phy --version 26.0.rc1
make_state.py --fault hang --fault-option lines=3              change the present state: npu-smi hangs after three lines
make_state.py --fault dcmi_8005 --fault-option first_calls=2   the first two calls in the call log fail, later ones do not
make_state.py --set 3.0.health=Alarm --set 3.0.util=97         one chip, by NPU and chip id
make_state.py --dead 5.0 --drop 7                              a chip whose getters fail, a card that fell off the bus
make_state.py --process 0.0.10031=worker_tp0:23500             a process by NPU, chip and host PID: name and memory in MB
make_state.py --fault none                                     back to health
make_state.py --no-driver                                      a server before its driver: npu-smi, if there is one, answers -8005
make_state.py --boot-missing 3 --boot-not-up                   after the next boot NPU 3 is gone from the bus, and the driver does not start
make_state.py --boot-well                                      the next boot is a good one again
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import typing as t

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

from npu_simulator.faults import MODES
from npu_simulator.products import PRODUCTS, kill_chip, make_state
from npu_simulator.state import SimulatorError, State, find_chip, load, npu_ids, save, state_path
from npu_simulator.table import LAYOUTS


def arguments() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--state", default=state_path(), help="state file (default: %(default)s)")
    add("--product", choices=sorted(PRODUCTS), help="begin with this host; without it the present state is changed")
    add("--layout", choices=sorted(LAYOUTS))
    add("--version", help="version of npu-smi and driver")
    add("--firmware", help="version of the firmware in the devices")
    add("--chip", help="another chip of the A2 family, for example 910B3")
    add("--npus", help="NPU ids, separated by commas")
    add("--call-log", help="file to which each call is appended")
    add("--fault", choices=MODES)
    add("--fault-option", action="append", default=[], metavar="KEY=VALUE", help="VALUE is JSON or a word")
    add("--delay", type=float, help="seconds before every answer")
    add("--set", action="append", default=[], metavar="NPU.CHIP.KEY=VALUE", help="VALUE is JSON or a word")
    add("--dead", action="append", default=[], metavar="NPU.CHIP")
    add("--drop", action="append", default=[], type=int, metavar="NPU")
    add("--process", action="append", default=[], metavar="NPU.CHIP.PID=NAME:MB")
    add("--no-process-table", action="store_true", help="as old drivers print: unknown, not none")
    add("--preamble", action="append", default=[], help="a line before every answer")
    add("--trailing", action="append", default=[], help="a line after the table")
    add("--no-driver", action="store_true", help="no driver runs")
    add("--boot-missing", action="append", default=[], type=int, metavar="NPU", help="boots lose this NPU from now on")
    add("--boot-not-up", action="store_true", help="from now on boots do not start the driver")
    add("--boot-well", action="store_true", help="boots have no fault any more")
    return parser


def build(options: argparse.Namespace) -> State:
    """Return the state the options ask for.

    :raises SimulatorError: for an option that names something unknown
    """
    if options.product:
        npus = [int(npu) for npu in options.npus.split(",")] if options.npus else None
        state = make_state(options.product, options.layout, options.version, options.chip, npus)
    else:
        state = load(options.state)
        for key in ("layout", "chip", "npus", "version"):
            if getattr(options, key):
                raise SimulatorError("--{0} needs --product".format(key))
    if options.firmware:
        state["firmware_version"] = options.firmware
    if options.call_log:
        state["call_log"] = options.call_log
    _apply_faults(state, options)
    _apply_chips(state, options)
    _apply_processes(state, options)
    _apply_boot(state, options)
    state["preamble"] = state["preamble"] + options.preamble
    state["trailing"] = state["trailing"] + options.trailing
    return state


def _apply_faults(state: State, options: argparse.Namespace) -> None:
    if options.fault is not None:
        state["faults"] = {"mode": options.fault, "delay_seconds": state["faults"].get("delay_seconds", 0)}
    for text in options.fault_option:
        key, value = _assignment(text)
        state["faults"][key] = value
    if options.delay is not None:
        state["faults"]["delay_seconds"] = options.delay


def _apply_chips(state: State, options: argparse.Namespace) -> None:
    for text in options.set:
        path, value = _assignment(text)
        npu, chip, key = path.split(".")
        found = find_chip(state, int(npu), int(chip))
        if key not in found:
            raise SimulatorError("a chip has no key {0}; it has {1}".format(key, ", ".join(sorted(found))))
        found[key] = value
    for text in options.dead:
        npu, chip = text.split(".")
        kill_chip(find_chip(state, int(npu), int(chip)))
    state["chips"] = [chip for chip in state["chips"] if chip["npu"] not in options.drop]


def _apply_processes(state: State, options: argparse.Namespace) -> None:
    for text in options.process:
        path, _equals, what = text.partition("=")
        npu, chip, pid = (int(part) for part in path.split("."))
        name, _colon, memory = what.rpartition(":")
        find_chip(state, npu, chip)
        state["processes"] = (state["processes"] or []) + [{"npu": npu, "chip": chip, "pid": pid, "name": name, "memory": int(memory)}]
    if options.no_process_table:
        state["processes"] = None


def _apply_boot(state: State, options: argparse.Namespace) -> None:
    if options.no_driver:
        state["loaded"] = False
    if options.boot_well:
        state.pop("boot_faults", None)
    if options.boot_missing or options.boot_not_up:
        faults = state.setdefault("boot_faults", {"missing": [], "not_up": False})
        unknown = [npu for npu in options.boot_missing if npu not in npu_ids(state)]
        if unknown:
            raise SimulatorError("the state has no NPU {0}".format(unknown[0]))
        faults["missing"] = sorted(set(faults["missing"] + options.boot_missing))
        faults["not_up"] = faults["not_up"] or options.boot_not_up


def _assignment(text: str) -> t.Tuple[str, t.Any]:
    key, equals, value = text.partition("=")
    if not equals:
        raise SimulatorError("expected KEY=VALUE, got {0}".format(text))
    try:
        return key, json.loads(value)
    except ValueError:
        return key, value


def main(argv: t.Sequence[str]) -> int:
    """Write the state file; 2 for a wrong option."""
    options = arguments().parse_args(argv)
    try:
        save(build(options), options.state)
    except (SimulatorError, ValueError) as exc:
        sys.stderr.write("make_state: {0}\n".format(exc))
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
