# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Which releases of vllm-ascend can be installed outside a container, for which chips, and what the host must have for that.

Never run on an NPU. Read in the sources that PyPI has (requirements, setup.py, Dockerfiles, installation page); that vLLM 0.23.0, 0.26.0
and 0.30.0 build for no device was tried, and so was that the pins exist, but for triton-ascend, whose index was not reached.
"""

from __future__ import annotations

import os
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._command import Runner, find_tool
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._host import GIB
from ansible_collections.npufleet.ascend.plugins.module_utils._prerequisites import PythonChoice, PythonRange
from ansible_collections.npufleet.ascend.plugins.module_utils._recipe_versions import soc_of
from ansible_collections.npufleet.ascend.plugins.module_utils._venv_spec import Ascend

INDEX_URL = "https://mirrors.huaweicloud.com/ascend/repos/pypi"
# requires-python of the three releases is >= 3.10, < 3.13.
PYTHON = PythonRange(10, 13)
DISK_BYTES = 12 * GIB
MEMORY_BYTES = 8 * GIB
# The wheels are manylinux_2_34.
WHEEL_GLIBC = (2, 34)
# SOC_VERSION of setup.py, as the Dockerfiles of the releases set it.
SOC_VERSIONS = {"a2": "ascend910b1", "a3": "ascend910_9391", "310p": "ascend310p1", "a5": "ascend950dt_9582"}
# "Atlas 300I DUO does not support triton or triton-ascend" (installation page, 0.23.0.post1).
NO_TRITON = ("310p",)


class Release(t.NamedTuple):
    """One release of vllm-ascend; ``wheels`` are the SoCs for which PyPI has one."""

    vllm: str
    torch: str
    torchvision: str
    torchaudio: str
    triton: str
    wheels: t.Tuple[str, ...]


RELEASES = {
    "0.23.0.post1": Release("0.23.0", "2.10.0", "0.25.0", "2.10.0", "3.2.2", ()),
    "0.26.0rc1": Release("0.26.0", "2.10.0", "0.25.0", "2.10.0", "3.2.2", ("a2",)),
    "0.30.0rc2": Release("0.30.0", "2.10.0", "0.25.0", "2.10.0", "3.2.2", ()),
}

BUILD_TOOLS = ("gcc", "g++", "make", "git")
HEADER_PROBE = "import os, sysconfig; print(os.path.isfile(os.path.join(sysconfig.get_path('include'), 'Python.h')))"


def release_of(plugin: t.Optional[str]) -> Release:
    """:raises NpufleetError: a release whose pins are not known"""
    if plugin in RELEASES:
        return RELEASES[str(plugin)]
    raise NpufleetError(
        "there are no pins for vllm-ascend {0} outside a container".format(plugin or "of no version"),
        where="vllm_ascend",
        remedy="Use one of {0}, or run the engine in a container".format(", ".join(RELEASES)),
    )


def ascend_of(params: t.Mapping[str, t.Any], set_env: t.Sequence[str], glibc: str) -> Ascend:
    """Return what an environment for NPUs holds.

    :param glibc: ``glibc 2.36``, or empty where it is not known
    :raises NpufleetError: the release or the chip is none that can be
    """
    release = release_of(params["vllm_ascend"])
    soc = soc_of(params["soc"])
    return Ascend(
        plugin=params["vllm_ascend"],
        soc=soc,
        soc_version=SOC_VERSIONS[soc],
        wheel=soc in release.wheels and _takes_wheel(glibc),
        torchvision=release.torchvision,
        torchaudio=release.torchaudio,
        triton="" if soc in NO_TRITON else release.triton,
        index_url=params["ascend_index_url"],
        set_env=tuple(set_env),
    )


def _takes_wheel(glibc: str) -> bool:
    numbers = glibc.split()[-1].split(".")[:2] if glibc else []
    return len(numbers) == 2 and all(number.isdigit() for number in numbers) and tuple(map(int, numbers)) >= WHEEL_GLIBC


def check_tools(ascend: Ascend, python: PythonChoice, run: Runner, find: t.Callable[[str], t.Optional[str]] = find_tool) -> None:
    """:raises NpufleetError: names all that the host lacks to install or to build the plugin"""
    lacks = [] if find("bash") else ["bash"]
    if not ascend.wheel:
        lacks += [tool for tool in BUILD_TOOLS if not find(tool)]
        if run([python.path, "-c", HEADER_PROBE], timeout=30).stdout.strip() != "True":
            lacks.append("the headers of {0} (Python.h)".format(os.path.basename(python.path)))
    if lacks:
        raise NpufleetError(
            "vllm-ascend {0} {1} {2}, and the host lacks {3}".format(
                ascend.plugin, "is installed for" if ascend.wheel else "is built on the host for", ascend.soc.upper(), ", ".join(lacks)
            ),
            where="host packages",
            remedy="Install them with the package manager (or set vllm_engine_install_prerequisites to true), or run the engine in a container",
        )
