# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The documents speak of things that exist: links, files, playbooks, roles, modules, variables, make targets. Both READMEs say the same."""

from __future__ import annotations

import pathlib
import re

import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
READMES = ("README.md", "README.zh-CN.md")
FOLDERS = ("docs", "roles", "molecule", "tests", "scripts")
# The changelog speaks of the past, and is generated; tests/output is what test runs leave behind.
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in [*ROOT.glob("*.md"), *(page for folder in FOLDERS for page in (ROOT / folder).rglob("*.md"))]
    if path.name != "CHANGELOG.md" and "output" not in path.parts
)

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"`([^`\n]+)`")
# Files named in inline code, from the root of the checkout; no wildcards, placeholders or folders that a run makes.
FILE = re.compile(r"^(?:playbooks|roles|docs|scripts|plugins|inventories|molecule|tests|changelogs)/[\w./-]*\w$")
PREFIXES = tuple(path.name + "_" for path in sorted((ROOT / "roles").iterdir()))
# What roles register, or what belongs to an entry of a log; no inputs.
OTHER_NAMES = {
    "model_weights_result",
    "kunpeng_host_result",
    "container_runtime_result",
    "ascend_driver_rebooted",
    "offline_bundle_result",
    "offline_bundle_checksums",
    "offline_bundle_images",
    # The prefix itself.
    "vllm_engine_",
}
OTHER_WORDS = {"attributes"}


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


def prose_of(name):
    """A page without its code blocks."""
    return FENCE.sub("", text_of(name))


def anchors_of(name):
    """Anchors that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", prose_of(name), re.MULTILINE)
    plain = [re.sub(r"[^\w\- ]", "", LINK.sub("", heading).lower()) for heading in headings]
    return {heading.replace(" ", "-") for heading in plain}


def modules_roles_and_playbooks():
    names = {path.stem for folder in ("modules", "filter") for path in (ROOT / "plugins" / folder).glob("*.py")}
    return names | {path.name for path in (ROOT / "roles").iterdir()} | {path.stem for path in (ROOT / "playbooks").glob("*.yml")}


def make_targets():
    return set(re.findall(r"^([a-z0-9-]+):", text_of("Makefile"), re.MULTILINE))


@pytest.mark.parametrize("name", PAGES)
def test_links_resolve(name):
    for target in LINK.findall(prose_of(name)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _sign, anchor = target.partition("#")
        page = (ROOT / name).parent / path if path else ROOT / name
        assert page.exists(), target
        if anchor:
            assert anchor in anchors_of(page.resolve().relative_to(ROOT).as_posix()), target


@pytest.mark.parametrize("name", PAGES)
def test_files_that_are_named_exist(name):
    named = [word for word in CODE.findall(prose_of(name)) if FILE.match(word) and not re.search(r"\.\.\.|/[A-Z]+\b", word)]
    # A role's page speaks of files of the role.
    folders = (ROOT, (ROOT / name).parent)
    assert [word for word in named if not any((folder / word).exists() for folder in folders)] == []


@pytest.mark.parametrize("name", PAGES)
def test_private_files_that_are_named_exist(name):
    named = [word for word in CODE.findall(prose_of(name)) if re.match(r"^_\w+\.py$", word)]
    assert [word for word in named if not (ROOT / "plugins" / "module_utils" / word).is_file()] == []


@pytest.mark.parametrize("name", PAGES)
def test_playbooks_roles_and_modules_that_are_named_exist(name):
    named = re.findall(r"\bnpufleet\.ascend\.(\w+)", text_of(name))
    assert set(named) - modules_roles_and_playbooks() - OTHER_WORDS == set()


@pytest.mark.parametrize("name", PAGES)
def test_variables_that_are_named_exist(name):
    inputs = {key for path in ROOT.glob("roles/*/defaults/main.yml") for key in yaml.safe_load(path.read_text(encoding="utf-8"))}
    named = {word for word in re.findall(r"(?<!\w)[a-z]+_[a-z0-9_]+", text_of(name)) if word.startswith(PREFIXES)}
    tasks = "".join(path.read_text(encoding="utf-8") for path in ROOT.glob("roles/*/tasks/*.yml"))
    tags = {tag.strip() for tags in re.findall(r"tags: \[([^\]]*)\]", tasks) for tag in tags.split(",")}
    assert named - inputs - OTHER_NAMES - tags == set()


@pytest.mark.parametrize("name", PAGES)
def test_make_targets_that_are_named_exist(name):
    commands = [
        *CODE.findall(prose_of(name)),
        *re.findall(r"^(?:\$ )?(make .*)$", "".join(body for _kind, body in FENCE.findall(text_of(name))), re.MULTILINE),
    ]
    targets = {found.group(1) for found in (re.search(r"(?:^|\s)make ([a-z0-9-]+)", command) for command in commands) if found}
    assert targets - make_targets() == set()


def test_readme_lists_every_playbook_role_and_module():
    listed = {pathlib.PurePath(path).stem for path in LINK.findall(text_of("README.md")) if path.startswith("playbooks/")}
    # Parts of the others, which do nothing useful by themselves.
    parts = {"site", "targets", "layers_preflight", "needs", "offline", "plan_engines", "batches"}
    assert listed == {path.stem for path in (ROOT / "playbooks").glob("*.yml")} - parts
    roles = {path.split("/")[1] for path in LINK.findall(text_of("README.md")) if path.startswith("roles/")}
    assert roles == {path.name for path in (ROOT / "roles").iterdir()}
    modules = set(re.findall(r"^\| `npufleet\.ascend\.(\w+)` \|", text_of("README.md"), re.MULTILINE))
    assert modules == {path.stem for path in (ROOT / "plugins" / "modules").glob("*.py")}


def shape_of(name):
    """Levels of headings, code blocks without comments, columns of each table row, items of lists, and targets of links, in their order."""
    prose = prose_of(name)
    return {
        "headings": [len(marks) for marks in re.findall(r"^(#+) ", prose, re.MULTILINE)],
        "blocks": [(kind, re.sub(r" *# .*", "", body)) for kind, body in FENCE.findall(text_of(name))],
        "rows": [line.count("|") for line in prose.splitlines() if line.startswith("|")],
        "items": [line[:1] for line in prose.splitlines() if re.match(r"\* |\d+\. ", line)],
        "links": [target for target in LINK.findall(prose) if target not in READMES],
    }


@pytest.mark.parametrize("part", ["headings", "blocks", "rows", "items", "links"])
def test_both_readmes_have_the_same_shape(part):
    english, chinese = (shape_of(name)[part] for name in READMES)
    assert english == chinese and english


def test_readmes_link_to_each_other():
    assert [LINK.findall(text_of(name))[0] for name in READMES] == [READMES[1], READMES[0]]


def test_both_readmes_name_the_same_variables_and_commands():
    english, chinese = (sorted(set(CODE.findall(prose_of(name)))) for name in READMES)
    assert english == chinese


def test_both_readmes_say_the_same_versions_and_sizes():
    english, chinese = (set(re.findall(r"\d+(?:\.\d+)+|\d+ Gi?B", prose_of(name))) for name in READMES)
    assert english == chinese
