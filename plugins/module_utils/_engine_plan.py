# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Wanted against actual: keep, create, replace, start, stop, restart or remove, and the diff. One comparison decides ``changed``."""

from __future__ import annotations

import json
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._engine_spec import EngineSpec
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError

# What a plan can bring about; "ready" only waits for what is there.
STATES = ("present", "started", "stopped", "restarted", "absent")


class Actual(t.NamedTuple):
    """What is there now.

    ``applied`` is the public spec that the last finished launch recorded, ``digest`` its digest; ``files_current`` tells whether the
    service files on disk are those that the wanted spec renders. ``unfinished`` is True after a launch that was interrupted: whoever
    started it had consent, so going on needs none. ``restarting`` is True while nothing runs and the service manager is about to start the
    engine again. ``folder`` tells whether the engine's folder is there. ``drift`` are differences that only the service manager sees.
    """

    defined: bool = False
    running: bool = False
    enabled: bool = False
    files_current: bool = False
    digest: t.Optional[str] = None
    applied: t.Optional[t.Dict[str, t.Any]] = None
    unfinished: bool = False
    restarting: bool = False
    folder: bool = False
    drift: t.Tuple[str, ...] = ()


class Plan(t.NamedTuple):
    """``steps`` in order, out of: define, start, stop, remove, enable. ``interrupts`` is True when clients of a running engine notice."""

    action: str
    steps: t.Tuple[str, ...]
    interrupts: bool
    reasons: t.Tuple[str, ...]
    before: t.Dict[str, t.Any]
    after: t.Dict[str, t.Any]

    @property
    def changed(self) -> bool:
        return bool(self.steps)


class ConsentError(NpufleetError):
    """A running engine would be replaced and nobody said whether it may be."""


def make_plan(spec: EngineSpec, actual: Actual, state: str) -> Plan:
    """Return what brings ``actual`` to ``state`` of ``spec``. Pure: nothing is done."""
    reasons = tuple(differences(spec, actual)) if actual.defined else ()
    before = _shown(actual.applied, actual.defined, actual.running)
    if actual.restarting:
        before["state"] = "restarting"
    if state == "ready":
        return Plan("keep", (), False, reasons, before, before)
    if state == "absent":
        if actual.folder and not actual.defined:
            before["folder"] = spec.working_directory
        steps = (("stop",) if _kept_up(actual) else ()) + (("remove",) if actual.defined or actual.folder else ())
        return Plan("remove" if steps else "keep", steps, actual.running, (), before, {"state": "absent"} if steps else before)
    steps = _steps(actual, bool(reasons), state)
    running = _kept_up(actual) if state == "present" else state != "stopped"
    after = _shown(spec.public(), True, running) if steps else before
    if steps and reasons and before.get("spec") == after.get("spec"):
        after["rewritten"] = list(reasons)
    if "enable" in steps:
        before["enabled"], after["enabled"] = False, True
    return Plan(_action(steps, actual, state), steps, actual.running and "stop" in steps and not actual.unfinished, reasons, before, after)


def _kept_up(actual: Actual) -> bool:
    """Running, or about to be started again: what only a stop ends."""
    return actual.running or actual.restarting


def _steps(actual: Actual, differs: bool, state: str) -> t.Tuple[str, ...]:
    define = ("define",) if differs or not actual.defined else ()
    if state == "stopped":
        return (("stop",) if _kept_up(actual) else ()) + define
    if state == "present":
        # Defined, running or not as it was: a running engine is only touched when its spec differs.
        return ("stop", *define, "start") if _kept_up(actual) and differs else define
    stop = ("stop",) if _kept_up(actual) and (differs or state == "restarted") else ()
    start = ("start",) if stop or not actual.running else ()
    enable = ("enable",) if not actual.enabled and not define else ()
    return stop + define + start + enable


def _action(steps: t.Sequence[str], actual: Actual, state: str) -> str:
    if not steps:
        return "keep"
    if not actual.defined:
        return "create"
    if "define" in steps and not (state == "stopped" and _kept_up(actual)):
        return "replace"
    if "stop" in steps:
        return "restart" if "start" in steps else "stop"
    return "start" if "start" in steps else "enable"


