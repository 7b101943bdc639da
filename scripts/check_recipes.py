# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Give the command line of every recipe row, host and profile to the argument parser of exactly the vLLM that the row names.

Usage: check_recipes.py DIR, with the folder that scripts/recipe_parsers.sh made. One process for each vLLM. Exit status 1 when a line is
refused, or when vLLM alone accepts a value that is listed as one that only vllm-ascend accepts.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import typing as t
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "collections"))

from ansible_collections.npufleet.ascend.plugins.module_utils._engine_probe import MARK, PROBE_SOURCE
from ansible_collections.npufleet.ascend.plugins.module_utils._recipe_catalogue import PLUGIN_VALUES
from ansible_collections.npufleet.ascend.plugins.module_utils._recipe_choice import choose
from ansible_collections.npufleet.ascend.plugins.module_utils._recipe_merge import command_line
from ansible_collections.npufleet.ascend.plugins.module_utils._recipe_profiles import PROFILES
from ansible_collections.npufleet.ascend.plugins.module_utils._recipe_schema import read_recipes
from ansible_collections.npufleet.ascend.plugins.module_utils._recipe_versions import RELEASES

RECIPES = ROOT / "roles" / "vllm_engine" / "vars" / "npu_recipes"

# The beginning of the probe makes the parser; this asks it about many lines. argparse ends the process when it refuses one.
LOOP_SOURCE = r"""
import contextlib, io

answers = []
for line in json.load(sys.stdin):
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            parser.parse_args(line)
        answers.append(None)
    except BaseException as exc:
        words = said.getvalue().strip().splitlines() or [repr(exc)]
        answers.append(words[-1])
print("npufleet-answer:" + json.dumps({"version": importlib.metadata.version("vllm"), "answers": answers}))
"""


class Line(t.NamedTuple):
    """One command line: where it comes from, the minor, and the words; ``expected`` is False for those that must be refused."""

    title: str
    minor: str
    words: t.List[str]
    expected: bool = True


def documents() -> t.Dict[str, t.Any]:
    """The recipes of the role, as include_vars reads them."""
    found: t.Dict[str, t.Any] = {}
    for path in sorted(RECIPES.glob("*.yml")):
        found.update(yaml.safe_load(path.read_text(encoding="utf-8")))
    return found


def without_plugin_values(chosen: t.Dict[str, t.Any], minor: str) -> t.Tuple[t.Dict[str, t.Any], bool]:
    """Take out what vLLM alone refuses; True when there was something."""
    args = dict(chosen["args"])
    for row in PLUGIN_VALUES:
        option, _dot, key = row.option.partition(".")
        name = option.replace("-", "_")
        value = args.get(name)
        if minor in row.minors and isinstance(value, dict) and value.get(key) == row.value:
            rest = {other: item for other, item in value.items() if other != key}
            args = {other: item for other, item in args.items() if other != name}
            args.update({name: rest} if rest else {})
    return dict(chosen, args=args), args != chosen["args"]


def lines() -> t.Iterator[Line]:
    """The lines of the first and the last host of every row, minor and profile."""
    recipes = read_recipes(documents())
    for name, recipe in recipes.items():
        for row in recipe["rows"]:
            for minor in row["vllm_ascend"]:
                for profile in PROFILES:
                    chosen = choose(recipes, name, row["soc"], minor, profile, row["hosts"])
                    title = "{0} on {1} x{2}, {3}, {4}".format(name, row["soc"], row["hosts"], minor, profile)
                    plain, changed = without_plugin_values(chosen, minor)
                    for rank in sorted({0, row["hosts"] - 1}):
                        yield Line("{0}, host {1}".format(title, rank), minor, ["MODEL", *command_line(plain, rank)])
                    if changed and profile == "balanced":
                        yield Line(title + ", value of the plugin", minor, ["MODEL", *command_line(chosen)], expected=False)


def ask(folder: Path, version: str, wanted: t.Sequence[Line]) -> t.List[t.Optional[str]]:
    """What the parser of a version says to each line: None when it takes it."""
    source = PROBE_SOURCE.partition('if sys.argv[1] == "dump":')[0] + LOOP_SOURCE
    env = dict(os.environ, PYTHONPATH=str(folder / version), HF_HUB_OFFLINE="1", VLLM_NO_USAGE_STATS="1", VLLM_LOGGING_LEVEL="ERROR")
    command = [str(folder / "venv" / "bin" / "python"), "-c", source]
    text = json.dumps([line.words for line in wanted])
    result = subprocess.run(command, env=env, input=text, capture_output=True, text=True, timeout=600, check=False)
    for row in result.stdout.splitlines():
        if row.startswith(MARK):
            answer = json.loads(row[len(MARK) :])
            if answer["version"].partition("+")[0] != version:
                raise SystemExit("the folder {0} holds vLLM {1}".format(folder / version, answer["version"]))
            return list(answer["answers"])
    raise SystemExit("vLLM {0} did not answer: {1}".format(version, (result.stderr.strip().splitlines() or ["no message"])[-1]))


def main() -> int:
    parser = argparse.ArgumentParser(description="Check every recipe with the real parsers of vLLM.")
    parser.add_argument("folder", type=Path, help="made by scripts/recipe_parsers.sh")
    folder = parser.parse_args().folder
    everything, wrong = list(lines()), 0
    for release in RELEASES:
        wanted = [line for line in everything if line.minor == release.minor]
        for line, said in zip(wanted, ask(folder, release.vllm, wanted)):
            if (said is None) != line.expected:
                wrong += 1
                print("{0}: {1}".format(line.title, said or "vLLM alone accepts it; take it from PLUGIN_VALUES"), file=sys.stderr)
        print("vLLM {0}: {1} command lines".format(release.vllm, len(wanted)))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
