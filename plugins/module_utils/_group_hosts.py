# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Compare the hosts that are to serve one engine: clocks, MTU, ports, weights, versions. Pure."""

from __future__ import annotations

import fnmatch
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._group_findings import (
    Answers,
    Finding,
    Row,
    differing,
    finding,
    listed,
    passed_on,
    twice,
)

# No engine reads these.
NO_MATTER = ("*.md", "*license*", "*.png", "*.jpg", "*.svg", "*.pdf")


def check_hosts(answers: Answers, seconds: float) -> t.List[Finding]:
    """Return all findings about the hosts of a group.

    :param seconds: how far clocks may be apart
    """
    return [
        *_check_answers(answers),
        *_check_addresses(answers),
        *_check_clocks(answers, seconds),
        *_check_mtu(answers),
        *_check_ports(answers),
        *_check_weights(answers),
        *_check_versions(answers),
    ]


def _check_answers(answers: Answers) -> t.List[Finding]:
    silent = [member.host for member in answers.group.members if member.host not in answers.looks]
    findings = []
    if silent:
        findings.append(
            finding(answers, "hosts did not answer", listed(silent), "Correct them, and run with all hosts of the engine (no --limit)")
        )
    told = [passed_on(answers, member.host, error) for member in answers.members for error in answers.looks[member.host]["errors"]]
    return findings + told


def _check_addresses(answers: Answers) -> t.List[Finding]:
    same = twice((member.host, member.address) for member in answers.group.members)
    if same:
        return [finding(answers, "hosts have the same address", listed(same), "Give npufleet_address on each of them")]
    return []


def _check_clocks(answers: Answers, seconds: float) -> t.List[Finding]:
    """A pair is apart when no time within its bounds is within the limit; when only some are, that is a doubt."""
    clocks = {member.host: answers.looks[member.host]["clock"] for member in answers.members}
    apart, unsure = [], []
    names = list(clocks)
    for place, one in enumerate(names):
        for other in names[place + 1 :]:
            low, high = _ahead(clocks[one], clocks[other])
            if low is None or high is None:
                unsure.append("{0} and {1}".format(one, other))
            elif low > seconds or high < -seconds:
                ahead, behind = (one, other) if low > 0 else (other, one)
                apart.append("{0} is at least {1:.1f} s ahead of {2}".format(ahead, min(abs(low), abs(high)), behind))
            elif low < -seconds or high > seconds:
                unsure.append("{0} and {1} (the calls took too long)".format(one, other))
    findings = []
    if apart:
        findings.append(
            finding(
                answers, "clocks are more than {0:g} s apart".format(seconds), listed(apart), "Let chrony or systemd-timesyncd keep them"
            )
        )
    if unsure:
        findings.append(finding(answers, "clocks could not be compared", listed(unsure), "Compare them with date", problem=False))
    loose = [host for host, clock in clocks.items() if clock.get("synchronised") is False]
    if loose:
        what = "nothing keeps the clock right, so it will drift"
        findings.append(finding(answers, what, listed(loose), "Let chrony or systemd-timesyncd keep it", problem=False))
    return findings


def _ahead(one: Row, other: Row) -> t.Tuple[t.Optional[float], t.Optional[float]]:
    """How far one clock is ahead of the other: at least, at most. Both were measured against the controller's."""
    if not one.get("ahead") or not other.get("ahead"):
        return None, None
    return one["ahead"][0] - other["ahead"][1], one["ahead"][1] - other["ahead"][0]


def _check_mtu(answers: Answers) -> t.List[Finding]:
    mtus = {member.host: answers.looks[member.host]["mtu"].get(member.interface) for member in answers.members if member.interface}
    where = differing(mtus)
    if where is None:
        return []
    return [
        finding(answers, "the MTU of the hosts' interfaces differs", where, "Set it alike on hosts and switch (ip link set dev IF mtu N)")
    ]


