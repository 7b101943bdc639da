# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Options of ``vllm serve``: a dictionary to an argument list, and a check against what the installed vLLM accepts.

The catalogue of accepted options is a dump of vLLM's own parser (see _engine_probe.py), so no version's flags are written down here.
"""

from __future__ import annotations

import difflib
import json
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError

ArgValue = t.Any

# Options that the engine's other settings own; giving them twice would let the two disagree.
OWNED_OPTIONS = {
    "model": "model",
    "host": "host",
    "port": "port",
    "served-model-name": "served_model_name",
    "api-key": "api_key",
    "config": "args",
    "uds": "host",
}
# The engine would speak TLS, and the readiness check asks over plain HTTP.
TLS_OPTIONS = frozenset({"ssl-keyfile", "ssl-certfile", "ssl-ca-certs", "ssl-cert-reqs", "ssl-ciphers", "enable-ssl-refresh"})


class ArgumentError(NpufleetError):
    """An option or a value that vLLM would not accept."""


class Option(t.NamedTuple):
    """One option of vLLM's parser. ``nargs`` is 0 for a switch, '?', '*', '+', a number, or None for exactly one value."""

    flags: t.List[str]
    nargs: t.Any
    choices: t.Optional[t.List[str]]
    kind: t.Optional[str]


def normal_name(name: str) -> str:
    """``max_num_seqs``, ``--max-num-seqs`` -> ``max-num-seqs``. Dotted keys keep their tail, which vLLM reads as a JSON path."""
    head, dot, tail = name.lstrip("-").partition(".")
    return head.replace("_", "-") + dot + tail


def to_argv(args: t.Mapping[str, ArgValue]) -> t.List[str]:
    """Turn ``{max_model_len: 512, enforce_eager: true}`` into ``[--max-model-len, 512, --enforce-eager]``, sorted by option.

    true is the switch, false its ``--no-`` form, null leaves the option out, a list gives several values, a mapping is JSON.
    """
    argv: t.List[str] = []
    for key in sorted(args, key=normal_name):
        name, value = normal_name(key), args[key]
        if value is None:
            continue
        if isinstance(value, bool):
            argv.append("--" + name if value else "--no-" + name)
            continue
        argv.append("--" + name)
        argv.extend(_values(value))
    return argv


def _values(value: ArgValue) -> t.List[str]:
    if isinstance(value, dict):
        return [json.dumps(value, sort_keys=True, separators=(",", ":"))]
    if isinstance(value, (list, tuple)):
        return [text for item in value for text in _values(item)]
    return [str(value)]


def parse_catalogue(text: str, where: t.Optional[str] = None) -> t.Dict[str, Option]:
    """Read the dump of vLLM's parser: ``{"options": [{"flags": [...], "nargs": ..., "choices": ..., "kind": ...}]}``.

    :param where: the file it came from
    :raises ArgumentError: when the dump is not of that shape
    """
    try:
        rows = json.loads(text)["options"]
        options = [Option(list(row["flags"]), row["nargs"], row["choices"], row["kind"]) for row in rows]
    except (ValueError, KeyError, TypeError) as exc:
        raise ArgumentError(
            "the list of options of the installed vLLM is damaged: {0}".format(exc), where, remedy="Remove the file; it is made again"
        ) from exc
    return {flag: option for option in options for flag in option.flags}


def check_args(args: t.Mapping[str, ArgValue], catalogue: t.Mapping[str, Option], version: str) -> None:
    """Check every option and value that can be judged without loading a model.

    :raises ArgumentError: names the option, and the nearest that vLLM knows
    """
    for key in sorted(args):
        if args[key] is not None:
            _check_one(key, args[key], catalogue, version)


def check_owned(args: t.Mapping[str, ArgValue]) -> None:
    """Refuse options that belong to a setting of their own, and two spellings of one option.

    :raises ArgumentError: names the setting to use
    """
    seen: t.Dict[str, str] = {}
    for key in sorted(args):
        name = normal_name(key)
        if name in OWNED_OPTIONS:
            raise ArgumentError(
                "the option --{0} is set by the engine itself".format(name),
                where="args.{0}".format(key),
                remedy="Remove it there and use {0}".format(OWNED_OPTIONS[name]),
            )
        if name in TLS_OPTIONS:
            raise ArgumentError(
                "the option --{0} makes the engine speak TLS, and its readiness is asked over plain HTTP".format(name),
                where="args.{0}".format(key),
                remedy="Leave it out, and put a proxy that speaks TLS in front of the engine",
            )
        if name in seen:
            raise ArgumentError(
                "the option --{0} is given twice".format(name),
                where="args.{0}, args.{1}".format(seen[name], key),
                remedy="Keep one of them",
            )
        seen[name] = key


def _check_one(key: str, value: ArgValue, catalogue: t.Mapping[str, Option], version: str) -> None:
    name = normal_name(key)
    flag = "--" + name.partition(".")[0]
    if value is False:
        _check_false(key, flag, catalogue, version)
        return
    option = catalogue.get(flag)
    if option is None:
        raise _unknown(key, flag, catalogue, version)
    if "." in name:
        return
    if value is True:
        if option.nargs not in (0, "?", "*"):
            raise ArgumentError("the option {0} of vLLM {1} needs a value".format(flag, version), "args." + key, "Give one instead of true")
        return
    if option.nargs == 0:
        raise ArgumentError(
            "the option {0} of vLLM {1} is a switch and takes no value".format(flag, version),
            where="args." + key,
            remedy="Give true or false",
        )
    for text in _values(value):
        _check_value(key, flag, text, option, version)


def _check_false(key: str, flag: str, catalogue: t.Mapping[str, Option], version: str) -> None:
    negative = "--no-" + flag[2:]
    if negative in catalogue:
        return
    if flag in catalogue:
        raise ArgumentError(
            "the option {0} of vLLM {1} cannot be switched off".format(flag, version),
            where="args." + key,
            remedy="Leave it out, or give null",
        )
    raise _unknown(key, flag, catalogue, version)


def _unknown(key: str, flag: str, catalogue: t.Mapping[str, Option], version: str) -> ArgumentError:
    known = [name for name in catalogue if name.startswith("--") and not name.startswith("--no-") and "_" not in name]
    near = difflib.get_close_matches(flag, known, n=1, cutoff=0.6)
    return ArgumentError(
        "vLLM {0} knows no option {1}".format(version, flag),
        where="args." + key,
        remedy="Did you mean {0}?".format(near[0]) if near else "See `vllm serve --help=all` for the options",
    )


def _check_value(key: str, flag: str, text: str, option: Option, version: str) -> None:
    if option.choices and text not in option.choices:
        near = difflib.get_close_matches(text, option.choices, n=1, cutoff=0.6)
        raise ArgumentError(
            "the option {0} of vLLM {1} does not take {2}".format(flag, version, text),
            where="args." + key,
            remedy=("Did you mean {0}? ".format(near[0]) if near else "") + "Known: " + ", ".join(option.choices),
        )
    checker = _KINDS.get(option.kind or "")
    if checker is None:
        return
    try:
        checker(text)
    except ValueError:
        raise ArgumentError(
            "the option {0} of vLLM {1} takes {2}, not {3}".format(flag, version, _KIND_WORDS[option.kind or ""], text),
            where="args." + key,
            remedy="Correct the value",
        ) from None


_KINDS: t.Dict[str, t.Callable[[str], t.Any]] = {"int": int, "float": float}
_KIND_WORDS = {"int": "a whole number", "float": "a number"}
