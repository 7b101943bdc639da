# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import os
import sys

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._command import run
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_args import ArgumentError, Option, parse_catalogue
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_probe import (
    CATALOGUE_NAME,
    MARK,
    PROBE_SECONDS,
    PROBE_SOURCE,
    ProbeError,
    check_with_parser,
    read_catalogue,
)
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.engine_fakes import FakeRun

DUMP = {"version": "0.32.0", "options": []}


def answering(answer, noise="INFO: importing\n"):
    return FakeRun(_c=(0, noise + MARK + json.dumps(answer) + "\n", "a warning"))


def test_vllm_is_asked_once_and_the_answer_kept(tmp_path):
    fake = answering(DUMP)
    venv = str(tmp_path)
    text = read_catalogue(venv, fake)
    assert json.loads(text) == DUMP
    assert fake.calls == [[venv + "/bin/python", "-c", PROBE_SOURCE, "dump"]]
    assert fake.options[0]["timeout"] == PROBE_SECONDS
    assert fake.options[0]["env"]["HF_HUB_OFFLINE"] == "1"
    assert read_catalogue(venv, fake) == text
    assert len(fake.calls) == 1


def test_nothing_is_written_when_told_so_or_where_it_cannot_be(tmp_path, monkeypatch):
    read_catalogue(str(tmp_path), answering(DUMP), write=False)
    assert os.listdir(str(tmp_path)) == []
    monkeypatch.setattr(os, "access", lambda _path, _mode: False)
    assert json.loads(read_catalogue(str(tmp_path), answering(DUMP))) == DUMP
    assert os.listdir(str(tmp_path)) == []


def test_an_empty_list_is_asked_for_again(tmp_path):
    (tmp_path / CATALOGUE_NAME).write_text("")
    assert json.loads(read_catalogue(str(tmp_path), answering(DUMP))) == DUMP


@pytest.mark.parametrize(
    ("stdout", "stderr", "said"),
    [
        ("", "Traceback:\n  x\nImportError: libnuma.so.1: no such file\n\n", "ImportError: libnuma.so.1: no such file"),
        ("", "", "no message"),
    ],
)
def test_a_vllm_that_does_not_import_says_why(tmp_path, stdout, stderr, said):
    with pytest.raises(ProbeError) as caught:
        read_catalogue(str(tmp_path), FakeRun(_c=(1, stdout, stderr)))
    assert str(
        caught.value
    ) == "the installed vLLM does not start: {0}. Where: {1}. What to do: Install the environment again (vllm_venv).".format(said, tmp_path)


def test_options_go_to_the_parser_as_they_are():
    fake = answering({"accepted": True})
    check_with_parser("/srv/venv/", ["/srv/model", "--seed", "1"], fake)
    assert fake.calls == [["/srv/venv/bin/python", "-c", PROBE_SOURCE, "parse", "/srv/model", "--seed", "1"]]


def test_the_last_word_of_the_parser_is_passed_on():
    fake = FakeRun(_c=(2, "", "usage: vllm serve ...\nvllm serve: error: argument --seed: invalid int value: 'many'\n"))
    with pytest.raises(ArgumentError) as caught:
        check_with_parser("/srv/venv", ["/srv/model", "--seed", "many"], fake)
    assert str(caught.value) == (
        "vLLM does not accept the options: vllm serve: error: argument --seed: invalid int value: 'many'. "
        "Where: /srv/model --seed many. What to do: Correct the option named."
    )


@pytest.mark.parametrize("ask", [read_catalogue, lambda venv, fake: check_with_parser(venv, ["--seed", "1"], fake)])
def test_a_slow_host_is_not_blamed_on_the_options(tmp_path, ask):
    with pytest.raises(ProbeError) as caught:
        ask(str(tmp_path), FakeRun(_c=(None, "", "INFO: importing")))
    assert str(caught.value) == (
        "the installed vLLM did not answer in 180 s. Where: {0}. What to do: Run again when the host and its disk are less busy.".format(
            tmp_path
        )
    )


NEW_LAYOUT = {
    "vllm/entrypoints/launchers/cli_args.py": """
def make_arg_parser(parser):
    parser.add_argument("model", nargs="?")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dtype", "-d", choices=["auto", "half"])
    return parser
""",
    "vllm/utils/argparse_utils.py": "from argparse import ArgumentParser as FlexibleArgumentParser",
}
OLD_LAYOUT = {
    "vllm/entrypoints/openai/cli_args.py": NEW_LAYOUT["vllm/entrypoints/launchers/cli_args.py"],
    "vllm/utils/__init__.py": NEW_LAYOUT["vllm/utils/argparse_utils.py"],
}
# Python 3.7 has no importlib.metadata, and nothing is installed here; the environment of an engine has both.
SITE = """
import importlib, sys, types
importlib.metadata = sys.modules["importlib.metadata"] = types.ModuleType("importlib.metadata")
importlib.metadata.version = {"vllm": "0.30.0"}.get
"""


def make_venv(folder, files):
    """A bin/python that finds a stand-in vllm."""
    for name, text in dict(files, **{"sitecustomize.py": SITE}).items():
        path = folder / "site" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "bin").mkdir()
    (folder / "bin" / "python").write_text('#!/bin/sh\nexport PYTHONPATH={0}/site\nexec {1} "$@"\n'.format(folder, sys.executable))
    (folder / "bin" / "python").chmod(0o755)
    return str(folder)


@pytest.mark.parametrize("layout", [NEW_LAYOUT, OLD_LAYOUT])
def test_the_question_is_understood_by_both_layouts_of_vllm(tmp_path, layout):
    venv = make_venv(tmp_path, layout)
    text = read_catalogue(venv, run)
    assert json.loads(text)["version"] == "0.30.0"
    options = parse_catalogue(text)
    assert options["--seed"] == Option(["--seed"], None, None, "int")
    assert options["-d"] == options["--dtype"] == Option(["--dtype", "-d"], None, ["auto", "half"], None)
    assert "model" not in options
    check_with_parser(venv, ["/srv/model", "--seed", "1"], run)
    with pytest.raises(ArgumentError, match="argument --seed: invalid int value: 'many'"):
        check_with_parser(venv, ["/srv/model", "--seed", "many"], run)


def test_the_question_names_what_cannot_be_imported(tmp_path):
    with pytest.raises(ProbeError, match="ModuleNotFoundError: No module named 'vllm'"):
        read_catalogue(make_venv(tmp_path, {"other.py": ""}), run)
