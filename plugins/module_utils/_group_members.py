# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Which hosts serve an engine together by the plan, what each of them is asked before, and which NPU pings which. Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._engine_docker_options import SUBOPTIONS
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_inventory import PREFIX, Variables, instances, options
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_input import ENGINES as PLAN_ENGINES
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_input import HOST as PLAN_HOST
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_input import RUNNING as PLAN_RUNNING
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_ports import span

Row = t.Dict[str, t.Any]
Hosts = t.Mapping[str, Variables]

# Results that playbooks/precheck_groups.yml registers on each host.
LOOK, PINGS = "npufleet_group_look", "npufleet_group_pings"
DOCKER_HOST = str(SUBOPTIONS["docker_host"]["default"])
# Generations whose NPUs have a network card of their own that hccn_tool of this form serves. A5 has another form, 310P has no such card.
NETWORKED = ("A1", "A2", "A3")
# Ports that the kernel of the host listens on; those of hccl_npu are on the card of the NPU.
ON_CARD = ("hccl_npu",)


class Member(t.NamedTuple):
    """A host in a group, with what its variables say of the engine. ``chips`` are numbers of /dev/davinciN, in the order of the plan."""

    host: str
    chips: t.Tuple[int, ...]
    ports: t.Tuple[int, ...]
    generation: t.Optional[str]
    address: t.Optional[str]
    interface: t.Optional[str]
    model: t.Optional[str]
    image: t.Optional[str]
    docker_host: str
    venv: t.Optional[str]


class Group(t.NamedTuple):
    """An engine on several hosts; the head is the first member."""

    name: str
    members: t.Tuple[Member, ...]


def find_groups(rows: t.Iterable[Row], variables: Hosts) -> t.List[Group]:
    """Return the engines on several hosts of a plan: rows with one name and one address of the head.

    :param variables: variables of all hosts, by name
    """
    found: t.Dict[t.Tuple[str, str], t.List[Row]] = {}
    for row in rows:
        if row.get("master_address") and row["layout"]["hosts"] > 1:
            found.setdefault((row["name"], row["master_address"]), []).append(row)
    groups = []
    for (name, _address), members in found.items():
        ordered = sorted(members, key=lambda row: int(row["rank"]))
        groups.append(Group(name, tuple(_member(row, variables[row["host"]]) for row in ordered)))
    return groups


def _member(row: Row, own: Variables) -> Member:
    host = own.get(PLAN_HOST) or {}
    engine = _engine(own, row["name"])
    container = engine["container"] or {}
    taken = {port for record in own.get(PLAN_RUNNING) or [] if record["name"] == row["name"] for port in _ports(record)}
    return Member(
        host=row["host"],
        chips=tuple(chip["phy_id"] for chip in row["chips"]),
        # What an engine of this name already has by its record is its own.
        ports=tuple(sorted(set(_ports(row)) - taken)),
        generation=(host.get("npu") or {}).get("generation"),
        address=host.get("address"),
        interface=host.get("interface"),
        model=engine["model"] or None,
        image=engine["image"] or _recipe_image(own, row["name"]),
        docker_host=container.get("docker_host") or DOCKER_HOST,
        venv=engine["venv"] or None,
    )


def _engine(own: Variables, name: str) -> Row:
    """Options of the engine of that name; of the first where none has it."""
    known = instances(own)
    mine = next((one for one in known if one.get("name", own.get(PREFIX + "name")) == name), known[0])
    return options(own, mine, ("model", "image", "container", "venv"))


def _recipe_image(own: Variables, name: str) -> t.Optional[str]:
    for row in own.get(PLAN_ENGINES) or []:
        image = (row.get("recipe") or {}).get("image") if row.get("name") == name else None
        if image:
            return "{0}:{1}".format(image["repository"], image["tag"])
    return None


def _ports(row: Row) -> t.List[int]:
    return [port for kind, value in (row.get("ports") or {}).items() if kind not in ON_CARD for port in span(value)]


def questions(groups: t.Sequence[Group], host: str) -> Row:
    """Return the options of the module group_info for a host; empty when it serves no engine with others."""
    mine = [member for group in groups for member in group.members if member.host == host]
    if not mine:
        return {}
    return {
        "chips": sorted({chip for member in mine if member.generation in NETWORKED for chip in member.chips}),
        "vnic": any(member.generation == "A3" for member in mine),
        "ports": sorted({port for member in mine for port in member.ports}),
        "interfaces": _each(member.interface for member in mine),
        "weights": _each(member.model for member in mine),
        "images": _each(member.image for member in mine),
        "docker_host": mine[0].docker_host,
        "venvs": _each(member.venv for member in mine),
    }


def _each(values: t.Iterable[t.Optional[str]]) -> t.List[str]:
    return sorted({value for value in values if value})


def answer_of(own: Variables, name: str) -> t.Optional[Row]:
    """The answers that a host gave in one of the rounds; None where it did not."""
    result = own.get(name)
    group = result.get("group") if isinstance(result, dict) else None
    return group if isinstance(group, dict) else None


def address_key(member: Member, way: str) -> str:
    """Which address of an NPU its peers ping: inside a super pod its own there, else that of its RoCE card."""
    return "vnic_address" if way == "hccs_ping" else "address"


def way_of(group: Group, asked: t.Optional[str] = None) -> str:
    """How NPUs of the group ping each other: as asked, else by generation (vllm-ascend: A3 hccs_ping, A2 ping)."""
    return asked or ("hccs_ping" if all(member.generation == "A3" for member in group.members) else "ping")


def pings(groups: t.Sequence[Group], host: str, variables: Hosts, asked: t.Optional[str] = None, every: bool = False) -> Row:
    """Return the options of the module group_info for the second round of a host: whom its NPUs ping.

    Each NPU pings the one of its own place on each other host, or with ``every`` all of them.
    """
    rows: t.List[Row] = []
    way = "ping"
    for group in groups:
        for member in group.members:
            if member.host == host and member.generation in NETWORKED:
                way = way_of(group, asked)
                rows += [dict(row) for row in _pings_of(group, member, variables, way, every)]
    unique = {(row["chip"], row["address"]): row for row in rows}
    return {"pings": [unique[key] for key in sorted(unique)], "ping_command": way} if unique else {}


def _pings_of(group: Group, member: Member, variables: Hosts, way: str, every: bool) -> t.Iterator[Row]:
    for peer in group.members:
        if peer.host == member.host:
            continue
        look = answer_of(variables[peer.host], LOOK) or {}
        for place, chip in enumerate(member.chips):
            for other in peer.chips if every else peer.chips[place : place + 1]:
                address = ((look.get("npus") or {}).get(str(other)) or {}).get(address_key(peer, way))
                if address:
                    yield {"chip": chip, "address": address}
