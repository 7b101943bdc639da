# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Ask the installed vLLM itself which options it accepts, and whether it accepts these.

The question runs in the interpreter of the engine's virtual environment, so the answer is that of exactly the version that will run.
"""

from __future__ import annotations

import json
import os
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._command import Runner
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_args import ArgumentError
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._files import read_text, write_text

# Importing vLLM with torch takes about 6 s on an idle machine and much longer from a cold disk.
PROBE_SECONDS = 180.0
CATALOGUE_NAME = "npufleet-arguments.json"
MARK = "npufleet-answer:"

# Where make_arg_parser and its parser class live: vLLM 0.30 and newer first, then 0.23 (read in the released packages).
PROBE_SOURCE = r"""
import importlib, importlib.metadata, json, sys


def load(attribute, *modules):
    for module in modules:
        try:
            return getattr(importlib.import_module(module), attribute)
        except (ImportError, AttributeError) as exc:
            error = exc
    raise error


make = load("make_arg_parser", "vllm.entrypoints.launchers.cli_args", "vllm.entrypoints.openai.cli_args")
parser = make(load("FlexibleArgumentParser", "vllm.utils.argparse_utils", "vllm.utils")(prog="vllm serve"))
if sys.argv[1] == "dump":
    rows = []
    for action in parser._actions:
        if action.option_strings:
            choices = None if action.choices is None else [str(choice) for choice in action.choices]
            kind = getattr(action.type, "__name__", None)
            rows.append({"flags": action.option_strings, "nargs": action.nargs, "choices": choices, "kind": kind})
    answer = {"version": importlib.metadata.version("vllm"), "options": rows}
else:
    parser.parse_args(sys.argv[2:])
    answer = {"accepted": True}
print("npufleet-answer:" + json.dumps(answer))
"""


class ProbeError(NpufleetError):
    """The installed vLLM does not even import, or not in time."""


def _ask(venv: str, words: t.Sequence[str], run: Runner) -> t.Tuple[t.Optional[t.Dict[str, t.Any]], str]:
    env = {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "VLLM_LOGGING_LEVEL": "ERROR"}
    result = run([venv.rstrip("/") + "/bin/python", "-c", PROBE_SOURCE, *words], timeout=PROBE_SECONDS, env=env)
    for line in result.stdout.splitlines():
        if line.startswith(MARK):
            return json.loads(line[len(MARK) :]), ""
    if result.timed_out:
        raise ProbeError(
            "the installed vLLM did not answer in {0:.0f} s".format(PROBE_SECONDS),
            where=venv,
            remedy="Run again when the host and its disk are less busy",
        )
    return None, result.text.strip()


def read_catalogue(venv: str, run: Runner, write: bool = True) -> str:
    """Return the dump of the parser as JSON text, from the file beside the environment or, once, from vLLM itself.

    :raises ProbeError: when vLLM cannot be imported, or not in PROBE_SECONDS
    """
    path = os.path.join(venv, CATALOGUE_NAME)
    text = read_text(path)
    if text:
        return text
    answer, said = _ask(venv, ["dump"], run)
    if answer is None:
        raise ProbeError(
            "the installed vLLM does not start: {0}".format(_last_line(said)),
            where=venv,
            remedy="Install the environment again (vllm_venv)",
        )
    text = json.dumps(answer, sort_keys=True)
    if write and os.access(venv, os.W_OK):
        write_text(path, text)
    return text


def check_with_parser(venv: str, argv: t.Sequence[str], run: Runner) -> None:
    """Let vLLM's own parser read the options that follow ``vllm serve``.

    :raises ArgumentError: with the parser's own last word
    :raises ProbeError: no answer in PROBE_SECONDS
    """
    answer, said = _ask(venv, ["parse", *argv], run)
    if answer is None:
        raise ArgumentError(
            "vLLM does not accept the options: {0}".format(_last_line(said)), where=" ".join(argv), remedy="Correct the option named"
        )


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no message"
