# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Values of kernel files in one normal form each, so that found and wanted compare as text; lists of CPUs and ports, masks of CPUs."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError

UNLIMITED = "unlimited"


class Target(t.NamedTuple):
    """One kernel file of a knob.

    ``key`` stays the same over reboots, ``path`` may not (interrupt numbers). ``wanted`` is None where the knob shall be left alone.
    ``form`` is text, number, choice (the word in brackets), cpus (a list), mask (hexadecimal words) or ports (a list that is added to what
    others put there). With ``floor`` the value is only ever raised. With ``within`` any CPUs inside that list are good, too. ``unit`` is what
    the table puts before the value.
    """

    knob: str
    key: str
    path: str
    wanted: t.Optional[str] = None
    form: str = "text"
    floor: bool = False
    within: str = ""
    unit: str = ""


def parse_cpus(text: str) -> t.Tuple[int, ...]:
    """CPUs of a list such as ``0-3,8``, ascending.

    :raises NpufleetError: the text is no list of CPUs (cpuset(7))
    """
    cpus: t.Set[int] = set()
    for part in text.strip().split(",") if text.strip() else []:
        match = re.fullmatch(r"\s*(\d{1,6})(?:-(\d{1,6}))?\s*", part)
        if match is None:
            raise NpufleetError(
                "{0!r} is no list of CPUs".format(text[:80]),
                where="CPU affinity",
                remedy="Write it as in /sys/devices/system/cpu/online, for instance 0-23,48",
            )
        first, last = int(match.group(1)), int(match.group(2) or match.group(1))
        cpus.update(range(first, last + 1))
    return tuple(sorted(cpus))


def format_cpus(cpus: t.Iterable[int]) -> str:
    """The shortest list of CPUs: (0, 1, 2, 8) is ``0-2,8``."""
    runs: t.List[t.List[int]] = []
    for cpu in sorted(set(cpus)):
        if runs and cpu == runs[-1][1] + 1:
            runs[-1][1] = cpu
        else:
            runs.append([cpu, cpu])
    return ",".join(str(first) if first == last else "{0}-{1}".format(first, last) for first, last in runs)


def mask_cpus(mask: str) -> t.Tuple[int, ...]:
    """CPUs of a mask of hexadecimal words, ``ff,00000000`` are 32 to 39 (Documentation/core-api/workqueue.rst)."""
    bits = int("".join(word.strip().zfill(8) for word in mask.strip().split(",")) or "0", 16)
    return tuple(cpu for cpu in range(bits.bit_length()) if bits >> cpu & 1)


def cpus_mask(cpus: t.Iterable[int]) -> str:
    """The mask of a list of CPUs, in words of 32 bits."""
    digits = "{0:x}".format(sum(1 << cpu for cpu in set(cpus)))
    digits = digits.zfill(-(-len(digits) // 8) * 8)
    return ",".join(digits[at : at + 8] for at in range(0, len(digits), 8))


def normal(form: str, raw: str) -> str:
    """The normal form of what a file holds; text that does not have the form is returned as it is, so it equals nothing wanted."""
    text = raw.strip()
    if form == "choice":
        match = re.search(r"\[([^\]]*)\]", text)
        return match.group(1) if match else text
    try:
        if form == "number":
            return str(int(text))
        # Ports are written as CPUs are (ip_local_reserved_ports).
        if form in ("cpus", "ports"):
            return format_cpus(parse_cpus(text))
        if form == "mask":
            return format_cpus(mask_cpus(text))
    except (ValueError, NpufleetError):
        return text
    return text


def written(form: str, value: str) -> str:
    """What to write into the file for a value in its normal form."""
    return cpus_mask(parse_cpus(value)) if form == "mask" else value


def inside(found: str, within: str) -> bool:
    """Whether ``found`` is a list of CPUs, not empty, all of them in ``within``."""
    try:
        cpus = parse_cpus(found)
    except NpufleetError:
        return False
    return bool(cpus) and set(cpus) <= set(parse_cpus(within))


def joined(one: str, other: str) -> str:
    """What is in at least one of two lists in their normal form."""
    return format_cpus((*parse_cpus(one), *parse_cpus(other)))


def without(one: str, other: str) -> str:
    """What is in the first list and not in the second."""
    return format_cpus(set(parse_cpus(one)) - set(parse_cpus(other)))


def summary(values: t.Sequence[t.Tuple[str, str]]) -> str:
    """Values of many files in a few words: [("2M", "512"), ("2M", "512")] is ``2M: 512 x2``. Pairs are (unit, value)."""
    units: t.Dict[str, t.Dict[str, int]] = {}
    for unit, value in values:
        counts = units.setdefault(unit, {})
        counts[value] = counts.get(value, 0) + 1
    parts = []
    for unit, counts in units.items():
        texts = ["{0} x{1}".format(value, times) if times > 1 else value for value, times in counts.items()]
        parts.append((unit + ": " if unit else "") + " + ".join(texts))
    return "; ".join(parts)
