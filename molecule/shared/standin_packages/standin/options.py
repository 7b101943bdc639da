# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Options of the driver and firmware installers, and which of them go together (hicann/driver, args_parse.sh)."""

from __future__ import annotations

import typing as t

BAD_PATH = "0x0003"
BAD_PARAMETER = "0x0004"
NOT_INSTALLED = "0x0080"
NO_USER = "0x0091"
NOT_ROOT = "0x0093"
ALREADY_RUNNING = "0x0094"
OTHER_USER = "0x0095"
NOT_IN_GROUP = "0x0096"

TYPES = ("full", "run", "devel", "docker", "debug")
# Words that the check for "alone" does not count.
UNCOUNTED = ("install-for-all", "norebuild")
WORDS = (*TYPES, *UNCOUNTED, "upgrade", "uninstall", "version", "check", "quiet", "force", "vnpu_guest")
VALUES = ("install-path", "install-username", "install-usergroup")


class Refusal(Exception):  # noqa: N818
    """The installer ends with exit code 1. ``number`` is its ERR_NO, empty for the refusals that have none."""

    def __init__(self, number: str, text: str) -> None:
        super().__init__(text)
        self.number, self.text = number, text

    def __str__(self) -> str:
        return "ERR_NO:{0};ERR_DES:{1}".format(self.number, self.text) if self.number else self.text


class Options(t.NamedTuple):
    """One command line."""

    words: t.FrozenSet[str]
    values: t.Dict[str, str]
    counted: int

    @property
    def type(self) -> str:
        """full, run, devel, docker or debug; empty for everything else."""
        return next((name for name in TYPES if name in self.words), "")

    def has(self, word: str) -> bool:
        return word in self.words


def parse(argv: t.Sequence[str]) -> Options:
    """Read the command line.

    :raises Refusal: for no or an unknown word, two types, or an empty path
    """
    words: t.List[str] = []
    values: t.Dict[str, str] = {}
    for text in argv:
        name, equals, value = text[2:].partition("=")
        if not text.startswith("--") or name not in (VALUES if equals else WORDS):
            raise Refusal(BAD_PARAMETER, "unknown parameter {0}, see --help".format(text))
        if equals:
            values[name] = value
        else:
            words.append(name)
    if not argv:
        raise Refusal(BAD_PARAMETER, "no parameter, see --help")
    if sum(words.count(name) for name in TYPES) > 1:
        raise Refusal(BAD_PARAMETER, "only one of full, debug, run, docker, devel")
    if values.get("install-path") == "":
        raise Refusal(BAD_PATH, "the install path is empty")
    return Options(frozenset(words), values, sum(1 for word in words if word not in UNCOUNTED) + len(values))


def check_combination(options: Options) -> None:
    """Refuse what does not go together.

    :raises Refusal: with 0x0004
    """
    for message in _conflicts(options):
        raise Refusal(BAD_PARAMETER, message)


def _conflicts(options: Options) -> t.Iterator[str]:
    has, values = options.has, options.values
    if has("uninstall"):
        if options.counted != (2 if has("force") else 1):
            yield "uninstall goes with nothing but force"
        return
    if has("version") or has("check"):
        if options.counted > 1:
            yield "version and check stand alone"
        return
    if bool(options.type) == has("upgrade"):
        yield "needs exactly one of full, debug, run, docker, upgrade, devel"
    if has("install-for-all") and (has("docker") or has("upgrade")):
        yield "install-for-all goes with full, debug, run, devel"
    if "install-path" in values and has("upgrade"):
        yield "install-path goes with full, debug, run, docker, devel"
    if ("install-username" in values) != ("install-usergroup" in values):
        yield "user name and group have to be named together"
    if "install-username" in values and has("upgrade"):
        yield "user name and group go with full, debug, run, docker, devel"
