# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ways in which npu-smi fails, chosen in the state under ``faults``.

Keys of ``faults``: ``mode`` (one of MODES), ``delay_seconds`` (before every answer), ``commands`` (shell patterns of the command lines
that fail, such as ``info`` or ``info -t board*``; default: all), ``first_calls`` (the fault ends after so many logged calls), and the
options named in the docstring of the mode.
"""

from __future__ import annotations

import fnmatch
import signal
import time
import typing as t

Options = t.Dict[str, t.Any]


class Answer(t.NamedTuple):
    """What one call prints and returns. ``hang`` keeps the process alive after the output; ``raw`` replaces stdout byte for byte."""

    stdout: t.Sequence[str] = ()
    code: int = 0
    stderr: t.Sequence[str] = ()
    hang: bool = False
    raw: t.Optional[bytes] = None


# The tool ends with exit() of a negative code, of which the shell sees the low 8 bits (published source).
CODE_DCMI_INIT = -8005 & 0xFF
CODE_DEVICE_USED = -8020 & 0xFF
CODE_QUERY_FAILED = -9008 & 0xFF
CODE_UNKNOWN_COMMAND = -9005 & 0xFF
CODE_PARAMETER = -9001 & 0xFF
CODE_ROOT_ONLY = -9002 & 0xFF
CODE_ABORTED = -9016 & 0xFF

HELP = (
    "Usage: npu-smi info <watch|proc|-h|-m|-l|-t type> [Options...]",
    "",
    "Commands:",
    "       watch          Rows of state and load, without end",
    "       -h, --help     This text",
    "       -m             Ids of all chips",
    "       -l             List of the cards",
    "       -t type        One kind of information",
    "                      type: board, memory, usages, temp, power, common, health, product,",
    "                            device-share, proc-mem, phyid-remap, topo.",
    "",
    "Options:",
    "       -i %d          Card ID",
    "       -c %d          Chip ID",
    "       -p %d          Chip Physical ID",
)


def _hang(options: Options, normal: Answer) -> Answer:
    """``lines``: so many lines of the answer come out before it hangs (default 0); ``ignore_sigterm``: only SIGKILL ends it."""
    if options.get("ignore_sigterm"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    return Answer(normal.stdout[: int(options.get("lines", 0))], hang=True)


def _garbage(options: Options, normal: Answer) -> Answer:
    """A table of a layout nobody knows, with bytes that are no UTF-8 (assumed)."""
    head = "+----+\n| npu-smi 99.0   Version: 99.0 |\n+====+\n| Slot | Vitality | Flux |\n".encode()
    return Answer(raw=head + b"| \xff\xfe0 | \x00 | ??? |\n")


def _missing_library(options: Options, normal: Answer) -> Answer:
    """``library``: default libdrvdsmi_host.so, also seen libc_sec.so. The loader writes to stderr."""
    text = "npu-smi: error while loading shared libraries: {0}: cannot open shared object file: No such file or directory"
    return Answer(stderr=[text.format(options.get("library", "libdrvdsmi_host.so"))], code=127)


def _dcmi_8005(options: Options, normal: Answer) -> Answer:
    """``newer``: the wording of 25.x."""
    log = "DrvMngGetConsoleLogLevel failed. ({0})".format("ret=4" if options.get("newer") else "g_conLogLevel=3")
    return Answer([log, "dcmi module initialize failed. ret is -8005"], CODE_DCMI_INIT)


def _dcmi_8020(options: Options, normal: Answer) -> Answer:
    """The device belongs to another container."""
    return Answer(["dcmi model initialized failed, because the device is used. ret is -8020"], CODE_DEVICE_USED)


def _permission(options: Options, normal: Answer) -> Answer:
    """What a shell says of a file the user may not execute."""
    return Answer(stderr=["bash: /usr/local/sbin/npu-smi: Permission denied"], code=126)


def _root_only(options: Options, normal: Answer) -> Answer:
    """The check for the root user inside the tool."""
    return Answer(["This command can be executed only by the root user."], CODE_ROOT_ONLY)


def _query_failed(options: Options, normal: Answer) -> Answer:
    """A card under reset: messages and no table."""
    return Answer(["npu_get_card_device_id failed. err is -9008", "Failed to query card total info."], CODE_QUERY_FAILED)


def _help(options: Options, normal: Answer) -> Answer:
    """Help text instead of the table, as without devices."""
    return Answer(HELP)


def _partial(options: Options, normal: Answer) -> Answer:
    """``lines``: where the output ends (default 7, between the rows of the first chip); ``code``: exit code (default 0). Assumed."""
    return Answer(normal.stdout[: int(options.get("lines", 7))], int(options.get("code", 0)))


FAULTS: t.Dict[str, t.Callable[[Options, Answer], Answer]] = {
    "hang": _hang,
    "garbage": _garbage,
    "missing_library": _missing_library,
    "dcmi_8005": _dcmi_8005,
    "dcmi_8020": _dcmi_8020,
    "permission": _permission,
    "root_only": _root_only,
    "query_failed": _query_failed,
    "help": _help,
    "partial": _partial,
}
# "no_npu" is no entry here: it empties the list of chips, and each sub-command then has its own answer.
MODES = ("none", "no_npu", *FAULTS)


def no_driver(state: t.Mapping[str, t.Any]) -> Answer:
    """The answer to everything while no driver runs: DCMI cannot be initialised. The wording is that of the version on disk."""
    is_newer = str(state.get("tool_version", "")).partition(".")[0] >= "25"
    return _dcmi_8005({"newer": is_newer}, Answer())


def applies(options: Options, command_line: str, call_number: int) -> bool:
    """Is the fault for this call? ``call_number`` counts from 1."""
    if options.get("mode", "none") == "none":
        return False
    if call_number > int(options.get("first_calls", call_number)):
        return False
    return any(fnmatch.fnmatchcase(command_line, pattern) for pattern in options.get("commands", ["*"]))


def sleep_forever() -> None:
    """Stay until a signal comes."""
    while True:
        time.sleep(3600)
