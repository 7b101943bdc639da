# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Compare the NPU networks of hosts that are to serve one engine: links, addresses, TLS switch, who reaches whom. Pure.

Why: a link that is down, a TLS switch that differs and a peer out of reach end a start after minutes with EJ0002 or EI0006 (vllm-ascend
#1815, #5461, #10224); a missing hccn.conf gives wrong answers (#7711), a stale one slow transfers (#16847).
"""

from __future__ import annotations

import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._group_findings import (
    Answers,
    Finding,
    Row,
    finding,
    listed,
    passed_on,
    twice,
)
from ansible_collections.npufleet.ascend.plugins.module_utils._group_members import NETWORKED, Member, address_key

Devices = t.Iterator[t.Tuple[Member, int, Row]]
GOOD_LINK, GOOD_HEALTH = "UP", "Success"


def check_network(answers: Answers) -> t.List[Finding]:
    """Return all findings about the NPU network of a group."""
    other = [member.host for member in answers.members if member.generation not in NETWORKED]
    if other:
        what = "the NPU network is not checked, as hccn_tool has another form on these NPUs, or they have no network of their own"
        return [finding(answers, what, listed(other), "Check it by hand where the NPUs have one", problem=False)]
    pings = _check_pings(answers)
    return [*_check_links(answers, bool(pings)), *_check_addresses(answers), *_check_conf(answers), *_check_tls(answers), *pings]


def _devices(answers: Answers) -> Devices:
    for member in answers.members:
        npus = answers.looks[member.host]["npus"]
        for chip in member.chips:
            if str(chip) in npus:
                yield member, chip, npus[str(chip)]


def _name(member: Member, chip: int) -> str:
    return "{0} NPU {1}".format(member.host, chip)


def _check_links(answers: Answers, unreached: bool) -> t.List[Finding]:
    """Inside a super pod traffic does not use the RoCE cards, which may be down there while all reach each other."""
    findings = [passed_on(answers, member.host, error) for member, _chip, row in _devices(answers) for error in row["errors"]]
    problem = answers.way == "ping" or unreached
    down = [_name(member, chip) for member, chip, row in _devices(answers) if row["link"] not in (GOOD_LINK, None)]
    if down:
        findings.append(
            finding(
                answers,
                "the network link of NPUs is down",
                listed(down),
                "Check cable, optical module and switch port (hccn_tool -i N -lldp -g)",
                problem,
            )
        )
    ill = [
        "{0} ({1})".format(_name(member, chip), row["health"])
        for member, chip, row in _devices(answers)
        if row["health"] not in (GOOD_HEALTH, None)
    ]
    if ill:
        remedy = "Check address, gateway and the address that the health test asks (hccn_tool -i N -netdetect -g)"
        findings.append(finding(answers, "the network health of NPUs is not {0}".format(GOOD_HEALTH), listed(ill), remedy, problem))
    return findings


def _check_addresses(answers: Answers) -> t.List[Finding]:
    key = address_key(answers.group.members[0], answers.way)
    findings = []
    none = [_name(member, chip) for member, chip, row in _devices(answers) if row[key] is None and not row["errors"]]
    if none:
        remedy = (
            "Set one with hccn_tool -i N -ip -s address A netmask M"
            if key == "address"
            else "Look at the driver: it sets them in a super pod"
        )
        findings.append(finding(answers, "NPUs have no network address", listed(none), remedy))
    for key in ("address", "vnic_address"):
        same = twice((_name(member, chip), row[key]) for member, chip, row in _devices(answers))
        if same:
            findings.append(finding(answers, "NPUs have the same network address", listed(same), "Give each NPU of the group its own"))
    return findings


def _check_conf(answers: Answers) -> t.List[Finding]:
    findings, stale = [], []
    missing = [
        member.host for member in answers.members if answers.looks[member.host]["npus"] and answers.looks[member.host]["hccn_conf"] is None
    ]
    if missing:
        remedy = "Set the addresses again with hccn_tool -i N -ip -s address A netmask M, which writes it"
        what = "there is no hccn.conf that can be read, which containers need"
        findings.append(finding(answers, what, listed(missing), remedy, answers.way == "ping"))
    for member, chip, row in _devices(answers):
        conf = answers.looks[member.host]["hccn_conf"]
        written = (conf or {}).get(str(chip))
        if conf is not None and row["address"] is not None and written != row["address"]:
            stale.append("{0} has {1}, the file {2}".format(_name(member, chip), row["address"], written or "none"))
    if stale:
        remedy = "Set the address that is right with hccn_tool -i N -ip -s address A netmask M, which writes the file too"
        findings.append(finding(answers, "hccn.conf has other addresses than the NPUs", listed(stale), remedy))
    return findings


def _check_tls(answers: Answers) -> t.List[Finding]:
    sides: t.Dict[bool, t.List[str]] = {True: [], False: []}
    for member, chip, row in _devices(answers):
        if row["tls"] is not None:
            sides[row["tls"]].append(_name(member, chip))
    if sides[True] and sides[False]:
        remedy = "Set it alike on all NPUs of all hosts with hccn_tool -i N -tls -s enable 0 (or 1)"
        where = "on: {0}; off: {1}".format(listed(sides[True]), listed(sides[False]))
        return [finding(answers, "the TLS switch of NPUs differs, so they cannot connect", where, remedy)]
    return []


def _check_pings(answers: Answers) -> t.List[Finding]:
    pairs: t.Dict[str, t.List[str]] = {kind: [] for kind in ("silent", "lossy", "error", "unable")}
    for kind, text in _unreached(answers):
        pairs[kind].append(text)
    remedy = "Check addresses, netmask, gateway, VLAN and switch between them (hccn_tool -i N -{0} -g address A)".format(answers.way)
    unable = "Set npufleet_precheck_ping to the command that these NPUs have, ping or hccs_ping"
    sentences = (
        ("silent", "NPUs do not reach each other", remedy, True),
        ("lossy", "pings between NPUs lose packets", remedy, True),
        ("error", "NPUs could not be pinged", remedy, True),
        ("unable", "these NPUs have no command {0}".format(answers.way), unable, False),
    )
    return [finding(answers, what, listed(pairs[kind]), how, problem) for kind, what, how, problem in sentences if pairs[kind]]


def _unreached(answers: Answers) -> t.Iterator[t.Tuple[str, str]]:
    """Pairs that have something to tell, and what kind of it."""
    owners = {row[address_key(member, answers.way)]: _name(member, chip) for member, chip, row in _devices(answers)}
    for member in answers.members:
        for row in (answers.pings.get(member.host) or {}).get("pings", []):
            # Answers of another engine on the host are not of this group.
            if row["chip"] in member.chips and row["address"] in owners:
                kind, more = _kind(row)
                if kind:
                    yield kind, "{0} -> {1} ({2}){3}".format(_name(member, row["chip"]), owners[row["address"]], row["address"], more)


def _kind(row: Row) -> t.Tuple[str, str]:
    if row["error"]:
        return "error", ": " + row["error"]
    if row["sent"] is None:
        return "unable", ""
    if not row["received"]:
        return "silent", ""
    if row["received"] < row["sent"]:
        return "lossy", ", {0} of {1} packets".format(row["received"], row["sent"])
    return "", ""