def _check_ports(answers: Answers) -> t.List[Finding]:
    taken = []
    for member in answers.members:
        ports = answers.looks[member.host]["ports"]
        taken += ["{0} port {1} by {2}".format(member.host, port, ports[str(port)]) for port in member.ports if ports.get(str(port))]
    if not taken:
        return []
    return [
        finding(
            answers,
            "ports of the engine are in use",
            listed(taken),
            "Stop what has them, or give other ports (npufleet plans them by vllm_engine_port)",
        )
    ]


def _check_weights(answers: Answers) -> t.List[Finding]:
    paths = differing({member.host: member.model for member in answers.members})
    if paths:
        return [finding(answers, "the path of the model differs, and must be the same on all hosts", paths, "Set vllm_engine_model alike")]
    found = {member.host: answers.looks[member.host]["weights"].get(member.model) for member in answers.members if member.model}
    there = [host for host, files in found.items() if files is not None]
    missing = [host for host, files in found.items() if files is None]
    if not there:
        where = listed(missing)
        return [finding(answers, "no host has the weights yet", where, "Copy them to all hosts", problem=False)] if missing else []
    findings = []
    if missing:
        findings.append(finding(answers, "hosts lack the weights that {0} has".format(there[0]), listed(missing), "Copy them there"))
    for host in there[1:]:
        differences = _differences(found[there[0]] or {}, found[host] or {})
        if differences:
            what = "the weights differ from those of {0}: {1}".format(there[0], listed(differences))
            findings.append(finding(answers, what, host, "Copy the model again from one source (rsync -c)"))
    return findings


def _differences(head: t.Mapping[str, Row], other: t.Mapping[str, Row]) -> t.List[str]:
    found = []
    for name in sorted(set(head) | set(other)):
        if any(fnmatch.fnmatchcase(name.lower(), pattern) for pattern in NO_MATTER):
            continue
        if name not in other:
            found.append("{0} is missing".format(name))
        elif name not in head:
            found.append("{0} is too much".format(name))
        elif head[name]["size"] != other[name]["size"]:
            found.append("{0} has {1} bytes instead of {2}".format(name, other[name]["size"], head[name]["size"]))
        elif head[name]["sha256"] != other[name]["sha256"]:
            found.append("{0} has another content".format(name))
    return found


def _check_versions(answers: Answers) -> t.List[Finding]:
    looks = {member.host: answers.looks[member.host] for member in answers.members}
    images = {member.host: member.image for member in answers.members}
    contained = any(images.values())
    compared = [
        ("the driver", {host: look["versions"]["driver"] for host, look in looks.items()}, "Install one version (role ascend_driver)"),
        ("the firmware", {host: look["versions"]["firmware"] for host, look in looks.items()}, "Install one version (role ascend_driver)"),
        ("the name of the image", images, "Set vllm_engine_image or the recipe alike"),
    ]
    if contained:
        ids = {host: (look["images"].get(images[host]) or {}).get("id") for host, look in looks.items()}
        compared.append(("what the image holds (its id)", ids, "Pull or load the same image again on all hosts, best by digest"))
    else:
        compared.append(("CANN", {host: look["versions"]["cann"] for host, look in looks.items()}, "Install one version (role cann)"))
        compared.append(("vLLM or its plugin", _environments(answers), "Build the environments alike"))
    findings = []
    for what, values, remedy in compared:
        where = differing(values)
        if where:
            findings.append(finding(answers, "{0} differs between the hosts".format(what), where, remedy))
    return findings + _unknown_images(answers)


def _environments(answers: Answers) -> t.Dict[str, t.Optional[str]]:
    texts = {}
    for member in answers.members:
        found = answers.looks[member.host]["venvs"].get(member.venv) or {}
        texts[member.host] = ", ".join("{0} {1}".format(*item) for item in sorted(found.items())) or None
    return texts


def _unknown_images(answers: Answers) -> t.List[Finding]:
    unknown = []
    for member in answers.members:
        image = answers.looks[member.host]["images"].get(member.image) or {}
        if member.image and not image.get("id"):
            unknown.append("{0} ({1})".format(member.host, image.get("reason") or "not asked"))
    if not unknown:
        return []
    return [finding(answers, "the image cannot be compared", listed(unknown), "Run again when all hosts have it", problem=False)]
