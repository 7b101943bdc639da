# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""The stages that build the environment of an engine on NPUs. Pure text; the order is that of the Dockerfiles of vllm-ascend.

Never run on an NPU.
"""

from __future__ import annotations

import shlex
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._engine_set_env import DRIVER_FOLDERS
from ansible_collections.npufleet.ascend.plugins.module_utils._venv_shell import create, pip, pip_words, words
from ansible_collections.npufleet.ascend.plugins.module_utils._venv_spec import Ascend, VenvSpec

Stage = t.Tuple[str, str]

# A plugin for another chip starts, and then fails on the first operator. The package is not imported: that would load CANN.
CHECK_SOURCE = r"""
import importlib.util, pathlib, re, sys

wanted = sys.argv[1]
folder = pathlib.Path(importlib.util.find_spec("vllm_ascend").origin).parent
made = re.search(r"__device_type__\s*=\s*['\"](\w+)", (folder / "_build_info.py").read_text())
if made is None or made.group(1).strip("_").lower() != wanted:
    sys.exit("ERROR: vllm-ascend is made for %s and not for %s" % (made and made.group(1).strip("_"), wanted.upper()))
"""

# CANN's scripts are for bash; that of NNAL reads its arguments, and asks the first python3 on PATH for the C++ ABI of torch.
WITH_CANN = """\
with_cann() {{
  bash -c {0} bash "$@"
}}"""


def prelude(spec: VenvSpec, ascend: Ascend) -> t.List[str]:
    """Lines before the stages: a function that runs one command in the environment of CANN."""
    own = "PATH={0}:$PATH".format(shlex.quote(spec.path + "/bin"))
    driver = "LD_LIBRARY_PATH={0}:$LD_LIBRARY_PATH".format(":".join(DRIVER_FOLDERS))
    lines = ['words=("$@"); set --', "export " + own, *(". " + shlex.quote(path) for path in ascend.set_env)]
    lines += ["export {0} {1}".format(own, driver), 'exec "${words[@]}"']
    return [WITH_CANN.format(shlex.quote("\n".join(lines)))]


def ascend_stages(spec: VenvSpec, ascend: Ascend, ask: t.Sequence[str]) -> t.List[Stage]:
    """Return title and command of each stage.

    :param ask: the command that asks vLLM for its options
    """
    pinned = ["-c", spec.folder + "/constraints.txt"]
    plugin = "vllm-ascend {0} for {1}".format(ascend.plugin, ascend.soc.upper())
    return [
        ("Create the virtual environment", create(spec)),
        ("Install torch {0} (CPU build)".format(spec.torch), _torch(spec, ascend)),
        ("Install torch-npu and what vLLM requires", pip(spec, spec.index_url, *pinned, "-r", spec.folder + "/requirements.txt")),
        ("Build vLLM {0} for no device".format(spec.version), _vllm(spec)),
        ("{0} {1}".format("Install" if ascend.wheel else "Build", plugin), _plugin(spec, ascend)),
        ("Put triton-ascend in the place of triton" if ascend.triton else "Take triton away", _triton(spec, ascend, pinned)),
        (
            "Check that vllm-ascend is made for {0}".format(ascend.soc.upper()),
            words([spec.path + "/bin/python", "-c", CHECK_SOURCE, ascend.soc]),
        ),
        ("Ask vLLM which options it accepts", "with_cann " + words(ask)),
    ]


def _torch(spec: VenvSpec, ascend: Ascend) -> str:
    """torch-npu for x86_64 wants torch==X+cpu, for aarch64 torch==X, which is a CPU build on PyPI, too (metadata of 2.10.0.post4 and 2.10.0).

    Without what they require: that follows from the package index, and that of PyTorch has other versions of it.
    """
    local = "+cpu" if spec.machine == "x86_64" else ""
    names = ["torch=={0}{1}".format(spec.torch, local), "torchvision==" + ascend.torchvision, "torchaudio==" + ascend.torchaudio]
    line = pip(spec, spec.index_url, "--no-deps", *names)
    return line + (" ||\n  " + pip(spec, spec.torch_index_url, "--no-deps", *names) if spec.torch_index_url else "")


def _vllm(spec: VenvSpec) -> str:
    """Without the override the version ends with "+empty", which pip refuses of a package from an index, and which vllm-ascend 0.23 takes
    for another version (tried with pip 23.2 and vLLM 0.23.0; read in vllm_version_is). The cache may hold a build for another device."""
    built = ["--no-deps", "--no-build-isolation", "--no-cache-dir", "--no-binary=vllm", "vllm=={0}".format(spec.version)]
    return "VLLM_TARGET_DEVICE=empty VLLM_VERSION_OVERRIDE={0} {1}".format(spec.version, pip(spec, spec.index_url, *built))


def _plugin(spec: VenvSpec, ascend: Ascend) -> str:
    """The build notes a safe folder in the global settings of git, which is nobody's business; the cache may hold one for another chip."""
    wanted = "vllm-ascend=={0}".format(ascend.plugin)
    if ascend.wheel:
        return pip(spec, spec.index_url, "--no-deps", "--only-binary=vllm-ascend", wanted)
    exports = ["SOC_VERSION=" + ascend.soc_version, "GIT_CONFIG_GLOBAL=" + shlex.quote(spec.folder + "/gitconfig")]
    if spec.index_url:
        exports.append("PIP_INDEX_URL=" + shlex.quote(spec.index_url))
    built = pip_words(spec, "--no-deps", "--no-build-isolation", "--no-cache-dir", "--no-binary=vllm-ascend", wanted)
    # In a shell of its own: variables before a function stay behind in some shells, and an argument shows in the process list.
    return "(\n  export {0}\n  with_cann {1}\n)".format(" ".join(exports), words(built))


def _triton(spec: VenvSpec, ascend: Ascend, pinned: t.Sequence[str]) -> str:
    """Both have the same files, so the wrong one goes first. A pip without a package to take away only says so."""
    away = words([spec.path + "/bin/python", "-m", "pip", "uninstall", "--yes", "--disable-pip-version-check", "triton", "triton-ascend"])
    if not ascend.triton:
        return away
    extra = "PIP_EXTRA_INDEX_URL={0} ".format(shlex.quote(ascend.index_url)) if ascend.index_url else ""
    return "{0}\n{1}{2}".format(away, extra, pip(spec, spec.index_url, *pinned, "triton-ascend=={0}".format(ascend.triton)))
