# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""daemon.json of Docker: read, merge, undo, write. Pure: no file is touched here.

What a site has is kept: keys that nobody here asked for, their order, and the way the file is written. Values of a list are added where a
list of Docker is a set, and options are replaced by their name where it is one of NAME=VALUE.
"""

from __future__ import annotations

import copy
import json
import re
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._container_spec import RuntimeEntry, Wanted
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError

Config = t.Dict[str, t.Any]

# Lists whose members are independent of each other (dockerd reference, 28.x). Any other list is replaced as a whole.
SET_LISTS = {
    "allow-nondistributable-artifacts",
    "authorization-plugins",
    "dns",
    "dns-opts",
    "dns-search",
    "hosts",
    "insecure-registries",
    "registry-mirrors",
}
# Lists of NAME=VALUE: dockerd takes the last of a name, or refuses two.
NAMED_LISTS = {"exec-opts", "labels", "storage-opts"}
# What dockerd uses where the file says nothing.
BUILT_IN_DRIVER = "json-file"
BUILT_IN_RUNTIME = "runc"

# One change of a value: where, whether there was one, which, and what it was set to.
Change = t.Dict[str, t.Any]


def parse(text: t.Optional[str], where: str) -> Config:
    """Return the settings of a daemon.json; none for a missing or empty file, as dockerd does.

    :raises NpufleetError: it is no JSON object, or names a key twice
    """
    if not (text or "").strip():
        return {}
    try:
        value = json.loads(text or "", object_pairs_hook=_unique)
    except ValueError as exc:
        raise NpufleetError(
            "the file is no valid JSON: {0}".format(exc), where=where, remedy="Correct it by hand; nothing was changed"
        ) from exc
    if not isinstance(value, dict):
        raise NpufleetError("the file holds no JSON object", where=where, remedy="Correct it by hand; nothing was changed")
    for key, kind in (("runtimes", dict), ("log-opts", dict), ("default-runtime", str)):
        if key in value and not isinstance(value[key], kind):
            raise NpufleetError("{0} is not of the kind that Docker reads".format(key), where=where, remedy="Correct it by hand")
    return value


def _unique(pairs: t.Sequence[t.Tuple[str, t.Any]]) -> Config:
    """:raises ValueError: a key is there twice; Docker would take the last, and rewriting the file would lose the first"""
    result: Config = {}
    for key, value in pairs:
        if key in result:
            raise ValueError("the key {0!r} is there twice".format(key))
        result[key] = value
    return result


def render(config: Config, text: t.Optional[str]) -> str:
    """Return the file in the style of ``text``, settings that stay letter by letter; ``text`` itself where it says the same already."""
    old = text if text is not None and text.strip() else ""
    if old and parse(old, "") == config:
        return old
    end = "" if old and not old.endswith("\n") else "\n"
    found = re.search(r"\n([ \t]+)\"", old)
    if old and not found:
        return json.dumps(config, ensure_ascii=False) + end
    indent = found.group(1) if found else "  "
    raw = _raw_values(old)
    lines = []
    for key, value in config.items():
        shown = raw.get(key, ("", None))
        same = shown[0] and shown[1] == value
        text_of = shown[0] if same else json.dumps(value, indent=indent, ensure_ascii=False).replace("\n", "\n" + indent)
        lines.append("{0}{1}: {2}".format(indent, json.dumps(key, ensure_ascii=False), text_of))
    return "{\n" + ",\n".join(lines) + "\n}" + end if lines else "{}" + end


def _raw_values(text: str) -> t.Dict[str, t.Tuple[str, t.Any]]:
    """Return each value of a valid JSON object as it is written, and what it means."""
    decoder = json.JSONDecoder()
    result: t.Dict[str, t.Tuple[str, t.Any]] = {}
    place = text.find("{") + 1
    while True:
        start = re.compile(r"[\s,]*").match(text, place)
        place = start.end() if start else place
        if not text.startswith('"', place):
            return result
        key, place = decoder.raw_decode(text, place)
        colon = re.compile(r"\s*:\s*").match(text, place)
        place = colon.end() if colon else place
        value, end = decoder.raw_decode(text, place)
        result[key] = (text[place:end], value)
        place = end


def merge(site: Config, wanted: Wanted, default_runtime: t.Optional[str], flags: t.Collection[str] = ()) -> Config:
    """Return ``site`` with what is wanted on top.

    :param default_runtime: see _container_record.default_runtime; None leaves the key out
    :param flags: options that the daemon gets on its command line: a site's own, so defaults do not touch them
    """
    result = copy.deepcopy(site)
    driver = wanted.options.get("log-driver")
    if driver and driver != site.get("log-driver", BUILT_IN_DRIVER):
        # The options of one driver make dockerd refuse to start with another.
        result.pop("log-opts", None)
    for key, value in wanted.options.items():
        result[key] = _combine(key, result.get(key), value)
    _add_defaults(result, wanted.defaults, flags)
    for entry in wanted.runtimes:
        result.setdefault("runtimes", {})[entry.name] = _runtime(entry, result.get("runtimes", {}).get(entry.name))
    if default_runtime is None:
        result.pop("default-runtime", None)
    else:
        result["default-runtime"] = default_runtime
    return result


def _combine(key: str, have: t.Any, want: t.Any) -> t.Any:
    if isinstance(have, dict) and isinstance(want, dict):
        return dict(have, **{name: _combine("", have.get(name), value) for name, value in want.items()})
    if isinstance(have, list) and isinstance(want, list):
        if key in SET_LISTS:
            known = [_plain(item) for item in have]
            return have + [item for item in want if _plain(item) not in known]
        if key in NAMED_LISTS:
            names = {_name(item) for item in want}
            return [item for item in have if _name(item) not in names or item in want] + [item for item in want if item not in have]
    return copy.deepcopy(want)


def _plain(item: t.Any) -> t.Any:
    return item.rstrip("/") if isinstance(item, str) else item


def _name(item: t.Any) -> str:
    return str(item).partition("=")[0]


def _add_defaults(result: Config, defaults: Config, flags: t.Collection[str]) -> None:
    for key, value in usable_defaults(result, defaults, flags).items():
        result[key] = _fill(result.get(key), value)


def usable_defaults(config: Config, defaults: Config, flags: t.Collection[str]) -> Config:
    """Return the defaults that a site leaves room for: not what dockerd gets on its command line, nor options for another log driver."""
    left_out = set(flags)
    driver = defaults.get("log-driver", BUILT_IN_DRIVER)
    if config.get("log-driver", driver) != driver or left_out & {"log-driver", "log-opts"}:
        left_out |= {"log-driver", "log-opts"}
    return {key: value for key, value in defaults.items() if key not in left_out}


def _fill(have: t.Any, want: t.Any) -> t.Any:
    if isinstance(have, dict) and isinstance(want, dict):
        return dict(have, **{name: _fill(have.get(name), value) for name, value in want.items()})
    return copy.deepcopy(want) if have is None else have


def _runtime(entry: RuntimeEntry, have: t.Any) -> Config:
    """An entry that says the same is kept as it is: the installer of the Ascend Docker Runtime writes empty runtimeArgs."""
    if isinstance(have, dict) and have.get("path") == entry.path and list(have.get("runtimeArgs") or []) == list(entry.args):
        return have
    return dict({"path": entry.path}, **({"runtimeArgs": list(entry.args)} if entry.args else {}))


def changes(before: Config, after: Config, path: t.Tuple[str, ...] = ()) -> t.List[Change]:
    """Return the values in which ``after`` differs, mappings before what is in them; without default-runtime, which is undone otherwise."""
    result: t.List[Change] = []
    for key in [name for name in after if path or name != "default-runtime"]:
        here = (*path, key)
        had, old, new = key in before, before.get(key), after[key]
        if had and old == new:
            continue
        leaf = not isinstance(new, dict) or (had and not isinstance(old, dict)) or (len(here) == 2 and here[0] == "runtimes")
        if leaf:
            result.append({"path": list(here), "had": had, "before": old, "set": new})
            continue
        if not had:
            result.append({"path": list(here), "had": False, "before": None, "set": {}})
        result += changes(old or {}, new, here)
    for key in [name for name in before if name not in after and (path or name != "default-runtime")]:
        result.append({"path": [*path, key], "had": True, "before": before[key], "set": None})
    return result


def undo(config: Config, recorded: t.Sequence[Change]) -> Config:
    """Return ``config`` without the recorded changes. A value that somebody else changed since is left alone."""
    result = copy.deepcopy(config)
    for change in reversed(recorded):
        folder = result
        for key in change["path"][:-1]:
            folder = folder.get(key, {}) if isinstance(folder, dict) else {}
        _undo_one(folder, change["path"][-1], change)
    return result


def _undo_one(folder: t.Any, key: str, change: Change) -> None:
    if not isinstance(folder, dict):
        return
    have, was_set, before = folder.get(key), change["set"], change["before"]
    if isinstance(have, list) and isinstance(was_set, list) and key in SET_LISTS:
        old = before or []
        rest = [item for item in have if item in old or item not in was_set]
        if rest or change["had"]:
            folder[key] = rest
        else:
            folder.pop(key)
    elif have == was_set:
        if change["had"]:
            folder[key] = before
        else:
            folder.pop(key, None)
