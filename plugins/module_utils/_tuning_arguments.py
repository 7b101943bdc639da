# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Arguments of the kernel command line: IOMMU passthrough, and huge pages too large to be found later. They take effect at a reboot. Pure."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_host import HostState
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_spec import Knobs, size_text
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_targets import POOL
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_values import Target

GIANT_KB = 1024**2
# hugepages=NODE:COUNT (kernel commit b5389086ad7b).
NODE_FORM_SINCE = (5, 16)
IOMMU_NAMES = ("iommu.passthrough", "iommu")


class ArgumentPlan(t.NamedTuple):
    """Words that shall be ours, those to add and to remove now, what hinders one of the knobs, and which knobs wait for a reboot."""

    ours: t.Tuple[str, ...] = ()
    add: t.Tuple[str, ...] = ()
    remove: t.Tuple[str, ...] = ()
    skips: t.Dict[str, str] = {}
    waiting: t.Tuple[str, ...] = ()


def iommu_words(machine: str) -> t.Tuple[str, ...]:
    """Arm kernels know iommu.passthrough only, older x86 kernels iommu=pt only (Documentation/admin-guide/kernel-parameters.txt)."""
    return ("iommu=pt",) if machine in ("x86_64", "amd64", "i686") else ("iommu.passthrough=1",)


def iommu_found(cmdline: t.Sequence[str]) -> str:
    """What the running kernel was told."""
    said = [word for word in cmdline if word.partition("=")[0] in IOMMU_NAMES]
    on = {"iommu=pt", "iommu.passthrough=1"}.intersection(said)
    return "on" if on else " ".join(said) or "off"


def giant_words(targets: t.Iterable[Target], kernel: t.Tuple[int, int]) -> t.Tuple[str, ...]:
    """Arguments for pages of 1 GiB and more; () without any. A kernel has one such size at most."""
    counts = []
    for target in targets:
        match = POOL.search(target.path)
        if match and target.wanted not in (None, "0") and int(match.group(2)) >= GIANT_KB:
            counts.append((int(match.group(2)), match.group(1), int(str(target.wanted))))
    if not counts:
        return ()
    if kernel >= NODE_FORM_SINCE and counts[0][1] is not None:
        pages = ",".join("{0}:{1}".format(node, count) for _size, node, count in counts)
    else:
        pages = str(sum(count for _size, _node, count in counts))
    return ("hugepagesz=" + size_text(counts[0][0]), "hugepages=" + pages)


def argument_plan(
    knobs: Knobs, host: HostState, pages: t.Sequence[Target], recorded: t.Sequence[str], persisted: t.Sequence[str]
) -> ArgumentPlan:
    """Compare.

    :param pages: the targets of the huge pages that apply here
    :param recorded: words that we added before
    :param persisted: those of our words that the boot loader has already
    """
    wanted = {}
    if knobs.iommu_passthrough:
        wanted["iommu_passthrough"] = iommu_words(host.machine)
    if giant_words(pages, host.kernel):
        wanted["hugepages"] = giant_words(pages, host.kernel)
    ours: t.List[str] = []
    skips = {}
    waiting = []
    for knob, words in wanted.items():
        active = set(words) <= set(host.cmdline)
        skip = "" if set(words) & set(recorded) else _hindrance(knob, words, host)
        if skip:
            skips[knob] = skip
        elif not active or set(words) & set(recorded):
            ours += words
            waiting += [] if active else [knob]
    gone = tuple(word for word in recorded if word not in ours)
    waiting += ["removed arguments"] if set(gone) & set(host.cmdline) else []
    return ArgumentPlan(tuple(ours), tuple(word for word in ours if word not in persisted), gone, skips, tuple(waiting))


def _hindrance(knob: str, words: t.Sequence[str], host: HostState) -> str:
    if host.kind == "container":
        return "a container shares this with its host ({0})".format(host.kind_source)
    if knob == "iommu_passthrough" and not host.iommu:
        return "the kernel shows no IOMMU"
    names = IOMMU_NAMES if knob == "iommu_passthrough" else ("hugepages",)
    said = [word for word in host.cmdline if word.partition("=")[0] in names]
    if said and not set(words) <= set(host.cmdline):
        return "the kernel command line already says {0}".format(" ".join(said))
    if host.boot_tool is None and not set(words) <= set(host.cmdline):
        return "neither grubby nor update-grub is here"
    return ""


def grubby_words(text: str) -> t.Tuple[str, ...]:
    """Arguments that every entry of ``grubby --info=ALL`` has."""
    entries = [set(match.group(1).split()) for match in re.finditer(r'^args="(.*)"$', text, re.MULTILINE)]
    return tuple(sorted(set.intersection(*entries))) if entries else ()
