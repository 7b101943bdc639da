# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""One way to keep an engine on CPUs near its chips: the plugin's own, a cpuset of the container, or numactl on bare metal. Pure.

The plugin (vllm-ascend, cpu_binding.py) divides the CPUs that the process may use among the chips that it sees. It works on Arm hosts
alone, wants five CPUs for each chip, and does not know of other engines: two of them with chips on one NUMA node would get the same CPUs.
So it serves an engine that has a whole host, and an engine that has a part gets a cpuset.
"""

from __future__ import annotations

import json
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._plan_cpus import Cpus, cpus_of, enough
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_host import Site
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_values import PlanError, Row, mapping, one_of, shown, text
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_npu import CPUS_PER_NPU
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_values import format_cpus, parse_cpus

BINDINGS = ("plugin", "cpuset", "numactl", "none")
KEY = "enable_cpu_binding"
ARM, X86 = ("aarch64", "arm64"), ("x86_64", "amd64")


class Binding(t.NamedTuple):
    """What holds an engine on its CPUs. ``cpus`` are None where the plugin chooses or nothing does."""

    method: str
    cpus: t.Optional[Cpus]
    reasons: t.Tuple[str, ...]

    @property
    def cpuset(self) -> t.Optional[str]:
        return None if self.cpus is None else format_cpus(self.cpus)


def asked_binding(
    binding: t.Any, cpuset: t.Any, args: t.Mapping[str, t.Any], env: t.Mapping[str, str], where: str
) -> t.Tuple[t.Optional[str], t.Optional[str]]:
    """Return the one method that a person asks for ("off" is any but the plugin's), and the cpuset if there is one.

    :raises PlanError: two ask for different methods
    """
    asked: t.Dict[str, str] = {}
    if binding is not None:
        asked["binding"] = one_of(binding, where + ".binding", BINDINGS)
    if cpuset is not None:
        text(cpuset, where + ".cpuset")
        asked["cpuset"] = "numactl" if binding == "numactl" else "cpuset"
    plugin = additional_config(args, where).get(KEY)
    plugin = args.get("numa_bind") if plugin is None else plugin
    if plugin is True or (plugin is False and binding == "plugin"):
        asked["args.additional_config.{0} (or numa_bind)".format(KEY)] = "plugin" if plugin else "off"
    if env.get("CPU_AFFINITY_CONF", "0") not in ("0", ""):
        asked["env.CPU_AFFINITY_CONF"] = "torch_npu"
    methods = set(asked.values())
    if methods == {"torch_npu"}:
        asked["the plugin or a cpuset"] = "the planner's"
        methods.add("plugin")
    if len(methods) > 1:
        raise PlanError(
            "the CPUs would be bound in two ways: {0}".format(", ".join("{0} ({1})".format(*pair) for pair in sorted(asked.items()))),
            where,
            "Keep one: binding is plugin, cpuset, numactl (bare metal) or none; a second one takes CPUs away from the first",
        )
    return (methods.pop() if methods else "off" if plugin is False else None), (None if cpuset is None else str(cpuset))


def additional_config(args: t.Mapping[str, t.Any], where: str) -> Row:
    """Return additional_config as a mapping, which may be written as JSON.

    :raises PlanError: it is neither
    """
    value = args.get("additional_config")
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise PlanError("additional_config is no JSON", where + ".args.additional_config", "Write it as a mapping") from None
    return dict(mapping(value, where + ".args.additional_config"))


def bind(
    site: Site,
    chips: t.Sequence[int],
    asked: t.Optional[str],
    cpuset: t.Optional[str],
    bare_metal: bool,
    where: str,
    giver: str = "given",
) -> Binding:
    """Return how an engine with these chips of the host is bound.

    :param chips: indices of chips of the host
    :param asked: the method that somebody wants, "off" for any but the plugin's, or None
    :raises PlanError: that method is not possible here
    """
    own = "numactl" if bare_metal else "cpuset"
    if cpuset is not None:
        return _given(site, chips, own if asked in (None, "off") else str(asked), cpuset, where, giver)
    if asked == "none":
        return Binding("none", None, ("CPUs are not bound: {0}".format(giver),))
    if asked is None and _plugin_problem(site, chips) is None:
        return Binding("plugin", None, ("CPUs: the plugin binds them, as the engine has the whole host",))
    if asked == "plugin":
        return _plugin(site, chips, where, giver)
    if asked not in (None, "off", own):
        raise PlanError(
            "binding {0} is for {1}".format(asked, "containers" if bare_metal else "engines on bare metal"),
            where + ".binding",
            "Use " + own,
        )
    return _near(site, chips, own, asked == own, where)


def _plugin_problem(site: Site, chips: t.Sequence[int]) -> t.Optional[str]:
    host = site.host
    if host.arch not in ARM:
        return "it has no effect on {0}".format("x86" if host.arch in X86 else "a host whose architecture is not known to be Arm")
    if host.cpus and not enough(host.cpus, len(host.chips)):
        return "{0} CPUs are fewer than {1} for each of {2} chips".format(len(host.cpus), CPUS_PER_NPU, len(host.chips))
    if not site.whole(chips):
        return "the engine has {0} of the {1} chips, and the plugin does not know of engines on the others".format(
            len(chips), len(host.chips)
        )
    return None


def _plugin(site: Site, chips: t.Sequence[int], where: str, giver: str) -> Binding:
    problem = _plugin_problem(site, chips)
    if problem is None:
        return Binding("plugin", None, ("CPUs: the plugin binds them: {0}".format(giver),))
    raise PlanError(
        "the plugin cannot bind the CPUs on host {0}: {1}".format(site.host.name, problem),
        where + ".binding",
        "Use cpuset, numactl (bare metal) or none",
    )


def _near(site: Site, chips: t.Sequence[int], method: str, asked: bool, where: str) -> Binding:
    """CPUs of the chips' shares; none where they are unknown or too few, unless somebody insists."""
    cpus = cpus_of(site.host.shares, chips, site.cpus.keys())
    if enough(cpus, len(chips)):
        known = all(site.host.shares.known[index] for index in chips)
        source = "near its chips" if known else "a slice of the host, as nothing tells which are near its chips"
        return Binding(method, cpus, ("CPUs {0}: {1}, {2} a chip".format(shown(cpus), source, len(cpus) // len(chips)),))
    what = (
        "which CPUs are near its chips is not known" if not cpus else "{0} CPUs are fewer than {1} a chip".format(len(cpus), CPUS_PER_NPU)
    )
    if asked:
        raise PlanError(
            "CPUs of host {0} cannot be bound: {1}".format(site.host.name, what),
            where + ".binding",
            "Give cpus of the host, a cpuset, or binding none",
        )
    return Binding("none", None, ("CPUs are not bound: {0}".format(what),))


def _given(site: Site, chips: t.Sequence[int], method: str, cpuset: str, where: str, giver: str) -> Binding:
    """A cpuset that somebody wrote or that the running engine has."""
    cpus = parse_cpus(cpuset)
    others = sorted({site.cpus[cpu] for cpu in cpus if cpu in site.cpus})
    outside = sorted(set(cpus) - set(site.host.cpus)) if site.host.cpus else []
    problem = None
    if others:
        problem = "engine {0} has CPUs of it".format(others[0])
    elif outside:
        problem = "host {0} has no CPU {1}".format(site.host.name, outside[0])
    elif not enough(cpus, len(chips)):
        problem = "{0} CPUs are fewer than {1} for each of {2} chips".format(len(cpus), CPUS_PER_NPU, len(chips))
    if problem is not None:
        raise PlanError(
            "the cpuset {0} cannot be: {1}".format(cpuset[:80], problem), where + ".cpuset", "Leave it out to let the planner choose"
        )
    near = {cpu for index in chips for cpu in site.host.chips[index].near}
    far = [cpu for cpu in cpus if near and cpu not in near]
    words = "CPUs {0}: {1}".format(shown(cpus), giver) + (", {0} of them not near its chips".format(len(far)) if far else "")
    return Binding(method, cpus, (words,))


def binding_options(method: str, arch: t.Optional[str], config: Row) -> Row:
    """Return additional_config with the plugin's own binding on or off; nothing where it has no effect (x86) and nobody set it."""
    if arch in X86 and KEY not in config:
        return {}
    return {"additional_config": dict(config, **{KEY: method == "plugin"})}
