# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""hccn_tool: ``-i N`` with -link, -net_health, -ip, -vnic, -gateway, -tls, -ping and -hccs_ping, each with ``-g``.

The state file has a key ``hccn``, and without it all is well. N is the physical id, the number of /dev/davinciN.

* ``first``: address of device 0 (default 192.0.2.1); device N has the one N further. ``first_vnic``: the same inside the super pod.
* ``devices``: by N what is different: ``link``, ``health``, ``address`` (null: none set), ``tls`` (0, 1), ``gateway``.
* ``silent``: addresses that answer no ping. ``lossy``: addresses whose first packet is lost.
* ``busy_calls``: so many logged calls of this host find the tool busy. ``hang``: options that never answer, such as ``-ping``.
* ``unsupported``: options that this product does not have.

Words of link, health, addresses, gateway, TLS switch and hccs_ping, their colons, the words of refusals, and -i as physical id: published
source of the tool. Words of -ping, and a lost packet: captures in the guides of MindIE and HIXL. Assumed: all exit codes but 13 for
an address that is not set (seen in a collector's code), 3 packets, the certificate lines after the TLS switch, that refusals go to stdout.
"""

from __future__ import annotations

import ipaddress
import sys
import typing as t

from npu_simulator.cli import CODE_SIMULATOR, log_call
from npu_simulator.faults import sleep_forever
from npu_simulator.state import SimulatorError, State, is_loaded, load, present, state_path

CODE_FAILED, CODE_NOT_SET = 1, 13
PACKETS = 3
Answer = t.Tuple[t.List[str], int]


def main(argv: t.Sequence[str]) -> int:
    """Answer one call and return the exit code."""
    try:
        state = present(load(state_path()))
        number = log_call(state, ["hccn_tool", *argv])
    except SimulatorError as exc:
        sys.stderr.write("npu-simulator: {0}\n".format(exc))
        return CODE_SIMULATOR
    lines, code = answer(state, list(argv), number)
    sys.stdout.write("".join(line + "\n" for line in lines))
    sys.stdout.flush()
    if code < 0:
        sleep_forever()
    return code


def answer(state: State, argv: t.Sequence[str], number: int) -> Answer:
    """Return lines and exit code; a code below 0 means that the call never ends. ``number`` counts the calls of the host, from 1."""
    hccn = state.get("hccn") or {}
    devices = {_physical(chip) for chip in state["chips"]}
    if len(argv) < 4 or argv[0] != "-i" or argv[3] != "-g" or not is_loaded(state) or argv[1] not in devices:
        return ["Cmd execute failed!"], CODE_FAILED
    if number <= hccn.get("busy_calls", 0):
        return ["hccn_tool is busy, please try again."], CODE_FAILED
    if argv[2] in hccn.get("hang", []):
        return [], -1
    question = QUESTIONS.get(argv[2])
    if question is None or argv[2] in hccn.get("unsupported", []):
        return ["The command is not supported on this product."], CODE_FAILED
    return question(hccn, int(argv[1]), argv[4:])


def _physical(chip: t.Mapping[str, t.Any]) -> str:
    return str(chip["phy"] if chip.get("phy") is not None else chip["device"])


def _own(hccn: t.Mapping[str, t.Any], device: int, key: str, default: t.Any) -> t.Any:
    return hccn.get("devices", {}).get(str(device), {}).get(key, default)


def _nth(first: str, device: int) -> str:
    return str(ipaddress.IPv4Address(first) + device)


def _link(hccn: t.Mapping[str, t.Any], device: int, words: t.Sequence[str]) -> Answer:
    return ["link status: {0}".format(_own(hccn, device, "link", "UP"))], 0


def _health(hccn: t.Mapping[str, t.Any], device: int, words: t.Sequence[str]) -> Answer:
    return ["net health status: {0}".format(_own(hccn, device, "health", "Success"))], 0


def _ip(hccn: t.Mapping[str, t.Any], device: int, words: t.Sequence[str]) -> Answer:
    address = _own(hccn, device, "address", _nth(hccn.get("first", "192.0.2.1"), device))
    if address is None:
        return ["Get ip failed, because no ip was preset there!"], CODE_NOT_SET
    return ["ipaddr:" + address, "netmask:255.255.255.0"], 0


def _vnic(hccn: t.Mapping[str, t.Any], device: int, words: t.Sequence[str]) -> Answer:
    address = _nth(hccn.get("first_vnic", "198.51.100.1"), device)
    return ["vnic link status: UP", "vnic ipaddr: " + address, "vnic netmask: 255.255.255.0"], 0


def _gateway(hccn: t.Mapping[str, t.Any], device: int, words: t.Sequence[str]) -> Answer:
    gateway = _own(hccn, device, "gateway", "192.0.2.254")
    if gateway is None:
        return ["Get gateway failed, because no gateway was preset there!"], CODE_NOT_SET
    return ["default gateway:{0}, Iface:eth{1}".format(gateway, device)], 0


def _tls(hccn: t.Mapping[str, t.Any], device: int, words: t.Sequence[str]) -> Answer:
    switch = (
        "dev_id:{0}, tls switch[{1}](0:disable, 1:enable), tls preconfigured[1](0:non-preset, 1:preset), tls alarm time threshold[60]days"
    )
    return [switch.format(device, _own(hccn, device, "tls", 0)), "dev_id:{0}, [pub cert] info:".format(device)], 0


def _ping(hccn: t.Mapping[str, t.Any], device: int, words: t.Sequence[str]) -> Answer:
    address = words[1]
    lost = _lost(hccn, address)
    lines = ["recv time out seq={0}".format(seq) for seq in range(lost)]
    lines += ["recv seq={0},time=0.067000ms".format(seq) for seq in range(lost, PACKETS)]
    summary = "{0} packets transmitted, {1} received, {2:.2f}% packet loss".format(PACKETS, PACKETS - lost, 100 * lost / PACKETS)
    return ["device {0} PING {1}".format(device, address), *lines, summary], CODE_FAILED if lost else 0


def _hccs_ping(hccn: t.Mapping[str, t.Any], device: int, words: t.Sequence[str]) -> Answer:
    address = words[1]
    lost = _lost(hccn, address)
    lines = []
    for seq in range(PACKETS):
        lines.append("This pkt ping success!" if seq >= lost else "This pkt check recv msg fail!")
        lines += ["recv seq {0}, time = 6.067us, L1 plane check result = 0x0".format(seq), ""]
    summary = "{0} packets transmitted, {1} received, {2:.2f}% packets loss".format(PACKETS, PACKETS - lost, 100 * lost / PACKETS)
    return ["device {0} PING {1}".format(device, address), "", *lines, summary, "max time 6.067us"], 0


def _lost(hccn: t.Mapping[str, t.Any], address: str) -> int:
    return PACKETS if address in hccn.get("silent", []) else int(address in hccn.get("lossy", []))


QUESTIONS: t.Dict[str, t.Callable[[t.Mapping[str, t.Any], int, t.Sequence[str]], Answer]] = {
    "-link": _link,
    "-net_health": _health,
    "-ip": _ip,
    "-vnic": _vnic,
    "-gateway": _gateway,
    "-tls": _tls,
    "-ping": _ping,
    "-hccs_ping": _hccs_ping,
}
