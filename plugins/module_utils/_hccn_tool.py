# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Ask hccn_tool about NPUs, one question after the other: it serves one caller at a time. Devices have the number of their /dev/davinciN.

The number after -i is the physical id (published source of hccn_tool, which asks the driver for the logic id itself).
"""

from __future__ import annotations

import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils import _hccn_text as text_of
from ansible_collections.npufleet.ascend.plugins.module_utils._clock import Clock
from ansible_collections.npufleet.ascend.plugins.module_utils._command import Runner
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._hccn_text import BusyError, HccnToolError

Row = t.Dict[str, t.Any]
Parser = t.Callable[[str, str, t.Optional[int]], t.Any]

TOOL = "hccn_tool"
# The driver puts it here, which is not on PATH; newer ones also link it to /usr/bin.
TOOL_DIRS = ("/usr/local/Ascend/driver/tools", "/usr/bin", "/usr/local/bin")
QUESTIONS: t.Tuple[t.Tuple[str, str, Parser], ...] = (
    ("link", "-link", text_of.parse_link),
    ("health", "-net_health", text_of.parse_health),
    ("address", "-ip", text_of.parse_ip),
    ("gateway", "-gateway", text_of.parse_gateway),
    ("tls", "-tls", text_of.parse_tls),
)
VNIC = ("vnic_address", "-vnic", text_of.parse_vnic)
# A call takes well below a second; a monitor that asks at the same time is through after a few.
BUSY_TRIES, BUSY_SECONDS = 8, 0.5


class HungError(HccnToolError):
    """A question that was not answered in time."""


class HccnTool:
    """One hccn_tool. A device that let a question hang is asked nothing more."""

    def __init__(self, path: str, run: Runner, clock: Clock, timeout: float) -> None:
        self._path = path
        self._run = run
        self._clock = clock
        self._timeout = timeout

    def device(self, number: int, vnic: bool = False) -> Row:
        """Return what the device says: link, health, address, gateway, tls, vnic_address (None: nothing to tell) and ``errors``."""
        answers: Row = dict.fromkeys([key for key, _option, _parse in (*QUESTIONS, VNIC)])
        answers["errors"] = []
        for key, option, parse in (*QUESTIONS, VNIC) if vnic else QUESTIONS:
            # What one question ends with is part of the answer: the others of this host, and the other hosts, still count.
            try:
                answers[key] = self._ask(number, [option, "-g"], parse)
            except HungError as exc:
                answers["errors"].append(str(exc))
                break
            except NpufleetError as exc:
                answers["errors"].append(str(exc))
        return answers

    def ping(self, number: int, address: str, command: str) -> Row:
        """Let a device ping an address; ``sent`` is None where the product cannot, and ``error`` says what else went wrong.

        A first packet may be lost while the address is resolved (ARP), so a ping that lost some is asked once more.
        """
        row: Row = {"chip": number, "address": address, "sent": None, "received": None, "error": None}
        try:
            result = self._ask(number, ["-" + command, "-g", "address", address], text_of.parse_ping)
            if result and 0 < result[1] < result[0]:
                result = self._ask(number, ["-" + command, "-g", "address", address], text_of.parse_ping)
        except HungError:
            result = (1, 0)
        except NpufleetError as exc:
            row["error"] = str(exc)
            return row
        if result:
            row["sent"], row["received"] = result
        return row

    def _ask(self, number: int, words: t.Sequence[str], parse: Parser) -> t.Any:
        command = " ".join(["-i", str(number), *words])
        tries = 0
        while True:
            result = self._run([self._path, *command.split(" ")], timeout=self._timeout)
            if result.timed_out:
                raise HungError(
                    "hccn_tool did not answer within {0:g} s".format(self._timeout),
                    "hccn_tool " + command,
                    "Look for a hung NPU with npu-smi info and dmesg",
                )
            try:
                return parse(command, result.text, result.rc)
            except BusyError:
                tries += 1
                if tries == BUSY_TRIES:
                    raise
                self._clock.sleep(BUSY_SECONDS)


def no_tool() -> HccnToolError:
    """The error about a host without hccn_tool."""
    return HccnToolError(
        "hccn_tool is not installed",
        ", ".join(["PATH", *TOOL_DIRS]),
        "Install the Ascend driver, which brings it, or name it with the option hccn_tool",
    )
