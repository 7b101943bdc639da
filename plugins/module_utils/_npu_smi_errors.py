# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""What went wrong with one npu-smi call: text first, then the exit code.

npu-smi prints its messages on stdout, leaves with 0 for "not supported", "not in a container" and "no device", and with the low byte of
a DCMI code otherwise (format strings of verylucky01/driver, src/custom/dev_prod/user/npucli). The loader and the shell use stderr.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError


class NpuSmiFormatError(NpufleetError):
    """npu-smi printed something that no known layout describes. The only exception the npu-smi parsers raise."""


def unexpected(command: str, text: str) -> NpuSmiFormatError:
    """Build the error about an answer of ``npu-smi <command>``; ``text`` is the line in question, or the whole answer."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    what = "npu-smi printed an unknown answer: {0!r}".format(lines[0][:160] if lines else "")
    return NpuSmiFormatError(what, "npu-smi " + command, "Report the whole output together with its version")


class Failure(t.NamedTuple):
    """One failed call. ``details`` holds what the text names: dcmi_code, library, query, npu_count, rc."""

    reason: str
    message: str
    remedy: str
    details: t.Dict[str, t.Any]

    def __str__(self) -> str:
        return "{0}. {1}.".format(self.message.rstrip("."), self.remedy.rstrip("."))


class _Rule(t.NamedTuple):
    reason: str
    pattern: str  # searched line by line; its named groups become details


# reason -> (message, remedy). The message may name a detail in braces.
REASONS: t.Dict[str, t.Tuple[str, str]] = {
    "timeout": (
        "npu-smi did not answer within the time limit",
        "Look for a hung NPU with dmesg, stop what resets it, or raise the timeout",
    ),
    "missing_library": (
        "npu-smi cannot load the library {library}",
        "Install the driver, or in a container mount its lib64 folder with common and driver below it and set LD_LIBRARY_PATH",
    ),
    "command_not_found": ("npu-smi is not installed", "Install the Ascend driver, or name the tool with the option npu_smi"),
    "permission_denied": ("npu-smi may not be executed by this user", "Become root, or join the group of the driver (HwHiAiUser)"),
    "device_in_use": (
        "the NPU is mapped to another container (DCMI {dcmi_code})",
        "Stop that container, or allow sharing with npu-smi set -t device-share",
    ),
    "dcmi_init_failed": (
        "npu-smi cannot reach the driver (DCMI {dcmi_code})",
        "Reboot after a driver or firmware change, load the kernel modules, become root, "
        "or in a container map /dev/davinciN, davinci_manager, devmm_svm and hisi_hdc",
    ),
    "board_unknown": ("the driver does not know this board", "Install the driver package made for this product"),
    "no_npu": ("npu-smi sees no NPU on this host", "Check the cards with lspci -d 19e5: and the driver with dmesg"),
    "not_supported": ("this NPU does not support the query {query}", "Leave that query out"),
    "not_in_container": ("npu-smi does not run this command in a container or virtual machine", "Run it on the host"),
    "root_required": ("npu-smi runs this command for root only", "Become root"),
    "invalid_card_id": ("npu-smi does not know this NPU or chip id", "Use the ids that npu-smi info -m prints"),
    "unknown_command": ("this version of npu-smi does not know the command", "Upgrade the driver, or leave that query out"),
    "query_failed": ("npu-smi failed while it read a card", "Repeat it; if it stays, look at dmesg and reset or reboot"),
    "confirmation_required": ("npu-smi asked for a confirmation and got none", "Feed the answer Y on stdin"),
    "help_printed": (
        "npu-smi printed its help, as it does when it sees no NPU",
        "Check the cards with lspci -d 19e5: and the driver with dmesg",
    ),
    "crashed": ("npu-smi was killed by signal {signal}", "Reinstall the driver and look at dmesg"),
    "failed": ("npu-smi failed with exit code {rc}", "Run it by hand and look at dmesg"),
    "unexpected_output": ("npu-smi printed something that this collection cannot read", "Report its output together with its version"),
    "cannot_execute": ("npu-smi cannot be executed", "Reinstall the driver for this processor architecture"),
    "devices_not_listed": ("npu-smi lists no NPU although the host has some", "Check dmesg, reboot, and in a container map /dev/davinciN"),
    "no_chip_responding": (
        "no NPU chip answers: power, temperature and memory are all zero",
        "Look at dmesg, then reset the NPUs or reboot",
    ),
}

# In this order: a loader line also says "No such file", and help follows a wrong argument.
_RULES = (
    _Rule("missing_library", r"error while loading shared libraries: (?P<library>[^\s:]+)"),
    _Rule("command_not_found", r"npu-smi: (?:command )?not found|npu-smi: No such file"),
    _Rule("permission_denied", r"Permission denied"),
    # both "module initialize failed" (-8005) and "model initialized failed" (vllm-ascend #632) exist
    _Rule("device_in_use", r"the device is used(?:.*?(?P<dcmi_code>-[0-9]{4}))?"),
    _Rule("dcmi_init_failed", r"dcmi mod(?:ule|el) initiali[sz]ed? failed(?:.*?(?P<dcmi_code>-[0-9]{4}))?"),
    _Rule("board_unknown", r"npu get board type failed"),
    _Rule("no_npu", r"There is no NPU card on this server"),
    _Rule("not_supported", r"does not support querying (?P<query>[^\s]+?)\.?\s*$"),
    _Rule("not_in_container", r"cannot be executed on a (?:VM|container)"),
    _Rule("root_required", r"executed only by the root user"),
    _Rule("invalid_card_id", r"Invalid (?:card|chip) id|must input card id"),
    _Rule("unknown_command", r"Command or option is not found"),
    _Rule("query_failed", r"Failed to query |Failed to get card number|Failed to execute npu-smi|failed\. err is -[89]"),
    _Rule("confirmation_required", r"\(Y/N\)"),
    _Rule("help_printed", r"^Usage: npu-smi"),
)

# Codes of exit(): the low byte of a DCMI (-8xxx) or tool (-9xxx) code, then those of the shell, the loader and timeout(1).
_EXIT_CODES: t.Dict[int, t.Tuple[str, t.Dict[str, t.Any]]] = {
    187: ("dcmi_init_failed", {"dcmi_code": -8005}),
    172: ("device_in_use", {"dcmi_code": -8020}),
    215: ("invalid_card_id", {}),
    214: ("root_required", {}),
    211: ("query_failed", {}),
    208: ("query_failed", {}),
    197: ("query_failed", {}),
    200: ("confirmation_required", {}),
    124: ("timeout", {}),
    126: ("permission_denied", {}),
    127: ("command_not_found", {}),
}


def failure(reason: str, **details: t.Any) -> Failure:
    """Build the failure of one reason code; ``details`` fill the message."""
    message, remedy = REASONS[reason]
    return Failure(reason, message.format(**dict({"dcmi_code": "without a code"}, **details)), remedy, details)


def classify(stdout: str, stderr: str, rc: t.Optional[int], timed_out: bool = False) -> t.Optional[Failure]:
    """Return why a call failed, or None when neither its text nor its exit code says so.

    Rows of a table and key/value lines are data and cannot make a call fail; the key ``Message`` is npu-smi's own voice.
    """
    if timed_out:
        return failure("timeout")
    lines = [line for line in (stdout + "\n" + stderr).splitlines() if _is_message(line)]
    for rule in _RULES:
        for line in lines:
            # Not compiled beforehand: most calls succeed.
            found = re.search(rule.pattern, line)
            if found:
                return failure(rule.reason, **_details(rule.reason, found.groupdict()))
    return _by_exit_code(rc)


def _is_message(line: str) -> bool:
    text = line.strip()
    if not text or text[0] in "|+":
        return False
    if not line[0].isspace():
        return True
    key, colon, _value = text.partition(":")
    return not colon or key.strip() == "Message"


def _details(reason: str, groups: t.Mapping[str, t.Optional[str]]) -> t.Dict[str, t.Any]:
    details: t.Dict[str, t.Any] = {key: value for key, value in groups.items() if value is not None}
    if "dcmi_code" in details:
        details["dcmi_code"] = int(details["dcmi_code"])
    if reason in ("no_npu", "help_printed"):
        details["npu_count"] = 0
    return details


def _by_exit_code(rc: t.Optional[int]) -> t.Optional[Failure]:
    if rc is None:
        return failure("cannot_execute")
    if rc == 0:
        return None
    if rc < 0:
        return failure("crashed", signal=-rc)
    reason, details = _EXIT_CODES.get(rc, ("failed", {}))
    return failure(reason, **dict(details, rc=rc))
