# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Write the tables of variables in roles/*/README.md from the argument specs and the defaults of the roles.

Usage: generate_role_tables.py [--check]. With --check nothing is written, and the exit status is 1 when a table is out of date.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import typing as t
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
START = "<!-- variables:start -->\n"
END = "<!-- variables:end -->\n"
HEAD = "| Variable | Type | Default | Description |\n|---|---|---|---|\n"
# Semantic markup of argument specs: O(name), V(value), C(code), E(VARIABLE), M(module).
MARKUP = re.compile(r"\b[OVCEM]\(([^()]*)\)")


def code(text: str) -> str:
    """Inline code in a cell of a Markdown table."""
    return "`{0}`".format(text.replace("|", "\\|"))


def describe(option: t.Mapping[str, t.Any]) -> str:
    """The description as one line of Markdown, with the choices that it does not mention."""
    lines = option["description"]
    text = lines if isinstance(lines, str) else " ".join(lines)
    text = MARKUP.sub(lambda found: code(found.group(1).replace("=", ": ", 1)), text.strip().replace("|", "\\|"))
    choices = [code(str(choice)) for choice in option.get("choices", [])]
    missing = [choice for choice in choices if choice not in text]
    return "{0} One of {1}.".format(text, ", ".join(choices)) if missing else text


def show(value: t.Any) -> str:
    """A default as it is written in YAML."""
    return code(value if isinstance(value, str) else json.dumps(value))


def kind(option: t.Mapping[str, t.Any]) -> str:
    """Type of an option, with that of its elements."""
    return "{0} of {1}".format(option["type"], option["elements"]) if "elements" in option else option["type"]


def render(options: t.Mapping[str, t.Mapping[str, t.Any]], defaults: t.Mapping[str, t.Any]) -> str:
    """The whole table, in the order of the argument spec."""
    rows = (
        "| {0} |\n".format(" | ".join((code(name), kind(option), show(defaults.get(name)), describe(option))))
        for name, option in options.items()
    )
    return HEAD + "".join(rows)


def page_of(role: Path) -> str:
    """README.md of a role with its table as it should be.

    :raises ValueError: the page does not have the two markers
    """
    spec = yaml.safe_load((role / "meta" / "argument_specs.yml").read_text(encoding="utf-8"))
    defaults = yaml.safe_load((role / "defaults" / "main.yml").read_text(encoding="utf-8"))
    page = (role / "README.md").read_text(encoding="utf-8")
    before, start, rest = page.partition(START)
    _table, end, after = rest.partition(END)
    if not start or not end:
        raise ValueError("{0} lacks a marker of the table of variables".format(role / "README.md"))
    return before + START + render(spec["argument_specs"]["main"]["options"], defaults) + END + after


def main() -> int:
    parser = argparse.ArgumentParser(description="Write the tables of variables in roles/*/README.md.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 when a table is out of date")
    check = parser.parse_args().check
    stale = []
    for path in sorted(ROOT.glob("roles/*/README.md")):
        wanted = page_of(path.parent)
        if wanted == path.read_text(encoding="utf-8"):
            continue
        stale.append(path)
        if check:
            print("{0} is out of date: run scripts/generate_role_tables.py".format(path.relative_to(ROOT)), file=sys.stderr)
        else:
            path.write_text(wanted, encoding="utf-8")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
