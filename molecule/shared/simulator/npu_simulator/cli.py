# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The command line of the simulated npu-smi: log the call, apply the fault of the state, answer."""

from __future__ import annotations

import json
import os
import shlex
import sys
import time
import typing as t

from npu_simulator import identity, table, topology
from npu_simulator.answers import pair
from npu_simulator.faults import (
    CODE_ABORTED,
    CODE_PARAMETER,
    CODE_UNKNOWN_COMMAND,
    FAULTS,
    HELP,
    Answer,
    applies,
    no_driver,
    sleep_forever,
)
from npu_simulator.queries import QUERIES
from npu_simulator.state import (
    DEFAULT_CALL_LOG,
    SimulatorError,
    State,
    chips_of,
    find_chip,
    is_loaded,
    load,
    npu_ids,
    present,
    save,
    state_path,
)

# sysexits.h EX_SOFTWARE: none of npu-smi's own codes, so that a broken simulator is never taken for a fault of the tool.
CODE_SIMULATOR = 70
FLAGS = {"-i": "npu", "-c": "chip", "-p": "physical", "-t": "type", "-d": "value", "-s": "columns"}


def main(argv: t.Sequence[str]) -> int:
    """Answer one call and return the exit code."""
    try:
        path = state_path()
        state = load(path)
        answer = _answer(state, path, list(argv), log_call(state, argv))
    except SimulatorError as exc:
        sys.stderr.write("npu-simulator: {0}\n".format(exc))
        return CODE_SIMULATOR
    _emit(answer)
    if answer.hang:
        sleep_forever()
    return answer.code


def log_call(state: State, argv: t.Sequence[str]) -> int:
    """Append the call to the call log, one JSON object a line, and return its number, counted from 1.

    :raises SimulatorError: when the log cannot be written; a test that counts calls must not pass by accident
    """
    path = state.get("call_log", DEFAULT_CALL_LOG)
    entry = {"time": time.time(), "argv": list(argv), "pid": os.getpid(), "uid": os.geteuid()}
    try:
        with open(path, "a+", encoding="utf-8") as stream:
            stream.write(json.dumps(entry, sort_keys=True) + "\n")
            stream.flush()
            stream.seek(0)
            return sum(1 for _line in stream)
    except OSError as exc:
        raise SimulatorError("call log {0}: {1}".format(path, exc.strerror or exc)) from exc


def _answer(state: State, path: str, argv: t.List[str], call_number: int) -> Answer:
    options = state["faults"]
    delay = float(options.get("delay_seconds", 0))
    if delay:
        time.sleep(delay)
    is_faulty = applies(options, " ".join(shlex.quote(word) for word in argv), call_number)
    if is_faulty and options["mode"] == "no_npu":
        state = dict(state, chips=[], processes=[])
        is_faulty = False
    if is_faulty and options["mode"] not in FAULTS:
        raise SimulatorError("unknown fault {0}".format(options["mode"]))
    normal = _dispatch(state, path, argv) if is_loaded(state) else no_driver(state)
    normal = normal._replace(stdout=[*state.get("preamble", []), *normal.stdout])
    return FAULTS[options["mode"]](options, normal) if is_faulty else normal


def _dispatch(state: State, path: str, argv: t.List[str]) -> Answer:
    if argv in (["-v"], ["--version"]):
        return Answer(["npu-smi version: {0}".format(state["tool_version"])])
    if argv in ([], ["-h"], ["--help"], ["info", "-h"], ["info", "--help"]):
        return Answer(HELP)
    if argv[0] == "set":
        return _set(state, path, argv[1:])
    if argv[0] != "info":
        return _unknown()
    state, rest = present(state), argv[1:]
    if not rest:
        return _table(state)
    if rest in (["-l"], ["-m"]):
        return Answer(identity.list_cards(state) if rest == ["-l"] else identity.map_chips(state))
    if rest[0] == "watch":
        return _watch(state, rest[1:])
    return _typed(state, rest)