# What a client could notice; the other fields of a spec (model, host, port, served name) are words of argv as well.
COMPARED = ("accelerator", "argv", "env", "secrets", "stop_seconds", "user", "working_directory")


def differences(spec: EngineSpec, actual: Actual) -> t.List[str]:
    """Say in words what differs: one entry a setting, without any secret."""
    wanted, applied = spec.public(), actual.applied or {}
    words = [
        "{0}: {1} -> {2}".format(name, *_changed(name, applied.get(name), wanted[name]))
        for name in COMPARED
        if applied.get(name) != wanted[name]
    ]
    words += _container_differences(applied.get("container"), wanted.get("container"))
    words += actual.drift
    if not words and actual.digest != spec.digest():
        words.append("a secret changed" if actual.digest else "the last launch did not finish")
    if not words and not actual.files_current:
        what = "a service file is missing or" if spec.container is None else "the container or the file of its key is"
        words.append(what + " not as this version of the collection writes it")
    return words


def _container_differences(before: t.Any, after: t.Any) -> t.List[str]:
    """One entry a setting of the container; of lists only what came and went."""
    if before == after:
        return []
    if not before or not after:
        return ["container: {0} -> {1}".format(*(_brief(side["image"] if side else None) for side in (before, after)))]
    words = []
    for key in sorted(set(before) | set(after)):
        old, new = before.get(key), after.get(key)
        if old != new and isinstance(old, list) and isinstance(new, list):
            old, new = [one for one in old if one not in new] or "(none)", [one for one in new if one not in old] or "(none)"
        if before.get(key) != after.get(key):
            words.append("container.{0}: {1} -> {2}".format(key, _brief(old), _brief(new)))
    return words


def _changed(name: str, before: t.Any, after: t.Any) -> t.Tuple[str, str]:
    """Both sides of a difference, reduced to what differs in them."""
    if name == "argv" and before:
        old, new = _option_groups(before), _option_groups(after)
        gone, come = [group for group in old if group not in new], [group for group in new if group not in old]
        return " ".join(gone) or "(none)", " ".join(come) or "(none)"
    if name == "env" and before:
        keys = sorted(key for key in set(before) | set(after) if before.get(key) != after.get(key))
        return _assignments(before, keys), _assignments(after, keys)
    return _brief(before), _brief(after)


def _assignments(env: t.Mapping[str, str], keys: t.Iterable[str]) -> str:
    return " ".join("{0}={1}".format(key, env[key]) if key in env else "({0} not set)".format(key) for key in keys)


def _option_groups(argv: t.Sequence[str]) -> t.List[str]:
    """``[vllm, serve, --a, 1, --b]`` -> ``[vllm, serve, --a 1, --b]``."""
    groups: t.List[str] = []
    for word in argv:
        if groups and groups[-1].startswith("--") and not word.startswith("--"):
            groups[-1] += " " + word
        else:
            groups.append(word)
    return groups


def _brief(value: t.Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def _shown(spec: t.Optional[t.Mapping[str, t.Any]], defined: bool, running: bool) -> t.Dict[str, t.Any]:
    if not defined:
        return {"state": "absent"}
    return {"state": "started" if running else "stopped", "spec": dict(spec or {})}


def consent(plan: Plan, replace: t.Optional[bool], check_mode: bool) -> bool:
    """Tell whether the plan may be carried out. Tri-state: None stops with a message, True goes on, False leaves the engine as it is.

    Only a replacement because of a changed spec asks; stopping, removing, and restarting with the same spec are their own consent.

    :raises ConsentError: names what would be interrupted
    """
    if not (plan.interrupts and plan.action == "replace"):
        return True
    if replace is None and not check_mode:
        raise ConsentError(
            "the engine is running with another spec, and replacing it ends the requests in flight. Changed: " + "; ".join(plan.reasons),
            where="replace",
            remedy="Set vllm_engine_replace to true to replace it now, or to false to keep the running engine and go on",
        )
    return replace is not False
