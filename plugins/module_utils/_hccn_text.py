# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Answers of hccn_tool, and /etc/hccn.conf. Pure and total: a known answer gives a value, any other raises one error.

Formats: published source of the driver (hccn_tool of A2 and A3: roce and tool commands; CANN Open Software License), the guides of
vllm-ascend, HIXL and MindIE with captured output. docs/precheck.md says which is which.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError

REPORT = "Report the whole output together with the version of the driver"
# What a product without the command says, and what a device says that has no address yet.
UNSUPPORTED = re.compile(r"not supported on this product|does not support this (?:function|command)|VM does not support", re.IGNORECASE)
NOT_SET = re.compile(r"because no (?:ip|gateway) was preset", re.IGNORECASE)
BUSY = re.compile(r"hccn_tool is busy|device is occupied", re.IGNORECASE)
DENIED = re.compile(r"permission denied", re.IGNORECASE)

SUMMARY = re.compile(r"(\d+) packets? transmitted, (\d+) received, [\d.]+% packets? loss")
# These end a ping without a summary, or stand before one.
LOST = re.compile(r"Message too long|Destination Host Unreachable|recv time out seq|pkt send fail")


class HccnToolError(NpufleetError):
    """hccn_tool printed something that no known format describes, or may not be used."""


class BusyError(HccnToolError):
    """Somebody else asks hccn_tool at this moment; it serves one caller at a time."""


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")[:160]


def unexpected(command: str, text: str, rc: t.Optional[int] = 0) -> HccnToolError:
    """Build the error about an answer of ``hccn_tool <command>``."""
    end = "" if rc == 0 else ", exit code {0}".format(rc)
    return HccnToolError("hccn_tool printed an unknown answer: {0!r}{1}".format(_first_line(text), end), "hccn_tool " + command, REPORT)


def absent(command: str, text: str) -> bool:
    """Whether the answer means that there is nothing to tell: no such command on this product, or no address set.

    :raises BusyError: it has to be asked again
    :raises HccnToolError: this user may not ask
    """
    if BUSY.search(text):
        raise BusyError("hccn_tool is busy", "hccn_tool " + command, "Stop what else calls it, such as a monitor, and run again")
    if DENIED.search(text):
        raise HccnToolError("hccn_tool refuses this user: {0!r}".format(_first_line(text)), "hccn_tool " + command, "Run as root (become)")
    return bool(UNSUPPORTED.search(text) or NOT_SET.search(text))


def _value(pattern: str, command: str, text: str, rc: t.Optional[int]) -> t.Optional[str]:
    """The first group of ``pattern`` in a line of its own; None where there is nothing to tell."""
    found = re.search(r"^\s*" + pattern + r"\s*$", text, re.MULTILINE)
    if found and rc == 0:
        return found.group(1)
    if absent(command, text):
        return None
    raise unexpected(command, text, rc)


def parse_link(command: str, text: str, rc: t.Optional[int] = 0) -> t.Optional[str]:
    """UP or DOWN."""
    return _value(r"link status\s*:\s*(UP|DOWN)", command, text, rc)


def parse_health(command: str, text: str, rc: t.Optional[int] = 0) -> t.Optional[str]:
    """Success, or what is wrong: Socket fail, Receive timeout, Unreachable, Time exceeded, Fault, Init, Thread error, Detect ip set, Unknown."""
    return _value(r"net health status\s*:\s*(\S(?:.*\S)?)", command, text, rc)


def parse_ip(command: str, text: str, rc: t.Optional[int] = 0) -> t.Optional[str]:
    """The address of the device's RoCE card."""
    return _value(r"ipaddr\s*:\s*([0-9A-Fa-f.:]+)", command, text, rc)


def parse_vnic(command: str, text: str, rc: t.Optional[int] = 0) -> t.Optional[str]:
    """The address of the device inside its super pod (A3)."""
    return _value(r"vnic ipaddr\s*:\s*([0-9.]+)", command, text, rc)


def parse_gateway(command: str, text: str, rc: t.Optional[int] = 0) -> t.Optional[str]:
    """The default gateway of the device's RoCE card."""
    return _value(r"default gateway\s*:\s*([0-9A-Fa-f.:]+?)(?:\s*,\s*Iface\s*:\s*\S+)?", command, text, rc)


def parse_tls(command: str, text: str, rc: t.Optional[int] = 0) -> t.Optional[bool]:
    """Whether TLS is on. The same line names the values, so the number is what counts; certificates follow it."""
    value = _value(r"dev_id\s*:\s*\d+\s*,\s*tls switch\[([01])\].*", command, text, rc)
    return None if value is None else value == "1"


def parse_ping(command: str, text: str, rc: t.Optional[int] = 0) -> t.Optional[t.Tuple[int, int]]:
    """Packets sent and received, of -ping as of -hccs_ping; None where the product has no such command."""
    found = SUMMARY.search(text)
    if found:
        return int(found.group(1)), int(found.group(2))
    if LOST.search(text):
        return len(re.findall(r"\bseq\b", text)) or 1, 0
    if absent(command, text):
        return None
    raise unexpected(command, text, rc)


def parse_conf(text: str, path: str) -> t.Dict[int, str]:
    """Addresses by number of device, of hccn.conf: lines ``address_0=192.0.2.1``, of which the last one of a key counts.

    :raises HccnToolError: a line that is no setting
    """
    addresses: t.Dict[int, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        key, sign, value = line.partition("=")
        if not sign:
            raise HccnToolError(
                "line {0} is no setting: {1!r}".format(number, line[:160]),
                path,
                "Correct the line, or write the file again with hccn_tool -i N -ip -s address A netmask M",
            )
        device = re.match(r"^address_(\d+)$", key.strip())
        if device:
            addresses[int(device.group(1))] = value.strip()
    return addresses