def _unknown() -> Answer:
    return Answer(["Command or option is not found.", *HELP], CODE_UNKNOWN_COMMAND)


def _table(state: State) -> Answer:
    if not state["chips"]:
        return Answer(HELP)
    if state["layout"] not in table.LAYOUTS:
        raise SimulatorError("unknown layout {0}".format(state["layout"]))
    return Answer(table.render(state) + list(state.get("trailing", [])))


def _typed(state: State, words: t.Sequence[str]) -> Answer:
    flags = _flags(words)
    if flags is None or "type" not in flags:
        return _unknown()
    kind = flags["type"]
    if kind == "topo":
        return Answer(topology.topology(state))
    if kind == "phyid-remap":
        return Answer(identity.phyid_remap(state, _integer(flags.get("physical"))))
    if kind not in QUERIES:
        return Answer(["This device does not support querying {0}.".format(kind)])
    if "npu" not in flags:
        return Answer(["This command must input card id."], CODE_PARAMETER)
    npu = _integer(flags["npu"])
    if npu not in npu_ids(state):
        return _invalid("card", "-i")
    if "chip" not in flags:
        return Answer(QUERIES[kind](state, npu, None))
    chip = _integer(flags["chip"])
    if chip not in [each["chip"] for each in chips_of(state, npu)]:
        return _invalid("chip", "-c")
    return Answer(QUERIES[kind](state, npu, find_chip(state, npu, chip)))


def _invalid(what: str, flag: str) -> Answer:
    return Answer(["Invalid {0} id.".format(what), "Error parameter of {0}".format(flag), *HELP], CODE_PARAMETER)


def _watch(state: State, words: t.Sequence[str]) -> Answer:
    """Print rows until a signal comes; ``-i`` keeps one card, ``-d`` is the pause in seconds."""
    flags = _flags(words)
    if flags is None:
        return _unknown()
    if "npu" in flags:
        state = dict(state, chips=chips_of(state, _integer(flags["npu"])))
    _emit(Answer([topology.watch_header(state)]))
    while True:
        _emit(Answer(topology.watch_rows(state)))
        time.sleep(float(flags.get("value", 1)))


def _set(state: State, path: str, words: t.Sequence[str]) -> Answer:
    """``set -t device-share`` asks first; every other ``set`` is not simulated and says so as npu-smi does."""
    flags = _flags(words)
    if flags is None or "type" not in flags:
        return _unknown()
    if flags["type"] != "device-share":
        return Answer(["This device does not support setting {0}.".format(flags["type"])])
    npu, chip = _integer(flags.get("npu")), _integer(flags.get("chip"))
    if chip not in [each["chip"] for each in chips_of(state, npu)]:
        return _invalid("card", "-i")
    sys.stdout.write("There are security risks when opening device sharing,\nAre you sure you want to continue setting?(Y/N)")
    sys.stdout.flush()
    if sys.stdin.readline().strip().upper() != "Y":
        return Answer(code=CODE_ABORTED)
    find_chip(state, npu, chip)["device_share"] = flags.get("value") == "1"
    save(state, path)
    return Answer([pair("Status", "OK"), pair("Message", "The device-share status is set successfully.")])


def _flags(words: t.Sequence[str]) -> t.Optional[t.Dict[str, str]]:
    """Return the options by name, or None when a word is no known option or has no value."""
    if len(words) % 2:
        return None
    pairs = dict(zip(words[::2], words[1::2]))
    if any(flag not in FLAGS for flag in pairs):
        return None
    return {FLAGS[flag]: value for flag, value in pairs.items()}


def _integer(text: t.Optional[str]) -> int:
    """-1 for anything that is no id: no NPU has it."""
    return int(text) if text is not None and text.isdigit() else -1


def _emit(answer: Answer) -> None:
    stdout = answer.raw if answer.raw is not None else "".join(line + "\n" for line in answer.stdout).encode()
    sys.stdout.buffer.write(stdout)
    sys.stdout.buffer.flush()
    sys.stderr.write("".join(line + "\n" for line in answer.stderr))
    sys.stderr.flush()
